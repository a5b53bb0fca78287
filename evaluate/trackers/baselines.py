"""What tracks bodies: a model and its baselines, a body per sample, from the same samples."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Protocol

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.ik.avatar.layout import HEAD
from ambulo.ik.rig import load_rig
from ambulo.ik.solver.solver import NeuralIKSolver
from ambulo.ik.trackers.conventions import TrackerSample
from ambulo.ik.trackers.layout import HEAD_ROW
from ambulo.ik.trackers.network import TrackerNetwork
from ambulo.ik.trackers.rig_poses import rig_targets, turns_of_rig
from ambulo.ik.trackers.shape import BodyShape, sized_skeleton
from ambulo.ik.trackers.tracker import BodyTracker
from ambulo.motion.kinematics import forward_kinematics, rest_kinematics
from ambulo.motion.motion import Motion
from ambulo.motion.rotations import quat_conjugate, quat_from_yaw, quat_multiply, yaw_of
from ambulo.motion.skeleton import Skeleton

BASELINES = {
    "no_network": "refinement from a standing pose, up to 15 steps",
    "nearest": "the pose of training people whose trackers were most alike; needs --data",
    "standing": "a body at rest under the head",
}
"""Descriptions of the baselines."""

Placed = tuple[Floats, Floats]
"""Position of the pelvis (3,), [m], and local rotations (23, 4)."""


class Track(Protocol):
    """Makes a pose of each sample of a player."""

    @property
    def skeleton(self) -> Skeleton:
        """The player's body."""
        ...

    def __call__(self, sample: TrackerSample, dt: float) -> Placed:
        """Return the pose of a sample, `dt` after the last one, [s]."""
        ...


def tracked(
    track: Track, samples: Iterable[TrackerSample], fps: float
) -> tuple[Motion, Floats]:
    """Return the poses of all samples as a motion, and the time of each step, [s]."""
    poses, times = [], []
    for sample in samples:
        began = time.perf_counter()
        poses.append(track(sample, 1.0 / fps))
        times.append(time.perf_counter() - began)
    roots, rotations = (np.array(part) for part in zip(*poses, strict=True))
    return Motion(track.skeleton, fps, roots, rotations), np.array(times)


class PolicyTrack:
    """Poses of a body tracker, for a player whose proportions are known or not."""

    def __init__(
        self, network: TrackerNetwork, shape: BodyShape, *, known: bool = True
    ) -> None:
        """Prepare a player of this `shape`."""
        self._body = BodyTracker(network, shape if known else None)
        self._known = sized_skeleton(shape) if known else None

    @property
    def skeleton(self) -> Skeleton:
        """The player's body, as far as known."""
        return self._known or self._body.skeleton

    def __call__(self, sample: TrackerSample, dt: float) -> Placed:
        """Return the pose of a sample."""
        frame = self._body.step(sample, dt)
        return frame.root.copy(), frame.rotations.copy()


class StandingTrack:
    """A body at rest, turned as the head is."""

    def __init__(self, shape: BodyShape) -> None:
        """Prepare a player of this `shape`."""
        self.skeleton = sized_skeleton(shape)

    def __call__(self, sample: TrackerSample, dt: float) -> Placed:
        """Return the pose of a sample."""
        rotations = np.zeros((len(self.skeleton), 4))
        rotations[:, 0] = 1.0
        rotations[0] = quat_from_yaw(yaw_of(sample.rotations[HEAD_ROW]))
        root = sample.positions[HEAD_ROW].copy()
        root[2] = rest_kinematics(self.skeleton)[0][0, 2]
        return root, rotations


class SolvedTrack:
    """Poses of the solver on `ik23`, put on the player's body under the head."""

    def __init__(self, shape: BodyShape) -> None:
        """Prepare a player of this `shape`."""
        self._rig, self._shape = load_rig("ik23"), shape
        self.skeleton = sized_skeleton(shape)
        self._solver = NeuralIKSolver(self._rig)

    def __call__(self, sample: TrackerSample, dt: float) -> Placed:
        """Return the pose of a sample."""
        targets = rig_targets(sample, self._rig, self._shape.ratios)
        pose = self._solver.solve(targets).pose
        world = turns_of_rig(self._rig, pose)[0]
        local = world.copy()
        parents = list(self.skeleton.parents[1:])
        local[1:] = quat_multiply(quat_conjugate(world[parents]), world[1:])
        root = pose.root[0] * self._shape.scale
        positions, _ = forward_kinematics(self.skeleton, root[None], local[None])
        return root + sample.positions[HEAD_ROW] - positions[0, HEAD], local
