"""The compiled Gauss-Newton step beside dense linear algebra and known solutions."""

from __future__ import annotations

import numpy as np
import pytest

from ambulo.motion.euler import axis_quat, quat_from_euler
from ambulo.motion.kinematics import forward_kinematics
from ambulo.motion.retargeting.body import RetargetBody
from ambulo.motion.retargeting.kernels import (
    _assemble,
    _axes,
    _gather,
    _place,
    _solve,
    hinge_angle,
)
from ambulo.motion.retargeting.refine import RefinementGoals, _freedoms, refined
from ambulo.motion.rotations import (
    quat_conjugate,
    quat_from_rotvec,
    quat_multiply,
    quat_to_rotvec,
)
from ambulo.motion.skeleton import Skeleton

TREE = Skeleton(
    name="tree",
    joints=("root", "a", "b", "c", "d", "e"),
    parents=(-1, 0, 1, 0, 3, 3),
    offsets=np.array(
        [
            [0, 0, 0],
            [0.1, 0.2, 0],
            [0, 0, 0.5],
            [0, -0.2, 0.1],
            [0.3, 0, 0.2],
            [0, 0.4, 0],
        ]
    ),
    orders=("ZXY", "ZXY", "Y", "Z", "ZXY", ""),
)


def plain(skeleton: Skeleton) -> RetargetBody:
    """A body without roles."""
    count = len(skeleton)
    return RetargetBody(
        skeleton, {}, np.zeros((count, 3)), axis_quat("X", np.zeros(count))
    )


def goals_of(positions: np.ndarray, turn: float = 0.0) -> RefinementGoals:
    """Goals of weight 1 at `positions` (T, J, 3), orientations at rest with weight `turn`."""
    shape = positions.shape[:2]
    return RefinementGoals(
        positions, np.ones(shape), axis_quat("X", np.zeros(shape)), np.full(shape, turn)
    )


def test_normal_equations_are_those_of_a_finite_difference_jacobian() -> None:
    rng = np.random.default_rng(0)
    body = plain(TREE)
    kinds = np.array([3, 3, 1, 1, 3, 0])
    local = quat_from_rotvec(rng.normal(scale=0.5, size=(6, 3)))
    for joint, axis in ((2, "Y"), (3, "Z"), (5, "X")):
        angle = 0.0 if joint == 5 else 0.4
        local[joint] = axis_quat(axis, np.array(angle))
    root = rng.normal(size=3)
    goals, aims = rng.normal(size=(6, 3)), quat_from_rotvec(rng.normal(size=(6, 3)))
    weights, turns = rng.uniform(0.1, 2.0, 6), rng.uniform(0.1, 2.0, 6)
    joints, above = _freedoms(TREE.parents, kinds)

    def errors(step: np.ndarray) -> np.ndarray:
        shifted, turned = root + step[:3], local.copy()
        at = 3
        for joint, kind in enumerate(kinds):
            vector = step[at : at + 3] if kind == 3 else np.zeros(3)
            if kind == 1:
                vector = step[at] * body.hinge_axes[joint]
            turned[joint] = quat_multiply(local[joint], quat_from_rotvec(vector))
            at += kind
        places, frames = forward_kinematics(TREE, shifted, turned)
        miss = quat_to_rotvec(quat_multiply(aims, quat_conjugate(frames)))
        return np.concatenate(
            [
                (np.sqrt(weights)[:, None] * (goals - places)).ravel(),
                (np.sqrt(turns)[:, None] * miss).ravel(),
            ]
        )

    count = len(joints)
    small = 1e-6 * np.eye(count)
    jacobian = np.stack([(errors(s) - errors(-s)) / 2e-6 for s in small], axis=-1)
    # The kernel's turn errors take log's Jacobian as 1; compare the exact part.
    exact = jacobian[:18]
    turned, frames = np.empty((6, 4)), np.empty((6, 3, 3))
    points = np.empty((6, 3))
    parents = np.array(TREE.parents)
    _place(parents, TREE.rest, TREE.offsets, local, turned, frames, points)
    sums = (
        np.empty(6),
        np.empty((6, 3)),
        np.empty((6, 6)),
        np.empty((6, 3)),
        np.empty((6, 3)),
    )
    _gather(parents, points, turned, root, goals, weights, aims, np.zeros(6), *sums)
    spins, speeds = np.empty((count, 3)), np.empty((count, 3))
    _axes(kinds, body.hinge_axes, frames, points, spins, speeds)
    normal, wanted = np.zeros((count, count)), np.empty(count)
    _assemble(joints, above, spins, speeds, *sums, normal, wanted)
    dense = exact.T @ exact
    np.testing.assert_allclose(
        wanted, -exact.T @ errors(np.zeros(count))[:18], atol=1e-7
    )
    branch = normal != 0.0
    np.testing.assert_allclose(normal[branch], np.tril(dense)[branch], atol=1e-7)
    # What is left out is zero, or lies on no common branch.
    assert (
        np.abs(np.tril(dense)[~branch & np.tril(np.ones_like(dense, bool))]).max()
        < 1e-7
    )


def test_solve_is_a_linear_solve() -> None:
    rng = np.random.default_rng(1)
    joints, above = _freedoms(TREE.parents, np.array([3, 3, 1, 1, 3, 0]))
    count = len(joints)
    lower = np.zeros((count, count))
    for dof in range(count):
        up = dof
        while up >= 0:
            lower[dof, up] = rng.normal()
            up = above[up]
    matrix = lower.T @ lower + 0.1 * np.eye(count)
    x = rng.normal(size=count)
    expected = np.linalg.solve(matrix, x)
    _solve(above, np.tril(matrix), x)
    np.testing.assert_allclose(x, expected, rtol=1e-9)


@pytest.mark.parametrize("angle", [-3.0, -0.2, 0.0, 1.0, 3.1])
def test_hinge_angle(angle: float) -> None:
    q = axis_quat("Y", np.array(angle))
    axis = np.array([0.0, 1.0, 0.0])
    assert hinge_angle(q, axis) == pytest.approx(angle)
    assert hinge_angle(-q, axis) == pytest.approx(angle)


def test_a_two_link_arm_reaches_its_goal() -> None:
    # Links of 1 m in the XZ plane; the goal at distance sqrt(2) needs an elbow of 90 deg.
    arm = Skeleton(
        name="arm",
        joints=("root", "shoulder", "elbow", "wrist"),
        parents=(-1, 0, 1, 2),
        offsets=np.array([[0, 0, 0], [0, 0, 0], [1.0, 0, 0], [1.0, 0, 0]]),
        orders=("ZXY", "Y", "Y", ""),
    )
    start = axis_quat("Y", np.array([[0.0, 0.3, 0.6, 0.0]]))
    positions = np.zeros((1, 4, 3))
    positions[0, 3] = [1.0, 0.0, -1.0]
    goals = RefinementGoals(
        positions, np.array([[100.0, 0.0, 0.0, 1.0]]),
        axis_quat("X", np.zeros((1, 4))), np.array([[100.0, 0.0, 0.0, 0.0]]),
    )  # fmt: skip
    body = plain(arm)
    root, rotations = np.zeros((1, 3)), start
    for _ in range(15):
        root, rotations = refined(body, root, rotations, goals, 30.0)
    reached, _ = forward_kinematics(arm, root, rotations)
    np.testing.assert_allclose(reached[0, 3], [1.0, 0.0, -1.0], atol=2e-3)
    assert hinge_angle(rotations[0, 2], np.array([0.0, 1.0, 0.0])) == pytest.approx(
        np.pi / 2, abs=5e-3
    )


def test_a_hinge_is_drawn_back_to_its_limit() -> None:
    bent = TREE.replace(limits=np.array([[-1.0, 1.0]] * 11), orders=TREE.orders)
    local = axis_quat("X", np.zeros((1, 6)))
    local[0, 2] = axis_quat("Y", np.array(1.6))
    places, _ = forward_kinematics(
        bent, np.zeros((1, 3)), axis_quat("X", np.zeros((1, 6)))
    )
    _, rotations = refined(plain(bent), np.zeros((1, 3)), local, goals_of(places), 30.0)
    assert hinge_angle(rotations[0, 2], np.array([0.0, 1.0, 0.0])) < 1.05


def test_a_pose_at_its_goals_stays_there() -> None:
    rng = np.random.default_rng(2)
    local = quat_from_euler(0.3 * rng.normal(size=(5, 6, 3)), "XYZ")
    local[:, 5] = axis_quat("X", np.zeros(5))
    local[:, 2] = axis_quat("Y", 0.2 * rng.normal(size=5))
    local[:, 3] = axis_quat("Z", 0.2 * rng.normal(size=5))
    root = rng.normal(size=(5, 3))
    places, _ = forward_kinematics(TREE, root, local)
    again, rotations = refined(plain(TREE), root, local, goals_of(places), 30.0)
    np.testing.assert_allclose(again, root, atol=1e-9)
    np.testing.assert_allclose(rotations, local, atol=1e-9)


def test_corrections_are_smooth_in_time() -> None:
    still = axis_quat("X", np.zeros((21, 6)))
    places, _ = forward_kinematics(TREE, np.zeros((21, 3)), still)
    goals = places.copy()
    goals[10] += [0.0, 0.0, 0.3]
    root, _ = refined(plain(TREE), np.zeros((21, 3)), still, goals_of(goals), 2400.0)
    assert 0.0 < root[9, 2] < root[10, 2] < 0.29
    assert root[8, 2] < root[9, 2]
