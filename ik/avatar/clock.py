"""Compiled: speed and direction of the avatar, and the phase of its gait.

The add-on's `gait_clock.gd` computes the same.
"""

from __future__ import annotations

import math

from numba import njit

from ambulo.configs.arrays import Array
from ambulo.ik.avatar.sampling import bracket
from ambulo.motion.quaternion_kernels import wrapped

# Indices of the state.
PHASE, YAW, RATE, VX, VY, SIGN, OFFSET, STEPPING, LATE = range(9)
LAST_X, LAST_Y, PLACED = range(9, 12)
"""Phase of the gait [cycles]; heading of the body [rad] and its rate [rad/s]; velocity in the
world [m/s]; +1 walking ahead, -1 backwards; rotation of the pelvis against the heading [rad]; 1
while feet step on the spot; lowering of the pelvis for a foot that stayed behind [m]; last
position of the head [m]; 1 once that is known."""
STATE = 12

# Indices of the present gait.
ROW, PART, AMOUNT, STRETCH, DIR_X, DIR_Y, FACING, CYCLES, SPEED = range(9)
"""Row k and fraction t of the table; weight of the gait against standing; size of the steps;
direction of the steps in the pelvis' frame; heading of the pelvis [rad]; cycles per second
[Hz]; speed [m/s]."""
GAIT = 9

VELOCITY_TIME, YAW_TIME, OFFSET_TIME, RATE_TIME = 0.1, 0.15, 0.2, 0.15
"""Time constants of velocity, heading, pelvis' turn and the heading's rate, [s]."""
JUMP = 0.5
"""A head that moves farther than this between two steps has been teleported, [m]."""
STILL = 0.04
"""Below this speed the avatar stands, [m/s]."""
BACK, AHEAD = -0.4, -0.1
"""Forward fraction of the velocity at which walking turns into walking backwards, and back
again."""
LEAN_SHARE, LARGEST_OFFSET = 0.6, math.radians(50.0)
"""Fraction of the angle between heading and path by which the pelvis rotates, and its largest
rotation."""
SIDE_STRIDE = 0.7
"""Longest lateral component of a stride, [m]."""
HURRY, LATEST = 0.03, 2.0
"""A foot that stayed behind and lowers the pelvis by the first [m] doubles the phase rate; the
second is the largest factor."""
STEP_RATE = 0.9
"""Cycles per second of steps on the spot, [Hz]."""
STEP_ANGLE = math.radians(80.0)
"""A turn on the spot by this angle takes at least one cycle, [rad]."""


@njit(cache=True)
def follow(state: Array, x: float, y: float, yaw: float, dt: float) -> None:
    """Update velocity and heading by the head at (x, y), [m], that faces `yaw`, [rad]."""
    if state[PLACED] == 0.0 or math.hypot(x - state[LAST_X], y - state[LAST_Y]) > JUMP:
        phase = state[PHASE]
        state[:] = 0.0
        state[PHASE], state[SIGN], state[YAW] = phase, 1.0, yaw
        state[LAST_X], state[LAST_Y] = x, y
        return
    dx, dy = x - state[LAST_X], y - state[LAST_Y]
    keep = math.exp(-dt / VELOCITY_TIME)
    state[VX] = keep * state[VX] + (1.0 - keep) * dx / dt
    state[VY] = keep * state[VY] + (1.0 - keep) * dy / dt
    turn = wrapped(yaw - state[YAW]) * (1.0 - math.exp(-dt / YAW_TIME))
    keep = math.exp(-dt / RATE_TIME)
    state[RATE] = keep * state[RATE] + (1.0 - keep) * turn / dt
    state[YAW] = wrapped(state[YAW] + turn)
    state[LAST_X], state[LAST_Y] = x, y


@njit(cache=True)
def set_gait(state: Array, speeds: Array, rates: Array, dt: float, gait: Array) -> None:
    """Fill `gait` (GAIT,) from the state, and rotate the pelvis towards the path."""
    cos, sin = math.cos(state[YAW]), math.sin(state[YAW])
    ahead = cos * state[VX] + sin * state[VY]
    left = cos * state[VY] - sin * state[VX]
    speed = math.hypot(ahead, left)
    if speed > STILL:
        if ahead < BACK * speed:
            state[SIGN] = -1.0
        elif ahead > AHEAD * speed:
            state[SIGN] = 1.0
    sign = state[SIGN]
    angle = math.atan2(sign * left, sign * ahead) if speed > 1e-6 else 0.0
    k, t = bracket(speeds, speed)
    walking = min(speed / speeds[0], 1.0)
    goal = LEAN_SHARE * angle * walking
    goal = min(max(goal, -LARGEST_OFFSET), LARGEST_OFFSET)
    keep = math.exp(-dt / OFFSET_TIME) if state[PLACED] > 0.0 else 0.0
    state[OFFSET] = keep * state[OFFSET] + (1.0 - keep) * goal
    angle -= state[OFFSET]
    held = speeds[k] + t * (speeds[k + 1] - speeds[k])
    rate = rates[k] + t * (rates[k + 1] - rates[k])
    stride = held / rate
    side = abs(math.sin(angle)) * stride * walking
    cycles = 0.0
    if speed > STILL:
        short = min(1.0, SIDE_STRIDE / max(side, 1e-6))
        cycles = max(speed / (stride * short), rate)
    if state[STEPPING] > 0.0:
        cycles = max(cycles, STEP_RATE, abs(state[RATE]) / STEP_ANGLE)
    gait[ROW], gait[PART], gait[AMOUNT], gait[SPEED] = k, t, walking, speed
    gait[CYCLES] = cycles
    gait[STRETCH] = min(1.0, speed / (cycles * stride)) if cycles > 0.0 else 0.0
    gait[DIR_X], gait[DIR_Y] = math.cos(angle), math.sin(angle)
    gait[FACING] = wrapped(state[YAW] + state[OFFSET])


@njit(cache=True)
def tick(state: Array, gait: Array, dt: float) -> None:
    """Advance the phase by `dt` seconds."""
    hurry = 1.0 + min(state[LATE] / HURRY, LATEST)
    phase = state[PHASE] + state[SIGN] * gait[CYCLES] * hurry * dt
    state[PHASE] = phase - math.floor(phase)
