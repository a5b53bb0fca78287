"""An agent's memory of its observations: a pure function of the observation stream.

`visits` counts the environment steps spent in each 1 m cell. `map` also stores, in 0.25 m
cells, which the rays showed to be free or blocked: a memory, not a planner. `navigator` adds
the results of a `Navigator`: the path ahead, reason to wait, movers and near obstacles. `plan`
and `path` are what agents of earlier versions observe of it: `plan` beside a map, `path` beside
visits and near obstacles. None knows the level. Grids wrap around after 64 m, so memory is
bounded: in larger levels, a visited position also counts as visited (`map`: as known) 64 m
further on. A navigator forgets what is farther than 32 m away.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Floats, Ints, Singles
from ambulo.configs.vr_learning import PLANNED
from ambulo.envs.vr.contract import WorldSpec
from ambulo.envs.vr.navigator.columns import cell_centres
from ambulo.envs.vr.navigator.features import (
    NEAR_FIELD,
    ROUTE_FIELDS,
    SECTORS,
    observe_near,
    observe_route,
    points_on_path,
    waypoints,
)
from ambulo.envs.vr.navigator.navigator import Navigator, Sensed
from ambulo.envs.vr.navigator.search import Prices
from ambulo.envs.vr.task.memory_kernels import (
    BLOCKED,
    CELLS,
    CELLS_PER_METRE,
    EXTENT,
    GRID,
    MAP_DIRECTIONS,
    MAP_RANGE,
    MAP_SECTORS,
    SECTOR_EDGES,
    VISIT_DIRECTIONS,
    VISIT_RINGS,
    VISITS,
    update_map,
    update_visits,
)

Kind = Literal["none", "visits", "map", "plan", "path", "navigator"]


_MAPPED = ("map", "plan")
_AHEAD = (2.0, 4.0)
_STAY = 2
_PLAN = 2 * (1 + len(_AHEAD)) + 2
_NAVIGATOR = "navigator_"


def memory_fields(kind: Kind) -> list[tuple[str, int, str, str]]:
    """Rows (name, size, unit, meaning) of the observation for a kind of memory."""
    rows = []
    if kind == "navigator":
        rows.append(
            (
                "stay",
                _STAY,
                "1",
                "log(1 + steps spent in the own 1 m cell) / 5, and steps since the "
                "best distance to the goal / 100 (<= 3)",
            )
        )
    elif kind != "none":
        rows.append(
            (
                "visits",
                VISITS,
                "1",
                f"log(1 + steps spent) / 5 in the 1 m cells {VISIT_RINGS} m away in "
                f"{VISIT_DIRECTIONS} directions (from ahead to the left), in the own "
                "cell, and steps since the best distance to the goal / 100 (<= 3)",
            )
        )
    if kind in _MAPPED:
        rows.append(
            (
                "map_blocked",
                MAP_DIRECTIONS,
                "1",
                f"distance to the first remembered obstacle / {MAP_RANGE} m in "
                f"{MAP_DIRECTIONS} directions",
            )
        )
        rows.append(
            (
                "map_known",
                MAP_DIRECTIONS,
                "1",
                f"length of remembered free space / {MAP_RANGE} m along the same",
            )
        )
        rows.append(
            (
                "map_visited",
                MAP_DIRECTIONS,
                "1",
                "log(1 + steps spent) / 5 summed over the free path of each direction",
            )
        )
        shape = f"{MAP_SECTORS} directions x rings with edges {SECTOR_EDGES} m"
        for name, meaning in (
            ("sector_blocked", "fraction of remembered obstacles in"),
            ("sector_unknown", "fraction never seen in"),
        ):
            rows.append((name, CELLS, "1", f"{meaning} {shape}"))
    if kind in ("path", "navigator"):
        rows.append(NEAR_FIELD)
    if kind == "navigator":
        rows += ROUTE_FIELDS
    elif kind in PLANNED:
        rows += [
            (
                "plan_points",
                2 * (1 + len(_AHEAD)),
                "5 m",
                f"waypoint in sight and the points {_AHEAD} m along the planned path "
                "(forward, left)",
            ),
            ("plan_length", 1, "20 m", "length of the planned path"),
            ("plan_found", 1, "1", "1 if the map has a path, else 0"),
        ]
    return rows


class Memory:
    """Memories of N envs."""

    def __init__(self, kind: Kind, num_envs: int, reach: float = 10.0) -> None:
        """Empty memories of one `kind`; waypoints lie at most `reach` [m] along the path."""
        self.kind = kind
        self.size = sum(row[1] for row in memory_fields(kind))
        n = num_envs if kind != "none" else 0
        self.visits = np.zeros((n, EXTENT, EXTENT), np.uint16)
        m = num_envs if kind in _MAPPED else 0
        self.cells = np.zeros((m, GRID, GRID), np.uint8)
        self.best = np.full(num_envs, np.inf)
        self.stale = np.zeros(num_envs, np.int64)
        self._start = np.zeros((num_envs, 3))
        self.navigator = (
            Navigator(num_envs, Prices(reach=reach)) if kind in PLANNED else None
        )

    def reset(self, envs: Ints) -> None:
        """Clear the memories of `envs`."""
        self.best[envs] = np.inf
        self.stale[envs] = 0
        if self.kind != "none":
            self.visits[envs] = 0
        if self.kind in _MAPPED:
            self.cells[envs] = 0
        if self.navigator is not None:
            self.navigator.reset(envs)

    def update(
        self, envs: Ints, sensed: Sensed, yaw: Floats, start: Floats, spec: WorldSpec,
        distance: Floats, out: Singles,
    ) -> None:  # fmt: skip
        """Record one step of `envs` and write their features.

        Args:
            envs: Indices (k,); the other arrays are over all N envs.
            sensed: Their readings, in the frame of their levels.
            yaw: Heading in that frame, shape (N,), [rad].
            start: Start x, y [m] and yaw [rad] of the episodes, shape (N, 3): the frame of
                visits and of `map`.
            spec: Settings of the world.
            distance: Straight distance to the goal, shape (N,), [m].
            out: Features (output), shape (N, size).
        """
        if self.kind == "none":
            return
        self._start[:] = start
        here = _turned(sensed.position[:, :2] - start[:, :2], -start[:, 2])
        heading = yaw - start[:, 2]
        visits = np.empty((len(yaw), VISITS), np.float32)
        update_visits(
            envs, here, heading, distance, self.visits, self.best, self.stale, visits
        )
        at = _STAY if self.kind == "navigator" else VISITS
        out[envs, :at] = visits[envs, VISITS - at :]
        if self.kind in _MAPPED:
            update_map(
                envs, here, heading, sensed.rays, sensed.angle - start[:, 2],
                spec.ray_length, self.cells, self.visits, out,
            )  # fmt: skip
        if self.navigator is None:
            return
        self.navigator.update(envs, sensed, spec.max_speed, spec.decision_dt)
        if self.kind in ("path", "navigator"):
            near = out[:, at : at + SECTORS]
            observe_near(self.navigator, envs, sensed.position, yaw, near)
        if self.kind == "navigator":
            route = out[:, at + SECTORS :]
            observe_route(self.navigator, envs, sensed, yaw, route)
        else:
            out[envs, self.size - _PLAN :] = self._plan(envs, sensed, yaw)

    def _plan(self, envs: Ints, sensed: Sensed, yaw: Floats) -> Singles:
        """Plan features of agents of earlier versions, for `envs` (k,), shape (k, 8)."""
        assert self.navigator is not None
        navigator = self.navigator
        above = navigator.above_start(sensed.position)
        ahead, left = points_on_path(navigator, envs, above, _AHEAD)
        points = np.concatenate(
            [waypoints(navigator, above)[envs, None], ahead[envs, :, :2]], axis=1
        )
        way = points - sensed.position[envs, None, :2]
        rows = np.empty((len(envs), _PLAN), np.float32)
        rows[:, :-2] = 0.2 * _turned(way, -yaw[envs, None]).reshape(len(envs), -1)
        rows[:, -2] = 0.05 * left[envs]
        rows[:, -1] = navigator.plans.found[envs]
        return rows

    def blocked(self, env: int, place: Floats) -> Floats:
        """Centres of cells remembered as blocked, near `place` (3,), (k, 3), [m].

        In the frame of the level; of a `map`, at the height of `place`.
        """
        if self.navigator is not None:
            return self.navigator.blocked(env, place)
        if self.kind in _MAPPED:
            return self._cells(env, self.cells[env] == BLOCKED, place, CELLS_PER_METRE)
        return np.zeros((0, 3))

    def visited(self, env: int, place: Floats) -> Floats:
        """Centres of the 1 m cells that `env` has visited, near `place` (3,), (k, 3), [m]."""
        if self.kind == "none":
            return np.zeros((0, 3))
        return self._cells(env, self.visits[env] > 0, place, 1.0)

    def _cells(
        self, env: int, marks: NDArray[np.bool_], place: Floats, per_metre: float
    ) -> Floats:
        """Centres of marked cells (n, n) of a grid in the frame of the start, (k, 3), [m]."""
        start = self._start[env]
        around = _turned(place[:2] - start[:2], -start[2])
        rows, columns = np.nonzero(marks)
        cells = cell_centres(rows, columns, len(marks), around, per_metre)
        centres = _turned(cells, start[2])
        return np.column_stack(
            [centres + start[:2], np.full(len(centres), float(place[2]))]
        )

    def state_dict(self) -> dict[str, NDArray[np.generic]]:
        """Copies of the complete state."""
        arrays: dict[str, NDArray[np.generic]] = {
            "visits": self.visits.copy(),
            "cells": self.cells.copy(),
            "best": self.best.copy(),
            "stale": self.stale.copy(),
        }
        if self.navigator is not None:
            parts = self.navigator.state_dict()
            arrays |= {_NAVIGATOR + name: array for name, array in parts.items()}
        return arrays

    def load_state_dict(self, arrays: dict[str, NDArray[np.generic]]) -> None:
        """Continue from `state_dict`; maps of earlier versions start empty."""
        for name in ("visits", "cells", "best", "stale"):
            getattr(self, name)[...] = arrays[name]
        own = {
            name.removeprefix(_NAVIGATOR): array
            for name, array in arrays.items()
            if name.startswith(_NAVIGATOR)
        }
        if self.navigator is not None:
            self.navigator.reset(np.arange(len(self.best)))
            if own:
                self.navigator.load_state_dict(own)


def _turned(way: Floats, angle: Floats | float) -> Floats:
    """Vectors (..., 2) rotated counter-clockwise by angles (...,), [rad]."""
    cos, sin = np.cos(angle), np.sin(angle)
    x, y = way[..., 0], way[..., 1]
    return np.stack([cos * x - sin * y, sin * x + cos * y], axis=-1)
