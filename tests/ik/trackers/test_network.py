"""The network at run time against torch, and its input against that of the training."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from fixtures.trackers import sequences, small_tensors

from ambulo.configs.body_tracker import (
    TrackerDataConfig,
    TrackerLossConfig,
    TrackerNetConfig,
)
from ambulo.ik.trackers.features import read_pose, write_inputs
from ambulo.ik.trackers.layout import (
    FORGET,
    HEAD_ROW,
)
from ambulo.ik.trackers.network import TrackerNetwork
from ambulo.ik.trackers.shape import scale_of
from ambulo.ik.trackers.sizes import (
    INPUTS,
    OUTPUTS,
    POSE,
    TRACKERS,
)
from ambulo.motion.rotations import quat_from_matrix
from ambulo.motion.skeletons import load_skeleton
from ambulo.policies.networks.tracker_net import TrackerNet
from ambulo.train.ik.kinematics import TreeKinematics
from ambulo.train.trackers.features import network_inputs
from ambulo.train.trackers.losses import TrackerLoss
from ambulo.train.trackers.sources import SequenceSource
from ambulo.train.trackers.streams import Streams


def test_torch_and_numpy_give_the_same_output() -> None:
    tensors = small_tensors()
    config = TrackerNetConfig(encoder=12, state=16, decoder=14)
    slow = TrackerNet(config)
    slow.load_state_dict({name: torch.from_numpy(t) for name, t in tensors.items()})
    fast = TrackerNetwork(tensors, config.lead)
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((20, 1, INPUTS)).astype(np.float32)
    state = fast.start()
    with torch.no_grad():
        expected, last = slow(torch.from_numpy(rows), torch.zeros(1, 16))
    for row, wanted in zip(rows, expected.numpy(), strict=True):
        found = fast.step(row[0], state)
        assert found.shape == (OUTPUTS,)
        np.testing.assert_allclose(found, wanted[0], atol=1e-5)
    np.testing.assert_allclose(state, last.numpy()[0], atol=1e-5)


def test_the_shipped_network_is_the_one_of_torch(
    shipped_network: TrackerNetwork,
) -> None:
    rng = np.random.default_rng(2)
    state, rows = shipped_network.start(), rng.standard_normal((5, INPUTS))
    outputs = [shipped_network.step(row.astype(np.float32), state) for row in rows]
    assert np.isfinite(outputs).all()
    assert shipped_network.parameters > 100_000


@pytest.mark.integration
def test_inputs_of_run_time_and_training_agree() -> None:

    config = TrackerDataConfig(dropout=2.0, three=0.3, noise=0.002)
    streams = Streams(
        SequenceSource(sequences()), config, TreeKinematics(load_skeleton("human23")),
        count=6, steps=40, lead=0.06, seed=4,
    )  # fmt: skip
    piece = streams.draw()
    ticks = piece.ticks
    assert float(ticks.present.min()) == 0.0
    expected = network_inputs(ticks, False).numpy()
    turns = quat_from_matrix(ticks.rotations.permute(0, 1, 4, 2, 3).double()).numpy()
    for stream in range(6):
        ratios = ticks.ratios[:, stream].numpy().astype(np.float64)
        for step in range(1, 41):
            row = np.empty(INPUTS)
            now, before = step, step - 1
            write_inputs(
                ticks.positions[now, :, :, stream].numpy().astype(np.float64),
                turns[now, :, stream],
                ticks.present[now, :, stream].numpy().astype(np.float64),
                ticks.ages[now, :, stream].numpy().astype(np.float64),
                ticks.positions[before, :, :, stream].numpy().astype(np.float64),
                turns[before, :, stream],
                ticks.present[before, :, stream].numpy().astype(np.float64),
                ratios, scale_of(ratios), float(ticks.intervals[now, stream]), row,
            )  # fmt: skip
            np.testing.assert_allclose(row, expected[step - 1, stream], atol=2e-3)


def test_the_true_output_reads_back_as_the_true_pose() -> None:

    skeleton = load_skeleton("human23")
    kinematics = TreeKinematics(skeleton)
    streams = Streams(
        SequenceSource(sequences()), TrackerDataConfig(), kinematics,
        count=3, steps=8, lead=0.06, seed=5,
    )  # fmt: skip
    piece = streams.draw()
    outputs = TrackerLoss(TrackerLossConfig(), kinematics, skeleton).true_outputs(piece)
    turns = quat_from_matrix(
        piece.ticks.rotations.permute(0, 1, 4, 2, 3).double()
    ).numpy()
    root, local = np.empty(3), np.empty((23, 4))
    for stream in range(3):
        ratios = piece.ticks.ratios[:, stream].numpy().astype(np.float64)
        for step in range(8):
            row = np.zeros(OUTPUTS, dtype=np.float32)
            row[:POSE] = outputs[step, stream].numpy()
            head = piece.ticks.positions[step + 1, HEAD_ROW, :, stream].numpy()
            read_pose(
                row, head.astype(np.float64), turns[step + 1, HEAD_ROW, stream],
                scale_of(ratios), root, local,
            )  # fmt: skip
            np.testing.assert_allclose(root, piece.root[:, step, stream], atol=1e-4)
            true = quat_from_matrix(piece.local[..., step, stream].double()).numpy()
            dots = np.abs((true * local).sum(axis=-1))
            np.testing.assert_allclose(dots, 1.0, atol=1e-5)


def test_unknown_trackers_are_zeros() -> None:
    row = np.ones(INPUTS)
    places, turns = np.ones((TRACKERS, 3)), np.zeros((TRACKERS, 4))
    turns[:, 0] = 1.0
    present = np.zeros(TRACKERS)
    present[HEAD_ROW] = 1.0
    ages = np.where(present > 0.0, 0.0, FORGET)
    write_inputs(places, turns, present, ages, places, turns, present, np.ones(3), 1.0,
                 1.0 / 30.0, row)  # fmt: skip
    hand = row[:17]
    assert not hand[:16].any()
    assert hand[16] == 1.0
