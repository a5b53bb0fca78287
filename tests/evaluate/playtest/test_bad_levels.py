"""Levels that cannot be solved: who walks there waits in safety, and the cause is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ambulo.cli import main
from ambulo.configs.errors import LevelError
from ambulo.configs.vr import NavigationConfig
from ambulo.envs.vr.levels.level_io import load_levels
from ambulo.envs.vr.task.bank import LevelBank, Start
from ambulo.evaluate.vr.evaluation import run_episodes
from ambulo.evaluate.vr.subjects import planner_subject

LIMIT = 400
"""Steps of an episode."""


def box(
    x0: float, y0: float, x1: float, y1: float, z0: float, z1: float
) -> dict[str, Any]:
    """A box between two corners."""
    low, high = np.array([x0, y0, z0]), np.array([x1, y1, z1])
    return {"center": list((low + high) / 2), "half_size": list((high - low) / 2)}


WALLS = [box(0, 0, 12, 0.1, 0, 6), box(0, 7.9, 12, 8, 0, 6), box(0, 0, 0.1, 8, 0, 6),
         box(11.9, 0, 12, 8, 0, 6)]  # fmt: skip
STOREYS = [*WALLS, box(8, 0.1, 11.9, 7.9, 2.8, 3.0)]
ROOMS = [*WALLS, box(5.9, 0, 6.1, 3.4, 0, 3), box(5.9, 4.6, 6.1, 8, 0, 3)]
STAIRS = [box(4.8 + 0.4 * k, 2, 5.2 + 0.4 * k, 6, 0, 0.375 * (k + 1)) for k in range(8)]
STEEP = {"from": [5, 4, 0], "to": [8, 4, 3.0], "width": 1.2, "steps": 18}
UP, BESIDE = [10, 4, 3.0], [10, 4]


def lift(*stops: tuple[float, float], once: bool = False) -> dict[str, Any]:
    """A lift beside the upper floor whose middle is at each height at each time."""
    path = [[t, 7.35, 4, z, 0] for t, z in stops]
    end = {"loop": False} if once else {}
    return {"kind": "lift", "half_size": [0.6, 0.6, 0.1], "path": path, **end}


def door(*places: tuple[float, float]) -> dict[str, Any]:
    """A leaf in the doorway that is at each y at each time, and stays at the last one."""
    path = [[t, 6, y, 1.05, 0] for t, y in places]
    return {"kind": "door", "half_size": [0.03, 0.6, 1.05], "path": path, "loop": False}


def platform(k: int) -> dict[str, Any]:
    """One of many platforms, each of which goes up and down on its own."""
    x, y = 1.5 + 1.25 * (k % 5), 0.9 + 2.0 * (k // 5)
    path = [[0, x, y, 0.1, 0], [2, x, y, 0.1, 0], [6, x, y, 2.0, 0], [8, x, y, 2.0, 0]]
    kind = {"kind": "platform", "half_size": [0.5, 0.5, 0.1]}
    return {**kind, "path": path, "phase": "random"}


CASES: dict[str, tuple[list[Any], list[float], list[Any], str]] = {
    "a lift that has gone": (
        STOREYS, UP, [lift((0, 0.1), (1, 0.1), (5, 2.9), (6, 2.9), once=True)],
        "movers[0], a lift, stays at z 3.0 m for ever",
    ),
    "a lift that never comes": (
        STOREYS, UP, [lift((0, 2.9), (2, 2.9), (5, 5.7), (7, 5.7))],
        "movers[0], a lift, moves between z 3.0 and 5.8 m only",
    ),
    "a lift that stops half-way": (
        STOREYS, UP, [lift((0, 0.1), (1, 0.1), (5, 2.9), (6, 2.9), (8, 1.5), once=True)],
        "movers[0], a lift, stays at z 1.6 m for ever",
    ),
    "a door that never opens": (
        ROOMS, BESIDE, [door((0, 4.0), (2, 4.0))],
        "movers[0], a door, stays in the way for ever",
    ),
    "a door that stops half-way": (
        ROOMS, BESIDE, [door((0, 4.0), (5, 4.0), (7, 4.35))],
        "movers[0], a door, stays in the way for ever",
    ),
    "stairs too high": (
        [*STOREYS, *STAIRS], UP, [],
        "the lowest way there has a step of 0.38 m, and bodies climb 0.25 m",
    ),
    "steep stairs": (
        [*STOREYS, STEEP], UP, [],
        "stairs[0], too steep: its steps are 0.17 m deep and 0.17 m high, and bodies need "
        "0.25 m of depth",
    ),
    "a storey without a way": (STOREYS, UP, [], "no stairs, ramp or lift leads there"),
    "twenty platforms": (WALLS, BESIDE, [platform(k) for k in range(20)], ""),
    "twenty platforms to nowhere": (
        STOREYS, UP, [platform(k) for k in range(20)],
        "no stairs, ramp or lift leads there",
    ),
}  # fmt: skip
"""Boxes and stairs, goal, what moves, what the play-test says of the goal, "": reached."""


@pytest.mark.integration
@pytest.mark.parametrize("case", CASES)
def test_who_cannot_get_on_waits_and_the_cause_is_named(case, tmp_path, capsys):
    boxes, goal, movers, cause = CASES[case]
    level = {
        "name": "bad", "bounds": [0, 0, 12, 8], "heights": True,
        "boxes": [part for part in boxes if "center" in part],
        "stairs": [part for part in boxes if "steps" in part],
        "movers": movers, "start": {"position": [2, 4]}, "goal": goal,
    }  # fmt: skip
    file = tmp_path / "bad.json"
    file.write_text(json.dumps(level))
    episode = walked(file)
    assert episode.success == (not cause)
    assert not episode.fell
    assert episode.collisions <= 2
    command = ["playtest", str(file), "--agent", "planner", "--agents", "2"]
    out = ["--out", str(tmp_path / "out"), "--seconds", "20", "--no-report"]
    assert main([*command, *out]) == (1 if cause else 0)
    lines = capsys.readouterr().out.splitlines()
    named = [line for line in lines if line.startswith("bad: PROBLEM: 'goal'")]
    assert len(named) == (1 if cause else 0)
    assert all(cause in line for line in named)


def walked(file: Path) -> Any:
    """An episode of the planner in the level of `file`."""
    [level] = load_levels(file, solvable=False)
    subject = planner_subject("planner", NavigationConfig())
    config = subject.config.override("environment", max_episode_steps=LIMIT)
    bank = LevelBank([level], np.random.default_rng(0))
    assert level.start is not None
    start = [Start(0, 0, level.start)]
    return run_episodes(subject.make(1), config, bank, start).episodes[0]


@pytest.mark.parametrize(
    ("mover", "rule"),
    [(lift((0, 2.9), (2, 2.9)), "a lift must wait"),
     (lift((0, 0.1), (2, 0.1), (4, 1.5)), "a lift must wait")],
)  # fmt: skip
def test_lifts_with_one_stop_are_refused(mover, rule, tmp_path):
    file = tmp_path / "bad.json"
    level = {"name": "bad", "bounds": [0, 0, 12, 8], "heights": True, "movers": [mover]}
    file.write_text(json.dumps(level))
    with pytest.raises(LevelError, match=rule):
        load_levels(file)
