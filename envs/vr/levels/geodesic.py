"""Walking distances in a level: free cells, distance fields, paths (world, metres).

For goals, rewards, critics, pictures and checks; worlds never read it. The kernels are
compiled, and `field_distance` and `field_direction` can be called from other kernels.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import LevelError
from ambulo.envs.vr.levels.geodesic_kernels import (
    block_cells,
    descend,
    field_direction,
    field_distance,
    flood,
)
from ambulo.envs.vr.levels.layers import CLEARANCE, SNAP, LayeredGrid
from ambulo.envs.vr.levels.level import Level

__all__ = [
    "CLEARANCE",
    "EVALUATION_RESOLUTION",
    "FINE_RESOLUTION",
    "MAX_CELLS",
    "RESOLUTION",
    "SNAP",
    "FreeGrid",
    "Grid",
    "distance_field",
    "field_direction",
    "field_distance",
    "field_resolution",
    "free_grid",
    "length_of",
    "make_grid",
    "path_length",
    "played_resolution",
    "reaches",
    "shortest_path",
]

Field = NDArray[np.float32]

RESOLUTION = 0.25
"""Cell size of distance fields in training, [m]."""
EVALUATION_RESOLUTION = 0.125
"""Cell size of distance fields in evaluation, [m]."""
FINE_RESOLUTION = 0.1
"""Cell size for lengths in reports and for levels with narrow doors, [m]."""

MAX_CELLS = 4e6
"""Most cells of a grid that is played on; larger floors have cells of `RESOLUTION`."""

_ROUNDING = 1e-9
_MAX_CELLS = 2e7


def _moves() -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The 16 moves: (dx, dy, blocker 1 x, y, blocker 2 x, y) in cells, and lengths."""
    rows = []
    for dx in range(-2, 3):
        for dy in range(-2, 3):
            sx, sy = int(np.sign(dx)), int(np.sign(dy))
            match sorted((abs(dx), abs(dy))):
                case [0, 1]:
                    rows.append((dx, dy, dx, dy, dx, dy))
                case [1, 1]:
                    rows.append((dx, dy, dx, 0, 0, dy))
                case [1, 2]:
                    first = (sx, 0) if abs(dx) == 2 else (0, sy)
                    rows.append((dx, dy, *first, sx, sy))
    moves = np.array(rows, np.int64)
    return moves, np.hypot(moves[:, 0], moves[:, 1])


_MOVES, _COSTS = _moves()


@dataclass(frozen=True, eq=False)
class FreeGrid:
    """Cells on which the body fits; cell i has its centre at x0 + (i + 0.5) * res."""

    x0: float
    """Lower x of the grid, [m]."""
    y0: float
    """Lower y of the grid, [m]."""
    resolution: float
    """Cell size, [m]."""
    nx: int
    """Cells along x."""
    ny: int
    """Cells along y."""
    free: NDArray[np.bool_]
    """Where the body fits, shape (ny, nx)."""

    def cell(self, xy: ArrayLike) -> tuple[int, int]:
        """Row and column of the cell that holds `xy` (2,), clipped to the grid."""
        x, y = np.asarray(xy, np.float64)[:2]
        i = math.floor((float(x) - self.x0) / self.resolution)
        j = math.floor((float(y) - self.y0) / self.resolution)
        return min(max(j, 0), self.ny - 1), min(max(i, 0), self.nx - 1)

    def centres(self, mask: NDArray[np.bool_] | None = None) -> Floats:
        """Centres of the cells in `mask` (default: free cells), shape (n, 2), [m]."""
        rows, columns = np.nonzero(self.free if mask is None else mask)
        offset = np.array([self.x0, self.y0])
        points = np.column_stack([columns, rows]) + 0.5
        return np.asarray(offset + points * self.resolution, np.float64)

    def points(self, cells: NDArray[np.integer]) -> Floats:
        """Centres of the cells with flat indices `cells` (n,): x, y, z, shape (n, 3), [m]."""
        x = self.x0 + (cells % self.nx + 0.5) * self.resolution
        y = self.y0 + (cells // self.nx + 0.5) * self.resolution
        return np.column_stack([x, y, np.zeros(len(cells))])

    def field(self, goal: ArrayLike) -> Field:
        """Walking distance to `goal` (2,) or (3,) from every cell, as `distance_field`."""
        return distance_field(self, goal)

    def distance(self, field: Field, xyz: ArrayLike) -> float:
        """Walking distance at `xyz` (2,) or (3,) from a `field`, [m]; inf: no way."""
        x, y = (float(v) for v in np.asarray(xyz, np.float64)[:2])
        return float(
            field_distance(
                field.ravel(), self.nx, self.ny, self.x0, self.y0, self.resolution, x, y
            )
        )

    def reaches(self, field: Field, xyz: ArrayLike) -> bool:
        """Whether the body gets from `xyz` (2,) or (3,) to the goal of `field`."""
        return reaches(self, field, xyz)

    def path(
        self, field: Field, start: ArrayLike, goal: ArrayLike | None = None
    ) -> Floats:
        """Taut path from `start` down `field`, as `shortest_path`, shape (n, 2), [m]."""
        return shortest_path(self, field, start, goal)

    def nearest_free(self, xy: ArrayLike, radius: float) -> tuple[int, int] | None:
        """Row and column of the nearest free cell, its centre within `radius` [m]."""
        x, y = np.asarray(xy, np.float64)[:2]
        row, column = self.cell((x, y))
        reach = math.ceil(radius / self.resolution)
        top, left = max(row - reach, 0), max(column - reach, 0)
        window = self.free[top : row + reach + 1, left : column + reach + 1]
        rows, columns = np.nonzero(window)
        if rows.size == 0:
            return None
        cx = self.x0 + (columns + left + 0.5) * self.resolution
        cy = self.y0 + (rows + top + 0.5) * self.resolution
        distance = np.hypot(cx - x, cy - y)
        k = int(np.argmin(distance))
        if distance[k] > radius + _ROUNDING:
            return None
        return int(rows[k] + top), int(columns[k] + left)


Grid = FreeGrid | LayeredGrid
"""Cells on which the body fits: of a flat level, or of one with heights."""


def make_grid(
    level: Level, resolution: float = RESOLUTION, clearance: float = CLEARANCE
) -> Grid:
    """The cells of `level`, flat or not, that keep `clearance` [m] from what obstructs."""
    if level.heights:
        return LayeredGrid.of(level, resolution, clearance)
    return free_grid(level, resolution, clearance)


def free_grid(
    level: Level, resolution: float = RESOLUTION, clearance: float = CLEARANCE
) -> FreeGrid:
    """The cells of the flat `level` that keep `clearance` [m] from edges and obstacles.

    Raises:
        LevelError: the level has heights; see `make_grid`.
    """
    if level.heights:
        raise LevelError(
            f"level {level.name!r}: has heights, which this does not plan in"
        )
    x0, y0, x1, y1 = (float(v) for v in level.bounds)
    nx = max(1, math.ceil((x1 - x0) / resolution - _ROUNDING))
    ny = max(1, math.ceil((y1 - y0) / resolution - _ROUNDING))
    x = x0 + (np.arange(nx) + 0.5) * resolution
    y = y0 + (np.arange(ny) + 0.5) * resolution
    inside_x = (x - x0 >= clearance - _ROUNDING) & (x1 - x >= clearance - _ROUNDING)
    inside_y = (y - y0 >= clearance - _ROUNDING) & (y1 - y >= clearance - _ROUNDING)
    free = inside_y[:, None] & inside_x[None, :]
    h = level.holes
    holes = np.zeros((len(h), 6))
    holes[:, :2] = (h[:, :2] + h[:, 2:]) / 2
    holes[:, 2:4] = (h[:, 2:] - h[:, :2]) / 2
    holes[:, 4] = 1.0
    prisms = np.ascontiguousarray(np.vstack([level.box_prisms(), holes]))
    block_cells(free, x0, y0, resolution, clearance, prisms, level.cylinder_prisms())
    return FreeGrid(x0, y0, resolution, nx, ny, free)


def distance_field(grid: FreeGrid, goal_xy: ArrayLike) -> Field:
    """Walking distance to `goal_xy` (2,) from every cell, inf where it is unreachable.

    16-move Dijkstra: at most 2.8 % above the true length. Shape (ny, nx), [m].
    """
    x, y = (float(v) for v in np.asarray(goal_xy, np.float64)[:2])
    gx = (x - grid.x0) / grid.resolution - 0.5
    gy = (y - grid.y0) / grid.resolution - 0.5
    if not grid.free[grid.cell((x, y))]:
        snapped = grid.nearest_free((x, y), SNAP)
        if snapped is None:
            return np.full((grid.ny, grid.nx), np.inf, np.float32)
        gy, gx = float(snapped[0]), float(snapped[1])
    dist = flood(grid.free, gx, gy, _MOVES, _COSTS)[2:-2, 2:-2]
    metres = dist * np.float32(grid.resolution)
    return np.where(dist < 0, np.float32(np.inf), metres)


def shortest_path(
    grid: FreeGrid,
    field: Field,
    start_xy: ArrayLike,
    goal_xy: ArrayLike | None = None,
) -> Floats:
    """Taut path from `start_xy` (2,) down `field`, shape (n, 2), [m]; (0, 2): none.

    It begins at `start_xy` and ends at `goal_xy`, or at the goal's cell without it.
    """
    start = np.asarray(start_xy, np.float64)[:2]
    cell = grid.nearest_free(start, SNAP)
    if cell is None or not np.isfinite(field[cell]):
        return np.zeros((0, 2))
    chain = descend(grid.free, field, grid.resolution, _MOVES, _COSTS, *cell)
    offset = np.array([grid.x0, grid.y0])
    inner = offset + (chain + 0.5) * grid.resolution
    if goal_xy is None:
        return np.vstack([start, inner[1:] if len(inner) > 1 else inner])
    return np.vstack([start, inner[1:-1], np.asarray(goal_xy, np.float64)[:2]])


def path_length(
    level: Level,
    start: ArrayLike,
    goal: ArrayLike,
    resolution: float = FINE_RESOLUTION,
) -> float:
    """Length of the shortest path for the body from `start` to `goal`, [m], or inf.

    Both are (2,) or (3,); lengths are those of the way seen from above.
    """
    grid = make_grid(level, resolution)
    return length_of(grid.path(grid.field(goal), start, goal))


def length_of(path: Floats) -> float:
    """Length of a path (n, 2 or 3) seen from above, [m]; inf for an empty one."""
    if len(path) == 0:
        return math.inf
    return float(np.hypot(*np.diff(path[:, :2], axis=0).T).sum())


def field_resolution(level: Level) -> float:
    """The coarsest cell size at which the designed goal is reachable, [m]; 0: none.

    `RESOLUTION` when start or goal is not designed.
    """
    if level.start is None or level.goal is None:
        return RESOLUTION
    x0, y0, x1, y1 = level.bounds
    goal = np.append(level.goal, level.goal_height)
    start = np.append(level.start[:2], level.start_height)
    for resolution in (RESOLUTION, FINE_RESOLUTION):
        if (x1 - x0) * (y1 - y0) / resolution**2 > _MAX_CELLS:
            break
        grid = make_grid(level, resolution)
        if grid.reaches(grid.field(goal), start):
            return resolution
    return 0.0


def played_resolution(level: Level, resolution: float) -> float:
    """`resolution` where a grid of it has at most `MAX_CELLS`, else `RESOLUTION`, [m]."""
    x0, y0, x1, y1 = level.bounds
    fits = (x1 - x0) * (y1 - y0) <= MAX_CELLS * resolution**2
    return resolution if fits else RESOLUTION


def reaches(grid: FreeGrid, field: Field, xy: ArrayLike) -> bool:
    """Whether the body gets from `xy` (2,) to the goal of `field`, and can read the way.

    The nearest free cell is reached, and lies near enough for `field_distance`.
    """
    x, y = (float(v) for v in np.asarray(xy, np.float64)[:2])
    cell = grid.nearest_free((x, y), SNAP)
    if cell is None or not np.isfinite(field[cell]):
        return False
    way = field_distance(
        field.ravel(), grid.nx, grid.ny, grid.x0, grid.y0, grid.resolution, x, y
    )
    return bool(np.isfinite(way))
