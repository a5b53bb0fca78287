"""Refinement and solver: exact targets, limits, reach, what is absent."""

from __future__ import annotations

import numpy as np
import pytest

from ambulo.configs.errors import IKError
from ambulo.ik.kernels.matrix import factor_and_solve
from ambulo.ik.limits import clamp, violation
from ambulo.ik.pose import Pose, fk, start_pose
from ambulo.ik.rig import EFFECTORS, load_rig
from ambulo.ik.solver.refine import RefineConfig, refine
from ambulo.ik.solver.solver import NeuralIKSolver
from ambulo.ik.solver.targets import Targets
from ambulo.motion.rotations import quat_from_rotvec, quat_multiply

RIG = load_rig()
COUNT = 60


def noisy(pose: Pose, size: float, seed: int = 1) -> Pose:
    """`pose` with every joint but the hips turned by about `size`, [rad]."""
    d = np.random.default_rng(seed).normal(0.0, size, (len(pose), len(RIG), 3))
    d[:, 0] = 0.0
    turned = quat_multiply(pose.rotations, quat_from_rotvec(d))
    return Pose(pose.root, clamp(RIG, turned))


@pytest.fixture(scope="module")
def truth() -> Pose:
    """Poses within the limits, on several places of the world."""
    rng = np.random.default_rng(2)
    start = start_pose(
        RIG, rng.normal(0.0, 20.0, (COUNT, 2)), rng.uniform(-3, 3, COUNT)
    )
    return noisy(start, 0.3)


def test_reachable_targets_are_met_within_limits(truth: Pose) -> None:
    targets = Targets.of_pose(RIG, truth)
    found = refine(RIG, targets, noisy(truth, 0.05, seed=3))
    assert found.reached.all()
    assert found.position_residual.max() < 1e-3
    assert found.rotation_residual.max() < np.deg2rad(0.5)
    assert violation(RIG, found.pose.rotations).max() == 0.0
    assert np.median(found.steps) <= 3


def test_residuals_are_those_of_forward_kinematics(truth: Pose) -> None:
    targets = Targets.of_pose(RIG, truth)
    found = refine(RIG, targets, noisy(truth, 0.2, seed=4), steps=1, config=_plain())
    joints = list(RIG.effectors)
    positions, turns = fk(RIG, found.pose)
    far = np.linalg.norm(positions[:, joints] - targets.positions, axis=-1)
    np.testing.assert_allclose(found.position_residual, far, atol=1e-9)
    dots = np.abs(np.sum(turns[:, joints] * targets.rotations, axis=-1))
    angles = 2.0 * np.arccos(np.minimum(dots, 1.0))
    np.testing.assert_allclose(found.rotation_residual, angles, atol=1e-6)
    assert not found.reached.all()


def _plain() -> RefineConfig:
    return RefineConfig(extra=0)


def test_given_hips_are_followed_exactly(truth: Pose) -> None:
    targets = Targets.of_pose(RIG, truth)
    other = Pose(truth.root + 0.4, noisy(truth, 0.1).rotations)
    found = refine(RIG, targets, other)
    np.testing.assert_allclose(found.pose.root, truth.root, atol=1e-12)
    assert found.rotation_residual[:, 5].max() < 1e-9


def test_without_hips_the_root_finds_its_place(truth: Pose) -> None:
    targets = Targets.of_pose(RIG, truth).without("Hips")
    moved = Pose(
        truth.root + np.array([0.05, -0.04, 0.03]), noisy(truth, 0.05).rotations
    )
    found = refine(RIG, targets, moved)
    assert found.reached.all()
    far = Pose(truth.root + 5.0, moved.rotations)
    found = refine(RIG, targets, far, steps=15)
    assert found.reached.all(axis=1).mean() > 0.95


def test_only_what_is_asked_moves(truth: Pose) -> None:
    """A hand's target with given hips leaves legs and the other arm bit for bit."""
    targets = Targets.of_pose(RIG, truth).only("LeftHand", "Hips")
    start = noisy(truth, 0.03)
    found = refine(RIG, targets, start)
    assert found.reached.all()
    names = RIG.skeleton.joints
    still = [
        j for j, n in enumerate(names) if "Right" in n or "Thigh" in n or "Neck" in n
    ]
    np.testing.assert_allclose(
        found.pose.rotations[:, still], start.rotations[:, still], atol=1e-15
    )
    assert np.abs(found.pose.rotations - start.rotations).max() > 1e-3


def test_no_targets_leave_the_pose_alone(truth: Pose) -> None:
    found = refine(RIG, Targets.of_pose(RIG, truth).only(), truth)
    np.testing.assert_allclose(found.pose.rotations, truth.rotations, atol=1e-15)
    np.testing.assert_array_equal(found.pose.root, truth.root)
    assert found.reached.all()
    assert (found.steps == 0).all()


def test_a_target_out_of_reach_does_not_pull_the_body_along(truth: Pose) -> None:
    """1.2 m in front of the shoulder, with an arm of 0.54 m."""
    arm = RIG.skeleton.index("LeftArm")
    pose = start_pose(RIG)
    shoulder = fk(RIG, pose)[0][0, arm]
    targets = Targets.of_pose(RIG, pose)
    positions = targets.positions.copy()
    positions[0, 0] = shoulder + np.array([1.2, 0.0, 0.0])
    turned = targets.rotation_weights.copy()
    turned[0, 0] = 0.0
    wanted = Targets(positions, targets.rotations, targets.position_weights, turned)
    found = refine(RIG, wanted, pose, steps=10)
    assert found.reached[0].tolist() == [False, True, True, True, True, True]
    assert found.position_residual[0, 1:].max() < 1e-3
    where = fk(RIG, found.pose)[0][0]
    stretch = np.linalg.norm(where[RIG.effectors[0]] - where[arm])
    assert stretch > 0.95 * RIG.reaches[0]
    # The shoulder may come a little towards it, as the spine is free; the rest is missing.
    missing = 1.2 - RIG.reaches[0]
    assert missing - 0.2 < found.position_residual[0, 0] < missing + 0.02


def test_beyond_a_leg_the_foot_stretches_towards_it() -> None:
    pose = start_pose(RIG)
    targets = Targets.of_pose(RIG, pose)
    positions = targets.positions.copy()
    positions[0, 2, 2] -= 0.5
    wanted = Targets(positions, targets.rotations, targets.position_weights,
                     np.array([[1.0, 1.0, 0.0, 1.0, 1.0, 1.0]]))  # fmt: skip
    found = refine(RIG, wanted, pose, steps=10)
    assert found.reached[0].tolist() == [True, True, False, True, True, True]
    where = fk(RIG, found.pose)[0][0]
    leg = where[RIG.effectors[2]] - where[RIG.bases[2]]
    assert np.linalg.norm(leg) == pytest.approx(RIG.reaches[2], rel=2e-3)


def test_wild_starts_and_targets_stay_finite_and_legal() -> None:
    rng = np.random.default_rng(9)
    start = Pose(rng.normal(size=(50, 3)), rng.normal(size=(50, len(RIG), 4)))
    weights = rng.integers(0, 2, (2, 50, 6)) * rng.uniform(0.01, 1.0, (2, 50, 6))
    targets = Targets(
        rng.normal(0.0, 2.0, (50, 6, 3)), rng.normal(size=(50, 6, 4)), *weights
    )
    found = refine(RIG, targets, start, steps=6)
    assert np.isfinite(found.pose.rotations).all()
    assert np.isfinite(found.pose.root).all()
    assert violation(RIG, found.pose.rotations).max() == 0.0
    lengths = np.linalg.norm(found.pose.rotations, axis=-1)
    np.testing.assert_allclose(lengths, 1.0, atol=1e-12)


def test_posture_keeps_free_joints_near_the_start(truth: Pose) -> None:
    """With the true elbows in the start, the solution keeps them; far from it, less."""
    targets = Targets.of_pose(RIG, truth)
    near = refine(RIG, targets, noisy(truth, 0.03)).pose
    solver = NeuralIKSolver(RIG)
    far = solver.solve(targets).pose
    elbows = [
        RIG.skeleton.index(n) for n in ("LeftForeArm", "RightForeArm", "LeftShin")
    ]
    where = fk(RIG, truth)[0][:, elbows]

    def miss(pose: Pose) -> float:
        return float(
            np.linalg.norm(fk(RIG, pose)[0][:, elbows] - where, axis=-1).mean()
        )

    assert miss(near) < 0.01
    assert miss(near) < 0.5 * miss(far)


def test_solver_without_a_network_meets_targets(truth: Pose) -> None:
    solver = NeuralIKSolver(RIG)
    found = solver.solve(Targets.of_pose(RIG, truth))
    assert found.reached.all(axis=1).mean() >= 0.95
    assert violation(RIG, found.pose.rotations).max() == 0.0


def test_a_batch_gives_each_character_what_it_gets_alone(truth: Pose) -> None:
    solver = NeuralIKSolver(RIG)
    targets = Targets.of_pose(RIG, truth)
    mixed = Targets(
        targets.positions,
        targets.rotations,
        targets.position_weights * (np.arange(COUNT)[:, None] % 3 != np.arange(6) % 3),
        targets.rotation_weights,
    )
    whole = solver.solve(mixed)
    for b in (0, 1, 7, 31):
        alone = solver.solve(mixed[b : b + 1])
        np.testing.assert_allclose(
            alone.pose.rotations[0], whole.pose.rotations[b], atol=1e-9
        )
        np.testing.assert_array_equal(alone.reached[0], whole.reached[b])


def test_a_base_pose_is_kept_where_targets_leave_freedom(truth: Pose) -> None:
    base = noisy(truth, 0.1)
    targets = Targets.of_pose(RIG, truth).only(*EFFECTORS[:2], "Hips")
    found = NeuralIKSolver(RIG).solve(targets, base)
    legs = [j for j, n in enumerate(RIG.skeleton.joints) if "Shin" in n or "Foot" in n]
    np.testing.assert_allclose(
        found.pose.rotations[:, legs], base.rotations[:, legs], atol=1e-12
    )


def test_a_straight_leg_lifts_its_foot() -> None:
    """From the T pose: small turns cannot shorten a straight limb."""
    still = np.tile([1.0, 0.0, 0.0, 0.0], (1, len(RIG), 1))
    pose = Pose(RIG.skeleton.offsets[:1], still)
    targets = Targets.of_pose(RIG, pose)
    positions = targets.positions.copy()
    positions[0, 2, 2] += 0.2
    lifted = Targets(
        positions,
        targets.rotations,
        targets.position_weights,
        np.array([[1.0, 1.0, 0.0, 1.0, 1.0, 1.0]]),
    )
    assert NeuralIKSolver(RIG).solve(lifted, pose).reached.all()
    assert not NeuralIKSolver(RIG, bends=()).solve(lifted, pose).reached.all()


def test_given_arrays_are_not_written_to(truth: Pose) -> None:
    start = noisy(truth, 0.1)
    kept = start.rotations.copy(), start.root.copy()
    refine(RIG, Targets.of_pose(RIG, truth), start)
    np.testing.assert_array_equal(start.rotations, kept[0])
    np.testing.assert_array_equal(start.root, kept[1])


def test_wrong_sizes_are_told(truth: Pose) -> None:
    targets = Targets.of_pose(RIG, truth)
    with pytest.raises(IKError, match="60 targets, but 2 starting poses"):
        refine(RIG, targets, truth[:2])
    with pytest.raises(IKError, match="steps must be at least 0"):
        NeuralIKSolver(RIG, steps=-1)


def test_block_solver_with_skyline() -> None:
    rng = np.random.default_rng(4)
    a = rng.normal(size=(12, 12))
    whole = a @ a.T + np.eye(12)
    whole[6:9, :6] = whole[:6, 6:9] = 0.0  # third block begins at itself
    whole += 12.0 * np.eye(12)
    first = np.array([0, 0, 0, 0, 0, 0, 6, 6, 6, 0, 0, 0])
    y = rng.normal(size=12)
    wanted = np.linalg.solve(whole, y)
    assert factor_and_solve(whole.copy(), first, y)
    np.testing.assert_allclose(y, wanted, atol=1e-12)
    assert not factor_and_solve(-whole, first, y)
