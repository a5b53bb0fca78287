"""Limits of commands to walkers that depend on each other."""

from __future__ import annotations

import numpy as np
from numba import njit

SPOT_SPEED = 0.4
"""Speed from which on the widest turn takes all of the range to the side, [m/s]."""


@njit(cache=True)
def side_left(speed, turn, widest):  # type: ignore[no-untyped-def]
    """The part of the range to the side that turns leave, at speeds ahead, [m/s].

    In the widest turn from `SPOT_SPEED` on none: bodies that walk, turn and go aside all at
    once fall (41 % of an agent's episodes); on the spot all. Numbers or arrays.

    Args:
        speed: Ahead, [m/s].
        turn: Turning rate, [rad/s].
        widest: The largest turning rate at that speed, [rad/s].
    """
    walking = np.minimum(1.0, np.abs(speed) / SPOT_SPEED)
    return 1.0 - walking * np.minimum(1.0, np.abs(turn) / widest)
