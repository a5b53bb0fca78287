"""The past that networks see: at run time the same as in training."""

from __future__ import annotations

import numpy as np
import pytest

from ambulo.configs.errors import IKError
from ambulo.ik.rig import TARGETS, load_rig
from ambulo.ik.solver.features import (
    INPUTS,
    PAST_COLUMNS,
    inputs_of,
    network_input,
    outputs_of,
)
from ambulo.ik.solver.frames import root_frame, to_frame
from ambulo.ik.solver.headers import IKNetworkHeader
from ambulo.ik.solver.history import TargetHistory
from ambulo.ik.solver.network import IKNetwork
from ambulo.ik.solver.solver import NeuralIKSolver
from ambulo.ik.solver.targets import Targets

RIG = load_rig()


def asked(x: float, count: int = 1) -> Targets:
    """Head and hands at the place `x`."""
    places = np.zeros((count, 6, 3))
    places[:, :, 0] = x
    places[:, 4, 2] = 1.5
    turns = np.tile([1.0, 0.0, 0.0, 0.0], (count, 6, 1))
    ones = np.ones((count, 6))
    return Targets(places, turns, ones, ones).only("Head", "LeftHand", "RightHand")


def place(targets: Targets) -> float:
    return float(targets.positions[0, 4, 0])


def test_the_newest_that_is_old_enough() -> None:
    history = TargetHistory((0.1, 0.3))
    now = asked(9.0)
    assert [place(t) for t in history.past(0.0, now)] == [9.0, 9.0]
    for step in range(8):
        history.add(step / 10.0, asked(float(step)))
    assert [place(t) for t in history.past(0.8, now)] == [7.0, 5.0]
    assert [place(t) for t in history.past(0.85, now)] == [7.0, 5.0]
    assert [place(t) for t in history.past(0.95, now)] == [7.0, 6.0]
    history.clear()
    history.add(1.0, asked(3.0))
    assert [place(t) for t in history.past(1.1, now)] == [3.0, 3.0]  # nothing is so old


def test_memory_does_not_grow() -> None:
    history = TargetHistory((0.5,))
    for step in range(1000):
        history.add(0.01 * step, asked(float(step)))
    assert len(history._kept) < 60
    with pytest.raises(IKError, match="does not follow"):
        history.add(1.0, asked(0.0))
    with pytest.raises(IKError, match="2 characters, but 1 before"):
        history.add(100.0, asked(0.0, 2))


def test_the_past_is_seen_from_now() -> None:
    now, before = asked(2.0, 3), asked(1.5, 3)
    inputs = network_input(RIG, now, past=[before])
    assert inputs.shape == (3, inputs_of(1)) == (3, 66 + 27)
    assert np.array_equal(inputs[:, :INPUTS], network_input(RIG, now))
    frame = root_frame(RIG, now)
    head = to_frame(*frame, before.positions, before.rotations)[0][
        :, TARGETS.index("Head")
    ]
    assert inputs[:, INPUTS : INPUTS + 3] == pytest.approx(head, abs=1e-6)
    assert len(PAST_COLUMNS) == 27


def test_networks_say_what_they_want() -> None:
    rng = np.random.default_rng(0)
    sizes = (inputs_of(2), 8, outputs_of(RIG))
    tensors = {"mean": np.zeros(sizes[-1], dtype=np.float32)}
    for layer in range(2):
        shape = (sizes[layer + 1], sizes[layer])
        tensors[f"layers.{layer}.weight"] = rng.normal(0.0, 0.1, shape).astype(
            np.float32
        )
        tensors[f"layers.{layer}.bias"] = np.zeros(shape[0], dtype=np.float32)
    network = IKNetwork(IKNetworkHeader(hidden=(8,), past=(0.1, 0.4)), tensors, rig=RIG)
    solver = NeuralIKSolver(RIG, network)
    now = asked(0.0)
    with pytest.raises(IKError, match=r"\(0\.1 s, 0\.4 s\), got 0"):
        solver.solve(now)
    one = network.predict(now, [asked(0.0), asked(-0.1)])
    other = network.predict(now, [asked(0.0), asked(-0.2)])
    assert np.abs(one.rotations - other.rotations).max() > 1e-4
    assert np.isfinite(solver.solve(now, past=[now, now]).pose.rotations).all()
