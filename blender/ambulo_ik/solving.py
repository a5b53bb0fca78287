"""From targets to a pose on an armature's own proportions, with or without a network."""

from __future__ import annotations

import dataclasses

from ambulo.ik.pose import Pose
from ambulo.ik.solver.refine import Solution
from ambulo.ik.solver.solver import NeuralIKSolver
from ambulo.ik.solver.targets import Targets

from .session import SESSION, Bound


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
    return solver_of(bound).solve(targets, base)


def predict(bound: Bound, targets: Targets) -> Pose:
    """Predict a pose with the network, scaled to its size and back to the armature's."""
    assert SESSION.network is not None
    size = bound.binding.size
    smaller = dataclasses.replace(targets, positions=targets.positions / size)
    guess = SESSION.network.predict(smaller)
    return Pose(guess.root * size, guess.rotations)
