from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from ambulo.configs.errors import MotionError
from ambulo.motion.filters import low_pass, smoothed
from ambulo.motion.kinematics import joint_positions
from ambulo.motion.motion import Motion
from ambulo.motion.rotations import quat_angle, quat_from_yaw

Walk = Callable[..., Motion]


def gain(
    frequency: float, fps: float, cutoff: float, order: int
) -> tuple[float, float]:
    """Measured gain and phase [rad] of a sine, from the middle of a long signal."""
    time = np.arange(4000) / fps
    filtered = low_pass(np.sin(2 * np.pi * frequency * time), fps, cutoff, order)
    # Whole periods only, so that sine and cosine are orthogonal.
    middle = slice(1000, 1000 + round(round(2000 * frequency / fps) * fps / frequency))
    angle = 2 * np.pi * frequency * time[middle]
    sine = 2 * np.mean(filtered[middle] * np.sin(angle))
    cosine = 2 * np.mean(filtered[middle] * np.cos(angle))
    return float(np.hypot(sine, cosine)), float(np.arctan2(cosine, sine))


@pytest.mark.parametrize(
    ("frequency", "cutoff", "order"),
    [(f, 10.0, 4) for f in (2.0, 5.0, 20.0, 30.0)]
    + [(f, f, order) for f in (6.0, 10.0, 40.0) for order in (2, 4)],
)
def test_frequency_response(frequency: float, cutoff: float, order: int) -> None:
    """Two Butterworth passes, the cut-off of both together at 3 dB, without a delay."""
    # 1 / (1 + (sqrt 2 - 1) x^(2 order)), x the ratio of tan(pi f / fps) to the cut-off's.
    ratio = np.tan(np.pi * frequency / 120.0) / np.tan(np.pi * cutoff / 120.0)
    expected = 1.0 / (1.0 + (np.sqrt(2.0) - 1.0) * ratio ** (2 * order))
    level, phase = gain(frequency, 120.0, cutoff, order)
    assert level == pytest.approx(expected, abs=2e-3)
    if level > 0.01:
        assert phase == pytest.approx(0.0, abs=5e-3)


def test_a_full_turn_does_not_wrap(walk_motion: Walk) -> None:
    motion = walk_motion(360)
    yaw = np.linspace(0.0, 4.0 * np.pi, 360)
    rotations = np.array(motion.rotations)
    rotations[:, 0] = quat_from_yaw(yaw)
    rotations[::7] *= -1.0  # the same rotations
    result = smoothed(motion.replace(rotations=rotations), 6.0)
    assert (
        np.degrees(quat_angle(result.rotations[:, 0], quat_from_yaw(yaw))).max() < 0.1
    )


def test_noise_goes_and_the_walk_stays(walk_motion: Walk) -> None:
    motion = walk_motion(360)
    rng = np.random.default_rng(0)
    noisy = motion.replace(
        root_positions=motion.root_positions + 0.01 * rng.normal(size=(360, 3))
    )
    result = smoothed(noisy)
    rest = result.root_positions[30:-30] - motion.root_positions[30:-30]
    # White noise keeps the share of its band: 10 of 60 Hz, in amplitude its root.
    assert 0.003 < rest.std() < 0.005
    clean = smoothed(motion)
    shift = joint_positions(clean) - joint_positions(motion)
    assert np.abs(shift[30:-30]).max() < 5e-4
    assert np.linalg.norm(clean.rotations, axis=-1) == pytest.approx(1.0)


def test_short_motions_and_rules(walk_motion: Walk) -> None:
    for frames in (1, 2, 5):
        assert len(smoothed(walk_motion(frames))) == frames
    for cutoff in (0.0, -1.0, 60.0, np.nan):
        with pytest.raises(MotionError, match="cut-off"):
            smoothed(walk_motion(10), cutoff)
    with pytest.raises(MotionError, match="order"):
        smoothed(walk_motion(10), 6.0, order=0)
