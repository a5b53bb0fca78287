"""Check that the places of a level are connected by paths."""

from __future__ import annotations

import math

import numpy as np
from scipy import ndimage

from ambulo.configs.arrays import Floats
from ambulo.envs.vr.levels.geodesic import (
    EVALUATION_RESOLUTION,
    RESOLUTION,
    field_resolution,
    played_resolution,
)
from ambulo.envs.vr.levels.layers import SNAP, LayeredGrid
from ambulo.envs.vr.levels.level import GOAL_DISTANCE, Level

_MAX_PARTS = 2000
_ANGLES = np.linspace(0.0, math.pi, 16, endpoint=False)
_DIRECTIONS = np.array([np.cos(_ANGLES), np.sin(_ANGLES)])

Range = tuple[float, float]


def way_problem(level: Level) -> str | None:
    """The first unconnected place as `key: rule`; None: every episode has a path."""
    cells = field_resolution(level)
    if cells == 0:
        return "goal: no way for the body from start to goal"
    places = level.places()
    sizes = {min(cells, played_resolution(level, EVALUATION_RESOLUTION))}
    if level.start is not None and level.goal is not None:
        del places["start.position"], places["goal"]  # connected on cells of that size
        if not places:
            return None
    elif not any(
        len(getattr(level, f"{kind}s"))
        for kind in ("start", "goal")
        if getattr(level, kind) is None
    ):
        sizes.add(RESOLUTION)  # of training, which draws from all of the floor
    for size in sorted(sizes, reverse=True):
        problem = unjoined(level, places, LayeredGrid.of(level, size))
        if problem is not None:
            return problem
    return None


def unjoined(level: Level, places: dict[str, Floats], grid: LayeredGrid) -> str | None:
    """The first unconnected one of `places` on `grid` as `key: rule`, or None.

    Starts need a path to a goal, goals and waypoints one from a start. Where the others are
    drawn from all of the floor, a path to a cell within the drawn distances.

    Args:
        level: The level.
        places: Some of `level.places()`.
        grid: Its free cells.
    """
    parts = _Parts(grid)
    low, high = within = level.goal_distance or GOAL_DISTANCE
    starts, goals = _places(level, "start"), _places(level, "goal")
    if not (len(starts) or len(goals)):
        if not grid.free.any():
            return "bounds: nowhere can the body stand"
        if not parts.hold_pair(within):
            return (
                "start and goal: left to chance, but no two places that the body can "
                f"walk between are {low:g} to {high:g} m apart"
            )
    from_start = f"from {_named(level, 'start', within)}"
    tour, from_first = level.waypoints[:1], "from waypoints[0]"
    for kind, others, way in (
        ("goal", starts, from_start),
        ("start", goals, f"to {_named(level, 'goal', within)}"),
        ("waypoint", *((starts, from_start) if len(starts) else (tour, from_first))),
    ):
        joined = {parts.at(grid.nearest(place, SNAP)) for place in others}
        for key, place in places.items():
            if not key.startswith(kind):
                continue
            # Distances are measured to a goal, and read at the others.
            cell = (
                grid.nearest(place, SNAP) if kind == "goal" else grid.reach_cell(place)
            )
            part = parts.at(cell)
            fits = part in joined if len(others) else parts.reach(part, place, within)
            if part == 0 or not fits:
                return f"{key}: no way for the body {way}"
    return None


def _places(level: Level, kind: str) -> Floats:
    """The fixed start or goal of `level`, or else those of its list, shape (n, 3), [m]."""
    fixed = level.start_place if kind == "start" else level.goal_place
    places: Floats = getattr(level, f"{kind}s")[:, :3] if fixed is None else fixed[None]
    return places


def _named(level: Level, kind: str, within: Range) -> str:
    """Name of the starts or goals of `level` in messages."""
    if getattr(level, kind) is not None:
        return kind
    if len(_places(level, kind)):
        return f"any of {kind}s"
    return f"a place {within[0]:g} to {within[1]:g} m away"


class _Parts:
    """The connected parts of a grid, numbered from 1 on."""

    def __init__(self, grid: LayeredGrid) -> None:
        self.grid, self.number = grid, grid.parts()
        self._boxes = ndimage.find_objects(self.number)

    def at(self, cell: int | None) -> int:
        """The part of a cell by its flat index; 0: none."""
        return 0 if cell is None else int(self.number.ravel()[cell])

    def reach(self, part: int, place: Floats, within: Range) -> bool:
        """Whether a cell of `part` is in a range of distances from `place` (2 or more), [m].

        Searches the nearest rows first.
        """
        if part == 0:
            return False
        box = self._boxes[part - 1]
        numbers = self.number[box]
        x, y = (
            start + (np.arange(side.start, side.stop) + 0.5) * self.grid.resolution - at
            for start, side, at in zip(
                (self.grid.x0, self.grid.y0), box[:0:-1], place, strict=False
            )
        )
        low, high = within
        rows = np.argsort(np.abs(y))
        for row in rows[np.abs(y[rows]) <= high]:
            away = np.hypot(x, y[row])
            if ((numbers[:, row] == part) & (away >= low) & (away <= high)).any():
                return True
        return False

    def hold_pair(self, within: Range) -> bool:
        """Whether a part has two cells in a range of distances, [m].

        Searches from the outermost cells of each part that is long enough, largest first.
        """
        grid = self.grid
        spans = np.array([[s.stop - s.start for s in box[1:]] for box in self._boxes])
        sizes = np.hypot(*spans.reshape(-1, 2).T) * grid.resolution
        order = np.argsort(-sizes)[:_MAX_PARTS]
        for k in order[sizes[order] >= within[0]]:
            _, rows, columns = self._boxes[k]
            mask = (self.number[self._boxes[k]] == k + 1).any(axis=0)
            used = np.flatnonzero(mask.any(axis=1))
            left = mask[used].argmax(axis=1)
            right = mask.shape[1] - 1 - mask[used, ::-1].argmax(axis=1)
            rim = np.vstack([np.c_[left, used], np.c_[right, used]])
            along = rim @ _DIRECTIONS
            ends = rim[np.unique(np.concatenate([along.argmin(0), along.argmax(0)]))]
            points = (ends + [columns.start, rows.start] + 0.5) * grid.resolution
            points += [grid.x0, grid.y0]
            if any(self.reach(int(k) + 1, point, within) for point in points):
                return True
        return False
