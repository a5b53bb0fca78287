"""What an agent remembers of the numbers it saw: a pure function of the observation stream.

`visits` counts the decisions spent in each 1 m cell. `map` also remembers, in 0.25 m cells,
what the rays showed to be free or blocked: a memory, not a planner. `plan` adds the way that
a classical planner finds on such a map (`grid_planner`); `path` has visits, what is near, and
that way, and leaves the map to the planner. None knows the level. Grids wrap around (64 m), so
levels of any size work with bounded memory.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Literal

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ambulo.envs.vr.task.grid_planner import (
    GridPlanner,
    PlanSettings,
    cell_centres,
)
from ambulo.envs.vr.task.grid_search_kernels import AHEAD

Kind = Literal["none", "visits", "map", "plan", "path"]

_EXTENT = 64
_VISIT_DIRECTIONS = 8
_VISIT_RINGS = (1.0, 2.0, 3.0, 4.0)
CELLS_PER_METRE = 4
GRID = _EXTENT * CELLS_PER_METRE
_EXTENT_MASK, _GRID_MASK = _EXTENT - 1, GRID - 1  # powers of two: wrap by masking
_MAP_DIRECTIONS = 24
_MAP_RANGE = 10.0
_FREE, _BLOCKED = 1, 2
_SECTORS = 16
_SECTOR_EDGES = (0.5, 1.25, 2.25, 3.5, 5.5, 8.5)
_SPOTS_PER_RING = ((1, 2), (2, 2), (2, 3), (3, 3), (4, 3))

_MAPPED = ("map", "plan")
_PLANNED = ("plan", "path")
_VISITS = _VISIT_DIRECTIONS * len(_VISIT_RINGS) + 2
_RINGS = np.array(_VISIT_RINGS)
_NEAR_SECTORS = 16
_NEAR_RANGE = 2.0
_PLAN = 2 * (1 + len(AHEAD)) + 2
_PLANNER = "planner_"


def _sector_spots() -> NDArray[np.float64]:
    """Sample points of the sectors: x, y in the head frame and sector, shape (n, 3)."""
    spots = []
    width = 2.0 * math.pi / _SECTORS
    rings = list(pairwise(_SECTOR_EDGES))
    for d in range(_SECTORS):
        for r, ((inner, outer), (radial, angular)) in enumerate(
            zip(rings, _SPOTS_PER_RING, strict=True)
        ):
            for i in range(radial):
                distance = inner + (outer - inner) * (i + 0.5) / radial
                for j in range(angular):
                    angle = width * (d - 0.5 + (j + 0.5) / angular)
                    x, y = distance * math.cos(angle), distance * math.sin(angle)
                    spots.append((x, y, float(d * len(rings) + r)))
    return np.array(spots)


_SPOTS = _sector_spots()
_CELLS = _SECTORS * (len(_SECTOR_EDGES) - 1)
_SPOTS_IN = np.bincount(_SPOTS[:, 2].astype(int), minlength=_CELLS).astype(float)


def memory_fields(kind: Kind) -> list[tuple[str, int, str, str]]:
    """Rows (name, size, unit, meaning) that a kind of memory adds to the observation."""
    rows = []
    if kind != "none":
        rows.append(
            (
                "visits",
                _VISITS,
                "1",
                f"log(1 + decisions spent) / 5 in the 1 m cells {_VISIT_RINGS} m away in "
                f"{_VISIT_DIRECTIONS} directions (from ahead to the left), in the own "
                "cell, and decisions since the best distance to the goal / 100 (<= 3)",
            )
        )
    if kind in _MAPPED:
        rows.append(
            (
                "map_blocked",
                _MAP_DIRECTIONS,
                "1",
                f"distance to the first remembered obstacle / {_MAP_RANGE} m in "
                f"{_MAP_DIRECTIONS} directions",
            )
        )
        rows.append(
            (
                "map_known",
                _MAP_DIRECTIONS,
                "1",
                f"length of remembered free space / {_MAP_RANGE} m along the same",
            )
        )
        rows.append(
            (
                "map_visited",
                _MAP_DIRECTIONS,
                "1",
                "log(1 + decisions spent) / 5 summed over the free way of each direction",
            )
        )
        shape = f"{_SECTORS} directions x rings with edges {_SECTOR_EDGES} m"
        for name, meaning in (
            ("sector_blocked", "share of remembered obstacle in"),
            ("sector_unknown", "share never seen in"),
        ):
            rows.append((name, _CELLS, "1", f"{meaning} {shape}"))
    if kind == "path":
        meaning = (
            f"distance to the nearest remembered obstacle / {_NEAR_RANGE} m in "
            f"{_NEAR_SECTORS} directions; 1: farther, or none"
        )
        rows.append(("near", _NEAR_SECTORS, "1", meaning))
    if kind in _PLANNED:
        rows += [
            (
                "plan_points",
                2 * (1 + len(AHEAD)),
                "5 m",
                f"waypoint in sight and the points {AHEAD} m along the planned way "
                "(forward, left)",
            ),
            ("plan_length", 1, "20 m", "length of the planned way"),
            ("plan_found", 1, "1", "1 when there is a way on the map, else 0"),
        ]
    return rows


class Memory:
    """The remembered grids of N envs."""

    def __init__(
        self, kind: Kind, num_envs: int, plan: PlanSettings | None = None
    ) -> None:
        """Empty memories of one `kind`."""
        self.kind = kind
        self.size = sum(row[1] for row in memory_fields(kind))
        n = num_envs if kind != "none" else 0
        self.visits = np.zeros((n, _EXTENT, _EXTENT), np.uint16)
        m = num_envs if kind in _MAPPED else 0
        self.cells = np.zeros((m, GRID, GRID), np.uint8)
        self.best = np.full(num_envs, np.inf)
        self.stale = np.zeros(num_envs, np.int64)
        planned = kind in _PLANNED
        self.planner = GridPlanner(num_envs, plan) if planned else None

    def reset(self, envs: NDArray[np.int64]) -> None:
        """Forget everything of `envs`."""
        self.best[envs] = np.inf
        self.stale[envs] = 0
        if self.kind != "none":
            self.visits[envs] = 0
        if self.kind in _MAPPED:
            self.cells[envs] = 0
        if self.planner is not None:
            self.planner.reset(envs)

    def update(
        self,
        envs: NDArray[np.int64],
        position: NDArray[np.float64],
        yaw: NDArray[np.float64],
        rays: NDArray[np.float64],
        ray_angle: NDArray[np.float64],
        ray_length: float,
        goal: NDArray[np.float64],
        distance: NDArray[np.float64],
        out: NDArray[np.float32],
    ) -> None:
        """Remember one step of `envs` and write their features.

        Args:
            envs: indices (k,); the other arrays are over all N envs.
            position: x, y in any fixed frame, shape (N, >= 2), [m].
            yaw: heading in that frame, shape (N,), [rad].
            rays: readings, shape (N, R), [m].
            ray_angle: direction of ray 0 in that frame, shape (N,), [rad].
            ray_length: range of a ray, [m].
            goal: x, y of the goal in that frame, shape (N, 2), [m].
            distance: straight distance to the goal, shape (N,), [m].
            out: features, shape (N, size), written.
        """
        if self.kind == "none":
            return
        _update_visits(
            envs, position, yaw, distance, self.visits, self.best, self.stale, out
        )
        if self.kind in _MAPPED:
            _update_map(
                envs, position, yaw, rays, ray_angle, ray_length,
                self.cells, self.visits, out,
            )  # fmt: skip
        if self.planner is not None:
            planner = self.planner
            planner.update(envs, position, goal, rays, ray_angle, ray_length)
            if self.kind == "path":
                near = planner.nearest(envs, position, yaw, _NEAR_SECTORS, _NEAR_RANGE)
                out[envs, _VISITS : _VISITS + _NEAR_SECTORS] = near / _NEAR_RANGE
            way = planner.points[envs] - position[envs, None]
            cos, sin = np.cos(yaw[envs])[:, None], np.sin(yaw[envs])[:, None]
            rows = np.empty((len(envs), _PLAN), np.float32)
            rows[:, 0:-2:2] = 0.2 * (cos * way[:, :, 0] + sin * way[:, :, 1])
            rows[:, 1:-2:2] = 0.2 * (cos * way[:, :, 1] - sin * way[:, :, 0])
            rows[:, -2] = 0.05 * planner.length[envs]
            rows[:, -1] = planner.found[envs]
            out[envs, self.size - _PLAN :] = rows

    def blocked(self, env: int, around: NDArray[np.float64]) -> NDArray[np.float64]:
        """Centres of the cells remembered as blocked near `around` (2,), (k, 2), [m]."""
        if self.planner is not None:
            return self.planner.blocked(env, around)
        if self.kind in _MAPPED:
            return cell_centres(self.cells[env] == _BLOCKED, around, CELLS_PER_METRE)
        return np.zeros((0, 2))

    def visited(self, env: int, around: NDArray[np.float64]) -> NDArray[np.float64]:
        """Centres of the 1 m cells that `env` has been in, near `around`, (k, 2), [m]."""
        if self.kind == "none":
            return np.zeros((0, 2))
        return cell_centres(self.visits[env] > 0, around, 1.0)

    def state_dict(self) -> dict[str, NDArray[np.generic]]:
        """Copies of everything remembered."""
        arrays: dict[str, NDArray[np.generic]] = {
            "visits": self.visits.copy(),
            "cells": self.cells.copy(),
            "best": self.best.copy(),
            "stale": self.stale.copy(),
        }
        if self.planner is not None:
            parts = self.planner.state_dict()
            arrays |= {_PLANNER + name: array for name, array in parts.items()}
        return arrays

    def load_state_dict(self, arrays: dict[str, NDArray[np.generic]]) -> None:
        """Continue from `state_dict`."""
        for name in ("visits", "cells", "best", "stale"):
            getattr(self, name)[...] = arrays[name]
        if self.planner is not None:
            self.planner.load_state_dict(
                {
                    name.removeprefix(_PLANNER): array
                    for name, array in arrays.items()
                    if name.startswith(_PLANNER)
                }
            )


@njit(cache=True)
def _update_visits(envs, position, yaw, distance, visits, best, stale, out):
    for i in envs:
        x = position[i, 0]
        y = position[i, 1]
        column = int(math.floor(x)) & _EXTENT_MASK
        row = int(math.floor(y)) & _EXTENT_MASK
        if visits[i, row, column] < 65535:
            visits[i, row, column] += 1
        if distance[i] < best[i] - 0.1:
            best[i] = distance[i]
            stale[i] = 0
        else:
            stale[i] += 1
        at = 0
        for d in range(_VISIT_DIRECTIONS):
            angle = yaw[i] + 2.0 * math.pi * d / _VISIT_DIRECTIONS
            cos = math.cos(angle)
            sin = math.sin(angle)
            for r in range(_RINGS.shape[0]):
                c = int(math.floor(x + cos * _RINGS[r])) & _EXTENT_MASK
                w = int(math.floor(y + sin * _RINGS[r])) & _EXTENT_MASK
                out[i, at] = 0.2 * math.log1p(visits[i, w, c])
                at += 1
        out[i, at] = 0.2 * math.log1p(visits[i, row, column])
        out[i, at + 1] = min(0.01 * stale[i], 3.0)


@njit(cache=True)
def _update_map(envs, position, yaw, rays, ray_angle, ray_length, cells, visits, out):
    step = 1.0 / CELLS_PER_METRE
    num_rays = rays.shape[1]
    for i in envs:
        x = position[i, 0]
        y = position[i, 1]
        grid = cells[i]
        for r in range(num_rays):
            angle = ray_angle[i] + 2.0 * math.pi * r / num_rays
            cos = math.cos(angle)
            sin = math.sin(angle)
            reading = rays[i, r]
            t = 0.0
            while t < reading - 0.5 * step:
                c = int(math.floor((x + cos * t) * CELLS_PER_METRE)) & _GRID_MASK
                w = int(math.floor((y + sin * t) * CELLS_PER_METRE)) & _GRID_MASK
                if grid[w, c] == 0:
                    grid[w, c] = _FREE
                t += step
            if reading < ray_length - 1e-6:
                t = reading + 0.02
                c = int(math.floor((x + cos * t) * CELLS_PER_METRE)) & _GRID_MASK
                w = int(math.floor((y + sin * t) * CELLS_PER_METRE)) & _GRID_MASK
                grid[w, c] = _BLOCKED
        c = int(math.floor(x * CELLS_PER_METRE)) & _GRID_MASK
        w = int(math.floor(y * CELLS_PER_METRE)) & _GRID_MASK
        grid[w, c] = _FREE
        for d in range(_MAP_DIRECTIONS):
            angle = yaw[i] + 2.0 * math.pi * d / _MAP_DIRECTIONS
            cos = math.cos(angle)
            sin = math.sin(angle)
            blocked = _MAP_RANGE
            known = 0
            walked = 0.0
            t = step
            while t < _MAP_RANGE:
                px = x + cos * t
                py = y + sin * t
                c = int(math.floor(px * CELLS_PER_METRE)) & _GRID_MASK
                w = int(math.floor(py * CELLS_PER_METRE)) & _GRID_MASK
                value = grid[w, c]
                if value == _BLOCKED:
                    blocked = t
                    break
                if value == _FREE:
                    known += 1
                count = visits[
                    i,
                    int(math.floor(py)) & _EXTENT_MASK,
                    int(math.floor(px)) & _EXTENT_MASK,
                ]
                if count > 0:
                    walked += math.log1p(count)
                t += step
            out[i, _VISITS + d] = blocked / _MAP_RANGE
            out[i, _VISITS + _MAP_DIRECTIONS + d] = known * step / _MAP_RANGE
            out[i, _VISITS + 2 * _MAP_DIRECTIONS + d] = 0.2 * walked * step
        at = _VISITS + 3 * _MAP_DIRECTIONS
        out[i, at : at + 2 * _CELLS] = 0.0
        cos = math.cos(yaw[i])
        sin = math.sin(yaw[i])
        for k in range(_SPOTS.shape[0]):
            px = x + cos * _SPOTS[k, 0] - sin * _SPOTS[k, 1]
            py = y + sin * _SPOTS[k, 0] + cos * _SPOTS[k, 1]
            c = int(math.floor(px * CELLS_PER_METRE)) & _GRID_MASK
            w = int(math.floor(py * CELLS_PER_METRE)) & _GRID_MASK
            value = grid[w, c]
            sector = int(_SPOTS[k, 2])
            if value == _BLOCKED:
                out[i, at + sector] += 1.0 / _SPOTS_IN[sector]
            elif value == 0:
                out[i, at + _CELLS + sector] += 1.0 / _SPOTS_IN[sector]
