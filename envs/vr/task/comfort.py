"""The published comfort score and smoothness: proxies, never a measure of sickness."""

from __future__ import annotations

import numpy as np

from ambulo.configs.arrays import Floats

FAST_TURN = 0.7
"""Yaw rate above which turning counts as uncomfortable, [rad/s] (published)."""
FAST_SHARE = 0.8
"""Share of the top speed above which moving counts as uncomfortable (published)."""
HARD_ACCELERATION = 10.0
"""Acceleration at which smoothness is zero, [m/s^2]."""


def comfort_score(yaw_rate: Floats, speed: Floats, max_speed: float) -> Floats:
    """Published score per environment step, in [0.5, 1], shape (N,).

    1 - 0.3 [|yaw rate| > 0.7 rad/s] - 0.2 [speed > 0.8 max_speed]; the published third
    term (roll) is always zero for a player who stands upright. The published condition on
    `rotation_speed` names no unit; rad/s is the stricter reading.
    """
    turning = np.abs(yaw_rate) > FAST_TURN
    fast = speed > FAST_SHARE * max_speed + 1e-9
    return 1.0 - 0.3 * turning - 0.2 * fast


def smoothness(velocity_change: Floats, dt: float) -> Floats:
    """1 at rest or constant velocity, 0 at `HARD_ACCELERATION`, shape (N,).

    `velocity_change`: difference of horizontal velocity over `dt`, shape (N, 2), [m/s].
    """
    acceleration = np.hypot(velocity_change[:, 0], velocity_change[:, 1]) / dt
    return np.clip(1.0 - acceleration / HARD_ACCELERATION, 0.0, 1.0)
