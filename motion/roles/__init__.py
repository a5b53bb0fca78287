"""Anatomical roles of joints, and left-right counterparts.

Roles let code work on any skeleton. They are given with a skeleton, are data of the canonical
ones, or are found by shape with names as votes (`ambulo.motion.roles.finder`).
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ambulo.configs.arrays import Ints
from ambulo.motion.roles.by_names import roles_by_names, total_vote
from ambulo.motion.roles.finder import RoleMap, find_roles, in_order
from ambulo.motion.roles.names import name_vote
from ambulo.motion.roles.sources import skeleton_tree
from ambulo.motion.roles.tree import ROLES, SIDES
from ambulo.motion.skeleton import Skeleton
from ambulo.motion.skeletons import SKELETONS, skeleton_file

__all__ = [
    "OPTIONAL",
    "ROLES",
    "SIDES",
    "known_roles",
    "map_of",
    "mirror_indices",
    "missing_roles",
    "role_map",
    "roles_of",
]

OPTIONAL = ("spine", "neck", "clavicle", "toe")
"""Ends of the roles that a body may lack and still move as it should."""
BY_SHAPE = 0.8
"""Roles found by shape count if names say at least this part of what they do for those that
are found by names alone."""
UP, AHEAD = np.array([0.0, 0.0, 1.0]), np.array([1.0, 0.0, 0.0])
"""Axes of skeletons in the suite."""
_OTHER = {"left": "right", "right": "left"}


def roles_of(skeleton: Skeleton) -> dict[str, int]:
    """Index of the joint of each role that the skeleton has, in the order of `ROLES`.

    The hips are the root where nothing shows others.
    """
    return dict(_roles(skeleton))


def map_of(skeleton: Skeleton) -> RoleMap:
    """The roles of `roles_of`, with what the finder knows besides if it finds the same."""
    joints, found = roles_of(skeleton), role_map(skeleton)
    if skeleton.chains:
        chains = _single(joints) | skeleton.chains
        return RoleMap(
            joints, {role: chains[role] for role in joints}, up=UP, forward=AHEAD
        )
    if found.joints == joints:
        return found
    return RoleMap(joints, _single(joints))


def missing_roles(skeleton: Skeleton) -> tuple[str, ...]:
    """Roles that no joint of the skeleton has, but for those that bodies may lack."""
    found = _roles(skeleton)
    return tuple(r for r in ROLES if r not in found and not r.endswith(OPTIONAL))


def mirror_indices(skeleton: Skeleton) -> Ints:
    """Index of each joint's counterpart on the other side, itself if none. Shape (J,)."""
    return _mirrored(skeleton).copy()


@lru_cache(maxsize=64)
def role_map(skeleton: Skeleton) -> RoleMap:
    """Roles of a skeleton's joints: by shape if its rest pose shows a person, else by names."""
    tree = skeleton_tree(skeleton)
    shape = find_roles(tree)
    named = roles_by_names(tree)
    by_names = total_vote(tree, named)
    if not shape.refusal and total_vote(tree, shape.joints) >= BY_SHAPE * by_names:
        return shape
    joints = in_order(named)
    notes = ("roles by names alone", *shape.notes)
    return RoleMap(joints, _single(joints), shape.refusal, notes, is_facing_sure=True)


def _single(joints: dict[str, int]) -> dict[str, tuple[int, ...]]:
    """Chains of one joint."""
    return {role: (joint,) for role, joint in joints.items()}


@lru_cache(maxsize=64)
def _roles(skeleton: Skeleton) -> dict[str, int]:
    if skeleton.roles:
        match = dict(skeleton.roles)
    elif known := known_roles(skeleton):
        match = known
    else:
        match = role_map(skeleton).joints
    match.setdefault("hips", 0)
    return {role: match[role] for role in ROLES if role in match}


def known_roles(skeleton: Skeleton) -> dict[str, int]:
    """Roles of a skeleton with the joints of a canonical one; {} if it is none."""
    names = frozenset(skeleton.joints)
    for known in SKELETONS:
        data = skeleton_file(known)
        if names == frozenset(joint.name for joint in data.joints):
            return {role: skeleton.index(joint) for role, joint in data.roles.items()}
    return {}


@lru_cache(maxsize=64)
def _mirrored(skeleton: Skeleton) -> Ints:
    index = {name: i for i, name in enumerate(skeleton.joints)}
    votes = [name_vote(name) for name in skeleton.joints]
    by_key = {(vote.side, vote.key): i for i, vote in enumerate(votes)}
    result = np.arange(len(skeleton))
    for i, (name, vote) in enumerate(zip(skeleton.joints, votes, strict=True)):
        if vote.side:
            result[i] = by_key.get((_OTHER[vote.side], vote.key), i)
        elif name[:1] in ("l", "r"):
            # Names such as "lhipjoint", where only a twin tells that l means left.
            result[i] = index.get(("r" if name[0] == "l" else "l") + name[1:], i)
    if np.array_equal(result, np.arange(len(skeleton))) and not known_roles(skeleton):
        mirror = role_map(skeleton).mirror
        if mirror is not None:
            inside = mirror[: len(skeleton)]
            result = np.where(inside < len(skeleton), inside, result)
    return result
