"""The IK solver: predicts poses with a network (optional), then refines them."""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import IKError
from ambulo.ik.pose import Pose, start_pose
from ambulo.ik.rig import Rig
from ambulo.ik.solver.features import root_frame
from ambulo.ik.solver.network import IKNetwork, load_ik_network
from ambulo.ik.solver.refine import RefineConfig, Solution, refine
from ambulo.ik.solver.targets import Targets
from ambulo.motion.rotations import quat_slerp

Rows = NDArray[np.integer]

FAR_SLACK = 0.3
"""Tolerance of shoulder positions in a pose that no network predicted, [m]."""


def towards_rest(rig: Rig, pose: Pose, part: float) -> Pose:
    """Interpolate the joints of `pose`, except the root, to the rig's start by `part`.

    A fully straight limb, as in a T pose, cannot be shortened by small rotations: no
    gradient-based solver lifts a foot from there.
    """
    rotations = pose.rotations.copy()
    start = np.broadcast_to(rig.start[1:], rotations[:, 1:].shape)
    share = np.full(start.shape[:2], part)
    rotations[:, 1:] = quat_slerp(rotations[:, 1:], start, share)
    return Pose(pose.root, rotations)


class NeuralIKSolver:
    """Full-body poses from a few targets, batched over characters.

    Not thread-safe: the network keeps buffers between calls.
    """

    def __init__(
        self,
        rig: Rig,
        network: IKNetwork | None = None,
        *,
        steps: int = 4,
        far_steps: int = 15,
        config: RefineConfig | None = None,
        bends: tuple[float, ...] = (0.1, 0.5),
    ) -> None:
        """Prepare a solver.

        Args:
            rig: The rig.
            network: Predicts the starting poses; without it they are the rig's own.
            steps: Largest number of refinement steps from a network's pose; 0 for the network
                alone.
            far_steps: Largest number of steps from the rig's starting pose or a given one.
            config: Tolerances and weights of the refinement.
            bends: Characters that miss a target are solved again from their starting pose bent
                by each of these fractions (see `towards_rest`), and keep the best solution.
        """
        if steps < 0 or far_steps < 0:
            raise IKError(f"steps must be at least 0, got {min(steps, far_steps)}")
        if network is not None and not network.rig.skeleton.same_tree(rig.skeleton):
            raise IKError(
                f"the network answers poses of the rig {network.rig.name!r}, "
                f"whose joints are not those of {rig.name!r}"
            )
        self.rig = rig
        self.network = network
        self.steps = steps
        self.far_steps = far_steps
        self.config = RefineConfig() if config is None else config
        self.bends = bends
        self._far = self.config.replace(slack=max(self.config.slack, FAR_SLACK))

    def solve(self, targets: Targets, base: Pose | None = None) -> Solution:
        """Poses that meet `targets`, inside the joint limits.

        Args:
            targets: Targets of B characters.
            base: B poses to start from, instead of the network's: an animation's, or the
                last frame's. Free joints stay near them.
        """
        if not isinstance(targets, Targets):
            raise IKError(
                f"targets: expected Targets, got {type(targets).__name__}; see Targets.of"
            )
        steps, config = self.far_steps, self._far
        if base is not None:
            start = base
        elif self.network is not None:
            start = self.network.predict(targets)
            steps, config = self.steps, self.config
        else:
            origin, yaw = root_frame(self.rig, targets)
            start = start_pose(self.rig, origin[:, :2], yaw)
        result = refine(self.rig, targets, start, steps, config)
        for part in self.bends:
            if result.reached.all():
                break
            missed = np.flatnonzero(~result.reached.all(axis=1))
            self._try_again(targets, start, part, missed, result)
        return result

    def _try_again(
        self, targets: Targets, start: Pose, part: float, rows: Rows, found: Solution
    ) -> None:
        """Solve `rows` from bent starting poses; better solutions replace those of `found`."""
        asked = targets[rows]
        again = refine(
            self.rig,
            asked,
            towards_rest(self.rig, start[rows], part),
            self.far_steps,
            self._far,
        )
        met, before = again.reached.sum(axis=1), found.reached[rows].sum(axis=1)
        lower = self._miss(again) < 0.999 * self._miss(found, rows)
        better = (met > before) | ((met == before) & lower)
        kept = rows[better]
        found.pose.root[kept] = again.pose.root[better]
        found.pose.rotations[kept] = again.pose.rotations[better]
        found.reached[kept] = again.reached[better]
        found.position_residual[kept] = again.position_residual[better]
        found.rotation_residual[kept] = again.rotation_residual[better]
        found.steps[rows] += again.steps

    def _miss(self, found: Solution, rows: Rows | slice = slice(None)) -> Floats:
        """Total position and rotation error of each character, [m]. Shape (B,)."""
        angles = self.config.length * found.rotation_residual[rows]
        missed: Floats = (found.position_residual[rows] + angles).sum(axis=1)
        return missed

    def warm_up(self) -> None:
        """Compile (or load from the cache) everything that `solve` needs."""
        here = Targets.of_pose(self.rig, start_pose(self.rig))
        self.solve(here)


def warm_solver(network: IKNetwork) -> NeuralIKSolver:
    """Return a solver with `network`, compiled and ready for the first frame."""
    solver = NeuralIKSolver(network.rig, network)
    solver.warm_up()
    return solver


def load_solver(path_or_name: str | os.PathLike[str]) -> NeuralIKSolver:
    """Return a warm solver with the network in a folder, or a shipped one by name.

    Raises:
        ModelFileError: The network is missing, damaged, or of another kind.
    """
    return warm_solver(load_ik_network(path_or_name))
