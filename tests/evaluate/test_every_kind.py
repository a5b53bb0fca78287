"""`ambulo eval` of every shipped model, at its smallest size."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import ambulo.shipped
from ambulo.configs.errors import ModelFileError
from ambulo.envs.vr.planners.planners import PLANNERS
from ambulo.evaluate.command import main
from ambulo.evaluate.kinds import all_kinds, eval_kind
from ambulo.evaluate.shared.models import model_kind

SHIPPED = ambulo.shipped.shipped_models()
WALK = ["--episodes", "1", "--seconds", "0.2", "--push-episodes", "0"]
FLAGS = {
    "vr_navigation": ["--episodes", "2", "--level-set", "open", "--world", "compiled"],
    "locomotion": WALK,
    "gait_policy": WALK,
    "ambulo-cascade": WALK,
    "gait_reference": WALK,
    "motion_nn": ["--episodes", "3"],
    "gait_net": ["--episodes", "2"],
    "gait_estimator": ["--episodes", "2"],
    "ik_network": ["--episodes", "12"],
    "body_tracker": ["--episodes", "1", "--baselines", "standing"],
    "muscle_nn": ["--episodes", "5"],
    "track_policy": ["--episodes", "1"],
}
"""Smallest evaluation of each kind."""
FAST = {
    "vr_navigation",
    "imitate_walk",
    "ik_trackers",
    "muscle_nn_myolegs",
}


def named(name: str) -> object:
    return pytest.param(name, marks=() if name in FAST else pytest.mark.slow)


@pytest.mark.integration
@pytest.mark.parametrize("name", [named(name) for name in SHIPPED])
def test_a_shipped_model_is_evaluated_beside_baselines(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kind = model_kind(SHIPPED[name])
    out = tmp_path / "out"
    smallest = FLAGS[kind]
    arguments = [name, *smallest, "--seed", "3", "--output", str(out)]
    no_film = "no_video" in eval_kind(kind, name).flags
    assert main([*arguments, *(["--no-video"] if no_film else [])]) == 0
    assert "policy" in capsys.readouterr().out
    data = json.loads((out / "evaluation.json").read_text())
    assert data["model"] == str(SHIPPED[name])
    assert data["kind"] in eval_kind(kind, name).kinds
    assert data["seed"] == 3
    assert data["command"].startswith(f"ambulo eval {name} ")
    assert next(iter(data["agents"])) == "policy"
    assert len(data["agents"]) > 1
    known = [m["value"] for m in data["agents"]["policy"].values()]
    assert any(value is not None for value in known)
    for metrics in data["agents"].values():
        for metric in metrics.values():
            assert set(metric) == {"value", "low", "high", "unit"}
            if metric["low"] is not None:
                slack = 1e-9 + 1e-9 * abs(metric["value"])
                assert metric["low"] - slack <= metric["value"]
                assert metric["value"] <= metric["high"] + slack
    rows = data["rows"]
    assert {row["agent"] for row in rows} <= set(data["agents"])
    assert sum(row["agent"] == "policy" for row in rows) >= data["episodes"]
    page = (out / "report.html").read_text(encoding="utf-8")
    assert data["evaluated"] in page.replace("&#x27;", "'")
    assert page.count("data:image/png;base64,") == len(list(out.glob("*.png")))


@pytest.mark.integration
@pytest.mark.parametrize(
    ("name", "worse"),
    [
        ("muscle_nn_myolegs", "rest"),
        ("ik_net", "start_pose"),
        ("gait_law", "open_loop"),
    ],
)
def test_models_are_better_than_no_model(
    name: str, worse: str, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = ["--episodes", "4", "--baselines", worse, "--no-report", "--json"]
    flags += ["--seconds", "2.5", "--push-episodes", "0"] if name == "gait_law" else []
    assert main([name, *flags]) == 0
    agents = json.loads(capsys.readouterr().out)["agents"]
    assert list(agents) == ["policy", worse]
    metric, sign = {
        "muscle_nn_myolegs": ("relative_error", 1.0),
        "ik_net": ("mpjpe_cm", 1.0),
        "gait_law": ("survival_s", -1.0),
    }[name]
    good, bad = (agents[agent][metric]["value"] for agent in ("policy", worse))
    assert sign * good < sign * bad


def test_kinds_are_found_by_listing_their_folder() -> None:
    kinds = [name for kind in all_kinds() for name in kind.kinds]
    assert len(kinds) == len(set(kinds))
    assert set(FLAGS) <= set(kinds)
    vr = eval_kind("vr_navigation", "")
    assert vr.chosen_baselines(None) == tuple(PLANNERS)
    assert vr.chosen_baselines("none") == ()
    with pytest.raises(ModelFileError, match="kind 'x' cannot be evaluated"):
        eval_kind("x", "file")
