"""Moving obstacles of a level: movers on paths, and people (docs/vr_world.md, "Moving things").

Metres, seconds, radians, Z up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from ambulo.configs.arrays import Floats

Kind = Literal["door", "wall", "cart", "platform", "lift"]
"""Kinds of movers; a lift goes straight up and down and joins floors, and people keep off the
paths of platforms and lifts."""
CARRIERS = ("platform", "lift")
"""Kinds that people keep off."""
LOOPS = ("loop", "back_and_forth", "once")
"""Behaviour at the end of a path: restart, go back, or stop."""
BODY_HEIGHT = 1.75
"""Height of people, [m]."""
_TURN = 0.15
"""Largest turn between two keyframes of a hinged door, [rad]."""


@dataclass(frozen=True, eq=False)
class Mover:
    """A box that moves along a path, whatever is in its way."""

    kind: Kind
    """Its kind."""
    half_size: Floats
    """Half sizes along its own x, y and z, shape (3,), [m]."""
    path: Floats
    """Keyframes t, x, y, z of the centre, yaw, t ascending from 0, shape (K, 5)."""
    loop: str = "back_and_forth"
    """One of `LOOPS`."""
    phase: float | None = 0.0
    """Time on the path at the start of an episode, [s]; None: drawn for each."""


@dataclass(frozen=True, eq=False)
class Walker:
    """A person who moves along a path and evades nothing."""

    path: Floats
    """Keyframes t, x, y, z of the feet, t ascending from 0, shape (K, 4)."""
    loop: str = "back_and_forth"
    """One of `LOOPS`."""
    phase: float | None = 0.0
    """Time on the path at the start of an episode, [s]; None: drawn for each."""


@dataclass(frozen=True, eq=False)
class People:
    """People of a level: a crowd that plans its own paths, and walkers on fixed paths."""

    count: int = 0
    """Size of the crowd."""
    speed: tuple[float, float] = (0.8, 1.6)
    """Range of their preferred speeds, [m/s]."""
    radius: float = 0.25
    """Radius of all people, [m]."""
    see_agent: bool = True
    """Whether the crowd gives way to the agent."""
    goals: Floats = field(default_factory=lambda: np.zeros((0, 3)))
    """Goals of the crowd, x, y, z, shape (n, 3), [m]; empty: positions all over the floor."""
    walkers: tuple[Walker, ...] = ()
    """People on fixed paths."""


def period_of(path: Floats, loop: str) -> float:
    """Period of the motion on `path` (K, >= 4), [s]."""
    return float(path[-1, 0]) * (2.0 if loop == "back_and_forth" else 1.0)


def fastest(mover: Mover) -> float:
    """Largest speed of any point of `mover`, [m/s]."""
    steps = np.diff(mover.path, axis=0)
    if len(steps) == 0:
        return 0.0
    reach = math.hypot(*mover.half_size[:2])
    ways = np.linalg.norm(steps[:, 1:4], axis=1) + reach * np.abs(steps[:, 4])
    return float((ways / steps[:, 0]).max())


def route_keyframes(route: Floats, speed: float) -> Floats:
    """Keyframes t, x, y, z of a walk along `route` (n, 3) at `speed` [m/s], shape (n, 4)."""
    ways = np.linalg.norm(np.diff(route, axis=0), axis=1)
    times = np.concatenate([[0.0], np.cumsum(ways / speed)])
    return np.column_stack([times, route])


def hinged_door(
    hinge: Floats,
    size: tuple[float, float, float],
    yaw: float,
    opening: float,
    period: float,
) -> tuple[Floats, Floats]:
    """Half sizes (3,) and keyframes (K, 5) of a door that swings back and forth.

    It is closed, opens, is open and closes, a quarter of the period each.

    Args:
        hinge: Lower end x, y, z of its axis, [m].
        size: Width, thickness and height, [m].
        yaw: Direction of the closed door from its hinge, [rad].
        opening: Opening angle, + is counter-clockwise, [rad].
        period: Period of the whole motion, [s].
    """
    width, thickness, height = size
    parts = max(1, math.ceil(abs(opening) / _TURN))
    turn = opening * np.arange(parts + 1) / parts
    angle = yaw + np.concatenate([[0.0], turn, turn[::-1]])
    quarter = period / 4
    opens = quarter * (1 + np.arange(parts + 1) / parts)
    time = np.concatenate([[0.0], opens, opens + 2 * quarter])
    keys = np.column_stack(
        [
            time,
            hinge[0] + width / 2 * np.cos(angle),
            hinge[1] + width / 2 * np.sin(angle),
            np.full(len(angle), hinge[2] + height / 2),
            angle,
        ]
    )
    return np.array([width, thickness, height]) / 2, keys


def lift_stops(mover: Mover) -> Floats:
    """The boxes of a lift at its stops: x, y, z, half sizes, yaw, shape (n, 7), lowest first.

    It stops where two consecutive keyframes are equal.
    """
    rows: list[Floats] = []
    for before, after in zip(mover.path[:-1], mover.path[1:], strict=True):
        if np.array_equal(before[1:], after[1:]):
            row = np.array([*after[1:4], *mover.half_size, after[4]])
            if not any(abs(row[2] - other[2]) < 1e-9 for other in rows):
                rows.append(row)
    return np.array(sorted(rows, key=lambda r: float(r[2]))).reshape(-1, 7)
