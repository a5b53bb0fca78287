"""Numbers that say how far a predicted motion lies from the true one (NumPy).

Pure functions of arrays. Windows run along the first axis, B of them, and frames along the
second. Not for running models: see `ambulo.evaluate.motion.scores`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.motion.euler import quat_to_euler
from ambulo.motion.rotations import quat_angle, quat_unroll

HORIZONS_MS = (80, 160, 320, 400, 560, 1000)
"""Times after the last known frame at which errors are reported, [ms]."""
GROWTH_STEPS = (1, 5, 10, 30, 60)
"""Frames after the last known one at which the growth of the error is reported."""
SLOPE_STEPS = (10, 60)
"""First and last step over which the slope of the growth is fitted."""
SKATE_HEIGHT = 0.025
"""A foot above this height does not skate, [m] (Zhang et al. 2018)."""
FLAT = 1e-10
"""A number whose variance is smaller does not move, and has no R^2."""


def joint_distance_mm(predicted: Floats, true: Floats) -> Floats:
    """Mean distance of the joints (MPJPE), [mm]. Shapes (..., J, 3), [m] -> (...)."""
    return 1000.0 * np.linalg.norm(predicted - true, axis=-1).mean(axis=-1)


def joint_angle_deg(predicted: Floats, true: Floats) -> Floats:
    """Mean angle between the joints' rotations, [deg]. Shapes (..., J, 4) -> (...)."""
    return np.degrees(quat_angle(predicted, true)).mean(axis=-1)


def euler_errors(
    predicted: Floats, true: Floats, orders: Sequence[str]
) -> tuple[Floats, Floats]:
    """`(norm [rad], mean absolute [deg])` of the differences of all Euler angles.

    The norm runs over the angles of all joints: the "angle error" of Martinez et al.
    (CVPR 2017) and of the papers after it. Unlike there a hinge has one angle, of the
    two triples of angles that mean one rotation the nearer to the truth is taken, and
    differences are wrapped into [-pi, pi]: no error from a mere change of numbers.

    Args:
        predicted: Local rotations of J joints without the root, wxyz. Shape (..., J, 4).
        true: The same of the truth.
        orders: Intrinsic rotation order of each joint, such as "ZXY" or "Y".

    Returns:
        Two arrays of shape (...).
    """
    parts = []
    for joint, order in enumerate(orders):
        if order:
            angles = quat_to_euler(predicted[..., joint, :], order)
            wanted = quat_to_euler(true[..., joint, :], order)
            parts.append(_angle_differences(angles, wanted))
    gaps = np.concatenate(parts, axis=-1)
    return np.sqrt((gaps**2).sum(axis=-1)), np.degrees(np.abs(gaps).mean(axis=-1))


def _angle_differences(angles: Floats, wanted: Floats) -> Floats:
    """The smaller of `angles` (..., n) and their twin, less `wanted`, wrapped."""
    turn = 2.0 * np.pi
    gap = angles - wanted
    gap = gap - turn * np.round(gap / turn)
    if angles.shape[-1] < 3:
        return gap
    twin = angles * [1.0, -1.0, 1.0] + np.pi - wanted
    twin = twin - turn * np.round(twin / turn)
    nearer = np.abs(twin).sum(axis=-1) < np.abs(gap).sum(axis=-1)
    return np.where(nearer[..., None], twin, gap)


def spectrum_features(rotations: Floats) -> Floats:
    """Numbers whose spectra `npss` compares. Shape (B, T, J, 4) -> (B, T, 3 J).

    Twice the vector part of each quaternion, about the rotation vector, with signs that
    are continuous in time: no jumps as Euler angles have, and a sign that is turned
    throughout has the same power.
    """
    moved = quat_unroll(np.moveaxis(rotations, 1, 0))
    vectors = 2.0 * np.moveaxis(moved, 0, 1)[..., 1:]
    return vectors.reshape(*vectors.shape[:2], -1)


def npss_parts(predicted: Floats, true: Floats) -> tuple[Floats, Floats]:
    """Numerator and weight of the NPSS of each window. Shapes (B, T, D) -> two (B,).

    Normalised power spectrum similarity (Gopalakrishnan et al., CVPR 2019): the earth
    mover's distance between the power spectra of a number over time, each of sum one,
    weighted with the true total power. The NPSS of a set of windows is the sum of its
    numerators over the sum of its weights.
    """
    power = np.abs(np.fft.fft(predicted, axis=1)) ** 2
    wanted = np.abs(np.fft.fft(true, axis=1)) ** 2
    weight = wanted.sum(axis=1)

    def shares(spectrum: Floats) -> Floats:
        total = spectrum.sum(axis=1, keepdims=True)
        even = np.full_like(spectrum, 1.0 / spectrum.shape[1])
        return np.divide(spectrum, total, out=even, where=total > 0.0)

    gap = np.cumsum(shares(power), axis=1) - np.cumsum(shares(wanted), axis=1)
    distance = np.abs(gap).sum(axis=1)
    return (distance * weight).sum(axis=-1), weight.sum(axis=-1)


def npss(predicted: Floats, true: Floats) -> float:
    """NPSS of windows (B, T, D); 0 is the same spectrum, smaller is better."""
    parts, weights = npss_parts(predicted, true)
    return float(parts.sum() / max(weights.sum(), FLAT))


def foot_skate_cm_s(feet: Floats, ground: Floats, fps: float) -> Floats:
    """Horizontal speed of the feet near the ground, [cm/s]. Shape (B, T, K, 3) -> (B,).

    The mean over frames and feet of v (2 - 2^(h / H)), h the height above the ground, H
    = 2.5 cm, no weight above H (Zhang et al., SIGGRAPH 2018).

    Args:
        feet: World positions of K foot joints in consecutive frames, [m].
        ground: Height of each foot joint when it stands, [m]. Shape (B, T, K).
        fps: Frames a second, [Hz].
    """
    speed = 100.0 * fps * np.linalg.norm(np.diff(feet[..., :2], axis=1), axis=-1)
    height = np.maximum(feet[..., 2] - ground, 0.0)
    lower = np.minimum(height[:, 1:], height[:, :-1])
    weight = np.clip(2.0 - 2.0 ** (lower / SKATE_HEIGHT), 0.0, 1.0)
    return (speed * weight).mean(axis=(1, 2))


def r_squared(predicted: Floats, true: Floats) -> tuple[float, float]:
    """`(pooled, mean)` R^2 of samples (N, D) over the numbers that vary.

    Pooled: 1 - all squared errors / all squared deviations from each number's mean.
    Mean: the mean of the R^2 of each number, so that small and large ones count alike.
    Both are NaN when nothing varies.
    """
    deviation = ((true - true.mean(axis=0)) ** 2).sum(axis=0)
    error = ((predicted - true) ** 2).sum(axis=0)
    varies = deviation > FLAT * len(true)
    if not varies.any():
        return float("nan"), float("nan")
    pooled = 1.0 - error[varies].sum() / deviation[varies].sum()
    return float(pooled), float((1.0 - error[varies] / deviation[varies]).mean())


def growth_slope(errors: Floats) -> float:
    """Slope of log error over log step between the steps of `SLOPE_STEPS`.

    A least-squares line through every step; 1 is growth in proportion to time, less is
    sublinear. `errors` (F,) starts with step 1. NaN with too few steps, or where an error
    is 0.
    """
    low, high = SLOPE_STEPS
    part = np.asarray(errors, np.float64)[low - 1 : high]
    if len(part) < high - low + 1 or not (part > 0.0).all():
        return float("nan")
    steps = np.log(np.arange(low, high + 1))
    return float(np.polyfit(steps, np.log(part), 1)[0])


def horizon_frames(horizons_ms: Sequence[int], fps: float) -> list[int]:
    """Frames after the last known one of each horizon, [ms]; at least one."""
    return [max(1, round(ms * fps / 1000.0)) for ms in horizons_ms]
