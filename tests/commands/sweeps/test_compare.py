"""Comparisons of run folders, as trainings leave them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ambulo.commands.sweeps.flags import compare as main
from ambulo.configs.muscle import MuscleRunConfig
from ambulo.train.shared.run_folders import MuscleRunFolder


def finished(path: Path, seed: int, error: float, **network: Any) -> Path:
    """A finished run of a muscle network."""
    config = MuscleRunConfig().override("training", seed=seed)
    config = config.override("network", **network)
    path.mkdir(parents=True)
    folder = MuscleRunFolder(path)
    folder.describe(config.to_json(), [], seed)
    folder.final_model.touch()
    rows = f"step,validation/loss,validation/torque_error_rms\n10,{error},{error}\n"
    folder.metrics.write_text(rows)
    return path


def test_folders_of_seeds_are_groups(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for seed in range(4):
        finished(tmp_path / "a" / str(seed), seed, 1.0 + 0.1 * seed)
        finished(tmp_path / "b" / str(seed), seed, 2.0 + 0.1 * seed, steps=100)
    assert main([str(tmp_path / "a"), str(tmp_path / "b")]) == 0
    assert "a is better than b" in capsys.readouterr().out


def test_runs_of_a_folder_differ_in_seeds_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Others would be counted as seeds."""
    first = finished(tmp_path / "a" / "0", 0, 1.0)
    finished(tmp_path / "a" / "1", 1, 3.0, steps=100)
    other = finished(tmp_path / "b", 0, 2.0)
    assert main([str(tmp_path / "a"), str(other)]) == 2
    told = capsys.readouterr().err
    assert f"{tmp_path / 'a' / '1'}: network.steps is not that of {first}" in told
    assert told.count("\n") == 1


def test_a_seed_counts_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in "xy":
        finished(tmp_path / "a" / name, 7, 1.0)
    other = finished(tmp_path / "b", 0, 2.0)
    assert main([str(tmp_path / "a"), str(other)]) == 2
    assert "has the seed 7 of" in capsys.readouterr().err
    assert main([str(other), str(other)]) == 2
    assert f"{other}: named twice" in capsys.readouterr().err
