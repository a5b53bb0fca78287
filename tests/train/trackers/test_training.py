"""`train_body_tracker` end to end, and the parts of its data."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from fixtures.trackers import sequences

from ambulo.configs.body_tracker import (
    TrackerDataConfig,
    TrackerLossConfig,
    TrackerRunConfig,
)
from ambulo.configs.errors import IKError
from ambulo.ik.data.sequences import save_sequences
from ambulo.ik.trackers.layout import FORGET, HEAD_ROW, HIPS_ROW, LEFT_HAND
from ambulo.motion.kinematics import motion_kinematics
from ambulo.motion.operations import mirror
from ambulo.motion.rotations import quat_from_matrix
from ambulo.motion.skeletons import load_skeleton
from ambulo.policies.agents.body_tracker import load_tracker
from ambulo.policies.files.model_file import load_model
from ambulo.policies.kinds.body_tracker import TrackerMetadata, tracker_shapes
from ambulo.policies.networks.tracker_net import TrackerNet
from ambulo.train.ik.kinematics import TreeKinematics
from ambulo.train.trackers.losses import TrackerLoss
from ambulo.train.trackers.sources import SequenceSource
from ambulo.train.trackers.splits import split_people
from ambulo.train.trackers.streams import Streams
from ambulo.train.train_body_tracker import main as train

SMALL = [
    "--preset", "quick_test", "--threads", "1", "--no-progress", "--episodes", "2",
    "--set", "training.streams=8", "--set", "training.steps=8",
    "--set", "training.epoch_steps=4",
]  # fmt: skip
CLEAN = TrackerDataConfig(
    mirror=0.0, proportions=0.0, speed=0.0, shape_error=0.0, noise=0.0, turn_noise=0.0,
    grip=0.0, grip_turn=0.0, three=1.0, arms=0.0, dropout=0.0,
)  # fmt: skip


def streams(config: TrackerDataConfig, count: int = 4, steps: int = 30) -> Streams:
    kinematics = TreeKinematics(load_skeleton("human23"))
    source = SequenceSource(sequences())
    return Streams(
        source, config, kinematics, count=count, steps=steps, lead=0.06, seed=3
    )


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "sequences.npz"
    save_sequences(path, sequences())
    return path


def test_people_are_parted() -> None:
    parts = split_people(sequences(), TrackerDataConfig())
    everybody = [name for part in parts.values() for name in part]
    assert sorted(everybody) == ["p0", "p1", "p2", "p3"]
    assert all(parts.values())
    chosen = split_people(
        sequences(),
        TrackerDataConfig(test_subjects=("p1",), validation_subjects=("p3",)),
    )
    assert chosen == {"train": ("p0", "p2"), "test": ("p1",), "validation": ("p3",)}


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (TrackerDataConfig(test_subjects=("x",)), "test subjects: no sequences of 'x'"),
        (
            TrackerDataConfig(test_subjects=("p0",), validation_subjects=("p0",)),
            "'p0' cannot be validation and test",
        ),
        (
            TrackerDataConfig(
                test_subjects=("p0", "p1", "p2"), validation_subjects=("p3",)
            ),
            "no people are left",
        ),
    ],
)
def test_impossible_parts_are_refused(config: TrackerDataConfig, message: str) -> None:
    with pytest.raises(IKError, match=message):
        split_people(sequences(), config)


@pytest.mark.parametrize("mirrored", [False, True])
def test_sampled_poses_are_those_of_the_motion(mirrored: bool) -> None:
    source, data = SequenceSource(sequences()), sequences()
    motion = mirror(data.motion(2)) if mirrored else data.motion(2)
    seconds = torch.tensor([0.0, 0.5, 1.0])
    clips = torch.full((3,), 2)
    found = source.sample(clips, seconds, torch.full((3,), mirrored))
    frames = [0, 30, 60]
    np.testing.assert_allclose(found.root.T, motion.root_positions[frames], atol=1e-5)
    true = motion.rotations[frames]
    turns = quat_from_matrix(found.local.permute(3, 0, 1, 2).double()).numpy()
    np.testing.assert_allclose(np.abs((turns * true).sum(-1)), 1.0, atol=1e-6)


def test_clean_streams_say_what_the_joints_do() -> None:
    made = streams(CLEAN)
    piece = made.draw()
    assert float(piece.ticks.present[:, HIPS_ROW].max()) == 0.0
    for stream in range(4):
        motion = sequences().motion(int(made.clip[stream]))
        heads = motion_kinematics(motion)[0][:, 14]
        found = piece.ticks.positions[1:, HEAD_ROW, :, stream].numpy()
        far = np.linalg.norm(found[:, None] - heads[None], axis=-1).min(axis=1)
        assert far.max() < 0.02


def test_pieces_of_a_stream_follow_each_other() -> None:
    made = streams(CLEAN, count=8, steps=20)
    first = made.draw()
    for _ in range(6):
        second = made.draw()
        going = ~second.fresh
        a = first.ticks.positions[-1, HEAD_ROW][:, going]
        b = second.ticks.positions[0, HEAD_ROW][:, going]
        torch.testing.assert_close(a, b)
        first = second


def test_lost_trackers_keep_their_place_and_age() -> None:
    made = streams(CLEAN.replace(dropout=3.0), count=16)
    made.rate[:] = 3.0
    pieces = [made.draw() for _ in range(3)]
    lost = 0
    for piece in pieces:
        ticks = piece.ticks
        gone = ticks.present[:, LEFT_HAND] == 0.0
        lost += int(gone.sum())
        for step in range(1, len(gone)):
            rows = gone[step] & ~(ticks.ages[step, LEFT_HAND] >= FORGET)
            now = ticks.positions[step, LEFT_HAND][:, rows]
            before = ticks.positions[step - 1, LEFT_HAND][:, rows]
            torch.testing.assert_close(now, before)
            assert (ticks.ages[step, LEFT_HAND][rows] > 0.0).all()
    assert lost > 50


def test_the_loss_of_the_true_pose_is_small() -> None:
    made = streams(CLEAN)
    piece = made.draw()
    skeleton = load_skeleton("human23")
    loss = TrackerLoss(TrackerLossConfig(), TreeKinematics(skeleton), skeleton)
    outputs = torch.cat([loss.true_outputs(piece), torch.zeros(30, 4, 10)], dim=-1)
    terms = loss.terms(outputs, piece)
    for name in ("position", "world", "rotation", "local", "velocity", "ground"):
        assert float(terms[name]) < 2e-3, name
    worse = loss.terms(outputs + 0.1, piece)
    assert float(worse["position"]) > 0.1


def test_the_shapes_in_the_header_are_those_of_the_network() -> None:
    config = TrackerRunConfig().network
    network = TrackerNet(config)
    found = {name: tuple(t.shape) for name, t in network.state_dict().items()}
    assert found == tracker_shapes(config)


@pytest.fixture(scope="module", autouse=True)
def _short_validations() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ambulo.train.trackers.validation.COUNT", 8)
        patch.setattr("ambulo.train.trackers.validation.PIECES", 2)
        yield


@pytest.fixture(scope="module")
def first(data: Path) -> tuple[Path, str]:
    """The folder of a run, which tests only read, and what the run printed."""
    arguments = ["--fresh", "--data", str(data), "--output", str(data.parent), *SMALL]
    longer = ["--set", "training.epoch_steps=20", "--set", "training.warmup_steps=5"]
    with contextlib.redirect_stderr(io.StringIO()) as printed:
        assert train([*arguments, "--run-name", "a", "--epochs", "3", *longer]) == 0
    return data.parent / "a", printed.getvalue()


@pytest.mark.integration
def test_a_run_learns_and_is_loaded(first: tuple[Path, str], data: Path) -> None:
    folder, printed = first
    assert "train: 2 people" in printed
    rows = (folder / "metrics.csv").read_text().splitlines()
    column = rows[0].split(",").index("train/loss")
    losses = [float(row.split(",")[column]) for row in rows[1:]]
    assert losses[-1] < losses[0]
    model = folder / "best_models" / "best_model.zip"
    header = load_model(model, TrackerMetadata).metadata
    assert (
        header.extra["people"]["test"] == ["p2"]
        or len(header.extra["people"]["test"]) == 1
    )
    assert header.run.data == data.name
    load_tracker(model)


@pytest.mark.integration
def test_a_run_begins_with_another_model(
    first: tuple[Path, str],
    data: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    arguments = ["--fresh", "--data", str(data), "--output", str(tmp_path), *SMALL]
    still = ["--set", "training.learning_rate=1e-12", "--epochs", "1"]
    begin = ["--init", str(first[0] / "final_model.zip")]
    assert train([*arguments, "--run-name", "second", *begin, *still]) == 0
    old, new = (
        load_model(folder / "final_model.zip", TrackerMetadata).weights
        for folder in (first[0], tmp_path / "second")
    )
    for name, tensor in old.items():
        torch.testing.assert_close(new[name], tensor, atol=1e-5, rtol=1e-5, msg=name)
    capsys.readouterr()
    other = ["--set", "network.state=24"]
    assert train([*arguments, "--run-name", "third", *begin, *other]) == 2
    assert (
        "the network to begin with is another one: size mismatch"
        in capsys.readouterr().err
    )
