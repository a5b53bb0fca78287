"""Whether a level has the ways that its episodes need."""

from __future__ import annotations

import math

import numpy as np
from scipy import ndimage

from ambulo.configs.arrays import Bools, Floats
from ambulo.envs.vr.levels.geodesic import (
    EVALUATION_RESOLUTION,
    RESOLUTION,
    field_resolution,
    played_resolution,
)
from ambulo.envs.vr.levels.layers import Field, LayeredGrid
from ambulo.envs.vr.levels.level import GOAL_DISTANCE, Level

_MAX_PARTS = 2000
_ANGLES = np.linspace(0.0, math.pi, 16, endpoint=False)
_DIRECTIONS = np.array([np.cos(_ANGLES), np.sin(_ANGLES)])


def way_problem(level: Level) -> str | None:
    """The first place that lacks a way as `key: rule`; None: every episode has one."""
    cells = field_resolution(level)
    if cells == 0:
        return "goal: no way for the body from start to goal"
    finest = min(cells, played_resolution(level, EVALUATION_RESOLUTION))
    problem = None
    if len(level.starts) or len(level.goals) or len(level.waypoints):
        problem = _sealed_place(level, LayeredGrid.of(level, finest))
    if level.start is None or level.goal is None:
        sizes = {RESOLUTION, finest}
        for size in sorted(sizes, reverse=True):
            problem = problem or _left_to_chance(level, size)
    return problem


def _sealed_place(level: Level, grid: LayeredGrid) -> str | None:
    """The first place of a list that no episode can have, as `key: rule`."""
    starts, goals = _places(level, "start"), _places(level, "goal")
    rule = f"from {_named(level, 'start')}"
    tour = (starts, rule) if len(starts) else (level.waypoints[:1], "from waypoints[0]")
    for key, others, way in (
        ("goals", starts, rule),
        ("starts", goals, f"to {_named(level, 'goal')}"),
        ("waypoints", *tour),
    ):
        places = getattr(level, key)[:, :3]
        if len(places) == 0:
            continue
        if len(others):
            ways = _ways(grid, others)
            sealed = (k for k, at in enumerate(places) if not grid.reaches(ways, at))
            k = next(sealed, None)
        else:
            k = _first_alone(level, grid, places)
        if k is not None:
            return f"{key}[{k}]: no way for the body {way}"
    return None


def _first_alone(level: Level, grid: LayeredGrid, places: Floats) -> int | None:
    """The first of `places` (n, 3) without a way to any cell in range of it; None: none."""
    left = list(range(len(places)))
    first: int | None = None
    while left:  # one part of the grid after another
        field = grid.field(places[left[0]])
        known = _known(grid, field)
        part = {k for k in left if k == left[0] or grid.reaches(field, places[k])}
        alone = (
            k for k in sorted(part) if not _in_range(level, grid, known, places[k])
        )
        first = next(alone, first)
        left = [k for k in left if k not in part and (first is None or k < first)]
    return first


def _ways(grid: LayeredGrid, places: Floats) -> Field:
    """Distances of all cells to the first of `places` (n, 3) in their part; inf: none."""
    ways = np.full(grid.free.shape, np.inf, np.float32)
    for place in places:
        if not grid.reaches(ways, place):
            ways = np.minimum(ways, grid.field(place))
    return ways


def _places(level: Level, kind: str) -> Floats:
    """The fixed start or goal of `level`, or else those of its list, shape (n, 3), [m]."""
    fixed = getattr(level, kind)
    if fixed is None:
        places: Floats = getattr(level, f"{kind}s")[:, :3]
        return places
    return np.append(fixed[:2], getattr(level, f"{kind}_height"))[None]


def _named(level: Level, kind: str) -> str:
    """What a message calls the starts or goals of `_places`."""
    if getattr(level, kind) is not None:
        return kind
    if len(getattr(level, f"{kind}s")):
        return f"any of {kind}s"
    low, high = level.goal_distance or GOAL_DISTANCE
    return f"a place {low:g} to {high:g} m away"


def _left_to_chance(level: Level, resolution: float) -> str | None:
    """Whether cells of a size, [m], leave no place for what episodes draw anywhere."""
    starts, goals = _places(level, "start"), _places(level, "goal")
    if (level.start is None and len(starts)) or (level.goal is None and len(goals)):
        return None  # of a list, whose places have been checked
    low, high = level.goal_distance or GOAL_DISTANCE
    grid = LayeredGrid.of(level, resolution)
    if not grid.free.any():
        return "bounds: nowhere can the body stand"
    if len(starts) == 0 and len(goals) == 0:
        found = _has_pair(grid, (low, high))
    elif len(starts) == 0:
        field = grid.field(goals[0])
        found = _in_range(level, grid, _known(grid, field), goals[0])
    else:
        field = grid.field(starts[0])
        found = grid.reaches(field, starts[0]) and _in_range(
            level, grid, _known(grid, field), starts[0]
        )
    if found:
        return None
    missing = [kind for kind in ("start", "goal") if len(_places(level, kind)) == 0]
    return (
        f"{' and '.join(missing)}: left to chance, but no two places that the body can "
        f"walk between are {low:g} to {high:g} m apart"
    )


def _known(grid: LayeredGrid, field: Field) -> Bools:
    """Columns of cells with a way to the place of `field`, shape (ny, nx)."""
    finite = np.isfinite(field).reshape(-1, grid.ny, grid.nx)
    known: Bools = np.logical_or.reduce(finite)
    return known


def _in_range(level: Level, grid: LayeredGrid, known: Bools, place: Floats) -> bool:
    """Whether one of `known` (ny, nx) is in the range of distances from `place` (3,).

    Looks in the nearest rows first.
    """
    low, high = level.goal_distance or GOAL_DISTANCE
    x = grid.x0 + (np.arange(grid.nx) + 0.5) * grid.resolution - place[0]
    y = grid.y0 + (np.arange(grid.ny) + 0.5) * grid.resolution - place[1]
    columns = np.flatnonzero(np.abs(x) <= high)
    rows = np.argsort(np.abs(y))
    for row in rows[np.abs(y[rows]) <= high]:
        away = np.hypot(x[columns], y[row])
        if (known[row, columns] & (away >= low) & (away <= high)).any():
            return True
    return False


def _has_pair(grid: LayeredGrid, distance: tuple[float, float]) -> bool:
    """Whether some connected part of the grid holds two cells in the distance range.

    Looks from the outermost cells of each part that is long enough, largest first.
    """
    labels = grid.parts()
    slices = ndimage.find_objects(labels)
    if not slices:
        return False
    spans = np.array([[s.stop - s.start for s in place[1:]] for place in slices])
    reach = np.hypot(*spans.T) * grid.resolution
    order = np.argsort(-reach)[:_MAX_PARTS]
    low, high = (d / grid.resolution for d in distance)
    for part in order[reach[order] >= distance[0]]:
        mask = (labels[slices[part]] == part + 1).any(axis=0)
        rows, columns = np.arange(mask.shape[0]), np.arange(mask.shape[1])
        used = mask.any(axis=1)
        left, right = mask.argmax(axis=1), columns[-1] - mask[:, ::-1].argmax(axis=1)
        rim = np.vstack([np.c_[left, rows][used], np.c_[right, rows][used]])
        along = rim @ _DIRECTIONS
        for end in np.unique(np.concatenate([along.argmin(0), along.argmax(0)])):
            dx = (columns - rim[end, 0]).astype(np.float32)
            dy = (rows - rim[end, 1]).astype(np.float32)
            away = np.hypot(dy[:, None], dx[None, :])
            if ((away >= low) & (away <= high) & mask).any():
                return True
    return False
