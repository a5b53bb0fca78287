"""Baselines of body trackers: a body per sample, from the same samples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.ik.avatar.layout import HEAD
from ambulo.ik.rig import load_rig
from ambulo.ik.solver.solver import NeuralIKSolver
from ambulo.ik.trackers.conventions import TrackerSample
from ambulo.ik.trackers.layout import HEAD_ROW
from ambulo.ik.trackers.rig_poses import rig_targets, turns_of_rig
from ambulo.ik.trackers.shape import BodyShape, sized_skeleton
from ambulo.ik.trackers.tracker import BodyTracker
from ambulo.motion.kinematics import forward_kinematics, rest_kinematics
from ambulo.motion.motion import Motion
from ambulo.motion.rotations import quat_conjugate, quat_from_yaw, quat_multiply, yaw_of

BASELINES = {
    "no_network": "refinement from a standing pose, up to 15 steps",
    "nearest": "the pose of training people whose trackers were most alike; needs --data",
    "standing": "a body at rest under the head",
}
"""Descriptions of the baselines."""

Placed = tuple[Floats, Floats]
"""Position of the pelvis (3,), [m], and local rotations (23, 4)."""
Track = Callable[[TrackerSample, float], Placed]
"""Makes a pose of a sample and the time since the last one, [s]."""


def tracked_by(tracker: BodyTracker) -> Track:
    """Return the poses of a body tracker."""

    def track(sample: TrackerSample, dt: float) -> Placed:
        frame = tracker.step(sample, dt)
        return frame.root.copy(), frame.rotations.copy()

    return track


def baseline(name: str, shape: BodyShape) -> Track:
    """Return the poses of the baseline `name` for a player of this `shape`."""
    if name == "standing":
        return _Standing(shape)
    return _Solved(shape)


def as_motion(
    track: Track, samples: list[TrackerSample], fps: float, shape: BodyShape
) -> Motion:
    """Return the poses of all samples as a motion."""
    poses = [track(sample, 1.0 / fps) for sample in samples]
    roots, rotations = (np.array(part) for part in zip(*poses, strict=True))
    return Motion(sized_skeleton(shape), fps, roots, rotations)


@dataclass
class _Standing:
    """A body at rest, turned as the head is."""

    shape: BodyShape

    def __call__(self, sample: TrackerSample, dt: float) -> Placed:
        skeleton = sized_skeleton(self.shape)
        rotations = np.zeros((len(skeleton), 4))
        rotations[:, 0] = 1.0
        yaw = yaw_of(sample.rotations[HEAD_ROW])
        rotations[0] = quat_from_yaw(yaw)
        root = sample.positions[HEAD_ROW].copy()
        root[2] = rest_kinematics(skeleton)[0][0, 2]
        return root, rotations


class _Solved:
    """Poses of the solver on `ik23`, put on the player's body under the head."""

    def __init__(self, shape: BodyShape) -> None:
        self._rig, self._shape = load_rig("ik23"), shape
        self._skeleton = sized_skeleton(shape)
        self._solver = NeuralIKSolver(self._rig)

    def __call__(self, sample: TrackerSample, dt: float) -> Placed:
        targets = rig_targets(sample, self._rig, self._shape.ratios)
        pose = self._solver.solve(targets).pose
        world = turns_of_rig(self._rig, pose)[0]
        local = world.copy()
        parents = list(self._skeleton.parents[1:])
        local[1:] = quat_multiply(quat_conjugate(world[parents]), world[1:])
        root = pose.root[0] * self._shape.scale
        positions, _ = forward_kinematics(self._skeleton, root[None], local[None])
        return root + sample.positions[HEAD_ROW] - positions[0, HEAD], local
