"""Validity of a level: the first broken rule, found without long searches.

The rules are those of all levels; `way_check` has the rule about paths between places.
"""

from __future__ import annotations

import math

import numpy as np

from ambulo.configs.arrays import Bools, Floats
from ambulo.envs.vr.contract import BODY_RADIUS, CLIMB_HEIGHT, STEEPEST_FLOOR
from ambulo.envs.vr.geometry.contact_kernels import standing
from ambulo.envs.vr.levels.level import MAX_OBSTACLES, Level
from ambulo.envs.vr.levels.moving import Mover, Walker, fastest, lift_stops
from ambulo.envs.vr.levels.solids import Solids
from ambulo.envs.vr.levels.surfaces import MAX_TRIANGLES
from ambulo.envs.vr.levels.way_check import way_problem

MAX_AREA = 1e6
"""Largest floor, [m^2]."""
MAX_SIDE = 1e4
"""Longest side of a floor, [m]."""
MAX_COVER = 1e7
"""Largest sum of the floor under each shape, overlaps counted, [m^2]."""
FASTEST = 4.0
"""Largest speed of any point of a mover, [m/s]."""
FASTEST_TURN = math.pi
"""Largest turning rate of a mover, [rad/s]."""
FASTEST_WALK = 3.0
"""Largest speed of people, [m/s]."""
_THINNEST = 0.01
_WITH_HEIGHTS = ("ramps", "stairs", "heightfields", "meshes", "movers")


def level_problem(level: Level, *, solvable: bool = True) -> str | None:
    """The first broken rule of `level` as `key: rule`; None: it is valid.

    Without `solvable`, starts and goals need not be connected.
    """
    for rule in (
        _bad_bounds, _bad_heights, _bad_amount, _bad_slopes, _bad_movers, _bad_people,
        _bad_distance,
    ):  # fmt: skip
        problem = rule(level)
        if problem is not None:
            return problem
    solids = Solids.of(level)
    problem = _bad_cover(level, solids) or _bad_places(level, solids)
    return problem or (way_problem(level) if solvable else None)


def _bad_bounds(level: Level) -> str | None:
    rectangles = np.vstack([level.bounds, level.holes])
    sides = rectangles[:, 2:] - rectangles[:, :2]
    inverted = ~(sides > 0).all(axis=1)
    if inverted.any():
        k = int(np.argmax(inverted))
        key = f"holes[{k - 1}]" if k else "bounds"
        return f"{key}: need x0 < x1 and y0 < y1, got {rectangles[k].tolist()}"
    if sides[0].prod() > MAX_AREA or sides[0].max() > MAX_SIDE:
        return f"bounds: more than {MAX_AREA:g} m^2 or a side over {MAX_SIDE:g} m"
    return None


def _bad_heights(level: Level) -> str | None:
    """The first feature of a level without heights that needs them."""
    if level.heights:
        return None
    found = [key for key in _WITH_HEIGHTS if len(getattr(level, key))]
    found += ["people"] * (level.people is not None) + ["ground"] * (not level.ground)
    return f'{found[0]}: needs "heights": true' if found else None


def _bad_amount(level: Level) -> str | None:
    triangles = sum(len(mesh.triangles) for mesh in level.meshes)
    triangles += sum(2 * field.heights.size for field in level.heightfields)
    if triangles > MAX_TRIANGLES:
        return f"meshes: {triangles} triangles, at most {MAX_TRIANGLES} allowed"
    shapes = len(level.boxes) + len(level.cylinders) + len(level.ramps)
    shapes += round(level.stairs[:, 8].sum())
    if shapes + len(level.holes) > MAX_OBSTACLES:
        return f"boxes: more than {MAX_OBSTACLES} obstacles, steps, ramps and holes"
    if not (level.ground or triangles or shapes):
        return "ground: there is no floor"
    return None


def _bad_slopes(level: Level) -> str | None:
    for k, row in enumerate(level.ramps):
        run, rise = float(np.hypot(*(row[3:5] - row[:2]))), row[5] - row[2]
        if run < STEEPEST_FLOOR * math.hypot(run, rise):
            return f"ramps[{k}]: steeper than 45 degrees, no body can climb it"
    for k, row in enumerate(level.stairs):
        rise = (row[5] - row[2]) / row[8]
        if rise > CLIMB_HEIGHT + 1e-9:
            return (
                f"stairs[{k}].steps: a step is {rise:.3g} m high, and the body climbs "
                f"{CLIMB_HEIGHT} m"
            )
    return None


def _bad_movers(level: Level) -> str | None:
    for k, mover in enumerate(level.movers):
        key = f"movers[{k}]"
        if (mover.half_size < _THINNEST).any():
            return f"{key}.half_size: must be at least {_THINNEST} m"
        problem = _bad_path(level, mover, key)
        if problem is not None:
            return problem
        speed, steps = fastest(mover), np.diff(mover.path, axis=0)
        if speed > FASTEST + 1e-9:
            return f"{key}.path: {speed:.3g} m/s, at most {FASTEST:g}, or it passes through"
        if (np.abs(steps[:, 4]) > (FASTEST_TURN + 1e-9) * steps[:, 0]).any():
            return f"{key}.path: turns by more than {FASTEST_TURN:.3g} rad/s"
        problem = _bad_lift(mover) if mover.kind == "lift" else None
        if problem is not None:
            return f"{key}.path: {problem}"
    return None


def _bad_lift(mover: Mover) -> str | None:
    if (np.ptp(mover.path[:, [1, 2, 4]], axis=0) > 1e-9).any():
        return "a lift goes straight up and down"
    if len(lift_stops(mover)) < 2:
        return "a lift must wait (two equal keyframes) at two heights"
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
    off = _out_of_bounds(level, path[:, 1:3])
    return f"{key}.path[{int(np.argmax(off))}]: out of bounds" if off.any() else None


def _closes(path: Floats) -> bool:
    """Whether `path` (K, 4 or 5) ends where it begins, up to whole turns."""
    gap = path[-1, 1:] - path[0, 1:]
    turns = gap[3:] / (2 * math.pi)
    return bool(
        (np.abs(gap[:3]) < 1e-6).all() and (np.abs(turns - turns.round()) < 1e-6).all()
    )


def _bad_distance(level: Level) -> str | None:
    low, high = level.goal_distance or (1.0, 1.0)
    if not 0 < low <= high:
        return f"goal_distance: need 0 < min <= max, got {[low, high]}"
    start, goal = level.start, level.goal
    same_floor = abs(level.start_height - level.goal_height) < CLIMB_HEIGHT
    if (
        start is not None
        and goal is not None
        and same_floor
        and np.allclose(start[:2], goal, 0, 1e-6)
    ):
        return "goal: the same place as start"
    return None


def _bad_cover(level: Level, solids: Solids) -> str | None:
    low, high = solids.extents()
    sides = np.minimum(high, level.bounds[2:]) - np.maximum(low, level.bounds[:2])
    if np.maximum(sides + 2.0, 0.0).prod(axis=1).sum() > MAX_COVER:
        return f"boxes: obstacles cover more than {MAX_COVER:g} m^2 one by one"
    return None


def _bad_places(level: Level, solids: Solids) -> str | None:
    """The first of the level's places where a body cannot stand."""
    named = level.places()
    places = np.array(list(named.values())).reshape(-1, 3)
    floors, free = standing(solids.arrays(), places)
    off = _out_of_bounds(level, places[:, :2])
    below = floors < places[:, 2] - CLIMB_HEIGHT
    bad = off | below | ~free
    if not bad.any():
        return None
    k = int(np.argmax(bad))
    x, y, z = places[k]
    h = level.holes
    over = (h[:, 0] < x) & (x < h[:, 2]) & (h[:, 1] < y) & (y < h[:, 3])
    if off[k]:
        rule = "out of bounds"
    elif not below[k]:
        rule = f"inside an obstacle (the body needs {BODY_RADIUS} m around it)"
    elif over.any():
        rule = f"in holes[{int(np.argmax(over))}]"
    else:
        rule = f"no floor within {CLIMB_HEIGHT} m of z = {z:g}"
        rule += "" if level.heights else ' (floors above 0 need "heights": true)'
    return f"{list(named)[k]}: {rule}"


def _out_of_bounds(level: Level, xy: Floats) -> Bools:
    """Which of `xy` (n, 2) are out of the bounds, shape (n,)."""
    inside = (xy >= level.bounds[:2]) & (xy <= level.bounds[2:])
    outside: Bools = ~np.asarray(inside.all(axis=1))
    return outside
