"""Walking area of a level's crowd: its floor, goals, and path directions."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import LevelError
from ambulo.envs.vr.contract import BODY_HEIGHT
from ambulo.envs.vr.levels.geodesic import RESOLUTION
from ambulo.envs.vr.levels.layers import CLEARANCE, SNAP, LayeredGrid
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.levels.moving import CARRIERS, Mover, People
from ambulo.envs.vr.levels.solids import Solids
from ambulo.envs.vr.world.crowd_kernels import BLOCK
from ambulo.envs.vr.world.way_kernels import directions, find_plain, shapes_near

Fields = NDArray[np.float32]

GOALS = 8
"""Number of goals of a crowd without goals of its own."""
ROOM = 0.8
"""Floor area per person of a crowd, [m^2]."""

_STRIDE = 0.25
"""Sampling distance along the paths of platforms, [m]."""


@dataclass(frozen=True, eq=False)
class CrowdWays:
    """Cells, goals and directions of one level's crowd; see `crowd_kernels.direction`."""

    meta: Floats
    """x0, y0, cell size [m], cells along x and y, layers, least and largest speed [m/s],
    radius [m], people, whether agents are seen, shape (11,)."""
    ways: NDArray[np.uint8]
    """Direction to each goal from each cell, shape (goals * layers * ny * nx,)."""
    heights: NDArray[np.float32]
    """Floors of the cells, NaN: none, shape (layers * ny * nx,), [m]."""
    cells: NDArray[np.int32]
    """Flat indices of the cells that the crowd starts on, shape (n,)."""
    goals: Floats
    """x, y, z, shape (goals, 3), [m]."""
    blocks: Floats
    """For each block of `BLOCK` x `BLOCK` cells: start and number of its near shapes in
    `items`, and its height if it is one level floor (NaN: no), shape (blocks, 3)."""
    items: NDArray[np.int32]
    """Indices of the shapes near people in each block."""

    @classmethod
    def of(cls, level: Level) -> CrowdWays | None:
        """The path directions of the crowd of `level`; None: no crowd.

        Raises:
            LevelError: Goals are not connected, or the people do not fit.
        """
        if level.people is None or level.people.count == 0:
            return None
        if level not in _KEPT:
            _KEPT[level] = _ways(level, level.people)
        return _KEPT[level]


_KEPT: WeakKeyDictionary[Level, CrowdWays] = WeakKeyDictionary()


class PackedWays:
    """The crowds' path directions of all slots in flat arrays, for compiled code."""

    def __init__(self) -> None:
        """Without slots so far."""
        self._slots: list[CrowdWays | None] = []
        self._arrays: tuple[NDArray[np.generic], ...] | None = None

    def set(self, slots: Sequence[int], levels: Sequence[Level]) -> None:
        """Put the path directions of `levels[i]` into slot `slots[i]`."""
        for slot, level in zip(slots, levels, strict=True):
            self._slots += [None] * (slot + 1 - len(self._slots))
            self._slots[slot] = CrowdWays.of(level)
        self._arrays = None

    def arrays(self) -> tuple[NDArray[np.generic], ...]:
        """Starts of slots (S + 1, 6), meta (S, 11), then the arrays of directions."""
        if self._arrays is None:
            parts = [
                (s.ways, s.heights, s.cells, s.goals, s.blocks, s.items)
                for s in map(_or_none, self._slots)
            ]
            offsets = np.zeros((len(parts) + 1, 6), np.int64)
            np.cumsum([[len(a) for a in part] for part in parts], 0, out=offsets[1:])
            meta = np.array([s.meta for s in map(_or_none, self._slots)])
            flat = (np.concatenate(kind) for kind in zip(*parts, strict=True))
            self._arrays = (offsets, meta, *flat)
        return self._arrays


_NONE = CrowdWays(
    np.zeros(11), np.zeros(0, np.uint8), np.zeros(0, np.float32), np.zeros(0, np.int32),
    np.zeros((0, 3)), np.zeros((0, 3)), np.zeros(0, np.int32),
)  # fmt: skip


def _or_none(ways: CrowdWays | None) -> CrowdWays:
    return _NONE if ways is None else ways


def _ways(level: Level, people: People) -> CrowdWays:
    grid = LayeredGrid.of(_without_carriers(level), RESOLUTION, CLEARANCE)
    goals, fields = _goals(level, people, grid)
    cells = np.flatnonzero(np.isfinite(fields).all(axis=0).ravel())
    if len(cells) * grid.resolution**2 < people.count * ROOM:
        area = len(cells) * grid.resolution**2
        raise LevelError(
            f"level {level.name!r}: people.count: {people.count} people need "
            f"{people.count * ROOM:g} m^2 to walk on, and there are {area:.1f}"
        )
    table = [directions(grid.links, f, grid.resolution) for f in fields]
    meta = [
        grid.x0, grid.y0, grid.resolution, grid.nx, grid.ny, len(grid.free),
        *people.speed, people.radius, people.count, people.see_agent,
    ]  # fmt: skip
    solids = Solids.of(level).arrays()
    side = BLOCK * grid.resolution
    place = (grid.x0, grid.y0, side, -(-grid.nx // BLOCK), -(-grid.ny // BLOCK))
    blocks, items = shapes_near(solids, *place)
    find_plain(solids, blocks, items, *place)
    return CrowdWays(
        np.array(meta, np.float64), np.concatenate(table), grid.height.ravel(),
        cells.astype(np.int32), goals, blocks, items,
    )  # fmt: skip


def _without_carriers(level: Level) -> Level:
    """`level` without motion, with walls on the paths of platforms and lifts."""
    walls = [_swept(m) for m in level.movers if m.kind in CARRIERS]
    boxes = np.vstack([level.boxes, *walls])
    return dataclasses.replace(level, boxes=boxes, movers=(), people=None)


def _swept(mover: Mover) -> Floats:
    """Boxes of body height over the area that `mover` sweeps, shape (n, 7)."""
    rows = [mover.path[:1]]
    for a, b in zip(mover.path[:-1], mover.path[1:], strict=True):
        parts = max(1, int(np.ceil(np.linalg.norm(b[1:4] - a[1:4]) / _STRIDE)))
        share = np.arange(1, parts + 1)[:, None] / parts
        rows.append(a + share * (b - a))
    at = np.vstack(rows)
    a, b, c = mover.half_size
    tall = BODY_HEIGHT / 2
    size = np.tile([a, b, c + tall], (len(at), 1))
    return np.column_stack([at[:, 1:3], at[:, 3] + tall, size, at[:, 4]])


def _goals(level: Level, people: People, grid: LayeredGrid) -> tuple[Floats, Fields]:
    """Goals x, y, z (n, 3), and their distance fields (n, layers, ny, nx)."""
    if len(people.goals):
        cells = [grid.nearest(goal, SNAP) for goal in people.goals]
        if None in cells:
            k = cells.index(None)
            raise LevelError(f"level {level.name!r}: people.goals[{k}]: no free floor")
        fields = np.array([grid.field(goal) for goal in people.goals])
        apart = [not np.isfinite(fields[0].ravel()[cell]) for cell in cells]
        if any(apart):
            k = apart.index(True)
            raise LevelError(
                f"level {level.name!r}: people.goals[{k}]: no way from people.goals[0]"
            )
        return people.goals, fields
    return _spread(level, grid)


def _spread(level: Level, grid: LayeredGrid) -> tuple[Floats, Fields]:
    """Positions as far apart as possible, on the largest part of the floor."""
    first = _largest_part(level, grid)
    goals: list[Floats] = []
    fields: list[Fields] = []
    nearest = np.where(np.isfinite(first), first, -np.inf)
    for _ in range(GOALS):
        cell = int(np.argmax(nearest))
        if nearest.ravel()[cell] <= 0 and goals:
            break
        goal = grid.points(np.array([cell]))[0]
        field = grid.field(goal)
        goals.append(goal)
        fields.append(field)
        if len(goals) == 1:
            nearest = np.where(np.isfinite(first), np.inf, -np.inf)
        nearest = np.where(np.isfinite(field), np.minimum(nearest, field), -np.inf)
    if len(goals) < 2:
        raise LevelError(f"level {level.name!r}: people.count: nowhere to walk to")
    return np.array(goals), np.array(fields)


def _largest_part(level: Level, grid: LayeredGrid) -> Fields:
    """Distances from one cell of the largest part."""
    left = grid.free.copy()
    best = np.full(grid.free.shape, np.inf, np.float32)
    most = 0
    while np.count_nonzero(left) > most:
        cells = np.flatnonzero(left)
        cell = cells[len(cells) // 2]
        field = grid.field(grid.points(cell[None])[0])
        reached = np.isfinite(field)
        if np.count_nonzero(reached) > most:
            best, most = field, int(np.count_nonzero(reached))
        left &= ~reached
        left.ravel()[cell] = False
    if not np.isfinite(best).any():
        raise LevelError(f"level {level.name!r}: people.count: no free floor")
    return best
