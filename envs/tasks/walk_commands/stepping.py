"""When a walker stands, starts to step, and stops stepping."""

from __future__ import annotations

import numpy as np

from ambulo.configs.arrays import Bools, Floats
from ambulo.envs.reference.step_gaits import WIDTH

NEAR = 0.05
"""Steps end this near to the middle of double support, [cycles]."""
FEET_OFF, SPEED_OFF = 0.06, 0.3
"""How far feet may be from where standing has them, [m], and how fast the root may move,
[m/s], when steps end: a foot that stands elsewhere would be pulled at."""
START_HOLD, TRIP_HOLD = 0.5, 1.0
"""Time on the spot after a start, and the least after a shove, [s]."""
QUIET, FADE = 0.5, 0.5
"""Time in standing after which the policy's offsets fade, and in which they do, [s]. The
balance controller alone stands for good; a policy that was trained on short stands drifts
off in ten seconds."""
TRIP_SPEED, TRIP_FORCE = 0.15, 16.0
"""Speed of a standing root, [m/s], or force on the body, [N], from which it steps."""


def stops(
    phase: Floats, mid_stance: float, command: Floats, apart: Floats, speed: Floats
) -> Bools:
    """Which stepping bodies may stand now. Shape (N,).

    Args:
        phase: Place in the cycle. Shape (N,).
        mid_stance: Phase of the left foot's mid-stance.
        command: Speed, turning rate, speed to the left now. Shape (N, 3).
        apart: From the right ankle to the left one, along the heading and to the left,
            [m]. Shape (N, 2).
        speed: Horizontal speed of the root, [m/s]. Shape (N,).
    """
    place = (phase - mid_stance - 0.25) % 0.5
    double = np.minimum(place, 0.5 - place) < NEAR
    off = np.hypot(apart[:, 0], apart[:, 1] - WIDTH)
    slow = (np.abs(command) < [0.08, 0.12, 0.06]).all(axis=1)
    ends: Bools = double & slow & (off < FEET_OFF) & (speed < SPEED_OFF)
    return ends


def share_of_policy(stood: Floats) -> Floats:
    """Factor on the policy's offsets of bodies that have stood for `stood`, [s]. Shape (N,)."""
    share: Floats = 1.0 - np.clip((stood - QUIET) / FADE, 0.0, 1.0)
    return share


def first_phase(mid_stance: float, sideways: Floats) -> Floats:
    """Phase at which steps begin: in double support, on the way that the body moves.

    Args:
        mid_stance: Phase of the left foot's mid-stance.
        sideways: Velocity to the left, [m/s]. Shape (N,).
    """
    begin: Floats = (mid_stance + np.where(sideways > 0.0, -0.25, 0.25)) % 1.0
    return begin
