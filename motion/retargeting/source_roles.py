"""Roles of a source's joints: given, by names, by shape at rest, or by shape in motion."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.motion.landmarks import body_points
from ambulo.motion.motion import Motion
from ambulo.motion.retargeting.body import NEEDED, SIDES
from ambulo.motion.roles import ROLES, known_roles, role_map
from ambulo.motion.roles.by_names import total_vote
from ambulo.motion.roles.finder import RoleMap, find_roles
from ambulo.motion.roles.names import name_vote
from ambulo.motion.roles.sources import skeleton_tree

POSES = 12
"""Frames in which roles are looked for where the rest pose shows no person."""
BENT = 0.15
"""Knees with a smaller mean sine of their bend show no direction."""
BENDS = 0.5
"""Smallest part of the knees' mean bend along one side that settles the front."""


def with_roles(motion: Motion) -> tuple[Motion, tuple[str, ...]]:
    """Return `motion` on a skeleton with roles, and notes on what its names do not say.

    The same motion, if its roles are given or those of a canonical skeleton, or if neither
    names nor shape show hips and thighs.
    """
    skeleton = motion.skeleton
    if skeleton.roles or known_roles(skeleton):
        return motion, ()
    found, where = role_map(skeleton), "at rest"
    if found.refusal:
        posed = _in_motion(motion)
        if posed is not None and len(posed.joints) > len(found.joints):
            found, where = posed, "in motion"
    if any(role not in found.joints for role in NEEDED):
        return motion, ()
    notes: list[str] = []
    if total_vote(skeleton_tree(skeleton), found.joints) < 0.5 * len(found.joints):
        notes.append(f"roles: by shape {where}, names say little")
    named = any(name_vote(skeleton.joints[j]).side for j in found.joints.values())
    if not (named or found.is_facing_sure or found.refusal):
        found, note = _faced(motion, found)
        notes.append(f"roles: {note}")
    given = {role: found.joints[role] for role in ROLES if role in found.joints}
    return motion.replace(skeleton=skeleton.replace(roles=given)), tuple(notes)


def knee_bends(points: Floats, roles: dict[str, int], left: Floats) -> list[float]:
    """Part of each knee's mean bend that is about the left; [] where it hardly bends.

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


def _in_motion(motion: Motion) -> RoleMap | None:
    """The best roles by shape in frames of the motion; None if none shows a person."""
    frames = np.unique(np.linspace(0, len(motion) - 1, POSES).round().astype(int))
    found = [
        find_roles(skeleton_tree(motion.skeleton, body_points(motion[f : f + 1])[0]))
        for f in frames
    ]
    usable = [one for one in found if not one.refusal]
    return max(
        usable, key=lambda one: (one.is_facing_sure, one.confidence), default=None
    )


def _faced(motion: Motion, found: RoleMap) -> tuple[RoleMap, str]:
    """The map with the sides that the bend of the knees over the motion shows, and a note."""
    points = body_points(motion[:: max(1, len(motion) // 200)])
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
