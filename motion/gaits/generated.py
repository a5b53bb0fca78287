"""Extract the cycle of a generated gait, whose period is known exactly."""

from __future__ import annotations

from ambulo.configs.errors import MotionError
from ambulo.motion.gaits.cycle import HARMONICS, Cycle, along_x, periodic
from ambulo.motion.motion import Motion
from ambulo.motion.retargeting.retarget import retarget
from ambulo.motion.skeleton import Skeleton

LEAD = 2
"""Cycles before and after the extracted one, which keep the end effects of retargeting out of
it."""


def generated_cycle(motion: Motion, frames: int, skeleton: Skeleton) -> Cycle:
    """The cycle of a gait that repeats every `frames` frames, on `skeleton`, along +X.

    Raises:
        MotionError: The motion has fewer than five cycles and a frame.
    """
    first, last = LEAD * frames, (LEAD + 1) * frames
    if len(motion) <= last + LEAD * frames:
        raise MotionError(
            f"{motion.label}: {len(motion)} frames are fewer than "
            f"{2 * LEAD + 1} cycles of {frames} frames and one more"
        )
    on_body = retarget(motion, skeleton).motion
    one = along_x(on_body[first : last + 1])
    return periodic(one, slice(0, frames), min(HARMONICS, frames // 2 - 1))
