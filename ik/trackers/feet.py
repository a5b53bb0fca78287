"""Compiled: feet that neither slide nor sink, from the network's contacts.

A foot in contact keeps the position of its heel or ball, and lies level while both touch. This
correction fades while the foot is in the air. A foot in stance that the network predicts
elsewhere steps there. All corrections follow critically damped springs, so that feet move
without jumps.
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

# Indices of a foot's state.
MODE, ANCHOR, SHIFT, SPEED, TURN, YAW, STEPPING, WAY, PIVOT, LIFTED = (
    0, 1, 4, 7, 10, 14, 15, 16, 17, 20,
)  # fmt: skip
"""`FREE`, `HEEL`, `BALL` or `FLAT`; position of the fixed point (3) [m]; correction of the
ankle's position (3) [m], its rate (3) [m/s]; correction of the foot's orientation (4); yaw of a
level foot [rad]; 1 while it steps; length of the step [m]; last position of the pivot (3) [m];
lift of a step [m], its rate [m/s]."""
FOOT = 22
FREE, HEEL, BALL, FLAT = 0.0, 1.0, 2.0, 3.0

ON, OFF, BOTH = 0.6, 0.35, 0.5
"""Probabilities at which contact begins, ends, and at which heel and ball both touch."""
NEAR = 0.10
"""Largest height of a beginning contact above the ground, [m]."""
FAR, ARRIVED = 0.12, 0.02
"""Distances from the predicted position at which a stance foot steps, and has arrived, [m]."""
HOLD_RATE, FREE_RATE, STEP_RATE, LIFT_RATE, TURN_RATE = 50.0, 14.0, 18.0, 25.0, 12.0
"""Frequencies of the springs, [rad/s]: of a foot in stance, in the air, in a step, of its lift;
and rate of the orientation's corrections, [1/s]."""
AHEAD = 0.03
"""A landing foot stops at the position predicted for this much later, [s]."""
LIFT, HIGHEST = 0.35, 0.06
"""Lift of a stepping foot as a fraction of its path, and the largest lift, [m]."""
CLEAR, CLEARANCE = 0.08, 0.045
"""Smallest height of a foot in the air by its speed, [s], and its largest value, [m]."""


@njit(cache=True)
def reset_foot(foot: Array) -> None:
    """Initialise the state `foot` (FOOT,)."""
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
    """Choose the contact of the foot; returns its pivot: 0 the heel, 1 the ball."""
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
    """Move `ankle`, in place, by its correction and by a lift; never into the ground."""
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
    """Lift of a foot in the air that avoids brushing the ground, [m]."""
    x, y, _ = point_at(ankle, turn, sole[pivot, 0], sole[pivot, 1], sole[pivot, 2])
    speed = math.hypot(x - foot[PIVOT], y - foot[PIVOT + 1]) / dt
    wanted = min(CLEAR * speed, CLEARANCE)
    return max(wanted - max(_lowest(sole, ankle, turn) - ground, 0.0), 0.0)


@njit(cache=True)
def _mode(was: float, heel: float, ball: float) -> float:
    """Contact mode of a foot."""
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
    """Rotate a flat foot level, and others back as predicted."""
    goal, change = np.zeros(4), np.zeros(4)
    change[0] = 1.0
    if flat:
        set_yaw(foot[YAW], goal)
        multiply_inverse(goal, predicted, change)
    before = foot[TURN : TURN + 4].copy()
    nlerp(before, change, 1.0 - math.exp(-TURN_RATE * dt), foot[TURN : TURN + 4])
