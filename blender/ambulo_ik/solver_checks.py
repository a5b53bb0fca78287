"""Checks of solver and network on the poses in memory: errors, reach, limits."""

from __future__ import annotations

import numpy as np

from ambulo.ik.limits import clamp, violation
from ambulo.ik.pose import Pose, fk, start_pose
from ambulo.ik.rig import TARGETS, Rig
from ambulo.ik.solver.targets import Targets
from ambulo.motion.rotations import quat_angle, quat_from_rotvec, quat_multiply

from .fk_checks import Check
from .session import SESSION, Bound, predict, solve

MOST = 500
"""Largest number of tested poses; of more, every n-th is tested."""

RAW_POSITION, RAW_ROTATION = 0.03, 8.0
"""Largest mean error of a network alone at effectors, [m] and [deg]."""
REACHED = 0.999
"""Fraction of the reachable poses that must reach all targets."""
WITHIN = 1e-6
"""Tolerance of a joint's limits, [rad]."""


def check_solver(bound: Bound, poses: Pose | None) -> list[Check]:
    """Solve for the effectors of `poses`, or of varied starting poses, and measure."""
    rig = bound.binding.rig
    given = _thinned(poses) if poses is not None else _varied(rig)
    # Poses outside the limits cannot be reached within them.
    target = Pose(given.root, clamp(rig, given.rotations))
    targets = Targets.of_pose(rig, target)
    what = "poses in memory" if poses is not None else "varied starting poses"
    checks = [Check("Data", None, f"{len(target)} {what}")]
    if SESSION.network is not None:
        checks.append(_raw(bound, target, targets))
    solution = solve(bound, targets)
    whole = solution.reached.all(axis=1)
    checks.append(
        Check(
            "All targets reached",
            bool(whole.mean() >= REACHED),
            f"{100.0 * whole.mean():.1f} % of poses "
            f"(worst {1000.0 * solution.position_residual.max():.2f} mm, "
            f"{np.rad2deg(solution.rotation_residual.max()):.2f} deg)",
        )
    )
    outside = float(violation(rig, solution.pose.rotations).max())
    if not (np.isfinite(solution.pose.rotations).all() and np.isfinite(outside)):
        outside = np.inf
    checks.append(
        Check(
            "Joint limits kept",
            outside <= WITHIN,
            f"{np.rad2deg(outside):.4f} deg outside at most",
        )
    )
    free = [j for j in range(len(rig)) if j not in rig.effectors]
    away = np.linalg.norm(fk(rig, solution.pose)[0] - fk(rig, target)[0], axis=-1)
    checks.append(
        Check(
            "Joints that nothing leads",
            None,
            f"{100.0 * float(away[:, free].mean()):.2f} cm from the pose on average",
        )
    )
    return checks


def _raw(bound: Bound, target: Pose, targets: Targets) -> Check:
    rig, guess = bound.binding.rig, predict(bound, targets)
    joints = list(rig.effectors[: len(TARGETS) - 1])
    at, turned = fk(rig, guess)
    there, right = fk(rig, target)
    away = float(np.linalg.norm(at - there, axis=-1)[:, joints].mean())
    off = float(np.rad2deg(quat_angle(turned, right)[:, joints].mean()))
    return Check(
        "Network alone",
        away <= RAW_POSITION and off <= RAW_ROTATION,
        f"effectors {100.0 * away:.2f} cm, {off:.1f} deg off on average",
    )


def _thinned(poses: Pose) -> Pose:
    return poses[:: max(1, -(-len(poses) // MOST))]


def _varied(rig: Rig, count: int = 200, spread: float = 0.25) -> Pose:
    """The starting pose with every joint rotated by about `spread`, [rad]."""
    rng = np.random.default_rng(0)
    noise = quat_from_rotvec(spread * rng.normal(size=(count, len(rig), 3)))
    start = start_pose(rig)
    root = start.root + rng.uniform(-0.1, 0.1, (count, 3))
    return Pose(root, quat_multiply(start.rotations, noise))
