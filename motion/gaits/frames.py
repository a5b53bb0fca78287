"""Two gait cycles as 60 frames at equal phases, the training format of gait networks.

A frame has the 101 numbers of `motion.human23.to_sixdof`, except the root's position: 6 and 7
are its displacement in 1/30 s (its velocity over 30 Hz, whatever the rate of the frames), along
+X, the direction of the two cycles, and along +Y to the left; 8 is its height, [m].
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray
from scipy.interpolate import CubicSpline

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import MotionError
from ambulo.configs.gait import GaitSpace
from ambulo.configs.healthy_gait import HEALTHY
from ambulo.motion.gaits.shards import FRAMES, PER_CYCLE
from ambulo.motion.gaits.skeleton import leg_length
from ambulo.motion.human23 import (
    N_SIXDOF,
    rotations_of_sixdof,
    sixdof_slices,
    to_sixdof,
)
from ambulo.motion.motion import Motion
from ambulo.motion.roles import mirror_indices
from ambulo.motion.skeleton import Skeleton
from ambulo.motion.skeletons import load_skeleton

WAY_RATE = 30.0
"""The root's displacement is counted per 1 / this, [Hz], as in GaitNet."""
CYCLES = FRAMES // PER_CYCLE
"""Number of cycles of a sequence."""
STANDING = 0.2
"""Two cycles that travel less than this have no direction, and use their mean heading, [m]."""
MARGIN = 12
"""Frames before and after the sequence that its splines include."""


def sequence(positions: Floats, at: Floats, rate: float) -> Floats:
    """The frames (60, 101) of two cycles.

    Every number goes through a cubic spline over time; rotations are made orthonormal again
    afterwards. Then the path is straightened: it is rotated about the vertical to lead along
    +X, by a linearly varying angle if the cycles bend.

    Args:
        positions: Frames of human23. Shape (T, 56).
        at: Times of the phases 0, 1/30, ... 2, in frames, ascending. Shape (61,).
        rate: Rate of the positions, [Hz].
    """
    if at.shape != (FRAMES + 1,) or not (np.diff(at) > 0.0).all():
        raise MotionError("gait: expected 61 moments that ascend")
    if at[0] < 0.0 or at[-1] > len(positions) - 1:
        raise MotionError("gait: a moment lies outside of the frames")
    spline = _spline(positions, at[0], at[-1])
    places = spline(at)
    frames = orthonormal(places[:-1])
    frames[:, 6:8] = spline(at[:-1], 1)[:, 6:8] * (rate / WAY_RATE)
    return _straightened(frames, places[-1, 6:8] - places[0, 6:8])


def single(positions: Floats, start: float, end: float, rate: float) -> Floats:
    """The frames (60, 101) of one cycle from `start` to `end`, closed and repeated.

    Its linear drift is removed. See also `sequence`.
    """
    if not 0.0 <= start < end <= len(positions) - 1:
        raise MotionError("gait: a cycle lies outside of the frames")
    spline = _spline(positions, start, end)
    phase = np.arange(PER_CYCLE) / PER_CYCLE
    at = start + phase * (end - start)
    drift = spline(end) - spline(start)
    velocities = spline(at, 1)[:, 6:8]
    faster = spline(end, 1)[6:8] - spline(start, 1)[6:8]
    closed = orthonormal(spline(at) - (phase - 0.5)[:, None] * drift)
    velocities -= (phase - 0.5)[:, None] * faster
    velocities += drift[6:8] / (end - start) - velocities.mean(axis=0)
    closed[:, 6:8] = velocities * (rate / WAY_RATE)
    return _straightened(np.tile(closed, (CYCLES, 1)), CYCLES * drift[6:8])


def _spline(positions: Floats, start: float, end: float) -> CubicSpline:
    """The 101 numbers over frames from `start` to `end` and a margin."""
    low = max(int(np.floor(start)) - MARGIN, 0)
    high = min(int(np.ceil(end)) + MARGIN + 1, len(positions))
    return CubicSpline(np.arange(low, high), to_sixdof(positions[low:high]))


def orthonormal(frames: NDArray[np.floating]) -> Floats:
    """Return `frames` (..., 101) with orthonormal 6D rotations of the ball joints.

    Gram-Schmidt, as `ambulo.motion.rotations.sixd_to_matrix`, in a compiled loop.
    """
    out = np.array(frames, dtype=np.float64)
    _orthonormalize(out.reshape(-1, N_SIXDOF), _balls())
    return out


def mirrored(frames: NDArray[np.floating]) -> NDArray[np.floating]:
    """`frames` (..., 60, 101) with left and right exchanged, half a cycle later.

    So phase 0 is the same event of the left foot.
    """
    source, signs = _mirror()
    turned = np.take(frames, source, axis=-1) * signs.astype(frames.dtype)
    return np.roll(turned, -PER_CYCLE // 2, axis=-2)


def speed_of(frames: Floats) -> Floats:
    """Mean forward speed (...), [m/s], of frames (..., T, 101)."""
    return np.asarray(frames[..., 6].mean(axis=-1) * WAY_RATE)


def root_path(frames: Floats, fps: float) -> Floats:
    """Positions of the root (T, 3), [m], of frames (T, 101) at `fps`; it starts at 0.

    The trapezoidal rule over the frames' velocities.
    """
    travel = frames[:, 6:8] * (WAY_RATE / fps)
    path = np.zeros((len(frames), 3))
    path[1:, :2] = np.cumsum(0.5 * (travel[1:] + travel[:-1]), axis=0)
    path[:, 2] = frames[:, 8]
    return path


def motion_of(
    frames: Floats, fps: float, skeleton: Skeleton | None = None, name: str = ""
) -> Motion:
    """The motion of frames (T, 101) at `fps` on a human23 of any lengths."""
    frames = np.asarray(frames, dtype=np.float64)
    return Motion(
        skeleton or load_skeleton("human23"),
        fps,
        root_path(frames, fps),
        np.asarray(rotations_of_sixdof(frames)),
        name=name,
    )


def frame_rate(space: GaitSpace, params: ArrayLike) -> Floats:
    """True frame rate (...) of sequences with parameters `params` (..., P), [Hz]."""
    values = np.asarray(params, dtype=np.float64)
    cadence = values[..., space.index("cadence")]
    return PER_CYCLE * HEALTHY.rate_of(cadence, leg_length(space, values))


@cache
def _balls() -> NDArray[np.int64]:
    """First column of the six numbers of each ball joint. Shape (15,)."""
    positions = sixdof_slices().values()
    return np.array(
        [place.start for place in positions if place.stop - place.start == 6]
    )


@njit(cache=True)
def _orthonormalize(frames: Floats, starts: NDArray[np.int64]) -> None:
    """Gram-Schmidt of two rows at each of `starts` in frames (N, 101), in place."""
    for n in range(len(frames)):
        row = frames[n]
        for k in starts:
            a, b, c = row[k], row[k + 1], row[k + 2]
            size = np.sqrt(a * a + b * b + c * c)
            a, b, c = a / size, b / size, c / size
            d, e, f = row[k + 3], row[k + 4], row[k + 5]
            along = a * d + b * e + c * f
            d, e, f = d - along * a, e - along * b, f - along * c
            size = np.sqrt(d * d + e * e + f * f)
            row[k], row[k + 1], row[k + 2] = a, b, c
            row[k + 3], row[k + 4], row[k + 5] = d / size, e / size, f / size


@cache
def _mirror() -> tuple[NDArray[np.int64], Floats]:
    """Source column and sign of each number of a mirrored frame.

    The mirror M is the plane y = 0: a rotation R becomes M R M, so of its first two rows
    the numbers 1, 3 and 5 change their sign; so does a turn about X or Z.
    """
    skeleton = load_skeleton("human23")
    positions = list(sixdof_slices().values())
    source, signs = np.arange(N_SIXDOF), np.ones(N_SIXDOF)
    signs[7] = -1.0
    for joint, twin in enumerate(mirror_indices(skeleton).tolist()):
        here, there = positions[joint], positions[twin]
        source[here] = np.arange(there.start, there.stop)
        if here.stop - here.start == 6:
            signs[here] = (1.0, -1.0, 1.0, -1.0, 1.0, -1.0)
        else:
            signs[here] = 1.0 if skeleton.orders[joint] == "Y" else -1.0
    return source, signs


def _straightened(frames: Floats, travel: Floats) -> Floats:
    """`frames` (60, 101) rotated to lead along +X.

    Args:
        frames: Frames whose root still has its own direction.
        travel: From the first to the last position of the root, (x, y), [m].
    """
    ahead = np.unwrap(np.arctan2(frames[:, 3], frames[:, 0]))
    first, second = ahead[:PER_CYCLE].mean(), ahead[PER_CYCLE:].mean()
    middle = 0.5 * (first + second)
    course = (
        np.arctan2(travel[1], travel[0]) if np.hypot(*travel) >= STANDING else middle
    )
    bend = (second - first) / PER_CYCLE
    yaw = course + bend * (np.arange(FRAMES) - 0.5 * (FRAMES - 1))
    cos, sin = np.cos(yaw)[:, None], np.sin(yaw)[:, None]
    out = frames.copy()
    out[:, 0:3] = cos * frames[:, 0:3] + sin * frames[:, 3:6]
    out[:, 3:6] = cos * frames[:, 3:6] - sin * frames[:, 0:3]
    out[:, 6:7] = cos * frames[:, 6:7] + sin * frames[:, 7:8]
    out[:, 7:8] = cos * frames[:, 7:8] - sin * frames[:, 6:7]
    return out
