"""How a body reaches for a point: which hand, how deep it crouches, how far it gets.

Pure functions, shared by the simulated body and by its fast model.
"""

from __future__ import annotations

import numpy as np

from ambulo.configs.arrays import Floats, Ints

ARM = 0.75
"""A standing body crouches for a point nearer than this to its shoulder, level, [m]."""
HIGH, LOW = 1.0, 0.35
"""Points at or above the first height are reached upright, at the second from the deepest
crouch, [m]."""


def nearer_hand(shoulders: Floats, points: Floats) -> Ints:
    """The side (0 left, 1 right) whose shoulder (k, 2, 3) is nearer to points (k, 3). (k,)."""
    away = np.linalg.norm(shoulders - points[:, None], axis=2)
    return np.asarray(np.argmin(away, axis=1))


def depth_for(height: Floats) -> Floats:
    """Depth of the crouch, [0, 1], for points of a height, [m]. Shape (k,)."""
    return np.asarray(np.clip((HIGH - height) / (HIGH - LOW), 0.0, 1.0))
