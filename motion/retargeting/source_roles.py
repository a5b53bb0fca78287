"""Roles of a source's joints: given, by names, by shape at rest, or by shape in motion."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.motion.kinematics import motion_kinematics
from ambulo.motion.landmarks import body_points
from ambulo.motion.motion import Motion
from ambulo.motion.retargeting.body import NEEDED, SIDES
from ambulo.motion.roles import OPTIONAL, ROLES, known_roles, role_map
from ambulo.motion.roles.by_names import total_vote
from ambulo.motion.roles.finder import RoleMap, find_roles
from ambulo.motion.roles.names import name_vote
from ambulo.motion.roles.sources import skeleton_tree
from ambulo.motion.rotations import quat_conjugate, quat_rotate

POSES, FRAMES = 12, 200
"""Frames for the role detection if the rest pose shows no person, and frames of the mean pose
and of the bend of knees."""
STILL = 1e-4
"""A joint whose path stays within this along every axis is at rest, [m]."""
NAMED, COMPLETE = 0.4, 15
"""Fraction of all roles below which names are unreliable, and the number of roles of a complete
body."""
BENT = 0.15
"""Mean sine of the knees' bend below which it shows no direction."""
BENDS = 0.5
"""Smallest component of the knees' mean bend along one side that determines the front."""


def with_roles(motion: Motion) -> tuple[Motion, tuple[str, ...]]:
    """Return `motion` on a skeleton with roles, and notes on facts that its names do not show.

    The same motion, if its roles are given or those of a canonical skeleton, or if neither
    names nor shape show hips and thighs.
    """
    skeleton = motion.skeleton
    if skeleton.roles or known_roles(skeleton):
        return motion, ()
    found, where = role_map(skeleton), "at rest"
    said = total_vote(skeleton_tree(skeleton), found.joints) / len(ROLES)
    lacks = any(r not in found.joints and not r.endswith(OPTIONAL) for r in ROLES)
    if (found.refusal and lacks) or (said < NAMED and len(found.joints) < COMPLETE):
        found, where = max(
            (found, where),
            (_in_motion(motion), "in motion"),
            key=lambda one: fitness(one[0]),
        )
    if any(role not in found.joints for role in NEEDED):
        return motion, ()
    notes: list[str] = []
    if said < NAMED:
        notes.append(f"roles: by shape {where}, names say little")
    named = any(name_vote(skeleton.joints[j]).side for j in found.joints.values())
    if not (named or found.is_facing_sure or found.refusal):
        found, note = _faced(motion, found)
        notes.append(f"roles: {note}")
    given = {role: found.joints[role] for role in ROLES if role in found.joints}
    return motion.replace(skeleton=skeleton.replace(roles=given)), tuple(notes)


def fitness(found: RoleMap) -> tuple[bool, float]:
    """Sort key of role maps: humanoids first, then number of roles and confidence."""
    return not found.refusal, found.confidence * len(found.joints)


def knee_bends(points: Floats, roles: dict[str, int], left: Floats) -> list[float]:
    """Component of each knee's mean bend about the left; [] if it hardly bends.

    Args:
        points: World positions of joints. Shape (T, J or more, 3).
        roles: Joint of each role.
        left: Direction from the right to the left thigh. Shape (T, 3).
    """
    parts = []
    for side in SIDES:
        joints = [roles.get(side + limb, -1) for limb in ("thigh", "shin", "foot")]
        if min(joints) < 0:
            return []
        bones = np.diff(points[:, joints], axis=1)
        lengths = np.linalg.norm(bones, axis=-1, keepdims=True)
        bones = bones / np.maximum(lengths, 1e-9)
        bends = np.cross(bones[:, 0], bones[:, 1])
        size = float(np.linalg.norm(bends, axis=-1).mean())
        if size < BENT:
            return []
        parts.append(float((bends * left).sum(axis=-1).mean()) / size)
    return parts


def _in_motion(motion: Motion) -> RoleMap:
    """Roles by shape in the mean pose and in frames of the motion; the best result.

    In the hips' frame, the mean of a walk is a standing body.
    """
    step = max(1, len(motion) // FRAMES)
    points = body_points(motion[::step])
    still = int(np.argmax(np.ptp(points, axis=0).max(axis=1) > STILL))
    turns = motion_kinematics(motion[::step])[1][:, still]
    local = quat_rotate(quat_conjugate(turns)[:, None], points - points[:, still, None])
    frames = np.linspace(0, len(points) - 1, POSES).round().astype(int)
    poses = [local.mean(axis=0), *points[np.unique(frames)]]
    found = (find_roles(skeleton_tree(motion.skeleton, pose)) for pose in poses)
    return max(found, key=fitness)


def _faced(motion: Motion, found: RoleMap) -> tuple[RoleMap, str]:
    """The map with sides determined by the bend of the knees over the motion, and a note."""
    points = body_points(motion[:: max(1, len(motion) // FRAMES)])
    left = (
        points[:, found.joints["left_thigh"]] - points[:, found.joints["right_thigh"]]
    )
    left = left / np.maximum(np.linalg.norm(left, axis=-1, keepdims=True), 1e-9)
    bends = knee_bends(points, found.joints, left)
    if bends and min(bends) > BENDS:
        return replace(
            found, is_facing_sure=True
        ), "left and right by the bend of the knees"
    if bends and max(bends) < -BENDS:
        return found.swapped(), "left and right by the bend of the knees"
    return found, next(note for note in found.notes if note.startswith("facing"))
