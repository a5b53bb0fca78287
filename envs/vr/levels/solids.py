"""A level as the shapes with which worlds compute.

There are three kinds: vertical prisms with a rectangular base (boxes, steps, the ground),
vertical cylinders, and triangles (ramps, terrains, meshes).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from ambulo.configs.arrays import Bools, Floats, Ints
from ambulo.envs.vr.contract import BODY_HEIGHT, STEEPEST_FLOOR, STEP_HEIGHT
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.levels.surfaces import ramp_corners, stair_boxes

GROUND_THICKNESS = 1.0
"""Depth of the ground below z = 0, [m]."""
WALL_HEIGHT = 2.0 * BODY_HEIGHT
"""Height of the obstacles of flat levels, [m]."""

_LEAST_WALL = 1.0
"""Smallest height of a wall, from its bottom to its top, [m]."""
_WALL_THICKNESS = 0.25
"""Largest thickness of boxes that count as walls if they are high enough, [m]."""
_WALL_RATIO = 8.0
"""Length over thickness from which thicker boxes count as walls too, as hedges do."""
_SLAB_HEIGHT, _SLAB_SIDE = 0.5, 1.5
"""Largest height and smallest side of boxes that count as floors, [m]."""
_BIN = 1.0
"""Smallest side of a bin, [m]."""
_MOST_BINS = 65_536
_MOST_ITEMS = 10_000_000
"""Largest total number of bin entries; bins are enlarged until it fits."""
_WELD = 1e-6
"""Distance below which corners are merged, [m]."""
_FLAT = 1e-12
"""Triangles of a smaller area are dropped, [m^2]."""


@dataclass(frozen=True, eq=False)
class Solids:
    """The shapes of one level, and their bins in a square grid."""

    prisms: Floats
    """x, y, half sizes a, b, cos(yaw), sin(yaw), bottom, top, shape (P, 8), [m]."""
    cylinders: Floats
    """x, y, radius, bottom, top, shape (D, 5), [m]."""
    triangles: Floats
    """Corners (9 numbers), unit normal, lowest and highest z, and 1 if the face bounds a solid,
    shape (T, 15), [m]."""
    grid: Floats
    """Lower x, y of the bins, their side [m], their number along x and y, shape (5,)."""
    first: Ints
    """Start of each bin in `items`, shape (bins + 1,)."""
    items: NDArray[np.int32]
    """Indices of shapes, bin after bin: prisms first, then cylinders, then triangles."""

    @classmethod
    def of(cls, level: Level, *, as_drawn: bool = False) -> Solids:
        """Return the shapes of `level` for collisions.

        Args:
            level: A level with heights, or a flat one, whose obstacles are walls
                (`obstacles_of`).
            as_drawn: Keep the drawn heights of a flat level's obstacles.
        """
        if not as_drawn:
            level = obstacles_of(level)
        prisms = np.vstack([_ground(level), _prisms(level)])
        c = level.cylinders
        cylinders = np.column_stack([c[:, :3], c[:, 4], c[:, 4] + c[:, 3]])
        triangles = _triangles(level)
        low, high = _extents(prisms, cylinders, triangles)
        return cls(prisms, cylinders, triangles, *_binned(low, high))

    def extents(self) -> tuple[Floats, Floats]:
        """Lower and upper x, y of every shape, each (shapes, 2), [m]."""
        return _extents(self.prisms, self.cylinders, self.triangles)

    def arrays(self, tall: float = BODY_HEIGHT) -> tuple[NDArray[np.generic], ...]:
        """The arrays in the order that compiled code needs.

        They are for bodies of height `tall`, [m], the last number of the grid.
        """
        return (
            self.prisms, self.cylinders, self.triangles, np.append(self.grid, tall),
            self.first, self.items,
        )  # fmt: skip

    def floor_heights(self) -> Floats:
        """Lowest and highest z of all shapes, shape (2,), [m]; 0 without shapes."""
        low = [self.prisms[:, 6], self.cylinders[:, 3], self.triangles[:, 12]]
        high = [self.prisms[:, 7], self.cylinders[:, 4], self.triangles[:, 13]]
        if not sum(map(len, low)):  # a Godot scene whose shapes are only in the engine
            return np.zeros(2)
        return np.array([np.concatenate(low).min(), np.concatenate(high).max()])


def obstacles_of(level: Level) -> Level:
    """Return `level` with heights; obstacles of a flat one become walls on the ground."""
    if level.heights:
        return level
    boxes, cylinders = obstructing(level)
    boxes[:, [2, 5]] = WALL_HEIGHT / 2
    cylinders[:, 3:] = WALL_HEIGHT, 0.0
    return replace(level, heights=True, boxes=boxes, cylinders=cylinders)


def obstructing(level: Level) -> tuple[Floats, Floats]:
    """Boxes (n, 7) and cylinders (m, 5) that obstruct a body on the ground."""
    b, c = level.boxes, level.cylinders
    boxes = (b[:, 2] - b[:, 5] < BODY_HEIGHT) & (b[:, 2] + b[:, 5] > STEP_HEIGHT)
    cylinders = (c[:, 4] < BODY_HEIGHT) & (c[:, 3] + c[:, 4] > STEP_HEIGHT)
    return b[boxes], c[cylinders]


def floor_rectangles(level: Level) -> Floats:
    """The ground without its holes, as rectangles x0, y0, x1, y1, shape (R, 4), [m].

    A line sweeps along x over strips of y. A strip that a hole begins to cover ends its
    rectangle there, together with neighbouring strips of the same start: H holes leave at most
    5 H + 1.
    """
    x0, y0, x1, y1 = level.bounds.tolist()
    holes = np.clip(level.holes, [x0, y0, x0, y0], [x1, y1, x1, y1])
    holes = holes[(holes[:, 0] < holes[:, 2]) & (holes[:, 1] < holes[:, 3])]
    edges = np.unique([y0, y1, *holes[:, [1, 3]].ravel()])
    first, last = np.searchsorted(edges, holes[:, [1, 3]].T)
    covers = np.zeros(len(edges) - 1, np.int64)
    begin = np.full(len(edges) - 1, x0)
    found: list[Floats] = []

    def end_free(strips: Ints, x: float) -> None:
        strips = strips[(covers[strips] == 0) & (begin[strips] < x)]
        if len(strips):
            apart = (np.diff(strips) > 1) | (np.diff(begin[strips]) != 0)
            one, other = strips[np.append(True, apart)], strips[np.append(apart, True)]
            ends = np.full(len(one), x)
            found.append(
                np.column_stack([begin[one], edges[one], ends, edges[other + 1]])
            )

    ends = np.concatenate([holes[:, 2], holes[:, 0]])
    for event in np.argsort(
        ends, kind="stable"
    ):  # at equal x, holes end before others begin
        starts, hole = divmod(int(event), len(holes))
        strips = np.arange(first[hole], last[hole])
        if starts:
            end_free(strips, ends[event])
            covers[strips] += 1
        else:
            covers[strips] -= 1
            begin[strips[covers[strips] == 0]] = ends[event]
    end_free(np.arange(len(covers)), x1)
    return np.concatenate([np.zeros((0, 4)), *found])


def _ground(level: Level) -> Floats:
    """The ground as prisms, shape (n, 8)."""
    r = floor_rectangles(level) if level.ground else np.zeros((0, 4))
    middle, half = (r[:, :2] + r[:, 2:]) / 2, (r[:, 2:] - r[:, :2]) / 2
    rest = np.tile([1.0, 0.0, -GROUND_THICKNESS, 0.0], (len(r), 1))
    return np.hstack([middle, half, rest])


def _prisms(level: Level) -> Floats:
    b = np.vstack([level.boxes, stair_boxes(level.stairs)])
    return np.column_stack(
        [
            b[:, 0], b[:, 1], b[:, 3], b[:, 4], np.cos(b[:, 6]), np.sin(b[:, 6]),
            b[:, 2] - b[:, 5], b[:, 2] + b[:, 5],
        ]
    )  # fmt: skip


def _triangles(level: Level) -> Floats:
    ramps = ramp_corners(level.ramps)
    terrains = [field.mesh().corners() for field in level.heightfields]
    meshes = [mesh.corners() for mesh in level.meshes]
    corners = np.concatenate([ramps, *terrains, *meshes])
    first = len(ramps) + sum(len(t) for t in terrains)
    owner = np.repeat(np.arange(len(meshes)), [len(m) for m in meshes])
    matter = np.append(np.ones(first), closed_faces(corners[first:], owner))
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    area = np.linalg.norm(across, axis=1)
    keep = area > 2 * _FLAT
    corners, normal = corners[keep], across[keep] / area[keep, None]
    z = corners[:, :, 2]
    return np.column_stack(
        [corners.reshape(-1, 9), normal, z.min(axis=1), z.max(axis=1), matter[keep]]
    )


def closed_faces(corners: Floats, owner: Ints | None = None) -> NDArray[np.bool_]:
    """Mask of triangles (T, 3, 3) that belong to a part with a closed surface, shape (T,).

    A part is closed if each of its edges is passed equally often in both directions. Triangles
    of another mesh, `owner` (T,), do not belong to it.
    """
    count = len(corners)
    if count == 0:
        return np.zeros(0, np.bool_)
    points = np.round(corners.reshape(-1, 3) / _WELD).astype(np.int64)
    mesh = np.zeros(count, np.int64) if owner is None else owner
    index = _row_numbers(np.column_stack([np.repeat(mesh, 3), points]))
    faces = index.reshape(count, 3)
    ends = np.stack([faces, np.roll(faces, -1, axis=1)], axis=-1).reshape(-1, 2)
    corner_count = int(faces.max()) + 1
    graph = coo_array((np.ones(len(ends)), ends.T), (corner_count, corner_count))
    parts, corner_part = connected_components(graph, directed=False)
    part = corner_part[faces[:, 0]]
    way = np.where(ends[:, 0] < ends[:, 1], 1, -1) * (ends[:, 0] != ends[:, 1])
    edge = _row_numbers(np.sort(ends, axis=1))
    balance = np.bincount(edge, way)
    open_parts = np.zeros(parts, np.bool_)
    open_parts[np.repeat(part, 3)[balance[edge] != 0]] = True
    return ~open_parts[part]


def _row_numbers(rows: Ints) -> Ints:
    """Index of each row (n, k) among the distinct rows, shape (n,).

    Several times as fast as `np.unique` by rows.
    """
    number = np.zeros(len(rows), np.int64)
    for column in rows.T:
        _, code = np.unique(column, return_inverse=True)
        _, number = np.unique(number * len(rows) + code, return_inverse=True)
    return np.asarray(number, np.int64)


def is_floor(triangles: Floats) -> NDArray[np.bool_]:
    """Mask of the `triangles` (T, 15) on which bodies can walk, shape (T,)."""
    return np.asarray(triangles[:, 11] >= STEEPEST_FLOOR)


def are_walls(boxes: Floats) -> Bools:
    """Mask of the `boxes` (n, 7) that count as walls; the others are furniture. Shape (n,).

    The same rule is in `godot/addons/ambulo_rl/view/level_view.gd`.
    """
    long, thin = 2 * boxes[:, 3:5].max(axis=1), 2 * boxes[:, 3:5].min(axis=1)
    slender = (thin <= _WALL_THICKNESS) | (long > _WALL_RATIO * thin)
    walls: Bools = slender & (2 * boxes[:, 5] >= _LEAST_WALL)
    return walls


def are_slabs(boxes: Floats) -> Bools:
    """Mask of the `boxes` (n, 7) that count as floors of a level with heights. Shape (n,)."""
    wide = 2 * boxes[:, 3:5].min(axis=1) >= _SLAB_SIDE
    slabs: Bools = wide & (2 * boxes[:, 5] <= _SLAB_HEIGHT)
    return slabs


def _extents(
    prisms: Floats, cylinders: Floats, triangles: Floats
) -> tuple[Floats, Floats]:
    """Lower and upper x, y of every shape, each (n, 2), [m]."""
    c, s = np.abs(prisms[:, 4]), np.abs(prisms[:, 5])
    half = np.column_stack(
        [prisms[:, 2] * c + prisms[:, 3] * s, prisms[:, 2] * s + prisms[:, 3] * c]
    )
    radius = cylinders[:, 2:3]
    corners = triangles[:, :9].reshape(-1, 3, 3)[:, :, :2]
    low = [prisms[:, :2] - half, cylinders[:, :2] - radius, corners.min(axis=1)]
    high = [prisms[:, :2] + half, cylinders[:, :2] + radius, corners.max(axis=1)]
    return np.vstack(low), np.vstack(high)


def _binned(low: Floats, high: Floats) -> tuple[Floats, Ints, NDArray[np.int32]]:
    """`grid`, `first` and `items` of shapes with these extents (n, 2)."""
    if len(low) == 0:
        return (
            np.array([0.0, 0.0, _BIN, 1, 1]),
            np.zeros(2, np.int64),
            np.zeros(0, "i4"),
        )
    origin = low.min(axis=0)
    span = np.maximum(high.max(axis=0) - origin, 1e-6)
    side = max(_BIN, float(np.sqrt(span.prod() / _MOST_BINS)), span.max() / _MOST_BINS)
    while True:
        begin = np.floor((low - origin) / side).astype(np.int64)
        end = np.floor((high - origin) / side).astype(np.int64)
        wide, tall = (end - begin + 1).T
        count = wide * tall
        if count.sum() <= _MOST_ITEMS or side > span.max():
            break
        side *= 2.0
    nx, ny = (int(v) for v in np.floor(span / side) + 1)
    shape = np.repeat(np.arange(len(low)), count)
    step = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    i = begin[shape, 0] + step % wide[shape]
    j = begin[shape, 1] + step // wide[shape]
    where = j * nx + i
    order = np.argsort(where, kind="stable")
    first = np.searchsorted(where[order], np.arange(nx * ny + 1))
    grid = np.array([*origin, side, nx, ny])
    return grid, first.astype(np.int64), shape[order].astype(np.int32)
