"""`ambulo ik extract` and `train_neural_ik` end to end on small sets of poses."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from fixtures import poses as _fixtures
from fixtures.exits import refusal
from fixtures.run_files import table

from ambulo.cli import main as ambulo
from ambulo.ik.data.pose_data import PoseData, load_poses, save_poses
from ambulo.ik.pose import start_pose
from ambulo.ik.rig import load_rig
from ambulo.ik.solver.network import load_ik_network
from ambulo.ik.solver.targets import Targets
from ambulo.motion.formats.files import write_motion
from ambulo.policies.files.model_file import load_model
from ambulo.policies.kinds.ik_training import IKMetadata
from ambulo.train.shared.run_folders import IKRunFolder
from ambulo.train.train_neural_ik import main as train

SMALL = [
    "--set", "network.hidden=[24,16]", "--set", "dataset.least=50",
    "--set", "training.warmup_steps=5", "--batch-size", "64", "--threads", "1",
    "--device", "cpu", "--no-progress", "--episodes", "4",
]  # fmt: skip


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Poses of six people."""
    path = tmp_path / "poses.npz"
    save_poses(path, _fixtures.make_poses())
    return path


@pytest.fixture
def command(data: Path, tmp_path: Path) -> list[str]:
    """A small training into `runs/`."""
    return ["--data", str(data), "--output", str(tmp_path / "runs"), *SMALL]


def run_of(tmp_path: Path, name: str) -> IKRunFolder:
    return IKRunFolder(tmp_path / "runs" / name)


@pytest.mark.integration
def test_run_folder_and_models(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train([*command, "--fresh", "--epochs", "3", "--run-name", "a"]) == 0
    told = capsys.readouterr()
    assert "kinematics check, RMS: LeftHand 0.0000" in told.err
    assert "unique to learn from" in told.err
    run = run_of(tmp_path, "a")
    rows = table(run.metrics)
    assert [row["epoch"] for row in rows] == ["1", "2", "3"]
    terms = (
        "position",
        "orientation",
        "contact",
        "pose",
        "limits",
        "smoothness",
        "loss",
    )
    assert {f"train/{term}" for term in terms} <= rows[0].keys()
    assert {"validation/error_cm", "validation/trackers/mpjpe_cm"} <= rows[0].keys()
    network = load_ik_network(run.best_model)
    people = network.header.extra["people"]
    assert sum(map(len, people.values())) == 6
    rig = load_rig()
    targets = Targets.of_pose(rig, start_pose(rig)).only("Head", "LeftHand")
    assert np.isfinite(network.predict(targets).rotations).all()


@pytest.mark.integration
@pytest.mark.parametrize("kind", ["published", "compact"])
def test_published_networks(command: list[str], tmp_path: Path, kind: str) -> None:
    options = [
        *command,
        "--fresh",
        "--epochs",
        "1",
        "--run-name",
        "a",
        "--network",
        kind,
    ]
    assert train(options) == 0
    network = load_ik_network(run_of(tmp_path, "a").final_model)
    assert network.parameters == {"published": 120_645, "compact": 25_605}[kind]


@pytest.mark.slow
def test_training_lowers_the_error(command: list[str], tmp_path: Path) -> None:
    train([*command, "--fresh", "--epochs", "25", "--run-name", "a",
           "--set", "training.average=0.9"])  # fmt: skip
    rows = table(run_of(tmp_path, "a").metrics)
    for name in ("train/loss", "validation/all/position_cm"):
        assert float(rows[-1][name]) < 0.6 * float(rows[0][name])


@pytest.mark.integration
def test_a_run_can_begin_with_weights_of_another(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = [*command, "--fresh", "--epochs", "1"]
    assert train([*options, "--run-name", "a"]) == 0
    first = run_of(tmp_path, "a")
    still = ["--set", "training.learning_rate=1e-12", "--seed", "7"]
    begin = [*options, *still, "--run-name", "b", "--init", str(first.path)]
    assert train(begin) == 0
    a = load_ik_network(first.final_model).tensors()
    b = load_ik_network(run_of(tmp_path, "b").final_model).tensors()
    assert all(np.abs(a[name] - b[name]).max() < 1e-6 for name in a)
    # The network is there before the first step: a run that is killed at once resumes.
    at_once = run_of(tmp_path, "b").checkpoints / "neural_ik_0_steps.zip"
    assert load_model(at_once, IKMetadata).metadata.steps == 0
    capsys.readouterr()
    for flags, rule in (
        ([*begin[:-1], str(tmp_path / "none")], "no such model file"),
        ([*begin, "--set", "network.hidden=[8]"], "is another one"),
        (["--resume", str(first.path), "--init", str(first.path)], "or --init"),
    ):
        assert rule in refusal(train, [*flags, "--force"], capsys, alone=False)


def frozen(data: PoseData, part: slice) -> PoseData:
    """`data` with some joints that never turn, and a root that never moves."""
    turns, root = data.rotations.copy(), data.root.copy()
    turns[:, part], root[:] = turns[:1, part], root[0]
    return PoseData(data.header, root, turns, data.clip, data.frame, data.contacts)


def test_poor_data_is_refused(
    command: list[str], data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    poses = _fixtures.make_poses()
    save_poses(data, frozen(poses, slice(0, 23)))
    assert train([*command, "--fresh", "--run-name", "a"]) == 2
    assert "of them unique" in capsys.readouterr().err
    save_poses(data, frozen(poses, slice(0, 7)))
    assert train([*command, "--fresh", "--run-name", "a"]) == 2
    assert "dead inputs" in capsys.readouterr().err
    assert not list((tmp_path / "runs").glob("*"))


def test_print_config(capsys: pytest.CaptureFixture[str]) -> None:
    assert train(["--print-config", "--network", "compact", "--seed", "5"]) == 0
    config = json.loads(capsys.readouterr().out)
    assert config["network"]["kind"] == "published_compact"
    assert config["training"]["seed"] == 5


def test_extract_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AMBULO_MOTION_CACHE", str(tmp_path / "cache"))
    poses = _fixtures.make_poses(people=2, frames=90)
    rig = load_rig()
    folder = tmp_path / "clips"
    for index in range(2):
        motion = poses[poses.clip == index].pose.motion(rig, 30.0)
        place = folder / f"{index + 1:02d}"
        place.mkdir(parents=True)
        write_motion(place / f"{index + 1:02d}_01.npz", motion)
    out = tmp_path / "training_data.npz"
    command = ["extract", "--motions", str(folder), "--out", str(out)]
    assert ambulo(["ik", *command, "--least", "50"]) == 0
    told = capsys.readouterr().out
    assert "2 clips of 2 people" in told
    assert "left out: 0 frames" in told
    found = load_poses(out)
    assert set(found.subjects.tolist()) == {"01", "02"}
    first = out.read_bytes()
    assert ambulo(["ik", *command, "--least", "50"]) == 2
    assert "training_data.npz" in capsys.readouterr().err
    command.append("--force")
    assert ambulo(["ik", *command, "--least", "50"]) == 0  # from the cache
    assert out.read_bytes() == first
    capsys.readouterr()
    for flags, rule in (
        (["--least", "5000"], "at least 5000 unique ones are needed"),
        (["--fps", "-1"], "--fps"),
        (["--motions", str(tmp_path / "no")], "no such data folder"),
        (["--rig", "ik32"], "unknown rig"),
        (["--out", str(tmp_path / "no" / "x.npz")], "no such folder"),
    ):
        assert ambulo(["ik", *command, *flags]) == 2
        assert rule in capsys.readouterr().err
    assert out.read_bytes() == first
    (tmp_path / "empty").mkdir()
    assert ambulo(["ik", "extract", "--motions", str(tmp_path / "empty")]) == 2
    assert "no motion files" in capsys.readouterr().err
