"""A pose that follows dragged targets: head, hands, feet and hips."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.ik.pose import Pose, fk, start_pose
from ambulo.ik.rig import TARGETS, Rig
from ambulo.ik.solver.refine import Solution
from ambulo.ik.solver.targets import Targets
from ambulo.motion.kinematics import tip_positions
from ambulo.viz.viewer.links import balls
from ambulo.viz.viewer.meshes import sphere
from ambulo.viz.viewer.skeleton_parts import SkeletonParts
from ambulo.viz.viewer.snapshot import Layer, MeshLayer, Snapshot
from ambulo.viz.viewer.stage import Control, Gizmo, PlainStage, Plot, Switch

RATE = 30.0
"""Poses per second."""
_MET, _MISSED = (42, 157, 92), (200, 40, 60)
_BALL = 0.035


class Solver(Protocol):
    """Poses from targets; see `ambulo.ik.solver.solver.NeuralIKSolver`."""

    @property
    def rig(self) -> Rig:
        """The rig of the poses."""

    def solve(self, targets: Targets) -> Solution:
        """Poses that meet `targets`."""


class IKStage(PlainStage):
    """One pose, solved again whenever a target has moved."""

    reach = 3.5
    dt = 1.0 / RATE

    def __init__(self, solver: Solver, title: str) -> None:
        """The rig's starting pose, whose targets are all met."""
        self._solver, self._rig, self.title = solver, solver.rig, title
        self._parts = SkeletonParts(self._rig.skeleton)
        self.layers: dict[str, Layer] = {
            **self._parts.layers(),
            "targets/balls": MeshLayer(sphere(), opacity=0.7, shadow=False),
        }
        self._places: Floats
        self._turns: Floats
        self._on = np.array([name in _AT_FIRST for name in TARGETS])
        self._pose: Pose
        self._met = np.ones(len(TARGETS), np.bool_)
        self._residual = np.zeros(len(TARGETS))
        self._time = 0.0
        self._dirty = True

    def reset(self) -> Snapshot:
        """Restart with the starting pose."""
        pose = start_pose(self._rig)
        positions, turns = fk(self._rig, pose)
        joints = list(self._rig.effectors)
        self._places, self._turns = positions[0, joints].copy(), turns[0, joints].copy()
        self._pose, self._dirty = pose, True
        return self.step()

    def step(self) -> Snapshot:
        """Solve, if a target has moved."""
        self._time += self.dt
        if self._dirty:
            self._solve()
        positions, turns = fk(self._rig, self._pose)
        tips = tip_positions(self._rig.skeleton, positions, turns)
        points = np.concatenate([positions[0], tips[0]])
        parts = self._parts.parts(points)
        radii = np.where(self._on, _BALL, 1e-4)
        colours = np.where(self._met[:, None], _MET, _MISSED).astype(np.uint8)
        values = {
            f"miss/{name}": 1000.0 * float(self._residual[row])
            for row, name in enumerate(TARGETS)
        }
        return Snapshot(
            self._time, np.array([0.0, 0.0, 0.9]),
            {**parts, "targets/balls": balls(self._places.copy(), radii, colours)}, values,
        )  # fmt: skip

    def controls(self) -> Mapping[str, Sequence[Control]]:
        """Switches of the active targets."""
        hint = "A target that does not count leaves its limb free"
        switches = [
            Switch(name, bool(self._on[row]), self._switcher(row), hint)
            for row, name in enumerate(TARGETS)
        ]
        return {"Targets": switches}

    def gizmos(self) -> Sequence[Gizmo]:
        """A handle on each target."""
        return [
            Gizmo(f"handle_{name}", self._place_of(row), self._mover(row), scale=0.16)
            for row, name in enumerate(TARGETS)
        ]

    def plots(self) -> Sequence[Plot]:
        """Plots of the targets' errors."""
        return [Plot("miss", "distance to targets [mm]", TARGETS)]

    def _solve(self) -> None:
        weights = self._on.astype(np.float64)[None]
        targets = Targets(
            self._places[None], self._turns[None], weights, np.zeros_like(weights)
        )
        solution = self._solver.solve(targets)
        self._pose, self._dirty = solution.pose, False
        self._met, self._residual = solution.reached[0], solution.position_residual[0]

    def _place_of(self, row: int) -> Callable[[], Floats]:
        return lambda: self._places[row]

    def _mover(self, row: int) -> Callable[[Floats], None]:
        def move(place: Floats) -> None:
            self._places[row], self._dirty = place, True

        return move

    def _switcher(self, row: int) -> Callable[[bool], None]:
        def switch(on: bool) -> None:
            self._on[row], self._dirty = on, True

        return switch


_AT_FIRST = frozenset(TARGETS)
"""Initially active targets."""
