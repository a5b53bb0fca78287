"""Solutions near a given pose, also where its limbs are quite straight."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ambulo.ik.pose import Pose
from ambulo.ik.refine import Solution
from ambulo.ik.rig import Rig
from ambulo.ik.solver import NeuralIKSolver
from ambulo.ik.targets import Targets
from ambulo.motion.rotations import quat_slerp

BEND = 0.1
"""How far `bent` goes towards the rig's starting pose, 0 to 1."""
LENGTH = 0.3
"""What a radian counts beside metres where two solutions are compared, [m]."""


def solve_near(solver: NeuralIKSolver, targets: Targets, base: Pose) -> Solution:
    """Poses near `base` that meet `targets`.

    Characters that miss a target are tried again from `bent(base)`, and the better of
    the two solutions is kept.
    """
    first = solver.solve(targets, base)
    missed = np.flatnonzero(~first.reached.all(axis=1))
    if not len(missed):
        return first
    second = solver.solve(targets[missed], bent(solver.rig, base[missed]))
    better = _cost(targets[missed], second) < 0.999 * _cost(
        targets[missed], first, missed
    )
    rows = missed[better]
    first.pose.root[rows] = second.pose.root[better]
    first.pose.rotations[rows] = second.pose.rotations[better]
    first.reached[rows] = second.reached[better]
    first.position_residual[rows] = second.position_residual[better]
    first.rotation_residual[rows] = second.rotation_residual[better]
    first.steps[missed] += second.steps
    return first


def bent(rig: Rig, base: Pose) -> Pose:
    """`base` with every joint but the root a little nearer to the rig's starting pose.

    A limb that is quite straight, as in a T pose, cannot be shortened by small turns: no
    solver that follows derivatives lifts a foot from there.
    """
    start = np.broadcast_to(rig.start[None, 1:], base.rotations[:, 1:].shape)
    rotations = base.rotations.copy()
    rotations[:, 1:] = quat_slerp(
        rotations[:, 1:], start, np.full(start.shape[:2], BEND)
    )
    return Pose(base.root, rotations)


def _cost(
    targets: Targets, solution: Solution, rows: NDArray[np.int64] | None = None
) -> NDArray[np.float64]:
    """What each character of `targets` misses; `rows` are its rows in `solution`."""
    chosen = slice(None) if rows is None else rows
    found: NDArray[np.float64] = (
        targets.position_weights * solution.position_residual[chosen]
        + LENGTH * targets.rotation_weights * solution.rotation_residual[chosen]
    ).sum(axis=1)
    return found
