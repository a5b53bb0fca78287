"""Anatomical roles of joints, and left-right counterparts.

Roles let code work on any skeleton. Those of the canonical skeletons are data; others
are found by the names of their limbs and the shape of their tree.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from ambulo.configs.arrays import Ints
from ambulo.motion.skeleton import Skeleton
from ambulo.motion.skeletons import SKELETONS, skeleton_file

SIDES = ("left", "right")
_LIMBS = (
    "thigh", "shin", "foot", "toe", "clavicle", "upper_arm", "forearm", "hand",
)  # fmt: skip

ROLES: tuple[str, ...] = (
    "hips",
    "spine",
    "chest",
    "neck",
    "head",
    *(f"{side}_{limb}" for side in SIDES for limb in _LIMBS),
)
"""Every role. A joint stands where its part begins: the thigh's at the hip, the forearm's
at the elbow, the hand's at the wrist. "spine" is the first joint above the hips, "chest"
the one that carries neck and arms, "neck" the first between chest and head."""

OPTIONAL = ("spine", "neck", "clavicle", "toe")
"""Ends of the roles that a body may lack and still move as it should."""

_NAMES: dict[str, tuple[str, ...]] = {
    "thigh": ("thigh", "upleg", "upperleg", "femur", "hip"),
    "shin": ("shin", "calf", "lowerleg", "lowleg", "leg", "tibia", "knee"),
    "foot": ("ankle", "foot", "talus"),
    "toe": ("toebase", "toe", "toes", "toe0", "ball", "footthumb", "foot"),
    "upper_arm": ("upperarm", "uparm", "humerus", "shldr", "arm", "shoulder"),
    "clavicle": ("clavicle", "clav", "collar", "shoulder"),
    "forearm": ("forearm", "lowerarm", "lowarm", "radius", "elbow"),
    "hand": ("fingerbase", "wrist", "hand"),
}
"""Names of the limbs' joints without side, the most specific first; a joint has one role,
so that "shoulder" is the clavicle only where another joint is the upper arm, or none is the
forearm. "fingerbase" is the wrist of the MotionBuilder release of CMU: its "Hand" lies inside
the forearm."""

_HIPS = ("hips", "pelvis", "hip", "root")

_PREFIX = re.compile(
    r"^(.*[:|]|(mixamorig|character|bip|armature|def|jnt|bone)\d*[ _.-]+)",
    re.IGNORECASE,
)
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_SIDE_WORDS = {"left": "left", "l": "left", "right": "right", "r": "right"}
_OTHER = {"left": "right", "right": "left"}


def roles_of(skeleton: Skeleton) -> dict[str, int]:
    """Index of the joint of each role that the skeleton has, in the order of `ROLES`."""
    return dict(_roles(skeleton))


def missing_roles(skeleton: Skeleton) -> tuple[str, ...]:
    """Roles that no joint of the skeleton has, but for those that bodies may lack."""
    found = roles_of(skeleton)
    return tuple(r for r in ROLES if r not in found and not r.endswith(OPTIONAL))


def mirror_indices(skeleton: Skeleton) -> Ints:
    """Index of each joint's counterpart on the other side, itself if none. Shape (J,)."""
    return _mirrored(skeleton).copy()


@lru_cache(maxsize=64)
def _roles(skeleton: Skeleton) -> tuple[tuple[str, int], ...]:
    names = frozenset(skeleton.joints)
    for known in SKELETONS:
        data = skeleton_file(known)
        if names == frozenset(joint.name for joint in data.joints):
            match = {role: skeleton.index(joint) for role, joint in data.roles.items()}
            break
    else:
        match = _limb_roles(skeleton)
        match |= _trunk_roles(skeleton, match)
    return tuple((role, match[role]) for role in ROLES if role in match)


def _split(name: str) -> tuple[str, str]:
    """Side ("left", "right" or "") and the rest of a joint's name, in small letters.

    ("LeftUpLeg" and "thigh.L" have words for the side, "lfemur" a first letter.)
    """
    bare = _PREFIX.sub("", name)
    words = [word.lower() for word in _WORD.findall(bare)]
    for word in words:
        if word in _SIDE_WORDS and len(words) > 1:
            words.remove(word)
            return _SIDE_WORDS[word], "".join(words)
    key = "".join(words)
    for start in ("left", "right", "l", "r"):
        rest = key.removeprefix(start)
        if rest != key and any(rest in names for names in _NAMES.values()):
            return _SIDE_WORDS[start], rest
    return "", key


def _limb_roles(skeleton: Skeleton) -> dict[str, int]:
    joints: dict[tuple[str, str], int] = {}
    for index, name in enumerate(skeleton.joints):
        joints.setdefault(_split(name), index)
    match: dict[str, int] = {}
    for side in SIDES:
        for limb, names in _NAMES.items():
            for key in names:
                index = joints.get((side, key), -1)
                if index >= 0 and index not in match.values():
                    match[f"{side}_{limb}"] = index
                    break
        arm = match.get(f"{side}_upper_arm", -1)
        if f"{side}_forearm" not in match and arm == joints.get((side, "shoulder")):
            match.setdefault(f"{side}_clavicle", match.pop(f"{side}_upper_arm"))
    return match


def _trunk_roles(skeleton: Skeleton, limbs: dict[str, int]) -> dict[str, int]:
    """Hips, spine, chest, neck and head, by names and by where the limbs hang."""
    keys = [_split(name) for name in skeleton.joints]

    def first(*names: str) -> int:
        return next((keys.index(("", n)) for n in names if ("", n) in keys), -1)

    match: dict[str, int] = {}
    hips, head = first(*_HIPS), first("head")
    if hips < 0:
        hips = max(_meeting(skeleton, limbs, "thigh"), 0)
    match["hips"] = hips
    chest = _meeting(skeleton, limbs, "clavicle", "upper_arm")
    while chest > 0 and keys[chest][1].startswith("neck"):
        chest = skeleton.parents[chest]  # 3ds Max hangs the clavicles on the neck
    between = skeleton.path(hips, chest)[1:]
    if chest > 0 and between:
        match["chest"] = chest
        if between[0] != chest:
            match["spine"] = between[0]
    if head < 0 and "chest" in match:
        head = _top_of_spine(skeleton, keys, chest)
    if head >= 0:
        match["head"] = head
        above = skeleton.path(match.get("chest", hips), head)[1:]
        if len(above) > 1:
            match["neck"] = above[0]
    return match


def _top_of_spine(skeleton: Skeleton, keys: list[tuple[str, str]], chest: int) -> int:
    """The last joint of a spine that goes on above the chest (Rigify's head), or -1."""
    top = chest
    while above := [
        joint
        for joint in skeleton.children(top)
        if keys[joint][0] == "" and keys[joint][1].startswith("spine")
    ]:
        top = above[0]
    return -1 if top == chest else top


def _meeting(skeleton: Skeleton, limbs: dict[str, int], *names: str) -> int:
    """The nearest joint above both sides' first of the limbs `names`, or -1."""
    for name in names:
        if f"left_{name}" in limbs and f"right_{name}" in limbs:
            left = set(_ancestors(skeleton, limbs[f"left_{name}"]))
            above = _ancestors(skeleton, limbs[f"right_{name}"])
            return next((joint for joint in above if joint in left), -1)
    return -1


def _ancestors(skeleton: Skeleton, joint: int) -> Iterator[int]:
    while (joint := skeleton.parents[joint]) >= 0:
        yield joint


@lru_cache(maxsize=64)
def _mirrored(skeleton: Skeleton) -> Ints:
    index = {name: i for i, name in enumerate(skeleton.joints)}
    by_key = {_split(name): i for i, name in enumerate(skeleton.joints)}
    result = np.arange(len(skeleton))
    for i, name in enumerate(skeleton.joints):
        side, key = _split(name)
        if side:
            result[i] = by_key.get((_OTHER[side], key), i)
        elif name[:1] in "lr":
            # Names such as "lhipjoint", where only a twin tells that l means left.
            result[i] = index.get(("r" if name[0] == "l" else "l") + name[1:], i)
    return result
