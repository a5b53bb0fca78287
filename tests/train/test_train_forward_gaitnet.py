"""`train_forward_gaitnet`, `augment_gait` and `extract-cycles` end to end on small data."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from fixtures import gait_data as _fixtures
from fixtures.run_files import table

from ambulo.commands.gait.flags import extract_cycles as extract_command
from ambulo.configs.gait import gait_space
from ambulo.evaluate.gait.scores import score
from ambulo.motion.formats.files import write_motion
from ambulo.motion.gaits.plain_walk import plain_walk
from ambulo.motion.gaits.shards import (
    RawShard,
    find_shards,
    read_raw,
    read_refined,
    write_raw,
)
from ambulo.motion.skeletons import load_skeleton
from ambulo.policies.agents.gait_network import load_gait_network
from ambulo.policies.files.model_file import load_model
from ambulo.policies.kinds.gait_net import GaitNetMetadata
from ambulo.train.augment_gait import main as augment
from ambulo.train.shared.run_folders import GaitRunFolder
from ambulo.train.train_forward_gaitnet import main as train

SMALL = [
    "--set", "network.hidden=24", "--set", "training.passes=2",
    "--set", "dataset.validation=0.2", "--batch-size", "128", "--threads", "1",
    "--device", "cpu", "--no-progress", "--learning-rate", "1e-3", "--episodes", "4",
]  # fmt: skip


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return _fixtures.write_data(tmp_path / "data")


@pytest.fixture
def command(data: Path, tmp_path: Path) -> list[str]:
    """A small training into `runs/`."""
    return ["--data", str(data), "--output", str(tmp_path / "runs"), *SMALL]


def run_of(tmp_path: Path, name: str) -> GaitRunFolder:
    return GaitRunFolder(tmp_path / "runs" / name)


def weights_of(path: Path) -> dict[str, np.ndarray]:
    return {
        name: w.numpy() for name, w in load_model(path, GaitNetMetadata).weights.items()
    }


@pytest.mark.integration
def test_run_folder_and_models(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = [*command, "--preset", "fast", "--fresh", "--run-name", "a"]
    assert train([*options, "--epochs", "3", "--set", "training.warmup_steps=2"]) == 0
    told = capsys.readouterr()
    assert "13 parameters of human23" in told.err
    assert "on gaits not trained on" in told.out
    run = run_of(tmp_path, "a")
    rows = table(run.metrics)
    assert [row["epoch"] for row in rows] == ["1", "2", "3"]
    assert {"train/loss", "validation/legs_deg", "validation/speed_percent"} <= rows[
        0
    ].keys()
    network = load_gait_network(run.best_model, gait_space("human23"))
    told_training = network.metadata.training
    assert told_training["sequences"]["train"] < 40
    assert told_training["validation"]["legs_deg"] > 0.0
    assert network.metadata.is_cascaded is False


@pytest.mark.slow
def test_it_learns_what_the_parameters_do(tmp_path: Path) -> None:
    data = _fixtures.write_data(tmp_path / "more", 200, per_file=64)
    train([
        "--data", str(data), "--output", str(tmp_path / "runs"), "--preset", "fast",
        "--fresh", "--run-name", "a", "--threads", "1", "--no-progress",
        "--set", "network.hidden=64", "--epochs", "10", "--batch-size", "256",
        "--set", "training.average=0.9", "--set", "training.warmup_steps=10",
    ])  # fmt: skip
    found = table(run_of(tmp_path, "a").metrics)[-1]
    motions = np.concatenate(
        [read_refined(f).motions for f in find_shards([str(data)])]
    )
    blind = score(np.broadcast_to(motions.mean(axis=0), motions.shape), motions)
    assert float(found["validation/legs_deg"]) < 0.65 * blind.legs_deg
    assert float(found["validation/speed_percent"]) < 0.3 * blind.speed_percent


@pytest.mark.integration
def test_gaits_that_differ_between_the_sides_are_told(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    # Of the made gaits only the left knee bends.
    options = [*command, "--fresh", "--epochs", "1", "--set", "dataset.mirror=true"]
    assert train(options) == 0
    assert "deg off its mirror image" in capsys.readouterr().err


@pytest.mark.integration
def test_other_data_cannot_be_resumed(
    command: list[str], data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train([*command, "--fresh", "--epochs", "1", "--run-name", "a"]) == 0
    run = run_of(tmp_path, "a")
    for path in find_shards(data):
        path.unlink()
    _fixtures.write_data(data, 60, seed=3)
    assert train(["--resume", str(run.path)]) == 2
    assert "the data are not those that the run began with" in capsys.readouterr().err


@pytest.mark.integration
def test_bad_files_are_named_and_counted(
    command: list[str], data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = find_shards(data)[2]
    path.write_bytes(path.read_bytes()[:-10])
    options = [*command, "--fresh", "--epochs", "1", "--run-name", "a"]
    assert train([*options, "--strict"]) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert path.name in told
    assert not run_of(tmp_path, "a").path.exists()
    assert train(options) == 0
    told = capsys.readouterr().err
    assert f"not used: {path}" in told
    assert "3 files, 1 passed over" in told


def raw_file(path: Path, episodes: int = 3) -> Path:
    rows = np.zeros((episodes * 150, 57))
    time_ = np.tile(np.arange(150) / 30.0, episodes)
    rows[:, 3], rows[:, 5] = 1.2 * time_, 0.9
    rows[:, -1] = (0.9 * time_) % 1.0
    space = gait_space("human23")
    params = space.sample(np.random.default_rng(0), episodes)
    write_raw(path, RawShard(np.full(episodes, 150), params, rows, space.names))
    return path


def test_numbers_that_explode_end_the_training(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = [*command, "--fresh", "--run-name", "a", "--epochs", "1"]
    assert train([*options, "--learning-rate", "1e30"]) == 2
    assert "are not finite; lower --learning-rate" in capsys.readouterr().err
    assert not run_of(tmp_path, "a").final_model.exists()


@pytest.mark.parametrize("first", ["law", "net"])
def test_sequences_of_cascades_are_told_whatever_came_first(
    first: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = {"law": "net", "net": "law"}[first]
    for name in (first, other):
        (tmp_path / name).mkdir()
        file = raw_file(tmp_path / name / "rollout_00000.npz", 1)
        shard = read_raw(file)
        shard.source.update(policy=name, is_cascaded=name == "net")
        write_raw(file, shard)
    out = tmp_path / "refined"
    assert augment([str(tmp_path / first), str(tmp_path / other), str(out)]) == 0
    (file,) = find_shards(out)
    found = read_refined(file)
    assert found.source["raw"]["is_cascaded"] is True
    assert [made["policy"] for made in found.source["raw"]["made"]] == [first, other]
    assert len(set(found.clip.tolist())) == len(found.clip)


@pytest.mark.parametrize(
    "flags", [["--settled", "nan"], ["--settled", "-5"], ["--least", "0"]]
)
def test_numbers_of_augment_are_checked(
    flags: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert augment([str(tmp_path), str(tmp_path / "out"), *flags]) == 2
    assert f"{flags[0]} {flags[1]}: must be" in capsys.readouterr().err


def test_augment(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    raw = tmp_path / "raw"
    raw.mkdir()
    raw_file(raw / "a.npz")
    raw_file(raw / "b.npz").write_bytes(b"no")
    out = tmp_path / "refined"
    assert augment([str(raw), str(out), "--per-file", "2"]) == 0
    told = capsys.readouterr()
    assert "3 sequences of 3 episodes in 2 files" in told.out
    assert "1 files" in told.out
    assert f"not used: {raw / 'b.npz'}" in told.err
    assert [len(read_refined(path)) for path in find_shards(out)] == [2, 1]
    assert augment([str(raw), str(out)]) == 2
    assert "there already" in capsys.readouterr().err
    assert augment([str(raw), str(tmp_path / "c"), "--strict"]) == 2
    assert "b.npz: truncated" in capsys.readouterr().err
    assert augment([str(raw), str(tmp_path / "d"), "--least", "151"]) == 2
    assert "nothing was made" in capsys.readouterr().err


def extract(*arguments: str) -> int:
    return extract_command(arguments)


def test_extract_cycles(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    clips = tmp_path / "clips" / "ann"
    clips.mkdir(parents=True)
    motion = plain_walk(load_skeleton("human23")).motion(5)
    write_motion(clips / "walk_1.npz", motion)
    write_motion(clips / "dance_1.npz", motion)
    (clips / "walk_2.npz").write_bytes(b"no")
    out = tmp_path / "cycles"
    assert extract("--motions", str(tmp_path / "clips"), "--out", str(out)) == 0
    told = capsys.readouterr()
    assert "of 1 of 2 clips" in told.out
    assert "walk_2.npz" in told.err
    (path,) = find_shards(out)
    shard = read_refined(path)
    assert set(shard.subject.tolist()) == {"ann"}
    assert set(shard.origin.tolist()) == {"captured"}
    assert all(clip.startswith("ann_walk_1 ") for clip in shard.clip)
    space = json.loads(json.dumps(shard.source["space"]))
    assert space["name"] == "captured"
