"""From targets to a pose on an armature's own proportions, with or without a network."""

from __future__ import annotations

import dataclasses
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ambulo.ik.pose import Pose, start_pose
from ambulo.ik.refine import Solution
from ambulo.ik.rig import Rig
from ambulo.ik.solver import NeuralIKSolver
from ambulo.ik.targets import Targets
from ambulo.motion.rotations import quat_slerp

from .session import SESSION, Bound

Value = TypeVar("Value", bound=np.generic)

BEND = 0.1
"""How far `bent` goes towards the rig's starting pose, 0 to 1."""
LENGTH = 0.3
"""What a radian counts beside metres where two solutions are compared, [m]."""


def solver_of(bound: Bound) -> NeuralIKSolver:
    """The solver for an armature, without a network: see `solve`."""
    if bound.solver is None:
        bound.solver = NeuralIKSolver(bound.binding.rig)
    return bound.solver


def solve(bound: Bound, targets: Targets, base: Pose | None = None) -> Solution:
    """Poses that meet `targets` on the armature's own proportions.

    Args:
        bound: The armature.
        targets: In our frame.
        base: What targets leave free stays near it; None leaves that to the network, or
            to the rig's starting pose where there is none.
    """
    if base is None and SESSION.network is not None:
        base = predict(bound, targets)
    solver = solver_of(bound)
    solution = solver.solve(targets, base)
    if base is None or solution.reached.all():
        return solution
    return _nearer(targets, solution, solver.solve(targets, bent(solver.rig, base)))


def predict(bound: Bound, targets: Targets) -> Pose:
    """What the network in use answers: asked for its own size, answered in the armature's."""
    assert SESSION.network is not None
    size = bound.binding.size
    smaller = dataclasses.replace(targets, positions=targets.positions / size)
    guess = SESSION.network.predict(smaller)
    return Pose(guess.root * size, guess.rotations)


def bent(rig: Rig, base: Pose) -> Pose:
    """`base` with every joint but the root a little nearer to the rig's starting pose.

    A limb that is quite straight, as in a T pose at rest, cannot be shortened by small
    turns: no solver that follows derivatives lifts a foot from there.
    """
    start = np.broadcast_to(
        start_pose(rig).rotations[:, 1:], base.rotations[:, 1:].shape
    )
    part = np.full(start.shape[:2], BEND)
    rotations = base.rotations.copy()
    rotations[:, 1:] = quat_slerp(rotations[:, 1:], start, part)
    return Pose(base.root, rotations)


def _nearer(targets: Targets, first: Solution, second: Solution) -> Solution:
    """Of two solutions the one that comes nearer to the targets, character by character."""

    def cost(solution: Solution) -> NDArray[np.float64]:
        found: NDArray[np.float64] = (
            targets.position_weights * solution.position_residual
            + LENGTH * targets.rotation_weights * solution.rotation_residual
        ).sum(axis=1)
        return found

    better = cost(second) < cost(first)

    def chosen(a: NDArray[Value], b: NDArray[Value]) -> NDArray[Value]:
        return np.where(better.reshape(-1, *[1] * (a.ndim - 1)), b, a)

    return Solution(
        Pose(
            chosen(first.pose.root, second.pose.root),
            chosen(first.pose.rotations, second.pose.rotations),
        ),
        chosen(first.reached, second.reached),
        chosen(first.position_residual, second.position_residual),
        chosen(first.rotation_residual, second.rotation_residual),
        first.steps + second.steps,
    )
