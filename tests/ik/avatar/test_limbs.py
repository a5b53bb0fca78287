"""Closed-form limbs: they reach, and bend the right way."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ambulo.ik.avatar.layout import (
    ANKLE,
    CLAVICLES,
    FORE,
    HAND,
    PARENTS,
    SHIN,
    SIDE,
    THIGHS,
    UPPER,
)
from ambulo.ik.avatar.limbs import STRETCH, corner, solve_arm, solve_leg
from ambulo.motion.kinematics import forward_kinematics
from ambulo.motion.rotations import quat_from_rotvec, quat_rotate
from ambulo.motion.skeletons import load_skeleton

SKELETON = load_skeleton("human23")
NUMBERS = st.floats(-1.0, 1.0)


def identity() -> np.ndarray:
    return np.tile([1.0, 0.0, 0.0, 0.0], (len(SKELETON), 1))


def test_the_layout_is_that_of_human23() -> None:
    assert SKELETON.parents == PARENTS
    names = {name: j for j, name in enumerate(SKELETON.joints)}
    for side, thigh, clavicle in zip("LR", THIGHS, CLAVICLES, strict=True):
        assert names[f"Femur{side}"] == thigh
        assert names[f"Tibia{side}"] == thigh + SHIN
        assert names[f"Talus{side}"] == thigh + ANKLE
        assert names[f"Shoulder{side}"] == clavicle
        assert names[f"Arm{side}"] == clavicle + UPPER
        assert names[f"ForeArm{side}"] == clavicle + FORE
        assert names[f"Hand{side}"] == clavicle + HAND


def test_corner_of_a_right_angle() -> None:
    """Sides 3 and 4, distance 5: the angle between the sides is a right one."""
    base, bend, reached = corner(3.0, 4.0, 5.0)
    assert base == pytest.approx(np.arccos(3.0 / 5.0))
    assert bend == pytest.approx(0.5 * np.pi)
    assert reached == 5.0
    assert corner(3.0, 4.0, 9.0)[2] == pytest.approx(STRETCH * 7.0)
    assert corner(3.0, 4.0, 0.1)[2] == pytest.approx(1.0, abs=2e-4)


@given(
    st.tuples(NUMBERS, NUMBERS, NUMBERS),
    st.tuples(NUMBERS, NUMBERS, NUMBERS),
    st.integers(0, 1),
)
def test_legs_reach_and_knees_bend_forwards(
    place: tuple[float, float, float], turned: tuple[float, float, float], side: int
) -> None:
    thigh = THIGHS[side]
    local, world = identity(), identity()
    world[0] = local[0] = quat_from_rotvec(0.3 * np.array(turned))
    hip = np.array([0.1, -0.2, 0.9])
    below = hip + np.array([0.45 * place[0], 0.3 * place[1], -0.55 + 0.25 * place[2]])
    foot = quat_from_rotvec(0.4 * np.array(place))
    ankle = below.copy()
    hinge = quat_rotate(world[0], np.array([0.0, 1.0, 0.0]))
    solve_leg(thigh, hip, ankle, hinge, foot, SKELETON.offsets, world, local)
    if 0.01 < np.linalg.norm(below - hip) < 0.85:
        np.testing.assert_allclose(ankle, below, atol=1e-12)
    root = hip - quat_rotate(world[0], SKELETON.offsets[thigh])
    positions, turns = forward_kinematics(SKELETON, root, local)
    np.testing.assert_allclose(positions[thigh + ANKLE], ankle, atol=1e-9)
    assert abs(abs(turns[thigh + ANKLE] @ foot) - 1.0) < 1e-9
    shin = local[thigh + SHIN]
    assert shin[1] == shin[3] == 0.0
    assert 0.0 <= 2.0 * np.arctan2(shin[2], shin[0]) < np.pi


@given(st.tuples(NUMBERS, NUMBERS, NUMBERS), st.integers(0, 1))
def test_arms_reach_and_elbows_bend_within_their_limits(
    place: tuple[float, float, float], side: int
) -> None:
    clavicle, sign = CLAVICLES[side], SIDE[side]
    local, world = identity(), identity()
    shoulder = np.array([0.0, 0.2 * sign, 1.4])
    wrist = shoulder + np.array(
        [0.25 + 0.2 * place[0], 0.2 * place[1], 0.25 * place[2]]
    )
    hand = quat_from_rotvec(np.array(place))
    goal = wrist.copy()
    pole = np.array([-0.4, 0.5 * sign, -1.0])
    solve_arm(
        clavicle, sign, shoulder, goal, pole, hand, SKELETON.offsets, world, local
    )
    upper = local[clavicle + UPPER]
    elbow = shoulder + quat_rotate(upper, SKELETON.offsets[clavicle + FORE])
    reached = elbow + quat_rotate(
        world[clavicle + FORE], SKELETON.offsets[clavicle + HAND]
    )
    np.testing.assert_allclose(reached, goal, atol=1e-9)
    if np.linalg.norm(wrist - shoulder) < 0.53:
        np.testing.assert_allclose(goal, wrist, atol=1e-9)
    fore = local[clavicle + FORE]
    bend = 2.0 * np.arctan2(fore[3], fore[0])
    assert 0.0 <= -sign * bend < np.pi
