"""A map of what rays hit, and the shortest path on it with the unknown taken as free.

That is Koenig and Likhachev's "freespace assumption"; the path is found by A* with eight
moves on 0.25 m cells, made anew every few steps. Maps wrap around (128 m). What was never
seen near an obstacle may cost more (`PlanSettings.walls`), since walls tend to go on.

Cells are too coarse to tell a gap of 0.5 m, which no body passes, from one of 0.7 m. Who
does not move on bumped into something: a cell ahead is then blocked, and another way is
taken, until there is none left.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ambulo.configs.arrays import Floats, Ints
from ambulo.configs.vr import NavigationObservationsConfig
from ambulo.envs.vr.task.grid_map_kernels import (
    BUMP,
    GRID,
    HIT,
    NEAR,
    PER_METRE,
    forget_bumps,
    map_bumps,
    map_passed,
    map_rays,
    nearest_hits,
)
from ambulo.envs.vr.task.grid_search_kernels import AHEAD, MOST_CELLS, search

REPLAN = 3
"""Decisions between two plans of an env."""
_WIDE_AGAIN = 9
"""Plans after one without a wide path in which none is looked for, where walls cost."""
_ANY_AGAIN = 3
"""The same without any path."""


@dataclass(frozen=True)
class PlanSettings:
    """What paths cost and how far ahead the waypoint lies."""

    margin: float = 1.0
    """Cost factor of cells up to 0.75 m from an obstacle."""
    walls: float = 1.0
    """Cost factor of cells up to 1.5 m from an obstacle that no ray has passed. Above 1,
    obstacles are forgotten when rays pass where they were."""
    reach: float = 2.5
    """Largest distance of the waypoint along the path, [m]."""

    @classmethod
    def of(cls, senses: NavigationObservationsConfig) -> PlanSettings:
        """The settings of a configuration."""
        return cls(senses.plan_margin, senses.plan_walls, senses.plan_reach)


def cell_centres(cells: NDArray[np.bool_], around: Floats, per_metre: float) -> Floats:
    """Centres of the marked cells of a square grid that wraps around, shape (k, 2), [m].

    Args:
        cells: Marks, rows along Y. Shape (n, n).
        around: Of the places that a cell may be, the one near this point, (2,), [m].
        per_metre: Cells per metre.
    """
    size = len(cells)
    rows, columns = np.nonzero(cells)
    index = np.stack([columns, rows], axis=1)
    base = np.floor(np.asarray(around)[:2] * per_metre).astype(np.int64)
    near = (index - base + size // 2) % size - size // 2 + base
    return np.asarray((near + 0.5) / per_metre, np.float64)


class GridPlanner:
    """Maps and plans of N envs, in any fixed frame of each."""

    def __init__(self, num_envs: int, settings: PlanSettings | None = None) -> None:
        """Nothing mapped."""
        self.settings = settings or PlanSettings()
        self.points = np.zeros((num_envs, 1 + len(AHEAD), 2))
        """The waypoint: the furthest point in sight along the path, within `reach`; and the
        points `AHEAD` (or the goal, if nearer), shape (N, 3, 2), [m]."""
        self.length = np.zeros(num_envs)
        """Length of the path when it was planned, shape (N,), [m]."""
        self.found = np.zeros(num_envs, np.bool_)
        """Whether there is a path; without one every point is the goal, shape (N,)."""
        self._map = np.zeros((num_envs, GRID, GRID), np.uint8)
        self._spots = np.zeros((num_envs, GRID, GRID), np.uint16)
        """Where in its cell a ray ended, and from where it came."""
        self._age = np.zeros(num_envs, np.int64)
        self._rest = np.full((num_envs, 2), np.inf)
        """Where each env last moved to, [m]."""
        self._still = np.zeros(num_envs, np.int64)
        """Decisions since then."""
        self._pause = np.zeros((num_envs, 2), np.int64)
        """Plans to come that look for no wide path, and for no path."""
        self._cost = np.zeros((GRID, GRID), np.float32)
        self._parent = np.zeros((GRID, GRID), np.int8)
        self._stamp = np.zeros((GRID, GRID), np.int64)
        self._plans = 0

    def reset(self, envs: Ints) -> None:
        """Forget the maps of `envs`."""
        self._map[envs] = 0
        self._age[envs] = 0
        self._rest[envs] = np.inf
        self._pause[envs] = 0

    def update(
        self,
        envs: Ints,
        position: Floats,
        goal: Floats,
        rays: Floats,
        ray_angle: Floats,
        ray_length: float,
    ) -> None:
        """Map what `envs` see and plan for those whose plan is old.

        Args:
            envs: indices (k,); the other arrays are over all N envs.
            position: x, y, shape (N, 2), [m].
            goal: x, y in the same frame, shape (N, 2), [m].
            rays: readings, shape (N, R), [m].
            ray_angle: direction of ray 0 in that frame, shape (N,), [rad].
            ray_length: range of a ray, [m].
        """
        envs = np.asarray(envs, np.int64)
        plan = self.settings
        if plan.walls > 1.0:
            map_passed(envs, self._map, self._spots, position, rays, ray_angle)
        map_rays(envs, self._map, self._spots, position, rays, ray_angle, ray_length)
        map_bumps(
            envs, self._map, position, goal, self.points, self.found,
            self._rest, self._still, self._age,
        )  # fmt: skip
        self._plans = _plan_all(
            envs, self._map, position, goal, self.points, self.length, self.found,
            self._age, self._pause, self._cost, self._parent, self._stamp, self._plans,
            plan.margin, plan.walls, int(plan.reach * PER_METRE),
        )  # fmt: skip

    def nearest(
        self, envs: Ints, position: Floats, yaw: Floats, sectors: int, farthest: float
    ) -> Floats:
        """Distance to the nearest hit in each of `sectors`, see `nearest_hits`, (k, S), [m]."""
        out = np.empty((len(envs), sectors))
        nearest_hits(envs, self._map, self._spots, position, yaw, farthest, out)
        return out

    def blocked(self, env: int, around: Floats) -> Floats:
        """Centres of the cells that `env` takes to be blocked, shape (k, 2), [m].

        The map wraps around: of the places that a cell may be, the one near `around` (2,).
        """
        return cell_centres(self._map[env] & (HIT | BUMP) > 0, around, PER_METRE)

    def state_dict(self) -> dict[str, NDArray[np.generic]]:
        """Copies of maps and plans."""
        arrays: dict[str, NDArray[Any]] = {
            "map": self._map, "spots_list": self._spots[self._map & HIT > 0], "age": self._age,
            "points": self.points,
            "length": self.length, "found": self.found,
            "rest": self._rest, "still": self._still, "pause": self._pause,
        }  # fmt: skip
        return {name: array.copy() for name, array in arrays.items()}

    def load_state_dict(self, arrays: dict[str, NDArray[np.generic]]) -> None:
        """Continue from `state_dict`.

        Raises:
            ValueError: not one spot for each hit.
        """
        hits, spots = arrays["map"].astype(np.uint8) & HIT > 0, arrays["spots_list"]
        if spots.shape != (np.count_nonzero(hits),):
            raise ValueError(f"{len(spots)} spots for {np.count_nonzero(hits)} hits")
        self._map[...] = arrays["map"]
        self._spots[hits] = spots
        self._pause[...] = arrays["pause"]
        self._age[...] = arrays["age"]
        self._rest[...] = arrays["rest"]
        self._still[...] = arrays["still"]
        self.points[...] = arrays["points"]
        self.length[...] = arrays["length"]
        self.found[...] = arrays["found"]


@njit(cache=True)
def _plan_all(
    envs,
    maps,
    position,
    goal,
    points,
    length,
    found,
    age,
    pause,
    cost,
    parent,
    stamp,
    plans,
    margin,
    walls,
    reach,
):
    keys = np.empty(8 * MOST_CELLS + 16, np.float32)
    cells = np.empty(8 * MOST_CELLS + 16, np.int64)
    for i in envs:
        age[i] -= 1
        if age[i] >= 0:
            continue
        age[i] = REPLAN - 1
        for k in range(points.shape[1]):
            points[i, k, 0], points[i, k, 1] = goal[i, 0], goal[i, 1]
        found[i] = False
        length[i] = math.hypot(goal[i, 0] - position[i, 0], goal[i, 1] - position[i, 1])
        if pause[i, 1] > 0:
            pause[i, 1] -= 1
            continue
        wide = pause[i, 0] == 0
        pause[i, 0] = max(pause[i, 0] - 1, 0)
        for attempt in range(4):
            # Without a way, bumps are forgotten, if there were any.
            if attempt == 2 and not forget_bumps(maps[i]):
                break
            if attempt % 2 == 0 and not wide:
                continue
            mask = NEAR if attempt % 2 == 0 else HIT
            plans += 1
            way = search(
                maps[i], position[i], goal[i], points[i], mask,
                cost, parent, stamp, plans, keys, cells, margin, walls, reach,
            )  # fmt: skip
            if way >= 0.0:
                length[i] = way
                found[i] = True
                break
            # A search without result is long.
            if walls > 1.0 and mask == NEAR:
                pause[i, 0] = _WIDE_AGAIN
        if walls > 1.0 and not found[i]:
            pause[i, 1] = _ANY_AGAIN
    return plans
