"""What a walker does by itself where it is touched: slow down, turn away, give way."""

from __future__ import annotations

import numpy as np

from ambulo.configs.arrays import Bools, Floats

FILTER = 0.15
"""Time constant of the low-pass of the force, [s]."""
HOLD = 0.5
"""Time for which a touch counts, [s]."""
AWAY_AHEAD, AWAY_SIDE = np.deg2rad(60.0), np.deg2rad(24.0)
"""Turning rates away from touches ahead and from touches beside, [rad/s]."""
SLOW = 0.5
"""Largest speed beside something that is touched, [m/s]."""
GIVE, FASTEST = 0.003, 0.3
"""Speed by force, [m/s/N], with which a body that is to stand steps out of the way, and the
largest ahead and to a side, [m/s]. Swept at 0.6 m/s, 44 % stay up; 31 % when only the moving
frame was moved."""
STRONGEST = 400.0
"""Force that is not exceeded in the low-pass, [N]: impacts are short."""


def low_passed(force: Floats, now: Floats, dt: float) -> Floats:
    """The low-passed force after another `dt`, [s]. Shape (N, 2), [N]."""
    size = np.linalg.norm(now, axis=1, keepdims=True)
    bounded = now * np.minimum(1.0, STRONGEST / np.maximum(size, 1e-9))
    after: Floats = force + (1.0 - np.exp(-dt / FILTER)) * (bounded - force)
    return after


def away(goal: Floats, force: Floats, touched: Bools) -> Floats:
    """Commands (N, 3) that lead away from what touches.

    Args:
        goal: Wanted speed, turning rate and speed to the left. Shape (N, 3).
        force: On the body, ahead and to the left, [N]. Shape (N, 2).
        touched: Which bodies are touched. Shape (N,).
    """
    out = goal.copy()
    size = np.maximum(np.linalg.norm(force, axis=1), 1e-9)
    ahead = touched & (force[:, 0] < -0.5 * size) & (goal[:, 0] > 0.05)
    beside = touched & ~ahead & (goal[:, 0] > 0.05)
    aside = np.where(force[:, 1] >= 0.0, 1.0, -1.0)
    out[ahead, 0] = 0.0
    out[ahead, 1] = (AWAY_AHEAD * aside)[ahead]
    out[beside, 0] = np.minimum(goal[beside, 0], SLOW)
    turning = np.maximum(goal[:, 1] * aside, AWAY_SIDE) * aside
    out[beside, 1] = turning[beside]
    against = touched & (goal[:, 2] * force[:, 1] < 0.0)
    out[against, 2] = 0.0
    return out


def giving(force: Floats) -> Floats:
    """Commands (N, 3) that give way to forces ahead and to the left, (N, 2), [N]."""
    velocity = np.clip(GIVE * force, -FASTEST, FASTEST)
    given: Floats = np.insert(velocity, 1, 0.0, axis=1)
    return given
