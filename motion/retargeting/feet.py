"""Feet of the source: contacts, orientation of the soles at rest, and flat soles."""

from __future__ import annotations

import numpy as np
from scipy.ndimage import gaussian_filter1d

from ambulo.configs.arrays import Bools, Floats
from ambulo.motion.retargeting.body import SIDES, RetargetBody
from ambulo.motion.retargeting.lengths import leg_length
from ambulo.motion.rotations import (
    quat_between,
    quat_conjugate,
    quat_from_matrix,
    quat_from_rotvec,
    quat_multiply,
    quat_rotate,
    quat_to_rotvec,
)

UP = np.array([0.0, 0.0, 1.0])
FLAT, TILTED = np.deg2rad(12.0), np.deg2rad(28.0)
"""Tilt below which a sole in contact is levelled, and above which it is unchanged, [rad]."""
STILL = 0.05
"""Speeds far below this count as equal, [m/s]."""
BLEND = 0.04
"""Standard deviation in time of the blend between flat and free, [s]."""


def align_feet(
    source: RetargetBody,
    target: RetargetBody,
    turns: Floats,
    contacts: Bools,
    aligned: dict[str, Floats],
) -> dict[str, Floats]:
    """Return `aligned` with the constant rotations (4,) of feet and toes added.

    Args:
        source: The skeleton that moves.
        target: The target skeleton; its soles are level at rest.
        turns: The source's turns. Shape (T, J, 4).
        contacts: Contacts of its left and right foot. Shape (T, 2).
        aligned: The alignments of the other roles.

    The target's sole is aligned with the source's, its heading with the source's foot.
    """
    result = dict(aligned)
    for index, side in enumerate(SIDES):
        foot = side + "foot"
        target_bone, source_bone = target.foot_bone(side), source.foot_bone(side)
        if foot not in aligned or target_bone is None or source_bone is None:
            continue
        standing = turns[contacts[:, index], source.parts[foot]]
        here = _frame(target_bone, sole_normal(target, side, turns[:0, 0]))
        there = _frame(source_bone, sole_normal(source, side, standing))
        alignment = quat_from_matrix(there @ here.T)
        for role in (foot, side + "toe"):
            if role in aligned:
                result[role] = alignment
    return result


def sole_normal(body: RetargetBody, side: str, standing: Floats) -> Floats:
    """Upward normal (3,) of a sole at rest, in the world.

    Args:
        body: The body.
        side: "left_" or "right_".
        standing: Turns of the foot while it stands. Shape (n, 4), n may be 0.

    Two poses of rest are in use: feet flat on the ground, and feet square to shins that
    are spread (CMU's ASF files: 20 degrees). The one is taken that lies flatter in
    stance; without stance, the one in which the foot points less to the side.
    """
    shin, bone = body.bone(side + "shin", side + "foot"), body.foot_bone(side)
    if shin is None or bone is None:
        return UP
    tilt = quat_between(-UP, shin)
    choices = [UP, quat_rotate(tilt, UP)]
    if len(standing):
        heights = [np.median(quat_rotate(standing, choice)[:, 2]) for choice in choices]
        return choices[int(np.argmax(heights))]
    aside = [abs(bone[1]), abs(quat_rotate(quat_conjugate(tilt), bone)[1])]
    return choices[int(np.argmin(aside))]


def _frame(direction: Floats, up: Floats) -> Floats:
    """The frame (3, 3) with Z along `up` and X along the part of `direction` normal to it."""
    y = np.cross(up, direction)
    y = y / np.linalg.norm(y)
    return np.stack([np.cross(y, up), y, up], axis=-1)


def flattened(
    target: RetargetBody, requested: Floats, contacts: Bools, fps: float
) -> Floats:
    """`requested` orientations (T, J, 4) with feet and toes in stance level on the ground.

    A foot in contact within `FLAT` of level is made level, one beyond `TILTED` (heel strike,
    push-off) is unchanged, between them in proportion; likewise its toes.
    """
    out = requested.copy()
    for index, side in enumerate(SIDES):
        foot = target.parts.get(side + "foot")
        if foot is None:
            continue
        standing = contacts[:, index].astype(np.float64)
        normal = sole_normal(target, side, requested[:0, 0])
        for joints in ((foot,), target.skeleton.children(foot)):
            if joints:
                _level(target, out, joints, normal, standing, fps)
    return out


def _level(
    target: RetargetBody,
    out: Floats,
    joints: tuple[int, ...],
    normal: Floats,
    standing: Floats,
    fps: float,
) -> None:
    """Make `joints` level, in place, weighted by contact and by closeness to level."""
    first = joints[0]
    turns = quat_multiply(out[:, first], quat_conjugate(target.orientations[first]))
    tip = quat_to_rotvec(quat_between(quat_rotate(turns, normal), UP))
    angle = np.linalg.norm(tip, axis=-1)
    near = np.clip((TILTED - angle) / (TILTED - FLAT), 0.0, 1.0)
    fraction = gaussian_filter1d(standing * near, BLEND * fps, mode="nearest")
    back = quat_from_rotvec(tip * fraction[:, None])
    for joint in joints:
        out[:, joint] = quat_multiply(back, out[:, joint])


def plant_toes(
    source: RetargetBody,
    target: RetargetBody,
    scaled: Floats,
    requested: Floats,
    where: Floats,
    aligned: dict[str, Floats],
    fps: float,
) -> None:
    """Shift feet in `where` (T, J, 3), in place, so that a planted toe stays in place.

    Args:
        source: The skeleton that moves.
        target: The target skeleton, J joints.
        scaled: World positions of the source's joints in the target's scale, [m].
        requested: World orientations of the target's joints. Shape (T, J, 4).
        where: Requested world positions; ankles at the source's.
        aligned: Alignments of the roles.
        fps: Frames per second.

    An ankle that follows the source's ankle moves the toe of a longer or flatter foot while the
    heel rises. As far as the source's toe moves less than its ankle, the toe follows the
    source's toe instead, at their distance in flat stance.
    """
    scale = leg_length(target) / leg_length(source)
    for side in SIDES:
        role = side + "foot"
        target_bone, source_bone = target.foot_bone(side), source.foot_bone(side)
        if target_bone is None or source_bone is None or len(where) < 2:
            continue
        ankle = scaled[:, source.roles[role], :2]
        toes = source.toes(side)
        if not toes:
            continue
        toe = scaled[:, toes, :2].mean(axis=1)
        fraction = _toe_fraction(ankle, toe, fps)
        foot = target.roles[role]
        part = target.parts[role]
        turns = quat_multiply(
            requested[:, part], quat_conjugate(target.orientations[part])
        )
        normal = sole_normal(target, side, turns[:0])
        level = quat_multiply(quat_between(quat_rotate(turns, normal), UP), turns)
        same = scale * quat_rotate(quat_conjugate(aligned[role]), source_bone)
        apart = quat_rotate(level, target_bone - same) - quat_rotate(turns, target_bone)
        shift = fraction[:, None] * (toe + apart[:, :2] - where[:, foot, :2])
        for joint in target.skeleton.branch(foot):
            where[:, joint, :2] += shift


def _toe_fraction(ankle: Floats, toe: Floats, fps: float) -> Floats:
    """Weight of the toe relative to the ankle, 1 if only the toe is at rest. Shape (T,)."""
    squares = [
        np.sum(np.square(np.gradient(path, 1.0 / fps, axis=0)), axis=-1) + STILL**2
        for path in (ankle, toe)
    ]
    fraction: Floats = gaussian_filter1d(
        squares[0] / (squares[0] + squares[1]), BLEND * fps, mode="nearest"
    )
    return fraction
