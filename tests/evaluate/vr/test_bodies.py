"""Why bodies fail, and what is told of their contacts, gait and head."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
from fixtures.untrained import untrained_navigator

from ambulo.configs.presets import VR_PRESETS
from ambulo.configs.vr import NavigationConfig
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.task.metrics import BodyTrace, Trace
from ambulo.evaluate.command import main
from ambulo.evaluate.vr.bodies import body_breakdowns, body_metrics, failure
from ambulo.evaluate.vr.scores import EpisodeRecord, EpisodeRecords, summarise
from ambulo.policies.files.model_file import save_model

STEPS = 200
LEVEL = Level("one", np.array([-9.0, -9.0, 9.0, 9.0]), family="open")


def record(
    *, way: float = 15.0, nearer: float = 15.0, contact: int = 0, **changes: object
) -> EpisodeRecord:
    """An episode of 20 s that goes `way` metres and comes nearer by `nearer`, [m]."""
    rows = STEPS + 1
    x = np.linspace(0.0, way, rows)
    zero, ticks = np.zeros(rows), np.zeros(rows, np.int64)
    ticks[5] = contact
    body = BodyTrace(
        head_height=1.5 + 0.02 * np.tile([1.0, -1.0], rows)[:rows],
        head_tilt=np.full(rows, np.radians(6.0)),
        gait_phase=np.linspace(0.0, 18.0, rows) % 1.0,
        touch_force=40.0 * ticks,
        qpos=np.zeros((rows, 3)),
    )
    trace = Trace(
        dt=0.1,
        position=np.column_stack([x, zero, zero]),
        yaw=zero,
        velocity=np.zeros((rows, 3)),
        yaw_rate=zero,
        clearance=zero + 1.0,
        contact_ticks=ticks,
        snaps=np.zeros(rows, np.int64),
        distance=20.0 - np.linspace(0.0, nearer, rows),
        body=body,
    )
    fields = {
        "level": LEVEL, "success": False, "fell": False, "timeout": True,
        "optimal": 10.0, "left": 5.0, "path": way, "time": 20.0, "collisions": contact,
        "comfort": 1.0, "reward": 0.0, "trace": trace,
    }  # fmt: skip
    return EpisodeRecord(**{**fields, **changes})


@pytest.mark.parametrize(
    ("episode", "reason"),
    [
        (record(success=True, timeout=False), None),
        (record(fell=True, timeout=False), "fall"),
        (record(), "time"),
        (record(nearer=0.0), "lost"),
        (record(way=1.0, nearer=1.0), "squeezed"),
    ],
)
def test_failures_are_told_apart(episode, reason):
    assert failure(episode) == reason


def test_metrics_of_bodies():
    episodes = (
        record(success=True), record(fell=True, contact=2), record(contact=1), record(),
    )  # fmt: skip
    found = body_metrics(EpisodeRecords(episodes, 1.6))
    values = {name: metric.value for name, metric in found.items()}
    assert values["fall_rate"] == 0.25
    assert values["contact_free_rate"] == 0.5
    assert (values["failed_fall"], values["failed_time"]) == (0.25, 0.5)
    # 18 cycles of two steps in 20 s.
    assert values["steps_per_s"] == pytest.approx(1.8)
    assert values["head_bob_cm"] == pytest.approx(2.0)
    assert values["head_tilt_deg"] == pytest.approx(6.0)
    assert values["touch_force_max_mean"] == pytest.approx((80.0 + 40.0) / 4.0)


def test_twins_have_no_gait_but_failures_by_family():
    plain = record(fell=True)
    twin = dataclasses.replace(plain, trace=dataclasses.replace(plain.trace, body=None))
    records = EpisodeRecords((twin, record(success=True)), 1.6)
    assert "steps_per_s" not in body_metrics(EpisodeRecords((twin,), 1.6))
    by_family, by_kind = body_breakdowns({"policy": records})
    assert by_family.scores["open"]["policy"]["fall_rate"].value == 0.5
    assert by_kind.scores["fall"]["policy"]["share"].value == 0.5


def saved(file, config: NavigationConfig) -> str:
    """An untrained navigator of short episodes."""
    short = config.override("environment", max_episode_steps=20)
    save_model(file, untrained_navigator(short))
    return str(file)


@pytest.mark.integration
@pytest.mark.parametrize("body", ["twin", None])
def test_eval_plays_bodies_and_says_why_they_fail(body, tmp_path, capsys):
    """A twin is asked for; else an agent of a twin is played on human23."""
    model = saved(tmp_path / "agent.zip", VR_PRESETS.load("embodied_quick"))
    flags = [] if body is None else ["--body", body]
    out = tmp_path / "scores.json"
    assert main(
        [model, *flags, "--level-set", "open,rooms", "--episodes", "2", "--baselines",
         "none", "--no-report", "--json", str(out)]
    ) == 0  # fmt: skip
    data = json.loads(out.read_text())
    assert f"body {body or 'human23'}" in data["evaluated"]
    scores = data["agents"]["policy"]
    assert scores["fall_rate"]["high"] > 0.0
    assert ("head_bob_cm" in scores) == (body is None)
    assert set(data["groups"]["failure"]) == {"fall", "squeezed", "lost", "time"}
    assert {row["failure"] for row in data["rows"]} <= {
        "fall",
        "squeezed",
        "lost",
        "time",
    }


def test_the_interval_of_a_rate_has_a_width_where_all_succeed():
    solved = EpisodeRecords((record(success=True, timeout=False),) * 90, 1.5)
    rate = summarise(solved)["success_rate"]
    assert (rate.low, rate.high) == pytest.approx((0.959, 1.0), abs=1e-3)
