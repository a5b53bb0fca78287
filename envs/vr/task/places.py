"""Random positions of starts and goals on the free floor of a level."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import LevelError
from ambulo.envs.vr.levels.geodesic import RESOLUTION
from ambulo.envs.vr.levels.layers import LayeredGrid
from ambulo.envs.vr.levels.level import Level

TRIES = 200
"""Random cells tried for a start before an exhaustive search."""


def sampled_start(
    grid: LayeredGrid,
    field: NDArray[np.float32],
    target: Floats,
    within: tuple[float, float],
    rng: np.random.Generator,
) -> Floats | None:
    """A reachable start at a straight distance from a goal, or the nearest miss.

    Args:
        grid: Free cells of the level.
        field: Walking distance of every cell to the goal, flat, [m].
        target: The goal's x and y, [m]. Shape (2,).
        within: Smallest and largest distance, [m].
        rng: Random generator.

    Returns:
        x, y [m], yaw [rad], z [m], shape (4,); None if no cell is near enough.
    """
    low, high = within
    cells = np.flatnonzero(np.isfinite(field))
    if len(cells) == 0:
        return None
    points = grid.points(cells[rng.integers(len(cells), size=TRIES)])
    reach = np.hypot(*(points[:, :2] - target).T)
    fits = np.flatnonzero((reach >= low) & (reach <= high))
    yaw = rng.uniform(-np.pi, np.pi)
    if len(fits) > 0:
        return _pose(points[fits[0]], yaw)
    around = _cells_between(grid, np.isfinite(field), target, low, high)
    if len(around) > 0:
        return _pose(around[rng.integers(len(around))], yaw)
    best = int(np.argmin(np.maximum(low - reach, reach - high)))
    if reach[best] >= 1.5:
        return _pose(points[best], yaw)
    points = grid.points(cells)
    reach = np.hypot(*(points[:, :2] - target).T)
    miss = np.maximum(low - reach, reach - high)
    best = int(np.argmin(miss))
    # Levels are checked on cells of `RESOLUTION`, which sets the tolerance.
    return _pose(points[best], yaw) if miss[best] <= RESOLUTION else None


def drawn_goal(
    level: Level,
    grid: LayeredGrid,
    within: tuple[float, float],
    rng: np.random.Generator,
) -> tuple[Floats, NDArray[np.float32]]:
    """Draw a goal that is reachable from a large region, which holds the level's own starts.

    Args:
        level: The level.
        grid: Its free cells.
        within: Smallest and largest distance from the start, [m].
        rng: Random generator.

    Returns:
        x, y, z, [m], shape (3,), and the walking distance of every cell to it, flat, [m].

    Raises:
        LevelError: The level has no free floor.
    """
    cells = np.flatnonzero(grid.free)
    if len(cells) == 0:
        raise LevelError(f"level {level.name!r}: no free floor for the body")
    low, high = within
    start = level.start_place
    if start is None and len(level.starts) > 0:
        start = level.starts[rng.integers(len(level.starts)), :3]
    if len(level.goals) > 0:
        place = level.goals[rng.integers(len(level.goals))]
        return place, grid.field(place).ravel()
    if level.goal is None and start is not None:
        ways = grid.field(start).ravel()
        near = _cells_between(grid, np.isfinite(ways), start[:2], low, high)
        if len(near) > 0:
            place = near[rng.integers(len(near))]
            return place, grid.field(place).ravel()
    best: tuple[float, Floats, NDArray[np.float32]] | None = None
    for _ in range(20):
        place = grid.points(cells[[rng.integers(len(cells))]])[0]
        field = grid.field(place)
        reached = np.isfinite(field).mean()
        fits = reached
        if start is not None:
            reach = np.hypot(*(place - start)[:2])
            fits = reached if np.isfinite(grid.distance(field, start)) else -1.0
            if not low <= reach <= high:
                fits -= 0.5
        elif not len(
            _cells_between(grid, np.isfinite(field).ravel(), place[:2], low, high)
        ):
            fits -= 1.0
        if best is None or fits > best[0]:
            best = (fits, place, field.ravel())
        if fits > 0.3 * grid.free.mean():
            break
    assert best is not None
    return best[1], best[2]


def _pose(point: Floats, yaw: float) -> Floats:
    """x, y, yaw, z."""
    return np.array([point[0], point[1], yaw, point[2]])


def _cells_between(
    grid: LayeredGrid, mask: NDArray[np.bool_], xy: Floats, low: float, high: float
) -> Floats:
    """Points x, y, z of the cells of the flat `mask` that lie low to high [m] from `xy`."""
    cells = np.flatnonzero(_window(grid, mask, xy, high))
    points = grid.points(cells)
    away = np.hypot(*(points[:, :2] - xy).T)
    return points[(away >= low) & (away <= high)]


def _window(
    grid: LayeredGrid, mask: NDArray[np.bool_], xy: Floats, high: float
) -> NDArray[np.bool_]:
    """The flat `mask` without cells that are certainly farther than `high` [m] from `xy`."""
    row, column = grid.cell(xy)
    reach = math.ceil(high / grid.resolution) + 1
    near = np.zeros_like(grid.free)
    window = (
        slice(max(row - reach, 0), row + reach + 1),
        slice(max(column - reach, 0), column + reach + 1),
    )
    near[(..., *window)] = mask.reshape(near.shape)[(..., *window)]
    return near
