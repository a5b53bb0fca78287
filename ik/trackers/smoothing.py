"""Compiled: poses between network steps, smooth in time.

The displayed pose follows the straight path from one predicted pose to the next like a
critically damped spring. Its delay, the time between network steps plus 2 / omega of the
spring, equals the lead of the network's poses.
"""

from __future__ import annotations

import math

from numba import njit

from ambulo.configs.arrays import Array
from ambulo.motion.quaternion_kernels import normalize


@njit(cache=True)
def spring(
    value: float, speed: float, goal: float, rate: float, dt: float
) -> tuple[float, float]:
    """Value and speed after `dt` on the way to `goal`, critically damped.

    `rate` is the spring's frequency, [rad/s]; exact for a goal at rest.
    """
    decay, error = math.exp(-rate * dt), value - goal
    drive = (speed + rate * error) * dt
    return goal + (error + drive) * decay, (speed - rate * drive) * decay


@njit(cache=True)
def aim(old: Array, new: Array) -> None:
    """Flip signs of the quaternions `new` (J, 4) to be nearest to `old` (J, 4)."""
    for j in range(len(new)):
        dot = 0.0
        for i in range(4):
            dot += old[j, i] * new[j, i]
        if dot < 0.0:
            for i in range(4):
                new[j, i] = -new[j, i]


@njit(cache=True)
def follow(
    values: Array,
    speeds: Array,
    old: Array,
    new: Array,
    part: float,
    omega: float,
    dt: float,
) -> None:
    """Move `values` (n, k) towards fraction `part` of the segment from `old` to `new`.

    By a `spring` of frequency `omega`, [rad/s]; `speeds` (n, k) are updated.
    """
    for j in range(values.shape[0]):
        for i in range(values.shape[1]):
            target = old[j, i] + part * (new[j, i] - old[j, i])
            values[j, i], speeds[j, i] = spring(
                values[j, i], speeds[j, i], target, omega, dt
            )


@njit(cache=True)
def unit_rows(values: Array, out: Array) -> None:
    """Copy the quaternions `values` (J, 4) to `out`, normalised."""
    for j in range(len(values)):
        for i in range(4):
            out[j, i] = values[j, i]
        normalize(out[j])
