"""Commands to the walker: their envelope, how they are drawn, and how they settle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numba import njit

from ambulo.configs.arrays import Bools, Floats
from ambulo.configs.errors import ConfigError
from ambulo.configs.walk_commands import (
    CENTRIPETAL,
    SIDE,
    SIDE_PARTS,
    SIDE_SPEEDS,
    SPEED,
    TURN,
    WalkCommandsConfig,
)


class Settling(NamedTuple):
    """Rates at which the followed commands approach the given ones."""

    speeding: tuple[float, float, float]
    """Largest change away from 0 of speed, [m/s^2], turning rate, [rad/s^2], and speed to the
    left, [m/s^2]."""
    braking: tuple[float, float, float]
    """Largest change towards 0, in the same units."""
    ease: float
    """Time in which a change starts and stops smoothly, [s]."""


SETTLING = Settling((0.4, 1.6, 0.4), (2.2, 2.6, 0.8), 0.09)
"""Settling of walkers that navigate."""
OWN_SETTLING = Settling((0.4, 1.1, 0.4), (0.5, 1.3, 0.4), 0.09)
"""Settling of users' own bodies, whose steps come from no clip. With controllers alone and
commands up to 1.6 m/s, 94 % of 64 bodies of a Daz rig stay up for 10 s (72 % with `SETTLING`,
where most fall forwards when they brake), of Unitree's G1 84 % (75 %)."""
STILL = np.array([0.04, 0.05, 0.03])
"""Speed, [m/s], turning rate, [rad/s], and speed to the left, [m/s], below which a command
means standing."""

CORRECTION, CORRECTED = 0.3, np.array([0.2, 0.15, 0.15])
"""Integral gain on the mean error of the command, [1/s], and the largest correction: speed,
[m/s], turning rate, [rad/s], speed to the left, [m/s]."""
MEAN = 0.8
"""Time constant of the means, [s]."""
BEYOND = 1.2
"""Factor on the envelope of turning rates and sideways speeds within which corrected commands
are followed: at the border, a lagging body can still be corrected."""
SPOT_SPEED = 0.4
"""Speed from which the widest turn leaves no sideways speed, [m/s]."""


ONES = np.ones(3)
"""Units of commands of human23."""
OWN_TURN = 0.5
"""Factor on the turning rates of users' own bodies compared with human23 at the same Froude
number. With controllers alone, 92 % of 64 of Unitree's G1 stay up for 10 s, and 81 % with
factor 1."""


def units_of(pace: float, turn: float = 1.0) -> Floats:
    """Scale of speed, turning rate and sideways speed of a body against human23. Shape (3,).

    Similar gaits (of equal Froude numbers) have speeds and times proportional to `pace`, the
    square root of the ratio of leg lengths; accelerations are equal. `turn` is a factor on
    turning rates.
    """
    return np.array([pace, turn / pace, pace])


def within_envelope(
    commands: Floats,
    speeds: tuple[float, float] = SPEED,
    beyond: float = 1.0,
    *,
    turns_take_side: bool = True,
    units: Floats = ONES,
) -> tuple[Floats, Bools]:
    """Commands (k, 3) clamped to the envelope, and the mask of those outside, (k,).

    Speed ahead, [m/s], turning rate, [rad/s], and speed to the left, [m/s]. At high speed, the
    turning rate is smaller (speed times turning rate is at most `CENTRIPETAL`) and so is the
    sideways speed (`side_part`); turns reduce the sideways speed too (`side_left`).

    Args:
        commands: The commands.
        speeds: Range of speeds ahead, [m/s].
        beyond: Factor on the ranges of turning rates and speeds to the left.
        turns_take_side: Whether turns reduce the sideways range.
        units: Scale of each part of a command (`units_of`); `speeds` and the envelope are
            those of human23. Shape (3,).

    Raises:
        ConfigError: A command is not finite.
    """
    if not np.isfinite(commands).all():
        raise ConfigError("a command is not finite")
    commands = commands / units
    inside = np.empty_like(commands)
    inside[:, 0] = np.clip(commands[:, 0], *speeds)
    widest = beyond * widest_turn(inside[:, 0])
    inside[:, 1] = np.clip(commands[:, 1], -widest, widest)
    part = beyond * side_part(inside[:, 0])
    if turns_take_side:
        part = part * side_left(inside[:, 0], inside[:, 1], widest)
    inside[:, 2] = np.clip(commands[:, 2], SIDE[0] * part, SIDE[1] * part)
    outside: Bools = np.any(np.abs(inside - commands) > 1e-9, axis=1)
    return inside * units, outside


@njit(cache=True)
def side_left(speed, turn, widest):  # type: ignore[no-untyped-def]
    """Fraction of the sideways range that a turn leaves.

    None in the widest turn from `SPOT_SPEED` on: bodies that walk, turn and step aside at once
    fall (41 % of an agent's episodes). All of it on the spot. Numbers or arrays.

    Args:
        speed: Ahead, [m/s].
        turn: Turning rate, [rad/s].
        widest: The largest turning rate at that speed, [rad/s].
    """
    walking = np.minimum(1.0, np.abs(speed) / SPOT_SPEED)
    return 1.0 - walking * np.minimum(1.0, np.abs(turn) / widest)


def side_part(speed: Floats) -> Floats:
    """Fraction of `SIDE` that is available at speeds ahead (k,), [m/s]. Shape (k,)."""
    part: Floats = np.interp(np.abs(speed), SIDE_SPEEDS, SIDE_PARTS)
    return part


def widest_turn(speed: Floats) -> Floats:
    """The largest turning rate at speeds ahead (k,), [m/s]. Shape (k,), [rad/s]."""
    fast = CENTRIPETAL / np.maximum(np.abs(speed), 1e-9)
    return np.asarray(np.minimum(np.deg2rad(TURN[1]), fast))


def drawn_goal(
    chances: Floats,
    speed: tuple[float, float],
    turn: tuple[float, float],
    walk: WalkCommandsConfig,
    units: Floats = ONES,
) -> Floats:
    """A command within the envelope from six numbers of 0 to 1. Shape (3,).

    Args:
        chances: Six uniform random numbers.
        speed: Range of speeds ahead, within the envelope, [m/s].
        turn: Range of turning rates, [deg/s].
        walk: Fractions of the kinds of commands.
        units: As of `within_envelope`.
    """
    kind, pace, straight, way, aside, left = chances
    goal = np.zeros((1, 3))
    if kind < walk.stand_share:
        return goal[0]
    spot = kind < walk.stand_share + walk.spot_share
    goal[0, 0] = 0.0 if spot else _between(speed, pace)
    if spot or straight >= walk.straight_share:
        goal[0, 1] = np.deg2rad(_between(turn, way))
    if aside < (0.5 if spot else walk.aside_share):
        side = np.clip(walk.side, *units[2] * np.array(SIDE))
        goal[0, 2] = _between(side, left)
    inside, _ = within_envelope(goal, units=units)
    drawn: Floats = inside[0]
    return drawn


def drawn_wait(chance: float, span: tuple[float, float]) -> float:
    """Log-uniform time within `span`, [s], from a uniform number in [0, 1].

    A wide span thus holds both a navigator's commands, ten per second, and steady ones.
    """
    low, high = span
    if low <= 0.0:
        return low + chance * (high - low)
    return float(low * (high / low) ** chance)


def _between(span: Sequence[float] | Floats, part: float) -> float:
    low, high = span
    return float(low + part * (high - low))


def stands_still(commands: Floats) -> Bools:
    """Mask of the commands (N, 3) that mean standing. Shape (N,)."""
    still: Bools = np.all(np.abs(commands) < STILL, axis=1)
    return still


def corrected(correction: Floats, error: Floats, dt: Floats) -> Floats:
    """The integrated error of the means after times `dt` (N,), [s]. Shape (N, 3)."""
    more = CORRECTION * dt[:, None] * error
    bounded: Floats = np.clip(correction + more, -CORRECTED, CORRECTED)
    return bounded


@njit(cache=True)
def settle(
    goal: Floats, dt: float, command: Floats, change: Floats, settling: Settling
) -> None:
    """Move commands (N, 2 or 3) towards the goal within `dt`, [s], smoothly, in place.

    `change` is their present rate of change.
    """
    ease = min(1.0, dt / settling.ease)
    for b in range(len(goal)):
        for i in range(goal.shape[1]):
            left = goal[b, i] - command[b, i]
            braking = left * command[b, i] < 0.0
            most = settling.braking[i] if braking else settling.speeding[i]
            # Four times the time constant of the change avoids overshoot.
            pull = left / (4.0 * settling.ease)
            pull = min(max(pull, -most), most)
            change[b, i] += (pull - change[b, i]) * ease
            command[b, i] += change[b, i] * dt
