"""Two-bone chains against triangles worked out by hand, gradients against differences."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ambulo.motion.quaternion_kernels import rotate
from ambulo.rig_server import kernels
from ambulo.rig_server.frames import RigFrame
from ambulo.rig_server.layout import LEGS
from ambulo.rig_server.learner import WEIGHTS, RigLearner
from ambulo.rig_server.learning_kernels import (
    empty_ready,
    loss_and_gradient,
    make_ready,
)
from ambulo.rig_server.network import RATE, OnlineMLP, slopes_of
from ambulo.rig_server.pose_kernels import Scene

Y = np.array([0.0, 1.0, 0.0])
FREE = np.array([-3.0, 3.0])


def close(
    target: list[float], bend: float = 0.5
) -> tuple[np.ndarray, np.ndarray, bool]:
    """A leg of 0.4 + 0.3 m that hangs along -Z with its knee bent about Y."""
    upper = np.array([1.0, 0.0, 0.0, 0.0])
    lower = np.array([math.cos(bend / 2), 0.0, math.sin(bend / 2), 0.0])
    knee, end = np.array([0.0, 0.0, -0.4]), np.array([0.0, 0.0, -0.3])
    reached = kernels.close_chain(
        upper, lower, knee, end, np.array(target), Y, FREE, bend
    )
    return upper, lower, bool(reached)


def end_of(upper: np.ndarray, lower: np.ndarray) -> np.ndarray:
    bent, whole = np.empty(3), np.empty(3)
    rotate(lower, np.array([0.0, 0.0, -0.3]), bent)
    rotate(upper, bent + np.array([0.0, 0.0, -0.4]), whole)
    return whole


def test_the_knee_keeps_the_side_it_bends_to() -> None:
    _, lower, _ = close([0.0, 0.0, -0.5], bend=0.5)
    _, other, _ = close([0.0, 0.0, -0.5], bend=-0.5)
    assert lower[2] > 0.6
    assert other[2] < -0.6


@pytest.mark.parametrize(("distance", "angle"), [(0.9, 0.0), (0.05, math.pi)])
def test_out_of_reach_is_told_and_pointed_at(distance: float, angle: float) -> None:
    upper, lower, reached = close([distance, 0.0, 0.0])
    assert not reached
    assert 2 * math.acos(min(1.0, lower[0])) == pytest.approx(angle, abs=1e-6)
    end = end_of(upper, lower)
    np.testing.assert_allclose(end / np.linalg.norm(end), [1, 0, 0], atol=1e-9)


@given(
    st.lists(st.floats(-1.0, 1.0), min_size=3, max_size=3),
    st.floats(-1.5, 1.5),
)
def test_every_target_within_reach_is_met(target: list[float], bend: float) -> None:
    distance = math.hypot(*target)
    upper, lower, reached = close(target, bend)
    assert np.linalg.norm(upper) == pytest.approx(1.0)
    assert np.linalg.norm(lower) == pytest.approx(1.0)
    if 0.1001 < distance < 0.6999:
        assert reached
        np.testing.assert_allclose(end_of(upper, lower), target, atol=1e-7)


def test_a_chain_without_length_stays_finite() -> None:
    nothing = np.zeros(3)
    upper, lower = np.array([1.0, 0, 0, 0]), np.array([1.0, 0, 0, 0])
    kernels.close_chain(upper, lower, nothing, nothing, nothing, Y, FREE, 0.0)
    assert np.isfinite([upper, lower]).all()


def test_gradient_of_the_loss_is_that_of_differences(walk: list[RigFrame]) -> None:
    learner = RigLearner(LEGS)
    for frame in walk[:40]:
        learner.observe(frame)
    rig = learner.anatomy
    assert rig is not None
    frame = walk[90]
    scene = Scene(
        frame.up[None], frame.normals[None], frame.hits[None], frame.targets[None]
    )
    ready, row = empty_ready(1, 13, 7), np.array([0])
    make_ready(rig, 1, frame.rotations[None], scene, row, ready)
    np.testing.assert_allclose(ready.wanted[0, 6], frame.targets[1], atol=1e-5)
    y = np.random.default_rng(0).normal(0.0, 0.3, 24)
    dy, unused = np.empty(24), np.empty(24)

    def loss(at: np.ndarray, out: np.ndarray) -> float:
        return float(
            loss_and_gradient(rig, scene, ready, row, at[None], WEIGHTS, out[None])
        )

    loss(y, dy)
    step = 1e-6
    numbers = [
        (loss(y + step * e, unused) - loss(y - step * e, unused)) / (2 * step)
        for e in np.eye(24)
    ]
    np.testing.assert_allclose(dy, numbers, rtol=1e-5, atol=1e-6)


def test_rows_are_made_ready_once_for_an_anatomy(walk: list[RigFrame]) -> None:
    learner = RigLearner(LEGS)
    for frame in walk[:40]:
        learner.observe(frame)
    memory, rig = learner.memory, learner.anatomy
    assert rig is not None
    rows = np.arange(3)
    make_ready(rig, 7, memory.rotations, memory.scene, rows, memory.ready)
    np.testing.assert_array_equal(memory.ready.made_by[:4], [7, 7, 7, 0])
    memory.ready.base[:3] = 0.0
    memory.ready.made_by[1] = 6  # another anatomy
    make_ready(rig, 7, memory.rotations, memory.scene, rows, memory.ready)
    lengths = np.linalg.norm(memory.ready.base[:3, 2], axis=1)
    np.testing.assert_allclose(lengths, [0.0, 1.0, 0.0], atol=1e-6)
    learner.observe(walk[40])
    assert memory.ready.made_by[40] == 0


@given(st.lists(st.floats(-30.0, 30.0, width=32), min_size=1, max_size=40))
def test_the_fast_tanh_is_tanh(numbers: list[float]) -> None:
    values = np.array([numbers], np.float32)
    found, bias = values - 0.25, np.full(len(numbers), 0.25, np.float32)
    kernels.tanh_of(found, bias)
    np.testing.assert_allclose(found, np.tanh(values.astype(float)), atol=3e-6)


def test_the_fast_tanh_hides_no_broken_number() -> None:
    values = np.full((1, 9), np.nan, np.float32)
    kernels.tanh_of(values, np.zeros(9, np.float32))
    assert np.isnan(values).all()


def test_gradient_of_the_network_is_that_of_differences() -> None:
    net = OnlineMLP(3, 4, 2, seed=1)
    rng = np.random.default_rng(2)
    net.flat[:] = rng.normal(0.0, 0.5, net.flat.size)
    x = rng.normal(size=(5, 3)).astype(np.float32)
    goal = rng.normal(size=(5, 2)).astype(np.float32)

    def loss(flat: np.ndarray) -> float:
        w1, b1, w2, b2, w3, b3 = (
            part.reshape(shape).astype(float)
            for part, shape in zip(
                np.split(flat, np.cumsum([12, 4, 16, 4, 8])), net.shapes, strict=True
            )
        )
        hidden = np.tanh(np.tanh(x @ w1 + b1) @ w2 + b2)
        return float(0.5 * ((hidden @ w3 + b3 - goal) ** 2).sum())

    first, second, y = kernels.forward(x, *net.weights)
    slopes_of(net.weights, x, first, second, y - goal, net.slopes)
    flat = net.flat.astype(float)
    numbers = [
        (loss(flat + 1e-4 * e) - loss(flat - 1e-4 * e)) / 2e-4
        for e in np.eye(len(flat))
    ]
    np.testing.assert_allclose(net.gradient, numbers, rtol=2e-3, atol=2e-4)


def test_first_step_of_adam_by_hand() -> None:
    net = OnlineMLP(1, 1, 1)
    net.flat[:], net.gradient[:] = 1.0, 0.5
    assert net.step()
    # The first step of Adam is rate * sign of the gradient.
    np.testing.assert_allclose(net.flat, 1.0 - RATE, rtol=1e-5)


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e30])
def test_a_broken_gradient_changes_nothing(bad: float) -> None:
    net = OnlineMLP(2, 3, 1)
    before = net.state()
    net.gradient[:] = 0.1
    net.gradient[4] = bad
    assert not net.step()
    assert net.refused == 1
    for name, value in net.state().items():
        np.testing.assert_array_equal(value, before[name])
