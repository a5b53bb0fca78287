"""Tracked bodies on a rig of the solver (`ik23`), and back.

Both skeletons have their joints in the same places at rest, so that a pose is converted by the
joints' rotations from rest: bones of the spine and the neck that human23 lacks rotate with the
bone that they are a part of.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.ik.pose import Pose, fk
from ambulo.ik.rig import TARGETS, Rig
from ambulo.ik.solver.targets import Targets
from ambulo.ik.trackers.conventions import TrackerSample
from ambulo.ik.trackers.layout import HIPS_ROW, TRACKED
from ambulo.ik.trackers.session import TrackedRecording
from ambulo.ik.trackers.shape import scale_of
from ambulo.motion.kinematics import motion_kinematics, rest_kinematics
from ambulo.motion.rotations import quat_conjugate, quat_multiply, quat_slerp
from ambulo.motion.skeletons import load_skeleton

SIDES = (("Left", "L"), ("Right", "R"))
TURNS = {
    "Hips": "Pelvis", "Spine": "Spine", "Spine1": "Spine", "Spine2": "Torso",
    "NeckLower": "Neck", "NeckUpper": "Neck", "Head": "Head",
    **{
        side + bone: joint + letter
        for side, letter in SIDES
        for bone, joint in {
            "Shoulder": "Shoulder", "Arm": "Arm", "ForeArm": "ForeArm", "Hand": "Hand",
            "Thigh": "Femur", "Shin": "Tibia", "Foot": "Talus", "ToeBase": "FootThumb",
        }.items()
    },
}  # fmt: skip
"""The joint of human23 with which each bone of `ik23` rotates."""


def rig_pose(rig: Rig, root: Floats, orientations: Floats, ratios: Floats) -> Pose:
    """Tracked bodies on `rig`, whose size stays: B poses, roots scaled to the rig.

    Args:
        rig: A rig with the bones of `ik23`.
        root: World positions of the pelvis, [m]. Shape (B, 3).
        orientations: World orientations of human23's joints. Shape (B, 23, 4).
        ratios: Proportions of the player, of which the rig has the average. Shape (3,).
    """
    joints = _sources(rig.skeleton.joints)
    rest = rest_kinematics(rig.skeleton)[1]
    world = quat_multiply(orientations[:, list(joints)], rest)
    parents = np.array(rig.skeleton.parents)
    local = world.copy()
    inner = quat_conjugate(quat_multiply(world[:, parents[1:]], rig.skeleton.rest[1:]))
    local[:, 1:] = quat_multiply(inner, world[:, 1:])
    local[:, 0] = quat_multiply(quat_conjugate(rig.skeleton.rest[0]), world[:, 0])
    return Pose(root / scale_of(ratios), local)


def rig_targets(sample: TrackerSample, rig: Rig, ratios: Floats) -> Targets:
    """The readings of trackers as targets on `rig`, scaled to its size.

    The sample's arrays are of one character, or of B characters (B, 6, ...).
    """
    present = np.atleast_2d(sample.present)
    weights = present.astype(np.float64)
    turns = np.where(present[..., None], sample.rotations, _ONE)
    places = np.where(present[..., None], sample.positions, 0.0) / scale_of(ratios)
    return Targets(places, quat_multiply(turns, rig.target_rest), weights, weights)


def recording_on_rig(
    rig: Rig, tracked: TrackedRecording, ground: float = 0.0
) -> tuple[Pose, Targets]:
    """The body of a recording on `rig`, at the rig's size and on the ground at height 0.

    Args:
        rig: A rig with the bones of `ik23`.
        tracked: The body, T frames.
        ground: Height of the ground in the recording, [m].

    Returns:
        T poses, and targets of T characters: hands, feet and head of the tracked body, with
            full weights; the hips' weight is 0. A solver that starts from the poses moves the
            rig's there.
    """
    motion, ratios = tracked.motion, tracked.shape.ratios
    positions, orientations = motion_kinematics(motion)
    down = np.array([0.0, 0.0, ground])
    rows = np.ones((len(motion), len(TARGETS)), dtype=np.bool_)
    rows[:, HIPS_ROW] = False
    sample = TrackerSample(positions[:, TRACKED] - down, orientations[:, TRACKED], rows)
    pose = rig_pose(rig, motion.root_positions - down, orientations, ratios)
    return pose, rig_targets(sample, rig, ratios)


def turns_of_rig(rig: Rig, pose: Pose) -> Floats:
    """World orientations of human23's joints of poses on `rig`. Shape (B, 23, 4)."""
    world = fk(rig, pose)[1]
    turns = quat_multiply(world, quat_conjugate(rest_kinematics(rig.skeleton)[1]))
    human = load_skeleton("human23").joints
    result = np.empty((len(pose), len(human), 4))
    for row, joint in enumerate(human):
        name = "FootThumb" + joint[-1] if joint.startswith("FootPinky") else joint
        bones = [b for b, turn in TURNS.items() if turn == name]
        indices = [rig.skeleton.index(bone) for bone in bones]
        first, last = turns[:, indices[0]], turns[:, indices[-1]]
        result[:, row] = quat_slerp(first, last, np.full(len(pose), 0.5))
    return result


_ONE = np.array([1.0, 0.0, 0.0, 0.0])


@cache
def _sources(bones: tuple[str, ...]) -> tuple[int, ...]:
    human = load_skeleton("human23").joints
    return tuple(human.index(TURNS[bone]) for bone in bones)
