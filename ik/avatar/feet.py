"""Compiled: feet that do not slide in stance.

A correction is the difference between a foot and the gait's foot. In stance the contact point,
heel or ball, keeps its position, whatever the body does; in flight the correction fades, so
that the foot lands where the gait puts it. The add-on's `feet.gd` computes the same.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from ambulo.configs.arrays import Array
from ambulo.ik.avatar.clock import (
    CYCLES,
    PHASE,
    PLACED,
    RATE,
    SIGN,
    SPEED,
    STEPPING,
    STILL,
)
from ambulo.motion.quaternion_kernels import (
    multiply,
    rotate,
    set_yaw,
    wrapped,
    yaw_of,
)

# Indices of a foot's state.
SHIFT, TURN, HEEL, BALL, YAW, DOWN, REMAINS = 0, 3, 4, 7, 10, 11, 12
"""Correction of position (3) [m] and yaw [rad]; heel (3) and ball (3) in the world [m]; yaw of
the foot [rad]; 1 while its position is kept, in stance and just before and after it; remaining
fraction of the correction in flight."""
FOOT = 13

FREE, SETTLED, LAND = 0.05, 0.9, 0.955
"""Fractions of a flight: before the first a foot only rises, after the second the correction is
gone, and after the third the foot only comes down."""
LEAD = math.radians(25.0)
"""Largest yaw by which a foot lands ahead of a turning body, [rad]."""
HEEL_FIRST = 1e-4
"""Height by which the heel is below the ball when it bears the foot, [m]."""
FAR_FOOT, FAR_YAW = 0.09, math.radians(22.0)
"""Distance [m] and angle [rad] from home at which a standing foot steps."""
TURNING = math.radians(20.0)
"""A body that turns faster keeps stepping, [rad/s]."""


@njit(cache=True)
def flight(phase: float, down: float, up: float, sign: float) -> float:
    """Completed fraction of the flight, in [0, 1); -1 in stance."""
    into = phase - down
    into -= math.floor(into)
    length = up - down
    if into < length:
        return -1.0
    part = (into - length) / (1.0 - length)
    return part if sign > 0.0 else 1.0 - part


@njit(cache=True)
def remains(part: float) -> float:
    """Remaining fraction of the correction after fraction `part` of the flight."""
    x = min((part - FREE) / (SETTLED - FREE), 1.0)
    return 1.0 - x * x * (3.0 - 2.0 * x)


@njit(cache=True)
def place(
    state: Array, gait: Array, window: Array, home: Array, step: Array, ground: float,
    sole: Array, foot: Array, ankle: Array, turn: Array,
) -> None:  # fmt: skip
    """Correct the gait's position of a foot.

    Args:
        state: The avatar's state (see `clock`).
        gait: The present gait (see `clock`).
        window: Phases at which the foot comes down and leaves. Shape (2,).
        home: World offset of the foot's home from the body, (x, y), [m].
        step: World offset of the gait's ankle from that home, (x, y), [m].
        ground: Height of the ground, [m].
        sole: Heel and ball in the ankle's frame, [m]. Shape (2, 3).
        foot: State of the foot, updated. Shape (FOOT,).
        ankle: World position of the gait's ankle, corrected, [m]. Shape (3,).
        turn: World orientation of the gait's foot, corrected. Shape (4,).
    """
    part = flight(state[PHASE], window[0], window[1], state[SIGN])
    lead = 0.0
    if gait[CYCLES] > 0.0:
        lead = 0.5 * state[RATE] * (window[1] - window[0]) / gait[CYCLES]
        lead = min(max(lead, -LEAD), LEAD)
    c, s = math.cos(lead) - 1.0, math.sin(lead)
    d, e = math.cos(0.5 * lead) - 1.0, math.sin(0.5 * lead)
    goal_x = c * home[0] - s * home[1] + d * step[0] - e * step[1]
    goal_y = s * home[0] + c * home[1] + e * step[0] + d * step[1]
    if state[PLACED] == 0.0:
        foot[:] = 0.0
        foot[DOWN] = 0.0 if FREE <= part < LAND else 1.0
        foot[REMAINS] = 1.0
        _turned(turn, 0.0)
        _to_ground(ankle, turn, sole, ground, foot, part < 0.0)
        return
    if FREE <= part < LAND:
        left = remains(part)
        before = 1.0 if foot[DOWN] > 0.0 else foot[REMAINS]
        keep = min(left / max(before, 1e-9), 1.0)
        foot[SHIFT] = goal_x + keep * (foot[SHIFT] - goal_x)
        foot[SHIFT + 1] = goal_y + keep * (foot[SHIFT + 1] - goal_y)
        foot[SHIFT + 2] *= keep
        foot[TURN] = lead + keep * wrapped(foot[TURN] - lead)
        foot[REMAINS], foot[DOWN] = left, 0.0
        _turned(turn, foot[TURN])
        _to_ground(ankle, turn, sole, ground, foot, False)
        return
    if foot[DOWN] == 0.0:
        foot[SHIFT], foot[SHIFT + 1], foot[TURN] = goal_x, goal_y, lead
        _turned(turn, lead)
    else:
        foot[TURN] = wrapped(foot[YAW] - yaw_of(turn))
        _turned(turn, foot[TURN])
        _keep_contact(ankle, turn, sole, foot)
    foot[DOWN] = 1.0
    if part >= 0.0:
        foot[SHIFT + 2] *= 1.0 if part < FREE else 0.0
    _to_ground(ankle, turn, sole, ground, foot, part < 0.0)


@njit(cache=True)
def _turned(turn: Array, yaw: float) -> None:
    """Rotate the orientation `turn` (4,), in place, by `yaw` about the world's Z."""
    about = np.empty(4)
    set_yaw(yaw, about)
    multiply(about, turn, turn)


@njit(cache=True)
def _keep_contact(ankle: Array, turn: Array, sole: Array, foot: Array) -> None:
    """Choose the shift at which the lower one of heel and ball keeps its position."""
    heel, ball = np.empty(3), np.empty(3)
    rotate(turn, sole[0], heel)
    rotate(turn, sole[1], ball)
    touching, was = ball, BALL
    if heel[2] < ball[2] - HEEL_FIRST:
        touching, was = heel, HEEL
    foot[SHIFT] = foot[was] - ankle[0] - touching[0]
    foot[SHIFT + 1] = foot[was + 1] - ankle[1] - touching[1]


@njit(cache=True)
def _to_ground(
    ankle: Array, turn: Array, sole: Array, ground: float, foot: Array, stands: bool
) -> None:
    """Shift `ankle` onto the ground if the foot is in stance, else not below it."""
    heel, ball = np.empty(3), np.empty(3)
    rotate(turn, sole[0], heel)
    rotate(turn, sole[1], ball)
    low = ankle[2] + min(heel[2], ball[2]) - ground
    if stands:
        foot[SHIFT + 2] = -low
    up = max(foot[SHIFT + 2], -low)
    ankle[0] += foot[SHIFT]
    ankle[1] += foot[SHIFT + 1]
    ankle[2] += up


@njit(cache=True)
def record(ankle: Array, turn: Array, sole: Array, foot: Array) -> None:
    """Record present heel, ball and yaw of the foot, whose leg may be too short."""
    at = np.empty(3)
    for k, first in ((0, HEEL), (1, BALL)):
        rotate(turn, sole[k], at)
        for i in range(3):
            foot[first + i] = ankle[i] + at[i]
    foot[YAW] = yaw_of(turn)


@njit(cache=True)
def needs_step(
    state: Array, gait: Array, feet: Array, ankles: Array, homes: Array
) -> float:
    """Whether a standing avatar must step: 1 or 0.

    Args:
        state: The avatar's state.
        gait: The present gait; its pelvis has the target yaw of the feet.
        feet: State of both feet. Shape (2, FOOT).
        ankles: World positions of the ankles, [m]. Shape (2, 3).
        homes: World positions of their homes, (x, y), [m]. Shape (2, 2).
    """
    if abs(state[RATE]) > TURNING:
        return 1.0
    if gait[SPEED] > STILL:
        return 0.0
    worst = 0.0
    for i in range(2):
        if feet[i, DOWN] == 0.0:
            return 1.0
        away = math.hypot(ankles[i, 0] - homes[i, 0], ankles[i, 1] - homes[i, 1])
        turned = abs(wrapped(feet[i, YAW] - homes[i, 2]))
        worst = max(worst, away / FAR_FOOT, turned / FAR_YAW)
    return 1.0 if worst > (0.5 if state[STEPPING] > 0.0 else 1.0) else 0.0
