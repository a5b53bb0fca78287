"""A tracked recording on a rig of the solver: poses, and targets that keep hands and feet."""

from __future__ import annotations

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.ik.pose import Pose
from ambulo.ik.rig import TARGETS, Rig
from ambulo.ik.solver.targets import Targets
from ambulo.ik.trackers.layout import HIPS_ROW, TRACKED
from ambulo.ik.trackers.rig_poses import rig_pose, rig_targets
from ambulo.ik.trackers.session import TrackedRecording
from ambulo.ik.trackers.tracker import BodyFrame, FrameStatus, TrackerSample
from ambulo.motion.kinematics import motion_kinematics


def recording_on_rig(
    rig: Rig, tracked: TrackedRecording, ground: float = 0.0
) -> tuple[Pose, Targets]:
    """The body of a recording on `rig`, at the rig's size and on the ground at height 0.

    Args:
        rig: A rig with the bones of `ik23`.
        tracked: The body, T frames.
        ground: Height of the ground in the recording, [m].

    Returns:
        T poses, and targets of T characters: where hands, feet and head of the tracked body
        are, with full weights; the hips' weight is 0. A solver that starts from the poses
        brings the rig's there.
    """
    motion, ratios = tracked.motion, tracked.shape.ratios
    positions, orientations = motion_kinematics(motion)
    down = np.array([0.0, 0.0, ground])
    rows = np.ones(len(TARGETS), dtype=np.bool_)
    rows[HIPS_ROW] = False
    poses, targets = [], []
    for k in range(len(motion)):
        frame = _frame(motion.root_positions[k] - down, positions[k], orientations[k])
        poses.append(rig_pose(rig, frame, ratios))
        sample = TrackerSample(
            positions[k, TRACKED] - down, orientations[k, TRACKED], rows
        )
        targets.append(rig_targets(sample, rig, ratios))
    return (
        Pose(
            np.concatenate([pose.root for pose in poses]),
            np.concatenate([pose.rotations for pose in poses]),
        ),
        Targets(
            np.concatenate([one.positions for one in targets]),
            np.concatenate([one.rotations for one in targets]),
            np.concatenate([one.position_weights for one in targets]),
            np.concatenate([one.rotation_weights for one in targets]),
        ),
    )


def _frame(root: Floats, positions: Floats, orientations: Floats) -> BodyFrame:
    """What `rig_pose` reads of a frame."""
    count = len(orientations)
    return BodyFrame(
        root,
        np.zeros((count, 4)),
        positions,
        orientations,
        np.zeros(4),
        np.zeros(len(TARGETS), dtype=np.int64),
        FrameStatus.OK,
    )
