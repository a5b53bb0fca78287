"""What makes the moving things of a level unplayable: the first broken rule."""

from __future__ import annotations

import math

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.envs.vr.contract import BODY_RADIUS
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.levels.moving import Mover, Walker, fastest, lift_stops

FASTEST = 4.0
"""Largest speed of any point of a moving thing, [m/s]."""
FASTEST_TURN = math.pi
"""Largest turning rate of a moving thing, [rad/s]."""
FASTEST_WALK = 3.0
"""Largest speed of people, [m/s]."""
_THINNEST = 0.01


def moving_problem(level: Level) -> str | None:
    """The first broken rule of what moves in `level` as `key: rule`; None: all is well."""
    if not level.movers and level.people is None:
        return None
    if not level.heights:
        key = "movers" if level.movers else "people"
        return f'{key}: needs "heights": true'
    for k, mover in enumerate(level.movers):
        problem = _bad_mover(level, mover, f"movers[{k}]")
        if problem is not None:
            return problem
    return _bad_people(level)


def _bad_mover(level: Level, mover: Mover, key: str) -> str | None:
    if (mover.half_size < _THINNEST).any():
        return f"{key}.half_size: must be at least {_THINNEST} m"
    problem = _bad_path(level, mover, key)
    if problem is not None:
        return problem
    speed = fastest(mover)
    if speed > FASTEST + 1e-9:
        return f"{key}.path: {speed:.3g} m/s, at most {FASTEST:g}, or it passes through"
    steps = np.diff(mover.path, axis=0)
    if len(steps) and (np.abs(steps[:, 4]) > (FASTEST_TURN + 1e-9) * steps[:, 0]).any():
        return f"{key}.path: turns by more than {FASTEST_TURN:.3g} rad/s"
    return _bad_lift(mover, key) if mover.kind == "lift" else None


def _bad_lift(mover: Mover, key: str) -> str | None:
    if (np.ptp(mover.path[:, [1, 2, 4]], axis=0) > 1e-9).any():
        return f"{key}.path: a lift goes straight up and down"
    if len(lift_stops(mover)) < 2:
        return f"{key}.path: a lift must wait (two equal keyframes) at two heights"
    return None


def _bad_people(level: Level) -> str | None:
    people = level.people
    if people is None:
        return None
    low, high = people.speed
    if not 0 < low <= high <= FASTEST_WALK:
        return f"people.speed: need 0 < min <= max <= {FASTEST_WALK:g}"
    if not 0.1 <= people.radius <= BODY_RADIUS:
        return f"people.radius: must be from 0.1 to {BODY_RADIUS}"
    for k, walker in enumerate(people.walkers):
        key = f"people.walkers[{k}]"
        problem = _bad_path(level, walker, key)
        if problem is not None:
            return problem
        steps = np.diff(walker.path, axis=0)
        ways = np.linalg.norm(steps[:, 1:4], axis=1)
        if (ways > (FASTEST_WALK + 1e-9) * steps[:, 0]).any():
            return f"{key}: faster than {FASTEST_WALK:g} m/s"
    return None


def _bad_path(level: Level, thing: Mover | Walker, key: str) -> str | None:
    path = thing.path
    if thing.loop == "loop" and len(path) > 1 and not _closes(path):
        return f"{key}.loop: true, but the path does not end where it begins"
    x0, y0, x1, y1 = level.bounds
    off = (path[:, 1] < x0) | (path[:, 1] > x1) | (path[:, 2] < y0) | (path[:, 2] > y1)
    if off.any():
        return f"{key}.path[{int(np.argmax(off))}]: out of bounds"
    return None


def _closes(path: Floats) -> bool:
    """Whether `path` (K, 4 or 5) ends where it begins, whole turns aside."""
    gap = path[-1, 1:] - path[0, 1:]
    turns = gap[3:] / (2 * math.pi)
    return bool(
        (np.abs(gap[:3]) < 1e-6).all() and (np.abs(turns - turns.round()) < 1e-6).all()
    )
