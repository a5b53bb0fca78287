"""Gait cycles of captured clips: strides between foot strikes, and their parameters.

A clip is retargeted to human23 with the person's own lengths. A foot strikes where its contact
begins; the time is refined to that at which the ankle is foremost before the root (J. Zeni, J.
Richards and J. Higginson, Two simple methods for determining gait events during treadmill and
overground walking using kinematic data, Gait & Posture 27, 2008), which a spline interpolates
between frames. Two similar consecutive strides of a foot are a sequence; those of the right
foot are mirrored, so that phase 0 is always the left foot's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from scipy.interpolate import CubicSpline

from ambulo.configs.arrays import Bools, Floats
from ambulo.configs.errors import MotionError
from ambulo.configs.gait import LIMBS, SIDES, GaitSpace, gait_space
from ambulo.configs.healthy_gait import HEALTHY
from ambulo.motion.filters import CUTOFF, smoothed
from ambulo.motion.gaits.frames import sequence, single
from ambulo.motion.gaits.shards import FRAMES, PER_CYCLE
from ambulo.motion.gaits.skeleton import ENDS, LETTERS, leg_length
from ambulo.motion.human23 import N_SIXDOF, to_positions
from ambulo.motion.kinematics import joint_positions
from ambulo.motion.motion import Motion
from ambulo.motion.operations import heading, mirror, resample
from ambulo.motion.retargeting.retarget import retarget
from ambulo.motion.skeleton import Skeleton
from ambulo.motion.skeletons import load_skeleton

RATE = 60.0
"""Clips are resampled to this rate first, [Hz]."""
STRIDE_SECONDS = (0.4, 2.0)
"""Shortest and longest stride, [s]."""
SLOWEST = 0.4
"""Minimum forward speed of a gait, [m/s]."""
TURN = np.deg2rad(20.0)
"""Largest change of heading from one stride to the next, and deviation from the path, of a
straight gait, [rad]."""
ALIKE = 0.2
"""Largest relative difference of two strides in duration and length."""
SHORT_GAP, SHORT_STAND = 0.08, 0.10
"""Gaps in a contact, and contacts, shorter than this are noise, [s]."""
NEAR = 0.2
"""Search window for the foremost ankle around the start of a contact, [s]."""


@dataclass(frozen=True, eq=False)
class CapturedCycles:
    """The S sequences of a clip."""

    params: Floats
    """Measured parameters, in the order of the space of human23. Shape (S, 13)."""
    frames: Floats
    """Two cycles from a strike of the left foot. Shape (S, 60, 101)."""
    fps: Floats
    """True rate of the frames, [Hz]. Shape (S,)."""
    names: tuple[str, ...]
    """The first foot and the time of its strike: "left 1.25 s". S of them."""

    def __len__(self) -> int:
        return len(self.params)


def cycles_of_clip(motion: Motion) -> CapturedCycles:
    """The sequences of a captured motion of any skeleton that can be retargeted."""
    if motion.fps > RATE * 1.001:
        motion = smoothed(motion, CUTOFF)
    result = retarget(
        resample(motion, RATE), load_skeleton("human23"), fit_lengths=True
    )
    return cycles_of(result.motion, result.contacts)


def cycles_of(motion: Motion, contacts: Bools) -> CapturedCycles:
    """The sequences of a motion of human23 with a person's lengths.

    Args:
        motion: T frames.
        contacts: Contacts of the left and the right foot. Shape (T, 2).
    """
    rows: list[Floats] = []
    frames: list[Floats] = []
    rates: list[float] = []
    names: list[str] = []
    for foot, side in enumerate(SIDES):
        turned = motion if side == "left" else mirror(motion)
        lengths = measured_lengths(turned.skeleton)
        legs = leg_length(gait_space("human23"), space_row(lengths))
        positions = to_positions(turned)
        times = strikes(turned, contacts[:, foot])
        for at in _sequences(turned, times):
            if len(at) == 3:
                frame = sequence(positions, _phases(*at), turned.fps)
            else:
                frame = single(positions, at[0], at[1], turned.fps)
            strides = len(at) - 1
            seconds = (at[-1] - at[0]) / (strides * turned.fps)
            distance = _distance(turned, at[0], at[-1]) / strides
            stride, cadence = HEALTHY.ratios(distance, 1.0 / seconds, legs)
            rows.append(space_row(lengths, float(stride), float(cadence)))
            frames.append(frame)
            rates.append(PER_CYCLE / seconds)
            alone = "" if strides > 1 else ", one stride"
            names.append(f"{side} {at[0] / turned.fps:.2f} s{alone}")
    return CapturedCycles(
        np.array(rows).reshape(len(rows), gait_space("human23").size),
        np.array(frames).reshape(len(rows), FRAMES, N_SIXDOF),
        np.array(rates),
        tuple(names),
    )


def strikes(motion: Motion, stands: Bools) -> Floats:
    """Times of left foot strikes of a motion of human23, in frames, ascending. Shape (S,).

    Args:
        motion: T frames.
        stands: Whether the foot is in contact. Shape (T,).
    """
    held = _without_short(stands, False, SHORT_GAP * motion.fps)
    held = _without_short(held, True, SHORT_STAND * motion.fps)
    onsets = np.flatnonzero(held[1:] & ~held[:-1]) + 1
    positions = joint_positions(motion)
    yaw = np.unwrap(heading(motion))
    ankle = positions[:, motion.skeleton.index("TalusL")] - positions[:, 0]
    ahead = ankle[:, 0] * np.cos(yaw) + ankle[:, 1] * np.sin(yaw)
    rate = CubicSpline(np.arange(len(ahead)), ahead).derivative()
    slows = [
        float(root) for root in rate.roots(extrapolate=False) if rate(root, 1) < 0.0
    ]
    result = []
    for onset in onsets.tolist():
        near = [t for t in slows if abs(t - onset) <= NEAR * motion.fps]
        if near:
            result.append(max(near, key=lambda t: float(ahead[round(t)])))
    return np.unique(np.array(result, dtype=np.float64))


def measured_lengths(skeleton: Skeleton) -> dict[str, float]:
    """The lengths of a human23 as parameters.

    `global` is the geometric mean of the eight limbs' lengths over human23's own, and each
    limb's own parameter is the remaining factor.
    """
    base = load_skeleton("human23")
    if not skeleton.same_tree(base):
        raise MotionError(f"{skeleton.name}: lengths are measured on human23")
    ratios = {}
    for limb in LIMBS:
        for side in SIDES:
            joint = base.index(ENDS[limb] + LETTERS[side])
            length = np.linalg.norm(skeleton.offsets[joint])
            ratios[f"{limb}_length_{side}"] = float(
                length / np.linalg.norm(base.offsets[joint])
            )
    whole = float(np.exp(np.mean(np.log(list(ratios.values())))))
    return {"global": whole, **{name: value / whole for name, value in ratios.items()}}


def space_row(
    lengths: dict[str, float], stride: float = 1.0, cadence: float = 1.0
) -> Floats:
    """Values (13,) in the order of the space of human23; ranges are not checked."""
    space = gait_space("human23")
    values = space.default.copy()
    for name, value in {**lengths, "stride": stride, "cadence": cadence}.items():
        values[space.index(name)] = value
    return values


def captured_space(params: Floats, step: float = 0.05) -> GaitSpace:
    """The space of measured parameters (N, 13): their own ranges, widened to `step`.

    Torsions, which markers do not show, keep the range of human23.
    """
    changed = []
    for column, parameter in enumerate(gait_space("human23").parameters):
        values = params[:, column]
        if parameter.group == "torsion":
            changed.append(parameter)
            continue
        low = min(float(np.floor(values.min() / step) * step), parameter.default)
        high = max(float(np.ceil(values.max() / step) * step), parameter.default)
        if high - low < step:
            low, high = low - step, high + step
        changed.append(replace(parameter, low=round(low, 9), high=round(high, 9)))
    return GaitSpace("captured", tuple(changed))


def _sequences(motion: Motion, strikes: Floats) -> list[Floats]:
    """Strikes (3,) of every two steady strides, or (2,) of the only stride of a foot."""
    size = 3 if len(strikes) > 2 else 2
    runs = [strikes[row : row + size] for row in range(len(strikes) - size + 1)]
    return [run for run in runs if len(run) == size and _steady(motion, run)]


def _phases(start: float, middle: float, end: float) -> Floats:
    """Times of the phases 0, 1/30, ... 2, uniform within each stride. Shape (61,)."""
    phase = np.arange(FRAMES + 1) / PER_CYCLE
    return np.asarray(np.interp(phase, [0.0, 1.0, 2.0], [start, middle, end]))


def _distance(motion: Motion, start: float, end: float) -> float:
    """Distance on the ground from frame to frame, [m]."""
    first, last = _places(motion, np.array([start, end]))
    return float(np.linalg.norm(last - first))


def _places(motion: Motion, at: Floats) -> Floats:
    """Root position on the ground at frames (N,). Shape (N, 2), [m]."""
    frames = np.arange(len(motion))
    columns = [np.interp(at, frames, motion.root_positions[:, k]) for k in (0, 1)]
    return np.stack(columns, axis=1)


def _steady(motion: Motion, at: Floats) -> bool:
    """Whether the strides between strikes at frames (2,) or (3,) are a straight gait.

    Two strides must be similar.
    """
    seconds = np.diff(at) / motion.fps
    if not ((seconds >= STRIDE_SECONDS[0]) & (seconds <= STRIDE_SECONDS[1])).all():
        return False
    steps = np.diff(_places(motion, at), axis=0)
    distances = np.linalg.norm(steps, axis=1)
    if (distances / seconds < SLOWEST).any():
        return False
    if (
        max(distances.max() / distances.min(), seconds.max() / seconds.min())
        > 1.0 + ALIKE
    ):
        return False
    yaw = np.unwrap(heading(motion))
    bounds = np.round(at).astype(np.int64)
    ahead = np.array([yaw[a:b].mean() for a, b in pairwise(bounds)])
    course = np.arctan2(steps[:, 1], steps[:, 0])
    off = np.angle(np.exp(1j * (course - ahead)))
    return bool(abs(ahead[-1] - ahead[0]) < TURN and (np.abs(off) < TURN).all())


def _without_short(values: Bools, which: bool, frames: float) -> Bools:
    """`values` (T,) with runs of `which` shorter than `frames` flipped, except at the ends."""
    out = values.copy()
    edges = np.flatnonzero(np.diff(values)) + 1
    bounds: list[int] = [0, *edges.tolist(), len(values)]
    for first, stop in list(pairwise(bounds))[1:-1]:
        if out[first] == which and stop - first < frames:
            out[first:stop] = not which
    return out
