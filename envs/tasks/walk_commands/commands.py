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
    """How fast followed commands move towards those that are given."""

    speeding: tuple[float, float, float]
    """Fastest change of speed, [m/s^2], turning rate, [rad/s^2], and speed to the left,
    [m/s^2], away from 0."""
    braking: tuple[float, float, float]
    """The same towards 0."""
    ease: float
    """Time in which a change begins and ends, [s]."""


SETTLING = Settling((0.4, 1.6, 0.4), (2.2, 2.6, 0.8), 0.09)
"""That of walkers that navigate."""
OWN_SETTLING = Settling((0.4, 1.1, 0.4), (0.5, 1.3, 0.4), 0.09)
"""That of bodies of the user's own, whose steps are those of no clip. With controllers alone
and commands up to 1.6 m/s, 94 % of 64 of a Daz rig stay up for 10 s. With `SETTLING` 72 % do:
most others fall ahead when they brake. Of Unitree's G1 84 and 75 % do."""
STILL = np.array([0.04, 0.05, 0.03])
"""Speed, [m/s], turning rate, [rad/s], and speed to the left, [m/s], below which a command is
one to stand."""

CORRECTION, CORRECTED = 0.3, np.array([0.2, 0.15, 0.15])
"""Part of the mean error of speed and turning that is made up for in a second, and the most
of it, [m/s], [rad/s], [m/s]."""
MEAN = 0.8
"""Time constant of these means, [s]."""
BEYOND = 1.2
"""Turning rates and speeds to the side that are followed over those of the envelope, so that
a body that lags behind its command at the border can be made up for."""
SPOT_SPEED = 0.4
"""Speed from which on the widest turn takes all of the range to the side, [m/s]."""


ONES = np.ones(3)
"""Units of commands of human23."""
OWN_TURN = 0.5
"""Turning rates of users' own bodies over those of alike gaits of human23: with controllers
alone, 92 % of 64 of Unitree's G1 stay up for 10 s, and 81 % with 1."""


def units_of(pace: float, turn: float = 1.0) -> Floats:
    """Speed, turning rate and speed aside of a body over those of human23. Shape (3,).

    Alike gaits (of equal Froude numbers) have speeds and times that go by `pace`, the root of
    the legs' lengths; accelerations are the same. `turn` is a factor on turning rates.
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
    """Commands (k, 3) moved into the envelope, and which were outside, (k,).

    Speed ahead, [m/s], turning rate, [rad/s], and speed to the left, [m/s]. Fast walking
    takes narrower turns than the ranges say (speed times turning rate is at most
    `CENTRIPETAL`) and smaller steps to the side (`side_part`), and so do turns (`side_left`).

    Args:
        commands: The commands.
        speeds: Range of speeds ahead, [m/s].
        beyond: Factor on the ranges of turning rates and speeds to the left.
        turns_take_side: Whether turns leave less of the range to the left.
        units: What 1 is of each part of a command (`units_of`): `speeds` and the envelope are
            those of human23. Shape (3,).

    Raises:
        ConfigError: A command that is not finite.
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


def side_part(speed: Floats) -> Floats:
    """The part of `SIDE` that is taken on at speeds ahead (k,), [m/s]. Shape (k,)."""
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
        chances: What is drawn.
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
    """A time within `span`, [s], from a number of 0 to 1: short ones as often as long ones.

    Log-uniform, so that a wide span holds commands of a navigator, ten a second, and
    steady ones.
    """
    low, high = span
    if low <= 0.0:
        return low + chance * (high - low)
    return float(low * (high / low) ** chance)


def _between(span: Sequence[float] | Floats, part: float) -> float:
    low, high = span
    return float(low + part * (high - low))


def stands_still(commands: Floats) -> Bools:
    """Which commands (N, 3) are to stand. Shape (N,)."""
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
    """Let commands (N, 2 or 3) come nearer to the goal in `dt`, [s], without a jerk, in place.

    `change` is how fast they change now.
    """
    ease = min(1.0, dt / settling.ease)
    for b in range(len(goal)):
        for i in range(goal.shape[1]):
            left = goal[b, i] - command[b, i]
            braking = left * command[b, i] < 0.0
            most = settling.braking[i] if braking else settling.speeding[i]
            # Four times as long as the change eases: then it does not overshoot.
            pull = left / (4.0 * settling.ease)
            pull = min(max(pull, -most), most)
            change[b, i] += (pull - change[b, i]) * ease
            command[b, i] += change[b, i] * dt
