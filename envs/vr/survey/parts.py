"""The connected parts of a level's floor for one body."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import distance_transform_edt
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from ambulo.configs.arrays import Bools, Floats, Ints
from ambulo.envs.vr.contract import BODY_RADIUS, CLIMB_HEIGHT, STEP_HEIGHT
from ambulo.envs.vr.levels.geodesic import FINE_RESOLUTION
from ambulo.envs.vr.levels.layers import LayeredGrid
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.survey.bodies import Body
from ambulo.envs.vr.survey.movers import never_blocked
from ambulo.envs.vr.survey.nodes import Nodes, parts_at

_COMPARABLE = 0.5
"""Without starts, people are in the lowest part that has this fraction of the largest."""
_SHARED_CELLS = 4
"""A part belongs to one of larger cells if it shares at least so many cells with it."""


@dataclass(frozen=True, eq=False)
class Parts:
    """The parts of a level for one body, and the numbers of each."""

    body: Body
    """Whose."""
    nodes: Nodes
    """Cells on which the axis of the body can be."""
    label: Ints
    """Part of each node, from 1 on, shape (n,)."""
    ground: Nodes
    """Cells of all floor on which a point has room."""
    owner: Ints
    """Part whose people cover each cell of `ground`, 0: none, shape (m,)."""
    clear: Floats
    """Distance of each of `nodes` from the nearest obstacle or edge, shape (n,), [m]."""
    size: Floats
    """Floor of each part, shape (parts + 1,), [m^2]; 0 has none."""

    def start_nodes(self, level: Level) -> Ints:
        """The nodes nearest to the starts of `level`, without those that have none near."""
        starts = [] if level.start_place is None else [level.start_place]
        starts += [*level.starts[:, :3]]
        points = self.nodes.points()
        found = []
        for start in np.array(starts).reshape(-1, 3):
            away = np.linalg.norm(points - start, axis=1)
            if away.min(initial=np.inf) <= 2.0 * BODY_RADIUS:
                found.append(int(np.argmin(away)))
        return np.array(found, np.int64)

    def main_part(self, level: Level) -> int:
        """The part that holds the starts of `level`; without any, a large one that lies low."""
        found = self.start_nodes(level)
        if len(found):
            return int(np.bincount(self.label[found]).argmax())
        large = np.flatnonzero(self.size >= _COMPARABLE * self.size.max())
        heights = [float(np.median(self.nodes.z[self.label == k])) for k in large]
        return int(large[int(np.argmin(heights))])


def find_parts(level: Level, resolution: float, body: Body, z: float = 0.0) -> Parts:
    """The connected parts of `level` for `body`.

    Args:
        level: with boxes for things that stand still.
        resolution: cell size, [m].
        body: of whom.
        z: height of the floor that a `level_only` body keeps to, [m].
    """
    every = LayeredGrid.of(level, resolution, 0.0, body.height)
    nodes = Nodes.of(_cells(level, resolution, body, z, every))
    label = _joined(level, nodes, nodes.parts(), body, z)
    if body.level_only and level.heights:
        every = every.restricted(_at_height(every, z, STEP_HEIGHT))
    ground = Nodes.of(every)
    at = nodes.matching(ground)
    known = at >= 0
    owner = np.zeros(len(ground), np.int64)
    owner[at[known]] = label[known]
    owner = ground.spread(owner, round((body.clearance + resolution) / resolution))
    room = ground.grid.edge_distances()[ground.layer, ground.row, ground.column]
    clear = np.where(known, room[at] - 0.5 * resolution, 0.0)
    count = int(label.max(initial=0)) + 1
    cells = np.bincount(owner, minlength=count).astype(np.float64)
    cells[0] = 0.0
    return Parts(body, nodes, label, ground, owner, clear, cells * resolution**2)


def _cells(
    level: Level,
    resolution: float,
    body: Body,
    z: float,
    every: LayeredGrid | None = None,
) -> LayeredGrid:
    """The cells in which the axis of `body` can be; `every` one is free for a point."""
    grid = LayeredGrid.of(level, resolution, body.clearance, body.height)
    grid = never_blocked(level, grid, body.height)
    if not (body.level_only and level.heights):
        return grid
    if every is None:
        every = LayeredGrid.of(level, resolution, 0.0, body.height)
    # It keeps off steps and ramps as it keeps off obstacles.
    flat = _at_height(every, z, STEP_HEIGHT).any(axis=0)
    uneven = _at_height(every, z, 2.0 * CLIMB_HEIGHT).any(axis=0) & ~flat
    free = _at_height(grid, z, STEP_HEIGHT)
    if uneven.any():
        free &= distance_transform_edt(~uneven) * resolution >= body.clearance
    return grid.restricted(free)


def _at_height(grid: LayeredGrid, z: float, most: float) -> Bools:
    """The free cells at most `most` above or below `z`, [m], shape (layers, ny, nx)."""
    away = np.abs(np.nan_to_num(grid.height, nan=np.inf) - z)
    return np.asarray(grid.free & (away <= most), np.bool_)


def _joined(level: Level, nodes: Nodes, label: Ints, body: Body, z: float) -> Ints:
    """`label` (n,), the same for parts that larger cells join: fine ones miss seams of floors.

    Larger cells keep the same distance from obstacles, and ways are measured on them.
    """
    if nodes.grid.resolution >= FINE_RESOLUTION or len(nodes) == 0:
        return label
    coarse = _cells(level, FINE_RESOLUTION, body, z)
    other = parts_at(coarse, coarse.parts(), nodes.points())
    pairs, counts = np.unique(
        np.column_stack([label, other])[other > 0], axis=0, return_counts=True
    )
    fine, wide = pairs[counts >= _SHARED_CELLS].T
    size = int(label.max()) + 1
    graph = coo_array(
        (np.ones(len(fine)), (fine, size + wide)), (size + int(other.max()) + 1,) * 2
    )
    _, part = connected_components(graph, directed=False)
    _, number = np.unique(part[label], return_inverse=True)
    return np.asarray(number + 1, np.int64)
