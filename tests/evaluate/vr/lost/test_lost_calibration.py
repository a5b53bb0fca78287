"""A model gets a head from its own episodes, and an evaluation scores it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import torch

from ambulo import cli
from ambulo.configs.errors import ConfigError, ModelFileError
from ambulo.evaluate.vr.lost.calibration import (
    CalibrationLevels,
    calibrated,
    without_head,
)
from ambulo.policies.agents.navigation import (
    Agent,
    NavigationModel,
    load_navigation,
)
from ambulo.policies.files.model_file import save_model
from ambulo.shipped import shipped_models
from ambulo.train.shared.run_folders import NavigationRunFolder
from ambulo.train.vr.lost import add_heads

pytestmark = pytest.mark.integration

SHIPPED = shipped_models()["vr_navigation"]
MAZES = CalibrationLevels("maze,utrap")


@contextmanager
def quiet(name: str, episodes: int) -> Iterator[object]:
    yield lambda ended: None


@pytest.fixture(scope="module")
def model() -> NavigationModel:
    """The shipped agent after a few episodes in mazes."""
    return calibrated(load_navigation(SHIPPED), bars=quiet, episodes=40, levels=MAZES)


def test_the_policy_stays_as_it_is(model: NavigationModel) -> None:
    old = without_head(load_navigation(SHIPPED))
    assert all(torch.equal(model.weights[k], v) for k, v in old.weights.items())
    header = model.metadata.lost
    assert header is not None
    assert header.levels == "maze,utrap"
    assert (header.episodes, header.calibration_episodes) == (40, 20)
    assert 0.0 < header.base_rate < 1.0
    obs = np.zeros((3, old.metadata.observation_size), np.float32)
    np.testing.assert_array_equal(Agent(model).act(obs), Agent(old).act(obs))
    bare = without_head(model)
    assert bare.metadata == old.metadata
    assert bare.weights.keys() == old.weights.keys()


def test_an_evaluation_scores_the_head(
    model: NavigationModel, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save_model(tmp_path / "m.zip", model)
    arguments = (
        "eval", str(tmp_path / "m.zip"), "--level-set", "maze", "--world", "kernel",
        "--episodes", "8", "--baselines", "straight", "--json", str(tmp_path / "r.json"),
        "--output", str(tmp_path / "report"),
    )  # fmt: skip
    assert cli.main(arguments) == 0
    assert "ECE" in capsys.readouterr().out
    data = json.loads((tmp_path / "r.json").read_text())
    policy = data["agents"]["policy"]
    assert {"lost_ece", "lost_brier", "lost_brier_base_rate"} <= set(policy)
    predictors = data["groups"]["lost"]
    assert {"head", "base rate", "no progress"} <= set(predictors)
    rows = [row for row in data["rows"] if row["agent"] == "policy"]
    assert all(0.0 <= row["lost_p_mean"] <= 1.0 for row in rows)
    counts = data["details"]["lost"]["reliability"]["head"]["count"]
    assert sum(counts) == round(sum(row["time_s"] for row in rows) / 0.1)
    for name in ("reliability.png", "lost_paths.png"):
        assert (tmp_path / "report" / name).stat().st_size > 1000


def test_levels_of_tests_and_other_splits_are_refused() -> None:
    bare = load_navigation(SHIPPED)
    for name, text in (
        ("heldout", "cannot be used as train levels"),
        ("handmade", "for tests alone"),
        ("mazes", "unknown level family"),
    ):
        with pytest.raises(ConfigError, match=text):
            calibrated(bare, bars=quiet, episodes=4, levels=CalibrationLevels(name))


def test_an_agent_that_is_never_lost_has_nothing_to_tell_apart() -> None:
    levels = CalibrationLevels("open")
    with pytest.raises(ConfigError, match="lost in no decision on train levels"):
        calibrated(load_navigation(SHIPPED), bars=quiet, episodes=2, levels=levels)


def test_goals_that_move_are_refused() -> None:
    bare = load_navigation(SHIPPED)
    config = bare.metadata.config.override("environment", tasks=("follow",))
    metadata = bare.metadata.model_copy(update={"config": config})
    moved = type(bare)(metadata, bare.weights)
    with pytest.raises(ModelFileError, match="trained to follow cannot be calibrated"):
        calibrated(moved, bars=quiet, episodes=4)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["vr_navigation"], "a shipped model is not changed"),
        (["gait_net", "--output", "x.zip"], "expected a model of navigation"),
        (["vr_navigation", "--output", "x.zip", "--episodes", "1"], "at least 2"),
        (["vr_navigation", "--output", "no/x.zip"], "no"),
        (["nothing.zip"], "no such model file"),
    ],
)
def test_bad_input_is_one_line(
    arguments: list[str],
    text: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(["calibrate", *arguments]) == 2
    lines = capsys.readouterr().err.strip().splitlines()
    assert text in lines[-1]
    assert list(tmp_path.iterdir()) == []


def test_a_run_adds_the_heads_that_are_missing(
    model: NavigationModel,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = NavigationRunFolder(tmp_path)
    for file in (folder.best_model, folder.final_model):
        file.parent.mkdir(parents=True, exist_ok=True)
        save_model(file, without_head(model))
    begun = []

    def one(bare: NavigationModel, **_: object) -> NavigationModel:
        begun.append(bare)
        if len(begun) == 2:
            raise KeyboardInterrupt
        return model

    monkeypatch.setattr("ambulo.train.vr.lost.calibrated", one)
    add_heads(folder, 0, shown=False)
    assert begun == []
    with pytest.raises(KeyboardInterrupt):
        add_heads(folder, 10, shown=False)
    assert load_navigation(folder.best_model).metadata.lost is not None
    assert load_navigation(folder.final_model).metadata.lost is None
    add_heads(folder, 10, shown=False)
    assert load_navigation(folder.final_model).metadata.lost is not None
    assert len(begun) == 3
    add_heads(folder, 10, shown=False)
    assert len(begun) == 3
