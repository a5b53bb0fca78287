"""Compiled: validation of tracker samples, and filtering of their noise.

A tracker with impossible numbers is treated as lost, with a reason. Good ones pass a
second-order filter, without a lag at constant speed, whose bandwidth grows with its mean error:
noise has zero mean, a lag has not. So noise is smoothed where the movement allows it (similar
to the 1-euro filter, Casiez et al. 2012, which uses the speed).
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from ambulo.configs.arrays import Array
from ambulo.ik.trackers.layout import FORGET, HEAD_ROW
from ambulo.motion.quaternion_kernels import nlerp, normalize

OK, ABSENT, LOST, NOT_FINITE, NOT_UNIT, JUMPED, FROZEN = range(7)
"""As `TrackerStatus`."""

# Indices of a tracker's state.
SEEN, AGE, RAW, RAW_TURN, PLACE, SPEED, TURN, WAIT, AWAY, SAME, RATE, ERROR = (
    0, 1, 2, 5, 9, 12, 15, 19, 20, 23, 24, 25,
)  # fmt: skip
"""1 once seen; time since last used [s]; last sample: position (3), orientation (4); filtered:
position (3) [m], velocity (3) [m/s], orientation (4); time for which it has been elsewhere [s],
and its position there (3); time for which it has repeated itself [s]; its angular speed
[rad/s]; mean error of the filter's prediction (3) [m]."""
TRACKER = 28

FARTHEST = 1e5
"""Largest coordinate, [m]."""
SHORTEST, LONGEST = 0.5, 1.5
"""Range of lengths of quaternions that count as rounding errors."""
JUMP_SPEED, JUMP = 20.0, 0.3
"""A tracker jumps if it moves faster, [m/s], and farther, [m], than this between samples."""
BELIEVE = 0.25
"""Time after which a tracker that stays where it jumped to is trusted, [s]."""
STUCK = 1.0
"""Time after which a tracker that repeats itself while others move is frozen, [s]."""
MOVED = 1e-7
"""Difference below which samples count as equal, [m]."""

SLOW = np.array([10.0, 10.0, 10.0, 10.0, 10.0, 10.0])
"""Bandwidth of each tracker's filter without errors, [rad/s]; hands and feet, head and hips."""
QUICK = np.array([800.0, 800.0, 800.0, 800.0, 800.0, 500.0])
"""Growth of the bandwidth with the mean error, [rad/s/m]."""
MEAN = np.array([0.05, 0.05, 0.05, 0.05, 0.05, 0.075])
"""Time constant of the mean error, [s]."""
TURN_SLOW, TURN_QUICK = 12.0, 12.0
"""Bandwidth of rotations without errors, [rad/s], and its growth, without unit."""


@njit(cache=True)
def check(
    position: Array,
    rotation: Array,
    present: bool,
    dt: float,
    others: bool,
    state: Array,
) -> int:
    """Return the status of one tracker's sample, and update its `state` (TRACKER,).

    Args:
        position: World position, [m]. Shape (3,).
        rotation: World orientation, normalised in place. Shape (4,).
        present: Whether the tracker is present.
        dt: Time since the last sample, [s].
        others: Whether other trackers moved since the last sample.
        state: State of the tracker, updated.
    """
    state[AGE] += dt
    if not present:
        return LOST if state[SEEN] > 0.0 else ABSENT
    fault = _fault(position, rotation)
    if fault != OK or state[SEEN] == 0.0:
        return fault
    if _is_frozen(position, rotation, dt, others, state):
        return FROZEN
    return JUMPED if _jumps(position, dt, state) else OK


@njit(cache=True)
def _fault(position: Array, rotation: Array) -> int:
    """Fault of the numbers; normalises `rotation` (4,)."""
    square = 0.0
    for i in range(3):
        if not abs(position[i]) <= FARTHEST:
            return NOT_FINITE
    for i in range(4):
        if not math.isfinite(rotation[i]):
            return NOT_FINITE
        square += rotation[i] * rotation[i]
    if not SHORTEST * SHORTEST <= square <= LONGEST * LONGEST:
        return NOT_UNIT
    normalize(rotation)
    return OK


@njit(cache=True)
def _is_frozen(
    position: Array, rotation: Array, dt: float, others: bool, state: Array
) -> bool:
    """Whether a tracker has repeated its sample for too long; records the sample."""
    same = True
    for i in range(3):
        same = same and abs(position[i] - state[RAW + i]) < MOVED
    for i in range(4):
        same = same and abs(rotation[i] - state[RAW_TURN + i]) < MOVED
    if not same:
        state[SAME] = 0.0
    elif others:
        state[SAME] += dt
    _remember(position, rotation, state)
    return state[SAME] > STUCK


@njit(cache=True)
def _jumps(position: Array, dt: float, state: Array) -> bool:
    """Whether a tracker has jumped; one that stays there counts as new."""
    way = 0.0
    for i in range(3):
        way += (position[i] - state[PLACE + i]) ** 2
    limit = max(JUMP, JUMP_SPEED * min(state[AGE], 1.0))
    if way > limit * limit:
        gap = 0.0
        for i in range(3):
            gap += (position[i] - state[AWAY + i]) ** 2
        near = state[WAIT] > 0.0 and gap < JUMP * JUMP
        state[WAIT] = state[WAIT] + dt if near else dt
        for i in range(3):
            state[AWAY + i] = position[i]
        if state[WAIT] < BELIEVE:
            return True
        state[SEEN] = 0.0
    state[WAIT] = 0.0
    return False


@njit(cache=True)
def _remember(position: Array, rotation: Array, state: Array) -> None:
    for i in range(3):
        state[RAW + i] = position[i]
    for i in range(4):
        state[RAW_TURN + i] = rotation[i]


@njit(cache=True)
def smooth(position: Array, rotation: Array, dt: float, row: int, state: Array) -> None:
    """Filter a good sample of the tracker `row` into its `state` (TRACKER,)."""
    if state[SEEN] == 0.0 or state[AGE] > 0.5:
        _remember(position, rotation, state)
        for i in range(3):
            state[PLACE + i], state[SPEED + i] = position[i], 0.0
            state[ERROR + i] = 0.0
        for i in range(4):
            state[TURN + i] = rotation[i]
        state[SEEN], state[AGE], state[RATE] = 1.0, 0.0, 0.0
        return
    fresh, bias = 1.0 - math.exp(-dt / MEAN[row]), 0.0
    for i in range(3):
        error = position[i] - state[PLACE + i] - state[SPEED + i] * dt
        state[ERROR + i] += fresh * (error - state[ERROR + i])
        bias += state[ERROR + i] ** 2
    keep = math.exp(-(SLOW[row] + QUICK[row] * math.sqrt(bias)) * dt)
    gain, growth = 1.0 - keep * keep, (1.0 - keep) * (1.0 - keep)
    for i in range(3):
        ahead = state[PLACE + i] + state[SPEED + i] * dt
        error = position[i] - ahead
        state[PLACE + i] = ahead + gain * error
        state[SPEED + i] += growth * error / dt
    old = state[TURN : TURN + 4].copy()
    dot = abs(np.sum(old * rotation))
    angle = 2.0 * math.acos(min(dot, 1.0))
    state[RATE] += (1.0 - math.exp(-20.0 * dt)) * (angle / dt - state[RATE])
    part = 1.0 - math.exp(-(TURN_SLOW + TURN_QUICK * state[RATE]) * dt)
    nlerp(old, rotation, part, state[TURN : TURN + 4])
    state[AGE] = 0.0


@njit(cache=True)
def examine(
    positions: Array, rotations: Array, present: Array, dt: float, filtered: bool,
    states: Array, statuses: Array, used: Array,
) -> bool:  # fmt: skip
    """Check all samples of a moment, and filter those that are good.

    Args:
        positions: World positions, [m]. Shape (6, 3).
        rotations: World orientations, normalised in place. Shape (6, 4).
        present: Whether each tracker is present. Shape (6,).
        dt: Time since the last samples, [s].
        filtered: Whether the noise is filtered.
        states: States of the trackers, updated. Shape (6, TRACKER).
        statuses: Statuses (output). Shape (6,).
        used: Output, 1 for a valid sample, else 0. Shape (6,).

    Returns:
        Whether the head was teleported.
    """
    moved = np.zeros(len(states))
    for k in range(len(states)):
        if present[k]:
            for i in range(3):
                if abs(positions[k, i] - states[k, RAW + i]) > MOVED:
                    moved[k] = 1.0
    count, anew = moved.sum(), False
    for k in range(len(states)):
        state = states[k]
        seen = state[SEEN]
        status = check(
            positions[k], rotations[k], present[k], dt, count > moved[k], state
        )
        used[k] = 0.0
        if status == OK:
            anew = anew or (k == HEAD_ROW and seen > 0.0 and state[SEEN] == 0.0)
            if not filtered:
                state[SEEN] = 0.0
            smooth(positions[k], rotations[k], dt, k, state)
            used[k] = 1.0
        elif status == LOST and state[AGE] >= FORGET:
            status = ABSENT
        statuses[k] = status
    return anew
