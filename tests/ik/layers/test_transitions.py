"""Inertialised transitions against Bollo's conditions, computed by hand."""

from __future__ import annotations

import numpy as np
import pytest

from ambulo.configs.errors import IKError
from ambulo.ik.layers.transitions import decay_of, transition
from ambulo.ik.pose import Pose, start_pose
from ambulo.ik.rig import load_rig
from ambulo.motion.rotations import quat_angle, quat_from_rotvec, quat_multiply

RIG = load_rig()
DT = 1e-3


def moved(angle: float, x: float) -> Pose:
    """The starting pose with the head turned by `angle` about X and the root at `x`."""
    pose = start_pose(RIG, [[x, 0.0]])
    rotations = pose.rotations.copy()
    head = RIG.skeleton.index("Head")
    turn = quat_from_rotvec(np.array([angle, 0.0, 0.0]))
    rotations[:, head] = quat_multiply(turn, rotations[:, head])
    return Pose(pose.root, rotations)


def test_quintic_of_an_offset_at_rest() -> None:
    """x0 = 1, v0 = 0, t1 = 1: -20 is not allowed as acceleration, so a0 = 0 and
    x = 1 - 10 t^3 + 15 t^4 - 6 t^5: a half at half time."""
    decay = decay_of(np.array([1.0]), np.array([0.0]), 1.0)
    np.testing.assert_allclose(decay.coefficients[:, 0], [1, 0, 0, -10, 15, -6])
    assert decay.at(0.5)[0] == pytest.approx(0.5)
    assert decay.at(1.0)[0] == 0.0


def test_quintic_ends_at_rest_with_its_velocity_at_the_start() -> None:
    decay = decay_of(np.array([0.4]), np.array([-1.5]), 0.6)
    assert decay.duration[0] == pytest.approx(0.6)
    c = np.polynomial.Polynomial(decay.coefficients[:, 0])
    assert c.deriv()(0.0) == pytest.approx(-1.5)
    assert c(0.6) == pytest.approx(0.0, abs=1e-12)
    assert c.deriv()(0.6) == pytest.approx(0.0, abs=1e-12)
    assert c.deriv(2)(0.6) == pytest.approx(0.0, abs=1e-10)


def test_fast_offset_ends_sooner_and_does_not_overshoot() -> None:
    """x0 = 0.1 at -2 m/s: t1 = 5 * 0.1 / 2 = 0.25 s instead of 1 s."""
    decay = decay_of(np.array([0.1]), np.array([-2.0]), 1.0)
    assert decay.duration[0] == pytest.approx(0.25)
    values = [decay.at(t)[0] for t in np.linspace(0.0, 0.3, 301)]
    assert min(values) > -1e-12


def test_transition_is_continuous_in_place_and_velocity() -> None:
    shown = (moved(0.5, 0.2), moved(0.5 - 0.8 * DT, 0.2 - 0.6 * DT))
    new = (moved(-0.3, 1.0), moved(-0.3, 1.0))
    jump = transition(shown, new, 2.0, DT, 0.5)
    first = jump.apply(new[0], 2.0)
    np.testing.assert_allclose(first.root, shown[0].root, atol=1e-12)
    assert quat_angle(first.rotations, shown[0].rotations).max() < 1e-9
    second = jump.apply(new[0], 2.0 + DT)
    speed = (second.root - first.root)[0, 0] / DT
    assert speed == pytest.approx(0.6, abs=0.02)
    turn = quat_angle(second.rotations, first.rotations)[0, RIG.skeleton.index("Head")]
    assert turn / DT == pytest.approx(0.8, abs=0.02)


def test_transition_ends_at_the_new_motion_bit_for_bit() -> None:
    old, new = moved(0.5, 0.2), moved(-0.3, 1.0)
    jump = transition((old, old), (new, new), 0.0, DT, 0.5)
    assert jump.over(0.5)
    assert jump.apply(new, 0.5) is new


def test_transition_of_no_time_is_refused() -> None:
    pose = start_pose(RIG)
    with pytest.raises(IKError, match="more than 0 s"):
        transition((pose, pose), (pose, pose), 0.0, DT, 0.0)
