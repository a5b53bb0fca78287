"""Walking distances in levels: the floors of each column, and how they join."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ambulo.configs.arrays import Floats, Ints
from ambulo.configs.errors import LevelError
from ambulo.envs.vr.contract import BODY_HEIGHT, BODY_RADIUS, CLIMB_HEIGHT
from ambulo.envs.vr.levels.layer_field_kernels import SAME_FLOOR, layer_distance
from ambulo.envs.vr.levels.layer_kernels import NEIGHBOURS, join_diagonals, link, stand
from ambulo.envs.vr.levels.layer_way_kernels import (
    descend,
    edge_distances,
    flood,
    part_numbers,
)
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.levels.moving import lift_stops
from ambulo.envs.vr.levels.solids import Solids

Field = NDArray[np.float32]

CLEARANCE = BODY_RADIUS + 0.03
"""Distance that free cells keep from obstacles and edges, [m]."""
SNAP = 0.5
"""A start on a blocked cell moves to a free cell within this distance, [m]."""
_NEAR_CELLS = 2
"""Rows and columns on each side of a position that `distance` checks."""
MOST_LAYERS = 16
"""Largest number of floors in a column."""
MAX_NODES = 4e6
"""Largest number of columns of a grid."""
MAX_FLAT_NODES = 2e7
"""Largest number of columns of a grid of one layer."""
Centres = tuple[NDArray[np.floating[Any]], NDArray[np.floating[Any]]]
"""x of columns and y of rows of cells, [m]."""
_SAME = 0.02
"""Height difference within which a floor belongs to a lift's platform, [m]."""
_EAST, _WEST = 0, 4
"""Neighbours at +x and -x, see `layer_kernels.NEIGHBOURS`."""


def _near_holes(
    level: Level, resolution: float, clearance: float, shape: tuple[int, ...]
) -> NDArray[np.bool_]:
    """Mask of cells (ny, nx) of a flat level whose centres are in or near holes."""
    near = np.zeros(shape, np.bool_)
    x = level.bounds[0] + (np.arange(shape[1]) + 0.5) * resolution
    y = level.bounds[1] + (np.arange(shape[0]) + 0.5) * resolution
    for x0, y0, x1, y1 in level.holes:
        i = slice(*np.searchsorted(x, [x0 - clearance, x1 + clearance]))
        j = slice(*np.searchsorted(y, [y0 - clearance, y1 + clearance]))
        u = np.maximum(np.maximum(x0 - x[i], x[i] - x1), 0.0)
        v = np.maximum(np.maximum(y0 - y[j], y[j] - y1), 0.0)
        near[j, i] |= np.hypot(u[None, :], v[:, None]) < clearance - 1e-9
    return near


@dataclass(frozen=True, eq=False)
class LayeredGrid:
    """Cells on which the body fits, with several floors per column.

    Cell i has its centre at x0 + (i + 0.5) * resolution; a flat index counts layers, then rows,
    then columns.
    """

    x0: float
    """Lower x of the grid, [m]."""
    y0: float
    """Lower y of the grid, [m]."""
    resolution: float
    """Cell size, [m]."""
    height: Field
    """Height of the floor, NaN where there is none, shape (layers, ny, nx), [m]."""
    free: NDArray[np.bool_]
    """Mask of cells where the body fits, shape (layers, ny, nx)."""
    links: NDArray[np.int8]
    """Layer on which each neighbour is reached, -1: none, shape (layers, ny, nx, 8)."""
    rides: bool = False
    """Whether some neighbours are reached by lifts."""

    @classmethod
    def of(
        cls,
        level: Level,
        resolution: float = 0.25,
        clearance: float = CLEARANCE,
        tall: float = BODY_HEIGHT,
    ) -> LayeredGrid:
        """The cells of `level` that keep `clearance` [m] from edges and obstacles.

        Bodies are `tall`, [m], which flat levels ignore. Of the movers only lifts count: as
        floors at their stops, and as links between.
        """
        x0, y0, x1, y1 = (float(v) for v in level.bounds)
        nx = max(1, math.ceil((x1 - x0) / resolution - 1e-9))
        ny = max(1, math.ceil((y1 - y0) / resolution - 1e-9))
        most = MAX_NODES if level.heights else MAX_FLAT_NODES
        if nx * ny > most:
            raise LevelError(
                f"level {level.name!r}: more than {most:g} cells of {resolution} m"
            )
        solids = Solids.of(with_lifts(level)).arrays(tall)
        height, free, even = stand(
            solids, x0, y0, resolution, nx, ny, MOST_LAYERS if level.heights else 1,
            clearance, clearance - BODY_RADIUS,
        )  # fmt: skip
        if not level.heights:  # no path onto its walls
            free &= height == 0.0
            free[0] &= ~_near_holes(level, resolution, clearance, free.shape[1:])
            height[~free] = np.nan
        layers = max(1, int(free.any(axis=(1, 2)).sum()))
        height, free = height[:layers].copy(), free[:layers].copy()
        links = link(solids, x0, y0, resolution, height, free, even[:layers])
        across = x0 + (np.arange(nx) + 0.5) * resolution
        along = y0 + (np.arange(ny) + 0.5) * resolution
        join_stops(level, height, free, links, (across, along))
        rides = any(mover.kind == "lift" for mover in level.movers)
        return cls(x0, y0, resolution, height, free, links, rides)

    @property
    def nx(self) -> int:
        """Cells along x."""
        return self.free.shape[2]

    @property
    def ny(self) -> int:
        """Cells along y."""
        return self.free.shape[1]

    def narrowed(self, extra: float) -> LayeredGrid:
        """The grid with `extra` [m] more clearance from obstacles and edges."""
        if extra < 0.25 * self.resolution:
            return self
        return self.restricted(self.free & (self.edge_distances() >= extra))

    def edge_distances(self) -> Field:
        """Distance from the nearest cell without a neighbour, shape of `free`, [m]."""
        cells = edge_distances(self.links, self.free, self.height, self.rides)
        return np.asarray(cells * np.float32(self.resolution), np.float32)

    def restricted(self, free: NDArray[np.bool_]) -> LayeredGrid:
        """The same grid restricted to the cells `free` (layers, ny, nx)."""
        links = np.where(free[..., None], self.links, np.int8(-1))
        for d, (dx, dy) in enumerate(NEIGHBOURS):
            to = links[..., d]
            layers, rows, columns = np.nonzero(to >= 0)
            targets = to[layers, rows, columns]
            lost = ~free[targets, rows + dy, columns + dx]
            to[layers[lost], rows[lost], columns[lost]] = -1
        join_diagonals(links)
        return replace(self, free=free, links=links)

    def cell(self, xy: ArrayLike) -> tuple[int, int]:
        """Row and column of the cells that hold `xy` (2 or more), clipped to the grid."""
        x, y = np.asarray(xy, np.float64)[:2]
        i = math.floor((x - self.x0) / self.resolution)
        j = math.floor((y - self.y0) / self.resolution)
        return min(max(j, 0), self.ny - 1), min(max(i, 0), self.nx - 1)

    def points(self, cells: NDArray[np.integer]) -> Floats:
        """Centres of the cells with flat indices `cells` (n,): x, y, z, shape (n, 3), [m]."""
        _, rows, columns = np.unravel_index(cells, self.free.shape)
        x = self.x0 + (columns + 0.5) * self.resolution
        y = self.y0 + (rows + 0.5) * self.resolution
        return np.column_stack([x, y, self.height.ravel()[cells]]).astype(np.float64)

    def parts(self) -> Ints:
        """Index of the connected part of each cell, 0: not free, shape of `free`."""
        return np.asarray(part_numbers(self.links, self.free), np.int64)

    def nearest(self, xyz: ArrayLike, radius: float) -> int | None:
        """Flat index of the nearest free cell within `radius` [m] on that floor.

        Heights count as distances.
        """
        x, y, z = _point(xyz)
        reach = math.ceil(radius / self.resolution)
        i = math.floor((x - self.x0) / self.resolution)
        j = math.floor((y - self.y0) / self.resolution)
        top, left = max(j - reach, 0), max(i - reach, 0)
        window = np.s_[:, top : max(j + reach + 1, 0), left : max(i + reach + 1, 0)]
        near = np.abs(self.height[window] - z) < SAME_FLOOR
        layers, rows, columns = np.nonzero(self.free[window] & near)
        if layers.size == 0:
            return None
        shape = self.free.shape
        cells = np.ravel_multi_index((layers, rows + top, columns + left), shape)
        dx = self.x0 + (columns + left + 0.5) * self.resolution - x
        dy = self.y0 + (rows + top + 0.5) * self.resolution - y
        away, up = np.hypot(dx, dy), np.abs(self.height.ravel()[cells] - z)
        k = int(np.argmin(np.where(away <= radius + 1e-9, away, np.inf) + up))
        return int(cells[k]) if away[k] <= radius + 1e-9 else None

    def field(self, goal: ArrayLike) -> Field:
        """Walking distance to `goal` (2,) or (3,) from every cell, inf: no path.

        Shape (layers, ny, nx). Lengths are horizontal.
        """
        point = _point(goal)
        j, i = self.cell(point)
        apart = np.abs(self.height[:, j, i] - point[2])
        if not (self.free[:, j, i] & (apart <= CLIMB_HEIGHT)).any():
            cell = self.nearest(point, SNAP)
            if cell is None:
                return np.full(self.free.shape, np.inf, np.float32)
            point = self.points(np.array([cell]))[0]
        gx, gy = (point[:2] - [self.x0, self.y0]) / self.resolution - 0.5
        z = float(point[2])
        cells = flood(self.links, self.free, self.height, self.rides, gx, gy, z)
        return np.asarray(cells * np.float32(self.resolution), np.float32)

    def distance(self, field: Field, xyz: ArrayLike) -> float:
        """Walking distance at `xyz` (2,) or (3,) from a `field`, [m]; inf: no path."""
        x, y, z = (float(v) for v in _point(xyz))
        return float(
            layer_distance(
                field, self.height, self.x0, self.y0, self.resolution, x, y, z
            )
        )

    def reach_cell(self, xyz: ArrayLike) -> int | None:
        """Flat index of the cell where paths from `xyz` (2,) or (3,) begin; None: none.

        It is near enough for `distance`.
        """
        cell = self.nearest(xyz, SNAP)
        if cell is None:
            return None
        row, column = np.unravel_index(cell, self.free.shape)[1:]
        j, i = self.cell(xyz)
        near = abs(int(row) - j) <= _NEAR_CELLS and abs(int(column) - i) <= _NEAR_CELLS
        return cell if near else None

    def reaches(self, field: Field, xyz: ArrayLike) -> bool:
        """Whether the body gets from `xyz` (2,) or (3,) to the goal of `field`."""
        cell = self.reach_cell(xyz)
        return cell is not None and bool(np.isfinite(field.ravel()[cell]))

    def path(
        self, field: Field, start: ArrayLike, goal: ArrayLike | None = None
    ) -> Floats:
        """Shortened path from `start` down `field`: x, y, z, shape (n, 3), [m]; (0, 3): none.

        It ends at `goal`, or at the goal's cell without it; both are (2,) or (3,).
        """
        begin = _point(start)
        cell = self.nearest(begin, SNAP)
        if cell is None or not np.isfinite(field.ravel()[cell]):
            return np.zeros((0, 3))
        where = np.unravel_index(cell, field.shape)
        chain = descend(
            self.links, self.free, self.height, self.rides, field, self.resolution,
            *(int(v) for v in where),
        )  # fmt: skip
        inner = self.points(np.ravel_multi_index(tuple(chain.T), field.shape))
        if goal is None:
            return np.vstack([begin, inner[1:] if len(inner) > 1 else inner])
        return np.vstack([begin, inner[1:-1], _point(goal)])


def _point(xyz: ArrayLike) -> Floats:
    """x, y, z of a point (2,) or (3,); z is 0 if missing."""
    point = np.asarray(xyz, np.float64)
    return point if len(point) > 2 else np.append(point, 0.0)


def with_lifts(level: Level) -> Level:
    """`level` with a box at every stop of its lifts."""
    stops = [lift_stops(m) for m in level.movers if m.kind == "lift"]
    if not stops:
        return level
    return dataclasses.replace(level, boxes=np.vstack([level.boxes, *stops]))


def join_stops(
    level: Level,
    height: NDArray[np.float32],
    free: NDArray[np.bool_],
    links: NDArray[np.int8],
    centre: Centres,
) -> None:
    """Link the cells of a lift's stop with those of the next higher stop, in place.

    The western of two adjacent cells at the lower stop is linked to the eastern one at the
    upper: a ride has the horizontal length of a cell.

    Args:
        level: Level with the lifts.
        height: Floors, shape (layers, ny, nx), [m].
        free: Mask of cells where the body fits, of the same shape.
        links: Layers of neighbours, shape (layers, ny, nx, 8).
        centre: Coordinates: x of the columns (nx,) and y of the rows (ny,), [m].
    """
    for mover in level.movers:
        if mover.kind != "lift":
            continue
        for low, high in pairwise(lift_stops(mover)):
            lower = _layer_on(low, height, free, centre)
            upper = _layer_on(high, height, free, centre)
            pairs = np.argwhere((lower[:, :-1] >= 0) & (upper[:, 1:] >= 0))
            if len(pairs) == 0:
                continue
            x, y = centre[0][pairs[:, 1]], centre[1][pairs[:, 0]]
            j, i = pairs[int(np.argmin(np.hypot(x - low[0], y - low[1])))]
            a, b = lower[j, i], upper[j, i + 1]
            links[a, j, i, _EAST] = b
            links[b, j, i + 1, _WEST] = a


def _layer_on(
    stop: Floats,
    height: NDArray[np.float32],
    free: NDArray[np.bool_],
    centre: Centres,
) -> Ints:
    """Layer of the free cells on top of a waiting lift (7,), -1: none, (ny, nx)."""
    dx = centre[0][None, :] - stop[0]
    dy = centre[1][:, None] - stop[1]
    cos, sin = np.cos(stop[6]), np.sin(stop[6])
    on = (np.abs(cos * dx + sin * dy) <= stop[3]) & (
        np.abs(cos * dy - sin * dx) <= stop[4]
    )
    top = stop[2] + stop[5]
    fits = free & on & (np.abs(np.nan_to_num(height, nan=np.inf) - top) < _SAME)
    return np.where(fits.any(axis=0), fits.argmax(axis=0), -1)
