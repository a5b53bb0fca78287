"""Angles of hip, knee and ankle over the gait cycle, from strike to strike of each foot."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import MotionError
from ambulo.evaluate.locomotion.gait_cycle import PERCENT
from ambulo.motion.contacts import foot_skate
from ambulo.motion.gaits.angles import leg_angles
from ambulo.motion.gaits.cycle import resynthesized
from ambulo.motion.kinematics import joint_positions
from ambulo.motion.landmarks import body_points, foot_points
from ambulo.motion.motion import Motion
from ambulo.motion.roles import SIDES, roles_of

FINE = 600
"""Samples of a cycle between which strikes are found."""
HARMONICS = 12
"""Harmonics of a cycle that are kept in between."""


@dataclass(frozen=True, eq=False)
class GaitFacts:
    """Facts of a motion of whole cycles."""

    speed: float
    """Forward, [m/s]."""
    stride_length: float
    """Way of a cycle, [m]."""
    steps_per_minute: float
    """Two a cycle."""
    skate: float
    """Mean speed of standing feet on the ground, [m/s]."""
    lowest: float
    """Least height of a point of the feet, [m]; below 0 it is in the ground."""
    highest: float
    """Largest height of the lower foot's lowest point, [m]; large in flight."""


def facts_of(motion: Motion, frames: int) -> GaitFacts:
    """The facts of a motion of one or more cycles of `frames` frames.

    Its last frame is where the next cycle begins: n cycles have n x `frames` + 1.

    Raises:
        MotionError: Another number of frames.
    """
    cycles, rest = divmod(len(motion) - 1, frames)
    if rest or not cycles:
        raise MotionError(
            f"{motion.label}: {len(motion)} frames are not whole cycles of "
            f"{frames} and one more"
        )
    seconds = frames / motion.fps
    way = motion.root_positions[-1, :2] - motion.root_positions[0, :2]
    stride = float(np.hypot(*way)) / cycles
    points = body_points(motion)[..., 2]
    feet = [k for side in SIDES for k in foot_points(motion.skeleton, side)]
    lower = points[:, feet].min(axis=1)
    return GaitFacts(
        speed=stride / seconds,
        stride_length=stride,
        steps_per_minute=120.0 / seconds,
        skate=foot_skate(motion),
        lowest=float(lower.min()),
        highest=float(lower.max()),
    )


def cycle_curves(motion: Motion, frames: int) -> Floats:
    """Hip and knee flexion, ankle dorsiflexion of the left and right leg, [deg].

    Each leg's from its own strike on: where its ankle is foremost before the root
    (J. Zeni et al., Gait & Posture 27, 2008). Shape (2, 3, 101).

    Args:
        motion: A cycle or more, along +X, that repeats every `frames` frames.
        frames: Of a cycle.
    """
    one = motion[:frames]
    joints, roles = joint_positions(one), roles_of(one.skeleton)
    kept = min(HARMONICS, frames // 2 - 1)
    angles = resynthesized(np.degrees(leg_angles(one)), kept, FINE)
    curves = np.empty((2, 3, len(PERCENT)))
    for leg, side in enumerate(SIDES):
        ahead = joints[:, roles[f"{side}_foot"], 0] - joints[:, 0, 0]
        strike = int(np.argmax(resynthesized(ahead, kept, FINE)))
        at = (strike + PERCENT / 100.0 * FINE).round().astype(np.int64) % FINE
        curves[leg] = angles[at, leg].T
    return curves
