"""Clinical angles of legs that bend by known angles."""

from __future__ import annotations

import numpy as np
import pytest

from ambulo.configs.errors import MotionError
from ambulo.motion.gaits.angles import leg_angles
from ambulo.motion.motion import Motion
from ambulo.motion.operations import transform
from ambulo.motion.rotations import quat_from_rotvec
from ambulo.motion.skeleton import Skeleton
from ambulo.motion.skeletons import load_skeleton


def bent(**degrees: float) -> Motion:
    """Human23 with some joints turned about +Y, the axis to its left."""
    skeleton = load_skeleton("human23")
    turns = np.zeros((2, len(skeleton), 3))
    for joint, angle in degrees.items():
        turns[:, skeleton.index(joint), 1] = np.deg2rad(angle)
    root = np.tile([0.0, 0.0, 0.93], (2, 1))
    return Motion(skeleton, 30.0, root, np.asarray(quat_from_rotvec(turns)))


def test_angles_at_rest_are_zero() -> None:
    angles = np.degrees(leg_angles(bent()))
    np.testing.assert_allclose(angles[..., 2], 0.0, atol=1e-9)
    np.testing.assert_allclose(angles[..., :2], 0.0, atol=1.0)  # legs hang straight


def test_each_joint_shows_in_its_own_angle() -> None:
    rest = np.degrees(leg_angles(bent()))
    found = np.degrees(leg_angles(bent(FemurL=-30.0, TibiaL=50.0, TalusL=-8.0))) - rest
    # Turns about +Y bring what hangs down backwards: flexion of the hip is negative.
    np.testing.assert_allclose(found[:, 0], [[30.0, 50.0, 8.0]] * 2, atol=1e-6)
    np.testing.assert_allclose(found[:, 1], 0.0, atol=1e-9)


def test_angles_are_seen_from_the_pelvis() -> None:
    turned = transform(bent(FemurR=-20.0), yaw=1.2, shift=(3.0, -2.0, 0.0))
    np.testing.assert_allclose(
        leg_angles(turned), leg_angles(bent(FemurR=-20.0)), atol=1e-9
    )
    # The whole body leans forward: hips bend by nothing.
    leaning = leg_angles(bent(Pelvis=15.0)) - leg_angles(bent())
    np.testing.assert_allclose(leaning, 0.0, atol=1e-9)


def test_a_skeleton_without_legs_is_refused() -> None:
    stick = Skeleton("stick", ("root", "top"), (-1, 0), np.array([[0, 0, 1.0]] * 2))
    identity = np.tile([1.0, 0.0, 0.0, 0.0], (1, 2, 1))
    with pytest.raises(MotionError, match="stick: no joint plays the left_thigh"):
        leg_angles(Motion(stick, 30.0, np.zeros((1, 3)), identity))
