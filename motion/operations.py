"""Operations on motions: cut, resample, retime, transform, mirror, blend and concatenate.

Every function returns a new `Motion`; none filters (see `ambulo.motion.filters`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from ambulo.configs.arrays import Floats, Ints
from ambulo.configs.errors import ConfigError, MotionError
from ambulo.motion.motion import Motion
from ambulo.motion.rest import aligned_axes
from ambulo.motion.roles import mirror_indices
from ambulo.motion.rotations import (
    quat_conjugate,
    quat_from_yaw,
    quat_multiply,
    quat_rotate,
    quat_slerp,
    yaw_of,
)
from ambulo.motion.skeleton import Skeleton

FRAMES = r"(\d*):(\d*)"
"""Pattern of a part of a motion, "A:B"."""

SPEEDS = (0.05, 20.0)
"""Range of playback speeds, relative to the file's."""

_EXACT = 1e-9
"""A sample nearer than this to a frame, [frames], is that frame exactly."""

_REFLECT = np.array([1.0, -1.0, 1.0])
"""Signs that mirror a position in the plane y = 0."""

_REFLECT_TURN = np.array([1.0, -1.0, 1.0, -1.0])
"""Signs that mirror a rotation, wxyz: its axis is reflected and its sense reversed."""


def frames_of(motion: Motion, frames: str | None) -> slice:
    """The frames "A:B" of a motion.

    Args:
        motion: The motion.
        frames: Frames A up to but not B, counted from 0; either may be empty. None: all.

    Raises:
        ConfigError: `frames` is not two numbers, or A is not below B.
        MotionError: The motion lacks the frames.
    """
    if frames is None:
        return slice(0, len(motion))
    numbers = re.fullmatch(FRAMES, frames)
    if numbers is None:
        raise ConfigError(f"--frames {frames}: expected A:B, two frame numbers")
    first, last = int(numbers[1] or 0), int(numbers[2] or len(motion))
    if numbers[2] and first >= last:
        raise ConfigError(f"--frames {frames}: A must be below B in A:B")
    if not first < last <= len(motion):
        raise MotionError(
            f"{motion.label}: --frames {frames}: the clip has the frames 0:{len(motion)}"
        )
    return slice(first, last)


def at_speed(motion: Motion, speed: float) -> Motion:
    """The same frames at another speed: 0.5 for half the speed of the file."""
    return motion if speed == 1.0 else motion.replace(fps=motion.fps * speed)


def sample(motion: Motion, frames: Floats, fps: float) -> Motion:
    """Return the poses at fractional `frames` (N,) as a motion at `fps`.

    Positions are interpolated linearly, rotations by slerp on the shorter arc. Frames lie
    in 0 .. T - 1.
    """
    frames = np.asarray(frames, dtype=np.float64)
    last = len(motion) - 1
    if frames.size and not (frames.min() >= -_EXACT and frames.max() <= last + _EXACT):
        raise MotionError(
            f"{motion.label}: a sample lies outside the frames 0 to {last}"
        )
    near = np.round(frames)
    frames = np.where(np.abs(frames - near) < _EXACT, near, frames)
    low = np.clip(np.floor(frames).astype(np.int64), 0, max(last - 1, 0))
    high = np.minimum(low + 1, last)
    part = frames - low

    def mixed(values: Floats) -> Floats:
        w = part.reshape(-1, *[1] * (values.ndim - 1))
        return np.where(
            w == 1.0, values[high], values[low] + w * (values[high] - values[low])
        )

    offsets = motion.joint_offsets
    return motion.replace(
        fps=fps,
        root_positions=mixed(motion.root_positions),
        rotations=_slerp(motion.rotations[low], motion.rotations[high], part[:, None]),
        joint_offsets=None if offsets is None else mixed(offsets),
    )


def resample(motion: Motion, fps: float) -> Motion:
    """The same movement at `fps`, from the first frame to the last sample that fits in.

    Frames that coincide with old ones are kept exactly. At a lower rate, frequencies above half
    of it alias; apply a low-pass filter first where that matters.
    """
    if not (np.isfinite(fps) and fps > 0.0):
        raise MotionError(f"{motion.label}: fps must be above 0, got {fps}")
    count = int(np.floor(motion.duration * fps + _EXACT)) + 1
    frames = np.arange(count) * (motion.fps / fps)
    return sample(motion, np.minimum(frames, len(motion) - 1), fps)


def retime(
    motion: Motion, *, duration: float | None = None, factor: float | None = None
) -> Motion:
    """Change the duration of a motion, at the same rate.

    Args:
        motion: The motion, two frames or more.
        duration: Time from first to last frame, [s]; rounded to whole frames.
        factor: Alternatively, the new duration over the old one.
    """
    if (duration is None) == (factor is None):
        raise MotionError("retime takes either duration or factor")
    target = motion.duration * factor if factor is not None else duration
    if target is None or not (np.isfinite(target) and target > 0.0) or len(motion) < 2:
        raise MotionError(
            f"{motion.label}: needs two frames and a new duration above 0, "
            f"got {len(motion)} frames and {target} s"
        )
    count = max(round(target * motion.fps), 1) + 1
    return sample(motion, np.linspace(0.0, len(motion) - 1, count), motion.fps)


def transform(
    motion: Motion, *, yaw: float = 0.0, shift: Sequence[float] = (0.0, 0.0, 0.0)
) -> Motion:
    """Rotate the motion by `yaw` [rad] about the world's Z axis, then add `shift` [m]."""
    return _placed(
        motion, np.full(len(motion), yaw), np.asarray(shift, dtype=np.float64)
    )


def unbent(motion: Motion, yaw: Floats) -> Motion:
    """Turn each frame, and each step of the root's path, by its `yaw` (T,), [rad].

    The first frame's root stays where it is.
    """
    steps = np.diff(motion.root_positions, axis=0)
    turned = quat_rotate(quat_from_yaw(0.5 * (yaw[1:] + yaw[:-1])), steps)
    path = motion.root_positions[:1] + np.concatenate(
        [np.zeros((1, 3)), np.cumsum(turned, axis=0)]
    )
    placed = _placed(motion, yaw, np.zeros(3))
    return placed.replace(root_positions=path)


def heading(motion: Motion) -> Floats:
    """Heading of the root: the yaw from +X, in (-pi, pi], [rad]. Shape (T,).

    It is the twist about Z of the root's rotation from rest, undefined where the root is
    upside down.
    """
    yaw: Floats = yaw_of(root_turns(motion))
    return yaw


def root_turns(motion: Motion) -> Floats:
    """Rotations of the root from rest, in the world, wxyz. Shape (T, 4)."""
    rest = motion.skeleton.rest[0]
    return quat_multiply(
        quat_multiply(rest, motion.rotations[:, 0]), quat_conjugate(rest)
    )


def root_relative(motion: Motion) -> Motion:
    """Return every frame with its root over the origin and facing +X; heights stay."""
    yaw = -heading(motion)
    turned = _placed(motion, yaw, np.zeros(3))
    return turned.replace(root_positions=turned.root_positions * [0.0, 0.0, 1.0])


def mirror(motion: Motion) -> Motion:
    """The motion with left and right exchanged: its reflection in the plane y = 0.

    Lengths are exchanged too, so that joint positions are the exact reflection even on a
    skeleton whose sides differ.
    """
    twins = mirror_indices(motion.skeleton)
    skeleton = mirror_skeleton(motion.skeleton)
    _, turn = aligned_axes(motion.skeleton)
    frames, above = turn.frames, turn.parents
    back = quat_conjugate(frames)
    turned = turn(motion.rotations)[:, twins] * _REFLECT_TURN
    rotations = quat_multiply(quat_multiply(back, turned), frames)
    offsets = motion.joint_offsets
    if offsets is not None:
        moved = turn.offsets(offsets)[:, twins] * _REFLECT
        offsets = quat_rotate(quat_conjugate(above), moved)
    return motion.replace(
        skeleton=skeleton,
        root_positions=motion.root_positions * _REFLECT,
        rotations=rotations,
        joint_offsets=offsets,
    )


def mirror_skeleton(skeleton: Skeleton) -> Skeleton:
    """The skeleton with the lengths of left and right exchanged; itself if they are equal.

    Raises:
        MotionError: A joint's counterpart has a parent other than the parent's counterpart.
    """
    twins = mirror_indices(skeleton)
    parents = np.array(skeleton.parents)
    wrong = np.flatnonzero(parents[twins][1:] != twins[parents[1:]]) + 1
    if len(wrong):
        raise MotionError(
            f"{skeleton.name}: cannot be mirrored: {skeleton.joints[wrong[0]]!r} and its "
            "twin hang on different joints"
        )
    plain, turn = aligned_axes(skeleton)
    offsets = quat_rotate(quat_conjugate(turn.parents), plain.offsets[twins] * _REFLECT)
    owners, source = _mirrored_tips(skeleton, twins)
    tips = skeleton.tips
    if len(tips):
        own = turn.frames[owners]
        tips = quat_rotate(quat_conjugate(own), plain.tips[source] * _REFLECT)
    same = np.allclose(offsets, skeleton.offsets, rtol=0.0, atol=1e-9)
    if same and np.allclose(tips, skeleton.tips, rtol=0.0, atol=1e-9):
        return skeleton
    return skeleton.replace(offsets=offsets, tips=tips, tip_parents=tuple(owners))


def blend(a: Motion, b: Motion, weight: float | Floats) -> Motion:
    """Interpolate two motions of one tree, rate and length: `a` at weight 0, `b` at 1.

    `weight` is one number or one for each frame (T,).
    """
    _check_pair(a, b)
    if len(a) != len(b):
        raise MotionError(
            f"blend: both motions need one length, got {len(a)} and {len(b)}"
        )
    w = np.asarray(weight, dtype=np.float64)
    if w.shape not in ((), (len(a),)):
        raise MotionError(
            f"blend: expected one weight or {len(a)}, got shape {w.shape}"
        )
    if not ((w >= 0.0) & (w <= 1.0)).all():
        raise MotionError("blend: every weight must lie between 0 and 1")
    w = np.broadcast_to(w, (len(a),))
    offsets = None
    if a.joint_offsets is not None or b.joint_offsets is not None:
        one, other = _offsets(a), _offsets(b)
        offsets = one + w[:, None, None] * (other - one)
    return a.replace(
        root_positions=a.root_positions
        + w[:, None] * (b.root_positions - a.root_positions),
        rotations=_slerp(a.rotations, b.rotations, w[:, None]),
        joint_offsets=offsets,
    )


def concatenate(motions: Sequence[Motion], blend_seconds: float = 0.2) -> Motion:
    """Concatenate motions, each rotated and moved to continue the previous one.

    The end of one and the start of the next overlap by `blend_seconds` (at least one frame) and
    are cross-faded with a smooth weight, 3 s^2 - 2 s^3. In the middle of the overlap their
    roots have the same heading and ground position. Skeleton and name are the first motion's.
    """
    if not motions:
        raise MotionError("concatenate: no motions were given")
    if not (np.isfinite(blend_seconds) and blend_seconds >= 0.0):
        raise MotionError(
            f"concatenate: blend_seconds must not be below 0, got {blend_seconds}"
        )
    result = motions[0]
    for following in motions[1:]:
        result = _join(result, following, blend_seconds)
    return result


def _join(a: Motion, b: Motion, blend_seconds: float) -> Motion:
    _check_pair(a, b)
    overlap = max(round(blend_seconds * a.fps), 1)
    if overlap > min(len(a), len(b)):
        raise MotionError(
            f"concatenate: an overlap of {blend_seconds} s is longer than a motion of "
            f"{min(a.duration, b.duration):g} s"
        )
    here, there = len(a) - overlap + overlap // 2, overlap // 2
    yaw = float(heading(a[here : here + 1])[0] - heading(b[there : there + 1])[0])
    b = transform(b, yaw=yaw)
    shift = a.root_positions[here] - b.root_positions[there]
    b = transform(b, shift=(shift[0], shift[1], 0.0))
    s = np.arange(1, overlap + 1) / (overlap + 1)
    middle = blend(a[len(a) - overlap :], b[:overlap], s * s * (3.0 - 2.0 * s))

    def joined(one: Floats, between: Floats, other: Floats) -> Floats:
        return np.concatenate([one[: len(a) - overlap], between, other[overlap:]])

    offsets = middle.joint_offsets
    return a.replace(
        root_positions=joined(
            a.root_positions, middle.root_positions, b.root_positions
        ),
        rotations=joined(a.rotations, middle.rotations, b.rotations),
        joint_offsets=None
        if offsets is None
        else joined(_offsets(a), offsets, _offsets(b)),
    )


def _check_pair(a: Motion, b: Motion) -> None:
    """Raise `MotionError` unless `a` and `b` have comparable poses."""
    one, other = a.skeleton, b.skeleton
    if not one.same_tree(other):
        raise MotionError(
            f"motions on different skeletons, {one.name} and {other.name}; retarget one"
        )
    if not np.allclose(one.rest, other.rest, rtol=0.0, atol=1e-6):
        raise MotionError(f"two skeletons {one.name} rest in different poses")
    if not np.isclose(a.fps, b.fps, rtol=1e-6):
        raise MotionError(
            f"motions of different rates, {a.fps:g} and {b.fps:g} fps; resample one"
        )


def _offsets(motion: Motion) -> Floats:
    """Joint offsets of every frame. Shape (T, J, 3)."""
    if motion.joint_offsets is not None:
        return motion.joint_offsets
    own = motion.skeleton.offsets
    return np.broadcast_to(own, (len(motion), *own.shape))


def _slerp(a: Floats, b: Floats, t: Floats) -> Floats:
    """Slerp of (..., 4) at `t`, which gives `a` and `b` themselves at 0 and 1."""
    between = quat_slerp(a, b, np.broadcast_to(t, a.shape[:-1]))
    return np.where((t == 1.0)[..., None], b, between)


def _mirrored_tips(skeleton: Skeleton, twins: Ints) -> tuple[Ints, Ints]:
    """Joint of each tip of the mirrored skeleton, and the tip of which it is the image.

    The n-th tip of a joint is the image of its twin's n-th; where twins have different
    numbers of tips, tips change their joints instead.
    """
    owners = np.array(skeleton.tip_parents, dtype=np.int64)
    lists = [np.flatnonzero(owners == joint) for joint in range(len(skeleton))]
    if any(len(lists[j]) != len(lists[twin]) for j, twin in enumerate(twins)):
        return twins[owners], np.arange(len(owners))
    source = np.zeros(len(owners), dtype=np.int64)
    for joint, twin in enumerate(twins):
        source[lists[joint]] = lists[twin]
    return owners, source


def _placed(motion: Motion, yaw: Floats, shift: Floats) -> Motion:
    """Frames turned by `yaw` (T,) about the world's Z axis, then moved by `shift` (3,)."""
    turn = quat_from_yaw(yaw)
    rest = motion.skeleton.rest[0]
    root = quat_multiply(turn, quat_multiply(rest, motion.rotations[:, 0]))
    rotations = motion.rotations.copy()
    rotations[:, 0] = quat_multiply(quat_conjugate(rest), root)
    return motion.replace(
        root_positions=quat_rotate(turn, motion.root_positions) + shift,
        rotations=rotations,
    )
