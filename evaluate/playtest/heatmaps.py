"""Heat maps: sums and means of episodes over square cells of the storeys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import ndimage

from ambulo.configs.arrays import Bools, Floats, Ints
from ambulo.envs.vr.contract import WorldSpec
from ambulo.envs.vr.survey.floor import Floor
from ambulo.envs.vr.task.comfort import comfort_score
from ambulo.envs.vr.task.metrics import Trace
from ambulo.evaluate.playtest.stuck import Stay
from ambulo.evaluate.vr.scores import EpisodeRecord

CELL = 0.25
"""Size of a cell of a heat map, [m]."""
MAX_SIDE_CELLS = 800
"""Large levels have larger cells, so that no side has more of them."""
NEAR = 0.5
"""Floor within this distance of a path is covered, [m]."""
_FALLING = 3.0
"""Sinking speed at the end of a path that means a fall, [m/s]; no walk down is as fast."""
LEAST_TIME = 0.2
"""Means are given where agents were at least this long in all, [s]."""


@dataclass(frozen=True, eq=False)
class MapCells:
    """Cells of all maps of a floor."""

    floor: Floor
    """Floor of the maps."""
    x0: float
    """Lower x of the first cell, [m]."""
    y0: float
    """Lower y of the first cell, [m]."""
    cell: float
    """Size, [m]."""
    nx: int
    """Cells along x."""
    ny: int
    """Cells along y."""
    heights: Floats
    """Mean height of the floor in each cell, shape (storeys, ny, nx), [m]."""

    @classmethod
    def of(cls, floor: Floor) -> MapCells:
        """The cells of the maps of `floor`."""
        x0, y0, x1, y1 = (float(v) for v in floor.level.bounds)
        cell = max(CELL, max(x1 - x0, y1 - y0) / MAX_SIDE_CELLS)
        nx, ny = (max(1, int(np.ceil(side / cell))) for side in (x1 - x0, y1 - y0))
        usual = np.array([storey.height for storey in floor.storeys])
        heights = np.tile(usual[:, None, None], (1, ny, nx))
        cells = cls(floor, x0, y0, cell, nx, ny, heights)
        for number, storey in enumerate(floor.storeys):
            places = floor.points(number, storey.owner > 0)
            at = cells.at(places)
            total = np.zeros((2, ny, nx))
            np.add.at(total[0], at[1:], places[:, 2])
            np.add.at(total[1], at[1:], 1.0)
            some = total[1] > 0
            heights[number][some] = total[0][some] / total[1][some]
        return cells

    def at(self, points: Floats) -> tuple[Ints, Ints, Ints]:
        """Storeys, rows and columns of `points` (n, 3), clipped to the map."""
        columns = np.floor((points[:, 0] - self.x0) / self.cell).astype(np.int64)
        rows = np.floor((points[:, 1] - self.y0) / self.cell).astype(np.int64)
        rows, columns = np.clip(rows, 0, self.ny - 1), np.clip(columns, 0, self.nx - 1)
        return self.floor.storey_at(points[:, 2]), rows, columns

    def summed(self, points: Floats, weights: Floats | float) -> Floats:
        """Sum of `weights`, one or (n,), of `points` (n, 3) by cell, (storeys, ny, nx)."""
        total = np.zeros(self.heights.shape)
        np.add.at(total, self.at(points), weights)
        return total


@dataclass(frozen=True, eq=False)
class HeatMap:
    """One quantity over the cells of all storeys; NaN where there is none."""

    name: str
    """Key in files."""
    title: str
    """Heading."""
    unit: str
    """Unit of the values."""
    meaning: str
    """Meaning of a value."""
    values: Floats
    """Shape (storeys, ny, nx), rows along y."""
    grid: MapCells
    """The cells."""

    def cells(self) -> list[list[float]]:
        """x, y, z of the middle of every cell with a value, and the value."""
        grid, known = self.grid, np.isfinite(self.values)
        _, rows, columns = np.nonzero(known)
        table = np.column_stack(
            [
                grid.x0 + (columns + 0.5) * grid.cell,
                grid.y0 + (rows + 0.5) * grid.cell,
                grid.heights[known],
                self.values[known],
            ]
        )
        return [[round(v, 4) for v in row] for row in table.tolist()]

    def to_data(self) -> dict[str, Any]:
        """The map as plain JSON data."""
        return {
            "name": self.name,
            "title": self.title,
            "unit": self.unit,
            "meaning": self.meaning,
            "cell_size_m": self.grid.cell,
            "cells": self.cells(),
        }


def touch_starts(trace: Trace, rearm: float, *, people: bool = False) -> Ints:
    """Rows in which a touch begins, of anything or of `people`, after `rearm` [s] without."""
    ticks = trace.contact_ticks
    if people:
        ticks = (
            np.zeros_like(ticks) if trace.people_ticks is None else trace.people_ticks
        )
    rows = np.flatnonzero(ticks > 0)
    if len(rows) == 0:
        return rows
    gap = np.diff(rows, prepend=-(10**9)) * trace.dt
    return rows[gap > rearm]


def fall_start(trace: Trace) -> int:
    """Row of the last place at which an agent that fell stood on a floor."""
    drops = -np.diff(trace.position[:, 2])
    return int(np.max(np.flatnonzero(drops < _FALLING * trace.dt), initial=0))


def discomfort(trace: Trace, max_speed: float) -> Floats:
    """1 - the published comfort score of every row after the first, shape (T,)."""
    speed = np.hypot(trace.velocity[1:, 0], trace.velocity[1:, 1])
    return 1.0 - comfort_score(trace.yaw_rate[1:], speed, max_speed)


def covered_cells(floor: Floor, records: Sequence[EpisodeRecord]) -> Bools:
    """Reachable cells of `floor` within `NEAR` of a path, shape (storeys, ny, nx)."""
    reachable = floor.reachable
    walked = np.zeros_like(reachable)
    for record in records:
        points = _dense(record.trace.position, floor.resolution)
        walked[floor.cells_at(points)] = True
    found = np.zeros_like(reachable)
    for number in np.flatnonzero(walked.any(axis=(1, 2))):
        apart = ndimage.distance_transform_edt(~walked[number]) * floor.resolution
        found[number] = reachable[number] & (apart <= NEAR)
    return found


def heat_maps(
    floor: Floor,
    records: Sequence[EpisodeRecord],
    stays: Sequence[Stay],
    covered: Bools,
    spec: WorldSpec,
) -> list[HeatMap]:
    """Return all maps of a play-test.

    Args:
        floor: of the level.
        records: episodes.
        stays: of all episodes.
        covered: see `covered_cells`.
        spec: of the agents' world.
    """
    cells = MapCells.of(floor)
    points = np.vstack([r.trace.position[1:] for r in records])
    seconds = np.concatenate(
        [np.full(len(r.trace.yaw) - 1, r.trace.dt) for r in records]
    )
    presence = cells.summed(points, seconds)
    enough = presence >= LEAST_TIME
    uneasy = np.concatenate([discomfort(r.trace, spec.max_speed) for r in records])
    rearm = spec.rearm_ticks * spec.dt
    bumps, meetings = (
        np.vstack(
            [
                r.trace.position[touch_starts(r.trace, rearm, people=people)]
                for r in records
            ]
        )
        for people in (False, True)
    )
    stayed = [
        records[s.episode].trace.position[s.first + 1 : s.last + 1] for s in stays
    ]
    waits = np.vstack([np.zeros((0, 3)), *stayed])
    pause = records[0].trace.dt
    mean = cells.summed(points, uneasy * seconds) / np.maximum(presence, 1e-9)

    found = [
        HeatMap(
            "coverage", "Coverage", "1",
            f"share of the reachable floor of the cell within {NEAR:g} m of a path",
            _coverage(floor, covered, cells), cells,
        ),
        HeatMap(
            "presence", "Where agents were", "s", "time of all agents in the cell",
            _positive(presence), cells,
        ),
        HeatMap(
            "stuck", "Time lost", "s",
            "time that all agents stayed in the cell without reaching their goals",
            _positive(cells.summed(waits, pause)), cells,
        ),
        HeatMap(
            "collisions", "Collisions", "collisions",
            "touches of obstacles and people that began in the cell, by all agents",
            _positive(cells.summed(bumps, 1.0)), cells,
        ),
        HeatMap(
            "discomfort", "Discomfort", "1",
            "1 - comfort score: 0.3 for fast turns, 0.2 for high speed; mean over time",
            np.where(enough, mean, np.nan), cells,
        ),
    ]  # fmt: skip
    falls = [r.trace.position[fall_start(r.trace)] for r in records if r.fell]
    if falls:
        found.append(
            HeatMap(
                "falls", "Falls", "falls",
                "agents that fell from the cell, to where no agent gets up again",
                _positive(cells.summed(np.array(falls), 1.0)), cells,
            )
        )  # fmt: skip
    if floor.level.people is not None:
        found.append(
            HeatMap(
                "people_collisions", "Collisions with people", "collisions",
                "those of the collisions that are with people",
                _positive(cells.summed(meetings, 1.0)), cells,
            )
        )  # fmt: skip
    return found


def _coverage(floor: Floor, covered: Bools, cells: MapCells) -> Floats:
    """Share of the reachable floor of each cell that is covered; NaN without floor."""
    total, near = np.zeros(cells.heights.shape), np.zeros(cells.heights.shape)
    for number, storey in enumerate(floor.storeys):
        places = floor.points(number, storey.reachable)
        at = (np.full(len(places), number), *cells.at(places)[1:])
        np.add.at(total, at, 1.0)
        np.add.at(near, at, covered[number][storey.reachable].astype(np.float64))
    return np.where(total > 0.0, near / np.maximum(total, 1.0), np.nan)


def _positive(values: Floats) -> Floats:
    """`values`, with NaN for zeros."""
    return np.where(values > 0.0, values, np.nan)


def _dense(points: Floats, step: float) -> Floats:
    """`points` (n, 3) with more between those that are farther apart than `step` [m]."""
    gaps = np.hypot(*np.diff(points[:, :2], axis=0).T)
    most = max(1, int(np.ceil(float(gaps.max(initial=0.0)) / step)))
    if most == 1:
        return points
    blend = np.linspace(0.0, 1.0, most, endpoint=False)[:, None, None]
    between = points[None, :-1] * (1.0 - blend) + points[None, 1:] * blend
    return np.vstack([between.reshape(-1, 3), points[-1:]])
