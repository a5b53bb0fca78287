"""`ambulo train muscle` end to end: its files, its resume, and where its network is used."""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path

import numpy as np
import pytest
from fixtures.run_files import table

import ambulo
from ambulo.configs.presets import MUSCLE_PRESETS
from ambulo.evaluate.command import main as evaluate
from ambulo.muscle.muscle_nn import MuscleNN, load_muscle_nn
from ambulo.muscle.muscles import MuscleLayer
from ambulo.train.muscle.training import train_muscle_nn
from ambulo.train.shared.run_folders import MuscleRunFolder
from ambulo.train.train_muscle import main as train

SMALL = [
    "--preset", "quick_test", "--poses", "60", "--steps", "14", "--batch-size", "16",
    "--set", "network.hidden=[16]", "--set", "training.epoch_steps=6",
    "--set", "training.validation_poses=20", "--threads", "1", "--no-progress",
]  # fmt: skip


def run_in(folder: Path, name: str, *more: str) -> MuscleRunFolder:
    output = ["--output", str(folder), "--run-name", name]
    assert train([*SMALL, *output, *more]) == 0
    return MuscleRunFolder(folder / name)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[MuscleRunFolder, str]:
    """A whole run, which tests only read, and what it printed."""
    final = ["--seed", "2", "--set", "training.final_corrections=4", "--json"]
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        run = run_in(tmp_path_factory.mktemp("runs"), "a", *final)
    return run, printed.getvalue()


@pytest.mark.integration
def test_run_folder_and_models(trained: tuple[MuscleRunFolder, str]) -> None:
    run, printed = trained
    result = json.loads(printed)
    assert result["details"]["training"]["steps"] == 14
    assert result["agents"]["policy"]["torque_error_rms"]["value"] > 0.0
    rows = table(run.metrics)
    assert [row["step"] for row in rows] == ["6", "12", "14"]
    checkpoint = run.newest_checkpoint()
    assert checkpoint is not None
    last = ambulo.load(run.final_model, MuscleNN)
    of_checkpoint = ambulo.load(checkpoint, MuscleNN)
    for one, two in zip(last.weights, of_checkpoint.weights, strict=True):
        np.testing.assert_array_equal(one, two)
    assert ambulo.load(run.path, MuscleNN).config.corrections == 4
    assert evaluate([str(run.path), "--episodes", "5", "--json"]) == 0


@pytest.mark.integration
def test_a_run_has_the_weights_of_the_function(
    trained: tuple[MuscleRunFolder, str],
) -> None:
    from ambulo.envs.characters.registry import load_character

    run = trained[0]
    config = MUSCLE_PRESETS.load("quick_test").network.replace(
        poses=60, steps=14, batch_size=16, hidden=(16,)
    )
    layer = MuscleLayer(load_character("myolegs").model)
    network = train_muscle_nn(layer, config, 2)
    of_run = load_muscle_nn(run.final_model)
    for one, two in zip(network.weights, of_run.weights, strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.mark.integration
def test_an_environment_takes_the_file(trained: tuple[MuscleRunFolder, str]) -> None:
    run = trained[0]
    env = ambulo.make(
        "Stand-v0",
        character="myolegs",
        actuation="muscle",
        resolver="nn",
        muscle_network=str(run.best_model),
    )
    env.reset(seed=0)
    obs, *_ = env.step(env.action_space.sample())
    assert np.isfinite(obs).all()
    env.close()


def test_the_shipped_preset_has_the_settings_of_the_shipped_network() -> None:
    shipped, config = (
        ambulo.load("muscle_nn_myolegs", MuscleNN),
        MUSCLE_PRESETS.load("shipped"),
    )
    assert config.training.final_corrections == shipped.config.corrections
    assert config.network == shipped.config.replace(corrections=2)
