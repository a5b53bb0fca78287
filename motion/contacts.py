"""Foot contacts with the ground, and sliding of feet in contact (foot skate)."""

from __future__ import annotations

import numpy as np
from scipy.ndimage import percentile_filter

from ambulo.configs.arrays import Bools, Floats
from ambulo.configs.errors import MotionError
from ambulo.motion.landmarks import body_points, foot_points, has_feet
from ambulo.motion.motion import Motion
from ambulo.motion.roles import SIDES

GROUND_SECONDS = 1.5
"""Window of the ground height's estimation, [s]: longer than a stride or the flight of a jump,
shorter than what a tilted capture floor needs to rise noticeably (CMU's rises by up to 6 cm
along one walk)."""

STEP_SECONDS = 0.75
"""Length of the window in which the height of a stair is estimated, [s]: shorter than the
time from one step to the foot's next."""

STILL = 0.3
"""Fraction of the contact speed below which a foot on a stair must be, so that a slowly
lifted foot does not count."""

GROUND_PERCENTILE = 10.0
"""The ground is this percentile of the heights in the window, which neither a lost marker nor
one deep frame changes."""

HIGHEST_STEP = 0.25
"""Largest height of a stair over the other foot's level, [m]; a higher foot counts as
lifted."""


def foot_contacts(
    motion: Motion, *, height: float = 0.03, speed: float = 0.5, release: float = 1.6
) -> Bools:
    """Contacts of the left and the right foot with the ground. Shape (T, 2).

    A point of the foot (ankle, toe joints, heel and toe ends, as far as the skeleton has them)
    makes contact when it is lower than `height` over its own ground and slower than `speed`,
    and keeps it until it is `release` times as high or as fast: without this hysteresis, noise
    at the threshold would make many short contacts. The foot is in contact while one of its
    points is.

    The ground is the clip's own, estimated for each kind of point, so that a skeleton with
    ankles only works too: the level to which the point comes down within `GROUND_SECONDS`,
    which follows tilted floors. A point at rest (`STILL`) also has contact on the level to
    which it comes down within `STEP_SECONDS`, as on stairs. A level more than `HIGHEST_STEP`
    over that of the lower foot is ignored; a foot held lower than that and at rest counts as in
    contact.

    Args:
        motion: The motion.
        height: Largest height of a point that makes contact, [m].
        speed: Largest speed of a point that makes contact, [m/s].
        release: Factor on both at which a point loses contact, at least 1.
    """
    if min(height, speed) <= 0.0 or release < 1.0:
        raise MotionError("foot contacts: height and speed above 0, release at least 1")
    result = np.zeros((len(motion), 2), dtype=np.bool_)
    long, short = _feet(motion, GROUND_SECONDS), _feet(motion, STEP_SECONDS)
    for foot, ((over, velocities), (over_step, _)) in enumerate(
        zip(long, short, strict=True)
    ):
        speeds = np.linalg.norm(velocities, axis=-1)
        on = (over < height) & (speeds < speed)
        on |= (over_step < height) & (speeds < STILL * speed)
        off = (over_step > release * height) | (speeds > release * speed)
        result[:, foot] = _latched(on, off).any(axis=1)
    return result


def foot_skate(motion: Motion, contacts: Bools | None = None) -> float:
    """Mean horizontal speed of feet in contact at the ground, [m/s].

    In each frame of contact, the foot's lowest point over its own ground counts. 0 without any
    contact.

    Args:
        motion: The motion.
        contacts: Mask of contacts, (T, 2); by default `foot_contacts(motion)`.
    """
    stands = foot_contacts(motion) if contacts is None else contacts
    if stands.shape != (len(motion), 2):
        raise MotionError(
            f"contacts: expected shape ({len(motion)}, 2), got {stands.shape}"
        )
    slides = [np.zeros(0)]
    for foot, (heights, velocities) in enumerate(_feet(motion, STEP_SECONDS)):
        lowest = np.argmin(heights, axis=1)
        touching = velocities[np.arange(len(motion)), lowest, :2]
        slides.append(np.linalg.norm(touching, axis=-1)[stands[:, foot]])
    joined = np.concatenate(slides)
    return float(joined.mean()) if len(joined) else 0.0


def _feet(motion: Motion, seconds: float) -> list[tuple[Floats, Floats]]:
    """Heights over the ground (T, P) and velocities (T, P, 3) of each foot's points.

    The ground is the level to which they come down within `seconds`.
    """
    skeleton = motion.skeleton
    if not has_feet(skeleton):
        raise MotionError(f"{skeleton.name}: no joints play the feet")
    points = body_points(motion)
    rates = (
        np.gradient(points, axis=0) * motion.fps if len(motion) > 1 else 0.0 * points
    )
    feet = [foot_points(skeleton, side) for side in SIDES]
    heights = [points[:, foot, 2] for foot in feet]
    levels = [_level(own, seconds * motion.fps) for own in heights]
    if len(feet[0]) == len(feet[1]):
        lower = _level(np.minimum(*heights), GROUND_SECONDS * motion.fps)
        levels = [np.where(own > lower + HIGHEST_STEP, lower, own) for own in levels]
    return [
        (own - level, rates[:, foot])
        for own, level, foot in zip(heights, levels, feet, strict=True)
    ]


def _level(heights: Floats, frames: float) -> Floats:
    """The level to which each point of `heights` (T, P) comes down. Shape (T, P), [m]."""
    window = min(2 * round(0.5 * frames) + 1, 2 * len(heights) - 1)
    columns = [
        percentile_filter(np.ascontiguousarray(column), GROUND_PERCENTILE, size=window)
        for column in heights.T
    ]
    return np.stack(columns, axis=1)


def _latched(on: Bools, off: Bools) -> Bools:
    """True from a frame of `on` until one of `off` (T, P); `on` has priority."""
    frames = np.arange(len(on))[:, None]
    last_on = np.maximum.accumulate(np.where(on, frames, -1), axis=0)
    last_off = np.maximum.accumulate(np.where(off & ~on, frames, -1), axis=0)
    result: Bools = last_on > last_off
    return result
