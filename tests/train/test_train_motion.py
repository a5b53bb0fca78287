"""`train_motion` end to end on small walks: run folder, resume, bad input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from fixtures.exits import refusal
from fixtures.motion import write_people
from fixtures.run_files import table

from ambulo.policies.agents.motion import load_encoder, load_motion_nn
from ambulo.policies.files.model_file import load_model
from ambulo.policies.kinds.motion_nn import MotionMetadata
from ambulo.train.motion.clips import split_file
from ambulo.train.shared.run_folders import MotionRunFolder
from ambulo.train.train_motion import main as train

SMALL = [
    "--set", "model.width=16", "--set", "model.depth=1", "--set", "model.heads=2",
    "--set", "model.history=4", "--set", "model.chunk=5", "--set", "dataset.stride=4",
    "--set", "dataset.window=2", "--set", "training.rollout_ratio=0.5",
    "--set", "training.rollout_steps=3", "--batch_size", "16", "--no-progress",
    "--episodes", "4",
    "--set", "dataset.validation_ratio=0.2",
]  # fmt: skip


@pytest.fixture(autouse=True)
def _one_cache(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path_factory.getbasetemp() / "motion_cache"
    monkeypatch.setenv("AMBULO_MOTION_CACHE", str(folder))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_people(tmp_path / "data")


@pytest.fixture
def command(data: Path, tmp_path: Path) -> list[str]:
    """A small training by subject into `runs/`."""
    return [
        "--bvh_dir", str(data), "--subject_split", "--test_subjects", "02",
        "--output", str(tmp_path / "runs"), *SMALL,
    ]  # fmt: skip


def run_of(tmp_path: Path, name: str) -> MotionRunFolder:
    return MotionRunFolder(tmp_path / "runs" / name)


@pytest.mark.integration
@pytest.mark.parametrize("mode", ["mlp", "transformer_reg", "encoder"])
def test_run_folder_and_models(command: list[str], tmp_path: Path, mode: str) -> None:
    code = train([*command, "--mode", mode, "--epochs", "2", "--run-name", "a"])
    assert code == 0
    run = run_of(tmp_path, "a")
    split = json.loads(split_file(run).read_text())
    parts = {clip["subject"]: clip["part"] for clip in split["clips"]}
    assert parts["02"] == "test"
    assert sorted(parts.values()).count("validation") >= 1
    rows = table(run.metrics)
    assert [row["epoch"] for row in rows] == ["1", "2"]
    wanted = {"train/loss", "train/joints", "validation/80ms", "learning_rate"}
    wanted |= {"train/masked"} if mode == "encoder" else set()
    assert wanted <= rows[0].keys()
    metadata = load_model(run.best_model, MotionMetadata).metadata
    assert metadata.run.model.mode == mode
    assert metadata.extra["split"]["test"] == ["02_01"]
    states = torch.randn(2, 4, 112)
    assert load_motion_nn(run.final_model).rollout(states, 7).shape == (2, 7, 112)
    assert load_encoder(run.final_model).encode(states).shape == (2, 16)


@pytest.mark.slow
def test_training_lowers_the_loss(command: list[str], tmp_path: Path) -> None:
    train([*command, "--mode", "mlp", "--epochs", "12", "--run-name", "a",
           "--set", "model.residual=zero", "--set", "training.warmup_steps=5",
           "--set", "training.learning_rate=0.01", "--set", "model.dropout=0"])  # fmt: skip
    rows = table(run_of(tmp_path, "a").metrics)
    assert float(rows[-1]["train/loss"]) < 0.7 * float(rows[0]["train/loss"])
    assert float(rows[-1]["validation/mean"]) < float(rows[0]["validation/mean"])


@pytest.mark.integration
def test_speeds_and_curriculum(command: list[str], tmp_path: Path) -> None:
    stages = (
        '{"stages": [{"activities": ["run"]}, {"activities": ["walk"], "epochs": 1}]}'
    )
    code = train([*command, "--mode", "mlp", "--epochs", "2", "--run-name", "a",
                  "--set", "training.speeds=[1.0, 1.25]",
                  "--set", f"dataset.curriculum={stages}"])  # fmt: skip
    assert code == 0  # no clip shows running: that stage is skipped


@pytest.mark.integration
def test_activity_split(data: Path, tmp_path: Path) -> None:
    code = train(["--bvh_dir", str(data), "--activity_split", "--test_ratio", "0.3",
                  "--mode", "mlp", "--epochs", "1", "--run-name", "a",
                  "--output", str(tmp_path / "runs"), *SMALL])  # fmt: skip
    assert code == 0
    split = json.loads(split_file(run_of(tmp_path, "a")).read_text())
    assert split["by"] == "activity"
    assert [clip["part"] for clip in split["clips"]].count("test") == 2


@pytest.mark.integration
def test_a_bad_file_is_left_out_or_fatal(
    command: list[str], data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (data / "07_01.bvh").write_text("HIERARCHY\nROOT")
    options = [*command, "--mode", "mlp", "--epochs", "1"]
    assert train([*options, "--run-name", "a"]) == 0
    assert train([*options, "--run-name", "b", "--strict"]) == 2
    error = capsys.readouterr().err
    assert "07_01.bvh" in error
    assert not run_of(tmp_path, "b").path.exists()


def test_print_config(capsys: pytest.CaptureFixture[str]) -> None:
    assert train(["--print-config", "--mode", "mlp", "--seed", "5"]) == 0
    config = json.loads(capsys.readouterr().out)
    assert config["model"]["mode"] == "mlp"
    assert config["training"]["seed"] == config["dataset"]["seed"] == 5


@pytest.mark.integration
def test_a_clip_that_is_gone_is_named_on_resume(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    train([*command, "--mode", "mlp", "--epochs", "1", "--run-name", "a"])
    run = run_of(tmp_path, "a")
    final = ["--resume", str(run.final_model)]
    assert "holds no training state" in refusal(train, final, capsys, alone=False)
    clip = next((tmp_path / "data").rglob("*.npz"))
    clip.unlink()
    assert train(["--resume", str(run.path), "--epochs", "2"]) == 2
    assert clip.name in capsys.readouterr().err
