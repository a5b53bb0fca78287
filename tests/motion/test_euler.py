"""Euler angles: SciPy as oracle, orders of one to three axes, continuous branches."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from ambulo.configs.errors import MotionError
from ambulo.motion.euler import ORDERS, quat_from_euler, quat_to_euler, unwrap_euler

angle = st.floats(-1.5, 1.5)


def same_rotation(a: np.ndarray, b: np.ndarray) -> None:
    np.testing.assert_allclose(np.abs(np.sum(a * b, axis=-1)), 1.0, atol=1e-12)


@pytest.mark.parametrize("order", sorted(o for o in ORDERS if len(set(o)) == len(o)))
@given(angles=st.tuples(angle, angle, angle))
def test_quaternions_are_scipys_and_angles_come_back(order, angles):
    values = np.array(angles)[: len(order)]
    q = quat_from_euler(values, order)
    expected = Rotation.from_euler(order, values if len(order) > 1 else values[0])
    same_rotation(q, expected.as_quat(scalar_first=True))
    np.testing.assert_allclose(quat_to_euler(q, order), values, atol=1e-7)


def test_a_fixed_joint_has_no_angles():
    np.testing.assert_array_equal(
        quat_from_euler(np.zeros((2, 0)), ""), [[1, 0, 0, 0]] * 2
    )
    assert quat_to_euler(np.tile([1.0, 0, 0, 0], (2, 3, 1)), "").shape == (2, 3, 0)


def test_gimbal_lock_still_gives_the_rotation():
    q = quat_from_euler(np.array([0.3, np.pi / 2, 0.4]), "XYZ")
    same_rotation(quat_from_euler(quat_to_euler(q, "XYZ"), "XYZ"), q)


@pytest.mark.parametrize("order", ["ZXY", "XYZ", "YZX"])
def test_unwrapped_angles_follow_a_somersault_without_jumps(order):
    time = np.linspace(0.0, 1.0, 400)[:, None]
    q = Rotation.from_rotvec(time * [9.0, 3.0, 2.0]).as_quat(scalar_first=True)
    wrapped = quat_to_euler(q, order)
    out = unwrap_euler(wrapped, order)
    same_rotation(quat_from_euler(out, order), q)
    assert np.abs(np.diff(out, axis=0)).max() < 0.5  # a change of branch is pi
    assert np.abs(np.diff(wrapped, axis=0)).max() > 3.0


def test_unwrap_of_one_angle_removes_whole_turns():
    angles = np.linspace(0.0, 12.0, 40)
    wrapped = (angles + np.pi) % (2 * np.pi) - np.pi
    np.testing.assert_allclose(
        unwrap_euler(wrapped[:, None], "Y")[:, 0], angles, atol=1e-12
    )


@pytest.mark.parametrize("order", ["XX", "xyz", "XYZX", "W"])
def test_a_wrong_order_is_named(order):
    with pytest.raises(MotionError, match=order):
        quat_from_euler(np.zeros((1, len(order))), order)
    with pytest.raises(MotionError, match="rotation order"):
        quat_to_euler(np.array([[1.0, 0, 0, 0]]), order)
