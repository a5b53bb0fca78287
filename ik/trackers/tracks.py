"""Tracker samples made from captured motions, with noise and dropouts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ambulo.configs.arrays import Bools, Floats
from ambulo.ik.trackers.conventions import TrackerSample
from ambulo.ik.trackers.layout import (
    HEAD_ROW,
    HIPS_ROW,
    LEFT_FOOT,
    LEFT_HAND,
    RIGHT_FOOT,
    RIGHT_HAND,
    TRACKED,
)
from ambulo.ik.trackers.sizes import (
    TRACKERS,
)
from ambulo.motion.kinematics import motion_kinematics
from ambulo.motion.motion import Motion
from ambulo.motion.rotations import quat_from_rotvec, quat_multiply

POINTS = {
    3: (HEAD_ROW, LEFT_HAND, RIGHT_HAND),
    4: (HEAD_ROW, LEFT_HAND, RIGHT_HAND, HIPS_ROW),
    5: (HEAD_ROW, LEFT_HAND, RIGHT_HAND, LEFT_FOOT, RIGHT_FOOT),
    6: (HEAD_ROW, LEFT_HAND, RIGHT_HAND, LEFT_FOOT, RIGHT_FOOT, HIPS_ROW),
}
"""Rows of each set of trackers."""
TURN_NOISE = 3.0
"""Noise of rotations over that of positions, [rad/m]: 0.17 deg for 1 mm."""


@dataclass(frozen=True, eq=False)
class TrackerTrack:
    """Readings of trackers along a motion of T frames."""

    positions: Floats
    """Positions in the world, [m]. Shape (T, 6, 3)."""
    rotations: Floats
    """Rotations in the world, wxyz. Shape (T, 6, 4)."""
    present: Bools
    """Presence of each tracker. Shape (T, 6)."""
    fps: float
    """Rate, [Hz]."""

    def __len__(self) -> int:
        """The number of frames."""
        return len(self.positions)

    def sample(self, frame: int) -> TrackerSample:
        """The sample of one frame."""
        return TrackerSample(
            self.positions[frame], self.rotations[frame], self.present[frame]
        )


def track_of(
    motion: Motion, points: int = 3, *, noise: float = 0.0, seed: int = 0
) -> TrackerTrack:
    """Readings of trackers on the joints of `motion`, which is on human23.

    Args:
        motion: The motion.
        points: 3 to 6 trackers; see `POINTS`.
        noise: Standard deviation of positions along each axis, [m]; rotations have `TURN_NOISE`
            times it.
        seed: Seed of the noise.
    """
    positions, rotations = motion_kinematics(motion)
    places, turns = positions[:, TRACKED], rotations[:, TRACKED]
    if noise > 0.0:
        rng = np.random.default_rng(seed)
        places = places + noise * rng.standard_normal(places.shape)
        shake = TURN_NOISE * noise * rng.standard_normal(places.shape)
        turns = quat_multiply(turns, quat_from_rotvec(shake))
    present = np.zeros((len(motion), TRACKERS), dtype=np.bool_)
    present[:, list(POINTS[points])] = True
    return TrackerTrack(places.copy(), turns.copy(), present, motion.fps)
