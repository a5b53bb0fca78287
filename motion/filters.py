"""Zero-phase low-pass filter of motions.

A Butterworth filter runs forwards and backwards (`scipy.signal.sosfiltfilt`), which doubles its
loss: at the cut-off it is then 6 dB instead of 3. The filter of each pass therefore has a
higher cut-off, so that the total is 3 dB at the requested cut-off.
"""

from __future__ import annotations

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import MotionError
from ambulo.motion.motion import Motion
from ambulo.motion.rotations import quat_normalize, quat_unroll

CUTOFF = 10.0
"""Cut-off that keeps foot strikes of walking and running, [Hz]; 6 Hz is smoother and
flattens a running foot strike by nearly 3 cm."""
ORDER = 4
"""Order of the filter in each pass."""


def smoothed(motion: Motion, cutoff: float = CUTOFF, order: int = ORDER) -> Motion:
    """Return `motion` low-pass filtered at `cutoff` [Hz], without delay.

    Root positions (and joint offsets, where they move) are filtered as they are; rotations as
    quaternions with continuous signs, normalised afterwards, so that no angle can wrap.
    """
    rotations = quat_unroll(motion.rotations)
    offsets = motion.joint_offsets
    return motion.replace(
        root_positions=low_pass(motion.root_positions, motion.fps, cutoff, order),
        rotations=quat_normalize(low_pass(rotations, motion.fps, cutoff, order)),
        joint_offsets=(
            None if offsets is None else low_pass(offsets, motion.fps, cutoff, order)
        ),
    )


def low_pass(values: Floats, fps: float, cutoff: float, order: int = ORDER) -> Floats:
    """`values` (T, ...) at `fps` filtered along time; 3 dB of loss at `cutoff`, [Hz]."""
    if not 0.0 < cutoff < 0.5 * fps:
        raise MotionError(
            f"cut-off {cutoff:g} Hz: expected above 0 and below half of {fps:g} fps"
        )
    if not 1 <= order <= 16:
        raise MotionError(f"filter order {order}: expected 1 to 16")
    if len(values) < 2:
        return np.array(values)
    from scipy.signal import butter, sosfiltfilt  # slow to import, and rarely needed

    sections = butter(order, pass_cutoff(fps, cutoff, order), fs=fps, output="sos")
    pad = min(len(values) - 1, round(3.0 * fps / cutoff))
    filtered: Floats = sosfiltfilt(sections, values, axis=0, padlen=pad)
    return filtered


def pass_cutoff(fps: float, cutoff: float, order: int) -> float:
    """Cut-off of each of two passes that together lose 3 dB at `cutoff`, [Hz].

    One pass has the squared gain 1 / (1 + x^(2n)) with x = tan(pi f / fps) over tan(pi fc /
    fps) (the bilinear transform's exact form), two passes its square; it is one half at x^(2n)
    = sqrt(2) - 1.
    """
    edge = np.tan(np.pi * cutoff / fps) / (np.sqrt(2.0) - 1.0) ** (0.5 / order)
    return float(np.arctan(edge) * fps / np.pi)
