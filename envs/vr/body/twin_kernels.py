"""Compiled step of twins: point masses that respond to commands as a walker does."""

# ruff: noqa: PLR0915 - one compiled loop

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ambulo.configs.arrays import Floats, Ints
from ambulo.envs.tasks.walk_commands.commands import side_left
from ambulo.envs.vr.contract import BODY_RADIUS, CLIMB_HEIGHT
from ambulo.envs.vr.geometry.contact_kernels import (
    no_contacts,
    slide,
    support,
)
from ambulo.envs.vr.geometry.solid_kernels import (
    local_shapes,
    shapes_within,
    sort_shapes,
)
from ambulo.envs.vr.world.packed_solids import solids_of
from ambulo.envs.vr.world.step_kernels import counted, most_shapes

GAIN, OFFSET, LAG, CHANGE, DELAY, NOISE = range(6)
"""Columns of the responses of speed, side and turning."""
MEMORY = 16
"""Length of the command history, and the longest delay, [ticks]."""
WANDER = 0.3
"""Decay time of the motion's random deviation, [s]."""
_RADIUS = BODY_RADIUS
_CLIMB = CLIMB_HEIGHT
_LEVY = np.uint64(0x9E3779B97F4A7C15)
_MIX1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX2 = np.uint64(0x94D049BB133111EB)


class StickLimits(NamedTuple):
    """Conversion of sticks to the command of a walker; see `StickCommands`."""

    scale: Floats
    """Command of a full stick: speed, to the left, turning rate, shape (3,)."""
    low: Floats
    """Smallest command, shape (3,)."""
    high: Floats
    """Largest command, shape (3,)."""
    lateral: float
    """Largest product of speed and turning rate, [m/s^2]."""


class TwinModel(NamedTuple):
    """Motion and falls of a walker; see `TwinConfig`."""

    responses: Floats
    """Responses of speed, sideways speed and turning, shape (3, 6)."""
    delays: Ints
    """Delay of each, shape (3,), [ticks]."""
    radius: float
    """Radius of the body, [m]."""
    still: float
    """Logarithm of the rate of falls during contact, [1/s]."""
    growth: float
    """Increase of that logarithm by the speed into the obstacle, [s/m]."""
    after: float
    """Time after a contact for which that rate applies, [s]."""
    fall_rate: float
    """Rate of falls without contact, [1/s]."""


class TwinState(NamedTuple):
    """State of N twins beside their `Bodies`, under the names of a saved state."""

    motion: Floats
    """Speed ahead, speed to the left, and turning rate, shape (N, 3), [m/s], [rad/s]."""
    wander: Floats
    """Deviations of the motion from the response, shape (N, 3)."""
    past: Floats
    """The last commands, shape (N, MEMORY, 3)."""
    age: Ints
    """Index of the newest command, shape (N,)."""
    pressed: Floats
    """Speed into the touched obstacle, [m/s], and its remaining time, [s], (N, 2)."""
    chance: NDArray[np.uint64]
    """Random generators, shape (N,)."""


@njit(cache=True)
def uniform(chance, i):
    """Return the next number in (0, 1) of generator `i` of `chance` (N,).

    SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
    """
    chance[i] += _LEVY
    z = chance[i]
    z = (z ^ (z >> np.uint64(30))) * _MIX1
    z = (z ^ (z >> np.uint64(27))) * _MIX2
    z = z ^ (z >> np.uint64(31))
    return (float(z >> np.uint64(11)) + 0.5) / 9007199254740992.0


@njit(cache=True)
def normal(chance, i):
    """Return the next standard normal number of generator `i` (Box and Muller 1958)."""
    u = uniform(chance, i)
    return math.sqrt(-2.0 * math.log(u)) * math.cos(2.0 * math.pi * uniform(chance, i))


@njit(cache=True)
def limited(stick, limits, out):
    """Fill `out` (3,) with the command of `stick` (3,); see `StickCommands`."""
    scale, low, high, lateral = limits
    out[0] = stick[1] * scale[0]
    out[1] = -stick[0] * scale[1]
    out[2] = -stick[2] * scale[2]
    for c in range(3):
        out[c] = min(max(out[c], low[c]), high[c])
    widest = lateral / max(abs(out[0]), 1e-9)
    out[2] = min(max(out[2], -widest), widest)
    out[1] *= side_left(out[0], out[2], max(min(widest, max(high[2], -low[2])), 1e-9))


@njit(cache=True)
def approached(motion, target, lag, change, dt):
    """Return `motion` after following `target` for `dt`."""
    rate = (target - motion) / max(lag, dt)
    return motion + min(max(rate, -change), change) * dt


@njit(cache=True)
def respond(command, responses, motion, dt):
    """Let `motion` (3,) follow the delayed `command` (3,) for `dt`, in place."""
    for c in range(3):
        target = responses[c, GAIN] * command[c] + responses[c, OFFSET]
        lag, change = responses[c, LAG], responses[c, CHANGE]
        motion[c] = approached(motion[c], target, lag, change, dt)


@njit(cache=True)
def follow(target, lag, change, dt, motion):
    """Fill `motion` (T, N) from its first row on, following `target` (T, N)."""
    for n in range(target.shape[1]):
        now = target[0, n]
        for t in range(target.shape[0]):
            now = approached(now, target[t, n], lag, change, dt)
            motion[t, n] = now


@njit(cache=True)
def step_twins(target, slot, bodies, twins, limits, model, rules, pack):
    """Advance every twin by one environment step, in place; see `TwinWorld`.

    Args:
        target: Sticks after clipping and dead zone, shape (N, 3).
        slot: Level slot of each, shape (N,).
        bodies: `Bodies` of the twins.
        twins: `TwinState`.
        limits: `StickLimits` of the walker.
        model: `TwinModel` of the walker.
        rules: `Rules` of the world.
        pack: The levels, see `PackedSolids`.
    """
    most = most_shapes(pack, slot)
    near = np.empty(most, np.int64)
    pushing = np.empty(most, np.int64)
    floors = np.empty(most, np.int64)
    seen = np.full(most, -1, np.int64)
    contacts = no_contacts()
    no_movers = np.zeros((0, 9))
    position, yaw, command = bodies.position, bodies.yaw, bodies.command
    since_contact, fell = bodies.since_contact, bodies.fell
    motion, wander, past, age, pressed, chance = twins
    responses, delays, high = model.responses, model.delays, limits.high
    dt = rules.dt
    spare = model.radius - _RADIUS
    wanted = np.empty(3)
    keep = math.exp(-dt / WANDER)
    spread = math.sqrt(1.0 - keep * keep)
    for i in range(target.shape[0]):
        solids = solids_of(pack, slot[i])
        x = position[i, 0]
        y = position[i, 1]
        z = position[i, 2]
        began_x = x
        began_y = y
        began_yaw = yaw[i]
        reach = model.radius + rules.ticks * dt * (high[0] + high[1]) + 0.3
        n = shapes_within(solids, x, y, reach, near, seen, i)
        n_pushing, n_floors = sort_shapes(
            local_shapes(solids, near, n, no_movers), z, spare, pushing, floors
        )
        walls = local_shapes(solids, pushing, n_pushing, no_movers)
        ground = local_shapes(solids, floors, n_floors, no_movers)
        touches = 0
        events = 0
        for _ in range(rules.ticks):
            for c in range(3):
                command[i, c] = (
                    rules.decay * command[i, c] + (1.0 - rules.decay) * target[i, c]
                )
            age[i] = (age[i] + 1) % MEMORY
            limited(command[i], limits, past[i, age[i]])
            for c in range(3):
                wanted[c] = past[i, (age[i] - delays[c]) % MEMORY, c]
            respond(wanted, responses, motion[i], dt)
            for c in range(3):
                noise = responses[c, NOISE] * spread
                wander[i, c] = keep * wander[i, c] + noise * normal(chance, i)
            yaw[i] += (motion[i, 2] + wander[i, 2]) * dt
            ahead = (motion[i, 0] + wander[i, 0]) * dt
            left = (motion[i, 1] + wander[i, 1]) * dt
            cos = math.cos(yaw[i])
            sin = math.sin(yaw[i])
            to_x = x + cos * ahead - sin * left
            to_y = y + sin * ahead + cos * left
            x, y, touched = slide(walls, x, y, to_x, to_y, z, spare, contacts)
            if touched:
                into = math.sqrt((x - to_x) ** 2 + (y - to_y) ** 2) / dt
                pressed[i, 0] = min(into, motion[i, 0] + high[1])
                pressed[i, 1] = model.after + dt
            touches += touched
            events += counted(touched, since_contact, i, rules.rearm)
            rate = model.fall_rate
            if pressed[i, 1] > 0.0:
                rate += math.exp(model.still + model.growth * pressed[i, 0])
                pressed[i, 1] -= dt
            if uniform(chance, i) < 1.0 - math.exp(-rate * dt):
                fell[i] = True
            floor, _ = support(ground, x, y, z + _CLIMB)
            if floor == -np.inf:
                fell[i] = True
        step = rules.ticks * dt
        moved_x = x - began_x
        moved_y = y - began_y
        position[i, 0] = x
        position[i, 1] = y
        bodies.velocity[i, 0] = moved_x / step
        bodies.velocity[i, 1] = moved_y / step
        bodies.yaw_rate[i] = (yaw[i] - began_yaw) / step
        bodies.path[i] = math.sqrt(moved_x * moved_x + moved_y * moved_y)
        bodies.contact_ticks[i] = touches
        bodies.collisions[i] = events
