"""Compiled: feet that neither slide nor sink, from the network's contacts.

A foot in contact keeps the place of its heel or ball, and lies level while both touch. What
this changes fades while the foot is in the air. A foot that stands where the network does
not want it any more steps there. All changes follow critically damped springs, so that feet
move without jumps.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from ambulo.configs.arrays import Array
from ambulo.ik.trackers.smoothing import spring
from ambulo.motion.quaternion_kernels import (
    multiply,
    multiply_inverse,
    nlerp,
    point_at,
    rotated,
    set_yaw,
    yaw_of,
)

# Numbers of a foot's state.
MODE, ANCHOR, SHIFT, SPEED, TURN, YAW, STEPPING, WAY, PIVOT, LIFTED = (
    0, 1, 4, 7, 10, 14, 15, 16, 17, 20,
)  # fmt: skip
"""`FREE`, `HEEL`, `BALL` or `FLAT`; place of the point that stays (3) [m]; change of the
ankle's place (3) [m], its rate (3) [m/s]; change of the foot's orientation (4); yaw of a level
foot [rad]; 1 while it steps; length of the step [m]; last place of the pivot (3) [m]; height by
which a step lifts the foot [m], its rate [m/s]."""
FOOT = 22
FREE, HEEL, BALL, FLAT = 0.0, 1.0, 2.0, 3.0

ON, OFF, BOTH = 0.6, 0.35, 0.5
"""Probabilities at which contact begins, ends, and at which heel and ball both touch."""
NEAR = 0.10
"""A contact begins no higher above the ground than this, [m]."""
FAR, ARRIVED = 0.12, 0.02
"""Distances from where the network wants it at which a standing foot steps, and has stepped,
[m]."""
HOLD_RATE, FREE_RATE, STEP_RATE, LIFT_RATE, TURN_RATE = 50.0, 14.0, 18.0, 25.0, 12.0
"""Frequencies of the springs, [rad/s]: of a foot that stands, in the air, that steps, of its
lift; and rate of the orientation's changes, [1/s]."""
AHEAD = 0.03
"""A foot that comes down stops where it would be this much later, [s]."""
LIFT, HIGHEST = 0.35, 0.06
"""A stepping foot is lifted by this part of its way, at most so high, [m]."""
CLEAR, CLEARANCE = 0.08, 0.045
"""A foot in the air is at least so high for each m/s of its speed, [s], and at most, [m]."""


@njit(cache=True)
def reset_foot(foot: Array) -> None:
    """Make `foot` (FOOT,) the state of a foot that was never seen."""
    foot[:] = 0.0
    foot[TURN] = 1.0


@njit(cache=True)
def plant(
    foot: Array, heel: float, ball: float, ground: float, sole: Array, dt: float,
    ankle: Array, turn: Array,
) -> None:  # fmt: skip
    """Correct the predicted foot, in place.

    Args:
        foot: State of the foot, updated. Shape (FOOT,).
        heel: Probability that the heel touches the ground.
        ball: Probability that the ball touches the ground.
        ground: Height of the ground, [m].
        sole: Heel and ball in the ankle's frame, [m]. Shape (2, 3).
        dt: Time since the last frame, [s].
        ankle: World position of the predicted ankle, corrected, [m]. Shape (3,).
        turn: World orientation of the predicted foot, corrected. Shape (4,).
    """
    predicted = turn.copy()
    pivot = _contact(foot, heel, ball, ground, sole, dt, ankle, predicted)
    stands = foot[MODE] != FREE and foot[STEPPING] == 0.0
    _turn_foot(foot, stands and foot[MODE] == FLAT, predicted, dt)
    multiply(foot[TURN : TURN + 4], predicted, turn)
    _move_foot(foot, stands, pivot, ground, sole, dt, ankle, turn)
    x, y, z = point_at(ankle, turn, sole[pivot, 0], sole[pivot, 1], sole[pivot, 2])
    foot[PIVOT], foot[PIVOT + 1], foot[PIVOT + 2] = x, y, z
    left = math.hypot(foot[SHIFT], foot[SHIFT + 1])
    if foot[STEPPING] > 0.0 and left < ARRIVED:
        foot[STEPPING] = 0.0
        foot[ANCHOR], foot[ANCHOR + 1], foot[YAW] = x, y, yaw_of(turn)


@njit(cache=True)
def _contact(
    foot: Array, heel: float, ball: float, ground: float, sole: Array, dt: float,
    ankle: Array, predicted: Array,
) -> int:  # fmt: skip
    """Decide what of the foot stays where; return its pivot: 0 the heel, 1 the ball."""
    was, shown, turned = foot[MODE], np.empty(3), np.empty(4)
    multiply(foot[TURN : TURN + 4], predicted, turned)
    for i in range(3):
        shown[i] = ankle[i] + foot[SHIFT + i]
    mode = _mode(was, heel, ball)
    pivot = 0 if mode == HEEL else 1
    x, y, z = point_at(shown, turned, sole[pivot, 0], sole[pivot, 1], sole[pivot, 2])
    if was == FREE and z - ground > NEAR:
        mode = FREE
    foot[MODE] = mode
    if mode == FREE:
        foot[STEPPING] = 0.0
        return pivot
    if was == FREE:
        foot[ANCHOR] = x + AHEAD * (x - foot[PIVOT]) / dt
        foot[ANCHOR + 1] = y + AHEAD * (y - foot[PIVOT + 1]) / dt
        foot[YAW] = yaw_of(turned)
    elif was != mode:
        foot[ANCHOR], foot[ANCHOR + 1] = x, y
        if mode == FLAT:
            foot[YAW] = yaw_of(turned)
    a, b, _ = point_at(ankle, predicted, sole[pivot, 0], sole[pivot, 1], sole[pivot, 2])
    away = math.hypot(a - foot[ANCHOR], b - foot[ANCHOR + 1])
    if foot[STEPPING] == 0.0 and away > FAR:
        foot[STEPPING], foot[WAY] = 1.0, away
    return pivot


@njit(cache=True)
def _move_foot(
    foot: Array, stands: bool, pivot: int, ground: float, sole: Array, dt: float,
    ankle: Array, turn: Array,
) -> None:  # fmt: skip
    """Move `ankle`, in place, by its change and by a lift; never into the ground."""
    rate, goal = FREE_RATE, np.zeros(3)
    if stands:
        rate = HOLD_RATE
        dx, dy, dz = rotated(
            turn[0],
            turn[1],
            turn[2],
            turn[3],
            sole[pivot, 0],
            sole[pivot, 1],
            sole[pivot, 2],
        )
        goal[0] = foot[ANCHOR] - dx - ankle[0]
        goal[1] = foot[ANCHOR + 1] - dy - ankle[1]
        goal[2] = ground - dz - ankle[2]
    elif foot[STEPPING] > 0.0:
        rate = STEP_RATE
    for i in range(3):
        at, speed = SHIFT + i, SPEED + i
        foot[at], foot[speed] = spring(foot[at], foot[speed], goal[i], rate, dt)
    for i in range(3):
        ankle[i] += foot[SHIFT + i]
    lift = 0.0
    if foot[MODE] == FREE:
        lift = _clearance(foot, pivot, ground, sole, dt, ankle, turn)
    elif foot[STEPPING] > 0.0:
        left = math.hypot(foot[SHIFT], foot[SHIFT + 1])
        part = min(left / max(foot[WAY], 1e-6), 1.0)
        lift = 4.0 * part * (1.0 - part) * min(LIFT * foot[WAY], HIGHEST)
    foot[LIFTED], foot[LIFTED + 1] = spring(
        foot[LIFTED], foot[LIFTED + 1], lift, LIFT_RATE, dt
    )
    ankle[2] += max(foot[LIFTED], 0.0)
    ankle[2] += max(ground - _lowest(sole, ankle, turn), 0.0)


@njit(cache=True)
def _lowest(sole: Array, ankle: Array, turn: Array) -> float:
    """Height of the lower one of heel and ball, [m]."""
    _, _, heel = point_at(ankle, turn, sole[0, 0], sole[0, 1], sole[0, 2])
    _, _, ball = point_at(ankle, turn, sole[1, 0], sole[1, 1], sole[1, 2])
    return min(heel, ball)


@njit(cache=True)
def _clearance(
    foot: Array,
    pivot: int,
    ground: float,
    sole: Array,
    dt: float,
    ankle: Array,
    turn: Array,
) -> float:
    """How far a foot in the air must be lifted so that it does not brush the ground, [m]."""
    x, y, _ = point_at(ankle, turn, sole[pivot, 0], sole[pivot, 1], sole[pivot, 2])
    speed = math.hypot(x - foot[PIVOT], y - foot[PIVOT + 1]) / dt
    wanted = min(CLEAR * speed, CLEARANCE)
    return max(wanted - max(_lowest(sole, ankle, turn) - ground, 0.0), 0.0)


@njit(cache=True)
def _mode(was: float, heel: float, ball: float) -> float:
    """What of a foot touches the ground."""
    best = max(heel, ball)
    if best < (ON if was == FREE else OFF):
        return FREE
    if min(heel, ball) > (BOTH if was != FLAT else 0.7 * BOTH):
        return FLAT
    if was == HEEL and heel > ball - 0.2:
        return HEEL
    return HEEL if heel > ball else BALL


@njit(cache=True)
def _turn_foot(foot: Array, flat: bool, predicted: Array, dt: float) -> None:
    """Turn a foot that lies on the ground level, and others back as predicted."""
    goal, change = np.zeros(4), np.zeros(4)
    change[0] = 1.0
    if flat:
        set_yaw(foot[YAW], goal)
        multiply_inverse(goal, predicted, change)
    before = foot[TURN : TURN + 4].copy()
    nlerp(before, change, 1.0 - math.exp(-TURN_RATE * dt), foot[TURN : TURN + 4])
