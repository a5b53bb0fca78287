"""The target skeleton with the segment lengths of the source."""

from __future__ import annotations

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import MotionError
from ambulo.motion.retargeting.body import (
    LIMBS,
    SHORT,
    SIDES,
    RetargetBody,
    retarget_body,
)
from ambulo.motion.retargeting.ground import lowest_at_rest
from ambulo.motion.rotations import quat_between, quat_conjugate, quat_rotate
from ambulo.motion.skeleton import Skeleton

UP_TO_ANKLE = 0.91
"""Fraction of a person's hip height above the ankle."""
TRUNK = (
    ("hips", "chest"),
    ("chest", "neck"),
    ("neck", "head"),
    *(
        (a, side + b)
        for side in SIDES
        for a, b in (("hips", "thigh"), ("chest", "clavicle"))
    ),
    *((side + "clavicle", side + "upper_arm") for side in SIDES),
)
"""Bones that take both length and rest direction from the source."""


def fitted(source: RetargetBody, target: RetargetBody) -> RetargetBody:
    """`target` with the source's lengths between roles; the rest in proportion.

    Limbs and feet keep their directions at rest and take the lengths; the trunk's bones take
    both, since it is transferred from rest to rest. Parts that the source lacks (or has at
    length 0, as thorax and shoulders in some BVH files) scale with the legs.
    """
    legs = leg_length(source) / leg_length(target)
    skeleton = target.skeleton
    offsets = skeleton.offsets * legs
    scales = np.full(len(skeleton), legs)
    bare = [side for side in SIDES if side + "clavicle" not in target.roles]
    for start, end in (*TRUNK, *(("chest", side + "upper_arm") for side in bare)):
        source_bone = source.bone(start, end)
        path = _between(target, start, end)
        if source_bone is not None and path:
            _stretch(target, offsets, path, source_bone)
    for side in SIDES:
        for start, end in LIMBS.items():
            source_bone = source.bone(side + start, side + end)
            path = _between(target, side + start, side + end)
            if source_bone is not None and path:
                length = target.length(side + start, side + end)
                ratio = float(np.linalg.norm(source_bone)) / length
                offsets[path] = skeleton.offsets[path] * ratio
                scales[target.roles[side + start]] = ratio
        _fit_foot(source, target, side, offsets, scales)
    tips = skeleton.tips.copy()
    for tip, joint in enumerate(skeleton.tip_parents):
        tips[tip] = skeleton.tips[tip] * scales[joint]
    grown = skeleton.replace(offsets=offsets, tips=tips)
    return retarget_body(_grounded(grown, target.skeleton))


def comparable(source: RetargetBody, body: RetargetBody) -> list[str]:
    """Roles whose joint can coincide with the source's once lengths are fitted."""
    # The first spine joint may lie anywhere between hips and chest, and the toes may be one
    # joint or several.
    loose = {"spine", *(side + "toe" for side in SIDES)}
    shared = [r for r in body.roles if r in source.roles and r not in loose]
    if source.bone("chest", "neck") is not None:
        return shared
    return [r for r in shared if r.endswith(("hips", "thigh", "shin", "foot"))]


def leg_length(body: RetargetBody) -> float:
    """Thigh and shin at rest, the mean of both sides, [m]; without feet from the hips' height.

    Raises:
        MotionError: The skeleton has neither.
    """
    sides = [
        body.length(side + "thigh", side + "shin")
        + body.length(side + "shin", side + "foot")
        for side in SIDES
        if body.bone(side + "shin", side + "foot") is not None
    ]
    if sides:
        return float(np.mean(sides))
    low = min(lowest_at_rest(body), float(body.points[:, 2].min()))
    thighs = [body.roles[side + "thigh"] for side in SIDES]
    height = UP_TO_ANKLE * float(body.positions[thighs, 2].mean() - low)
    if height < SHORT:
        raise MotionError(
            f"{body.skeleton.name}: retargeting needs the length of its legs; give it "
            "joints for shins and feet, or hips above the ground at rest"
        )
    return height


def _between(body: RetargetBody, start: str, end: str) -> list[int]:
    """The joints whose offsets lead from role to role; [] if there is no such path."""
    if body.bone(start, end) is None:
        return []
    return body.skeleton.path(body.roles[start], body.roles[end])[1:]


def _stretch(
    body: RetargetBody, offsets: Floats, path: list[int], goal: Floats
) -> None:
    """Make the sum of the offsets along `path` the world vector `goal` (3,) at rest."""
    bones = (
        body.positions[path] - body.positions[[body.skeleton.parents[j] for j in path]]
    )
    total = bones.sum(axis=0)
    turn = quat_between(total, goal)
    ratio = np.linalg.norm(goal) / np.linalg.norm(total)
    for joint, bone in zip(path, bones, strict=True):
        parent = body.orientations[body.skeleton.parents[joint]]
        offsets[joint] = quat_rotate(
            quat_conjugate(parent), ratio * quat_rotate(turn, bone)
        )


def _fit_foot(
    source: RetargetBody,
    target: RetargetBody,
    side: str,
    offsets: Floats,
    scales: Floats,
) -> None:
    """Scale the foot, in place, to the source's length from ankle to toes."""
    target_bone, source_bone = target.foot_bone(side), source.foot_bone(side)
    if target_bone is None or source_bone is None:
        return
    if not (target.toes(side) and source.toes(side)):
        return
    foot = target.roles[side + "foot"]
    scales[foot] = np.linalg.norm(source_bone) / np.linalg.norm(target_bone)
    for joint in target.skeleton.children(foot):
        offsets[joint] = target.skeleton.offsets[joint] * scales[foot]
        scales[joint] = scales[foot]


def _grounded(skeleton: Skeleton, like: Skeleton) -> Skeleton:
    """Return `skeleton` with its root so high that its soles rest as those of `like`."""
    offsets = skeleton.offsets.copy()
    low = lowest_at_rest(retarget_body(skeleton)) - offsets[0, 2]
    offsets[0, 2] = lowest_at_rest(retarget_body(like)) - low
    return skeleton.replace(offsets=offsets)
