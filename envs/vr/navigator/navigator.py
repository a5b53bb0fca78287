"""The navigator of N envs: from readings to a map, a plan and a velocity."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ambulo.configs.arrays import Bools, Floats, Ints
from ambulo.envs.vr.navigator.columns import (
    CLOSED,
    HIGHEST,
    LOOKED,
    PER_METRE,
    SIDE,
    UNIT,
    Columns,
    cell_centres,
    keep_around,
    map_of,
)
from ambulo.envs.vr.navigator.heap import LIFTS, Nodes
from ambulo.envs.vr.navigator.mapping import map_rays
from ambulo.envs.vr.navigator.planning import POINTS, REPLAN, Plans, plan
from ambulo.envs.vr.navigator.search import Prices
from ambulo.envs.vr.navigator.search_movers import Movers
from ambulo.envs.vr.navigator.steering import EVADE, WALK, Steering, steer
from ambulo.envs.vr.navigator.tracks import (
    STOPS,
    TRACKS,
    Tracks,
    carrier_under,
    track,
    tracks_of,
)

_UNDER = 0.15
"""Distance under the feet within which a carrier carries the body, [m]."""
_STILL = 0.02
"""Vertical speed of a carrier above which rays see no static floor, [m/s]."""
_MOST = 2.0**40
"""Default bound of numbers in a saved state: of metres, columns and environment steps."""
_RANGES = {
    "heights_list": (-HIGHEST, HIGHEST),
    "bits_list": (0, 2 * LOOKED - 1),
    "plans_length": (0, POINTS),
    "plans_boards": (-1, TRACKS - 1),
    "plans_age": (0, REPLAN - 1),
    "steering_state": (WALK, EVADE),
}
"""Ranges of entries with tighter bounds."""
_UNKNOWN = ("tracks_stops", "plans_rest")
"""Arrays with unknown entries, which are inf in a saved state."""


class Sensed(NamedTuple):
    """Readings of N envs, in a frame that stays fixed during their episodes."""

    position: Floats
    """x, y, z of the feet, shape (N, 3), [m]."""
    angle: Floats
    """Direction of ray 0, shape (N,), [rad]."""
    goal: Floats
    """The goal, on its floor, shape (N, 3), [m]."""
    rays: Floats
    """Ray lengths, shape (N, R), [m]."""
    kinds: Ints
    """Kinds of their ends (`solid_ray_kernels`), shape (N, R)."""
    floors: Floats
    """Floors along them above the feet, shape (N, R, FLOOR_PARTS), [m]."""
    movers: Floats
    """Visible movers, see `sight_kernels`, kind 0: none, shape (N, K, MOVER_COLUMNS)."""
    falling: Bools
    """Mask of falling bodies, which sense nothing, shape (N,)."""


class Navigator:
    """Maps, plans and steering of N envs."""

    def __init__(self, num_envs: int, prices: Prices | None = None) -> None:
        """Create empty maps."""
        self.prices = prices or Prices()
        self.columns = Columns.empty(num_envs)
        self.tracks = Tracks.empty(num_envs)
        self.plans = Plans.empty(num_envs)
        self.steering = Steering.empty(num_envs)
        self._steps = np.full(num_envs, -1, np.int64)
        self._base = np.zeros(num_envs)
        """Height from which those of the maps count: of the start, [m]."""
        self._nodes = Nodes.empty()
        self._movers = Movers(
            np.zeros((LIFTS, 8 + STOPS)),
            np.zeros((SIDE, SIDE), np.float32),
            np.zeros((SIDE, SIDE), np.uint16),
        )

    def reset(self, envs: Ints) -> None:
        """Forget everything of `envs` (k,)."""
        self.columns.forget(envs)
        self.tracks.forget(envs)
        self.plans.forget(envs)
        self.steering.forget(envs)
        self._steps[envs] = -1

    def update(self, envs: Ints, sensed: Sensed, pace: float, dt: float) -> None:
        """Update map, plan and steering of `envs` (k,) at `pace` [m/s], every `dt` seconds."""
        envs = np.asarray(envs, np.int64)
        begun = envs[self._steps[envs] < 0]
        self._base[begun] = sensed.position[begun, 2]
        self._steps[envs] += 1
        position, goal = map(self.above_start, (sensed.position, sensed.goal))
        movers = sensed.movers.copy()
        movers[:, :, 6:8] -= self._base[:, None, None]
        sensed = sensed._replace(
            position=position, goal=_within(goal, position), movers=movers
        )
        _map(envs, sensed, self.columns, self.tracks, self._steps, dt)
        plan(
            envs, self.columns, self.tracks, self._nodes, self._movers, self.prices,
            self.plans, sensed, self._steps, self.steering.state,
        )  # fmt: skip
        steer(envs, self.tracks, self.plans, self.steering, sensed, self._steps, pace)

    def above_start(self, places: Floats) -> Floats:
        """`places` (N, 3) with heights relative to the starts of the episodes, [m]."""
        above: Floats = places - np.pad(self._base[:, None], ((0, 0), (2, 0)))
        return above

    def path(self, env: int) -> Floats:
        """The planned path of `env`, shape (k, 3), [m]."""
        points = self.plans.points[env, : self.plans.length[env], :3].astype(np.float64)
        return points + np.array([0.0, 0.0, self._base[env]])

    def blocked(self, env: int, place: Floats) -> Floats:
        """Centres of the cells near `place` (3,) that are blocked for `env`, (k, 3), [m].

        The map wraps around: of the possible positions of a column, the one near `place`.
        """
        rows, columns, k = np.nonzero(self.columns.bits[env] & CLOSED)
        centres = cell_centres(rows, columns, SIDE, place, PER_METRE)
        heights = self.columns.heights[env, rows, columns, k] * UNIT + self._base[env]
        return np.column_stack([centres, heights])

    def state_dict(self) -> dict[str, NDArray[np.generic]]:
        """Copies of the complete state; of the maps only used entries."""
        used = np.flatnonzero(self.columns.bits)
        return {
            "entries_list": used,
            "heights_list": self.columns.heights.ravel()[used],
            "bits_list": self.columns.bits.ravel()[used],
            "steps": self._steps.copy(),
            "base": self._base.copy(),
            "known": self.columns.known.copy(),
            **{name: _saved(array) for name, array in self._remembered()},
        }

    def load_state_dict(self, arrays: dict[str, NDArray[np.generic]]) -> None:
        """Continue from `state_dict`.

        Raises:
            ValueError: Entries outside the map, an entry without height or bits, or numbers
                that are not finite or out of range.
        """
        ranges = {**_RANGES, "entries_list": (0, self.columns.bits.size - 1)}
        for name, array in arrays.items():
            values = np.asarray(array, np.float64)
            low, high = ranges.get(name, (-_MOST, _MOST))
            within = (values >= low) & (values <= high)
            if name in _UNKNOWN:
                within |= values == np.inf
            if not within.all():
                raise ValueError(f"{name} has values outside of {low:g} to {high:g}")
        if (np.asarray(arrays["plans_points"])[..., 3] >= TRACKS).any():
            raise ValueError("plans_points names tracks that do not exist")
        used = arrays["entries_list"].astype(np.int64)
        self.columns.bits[...] = 0
        for name, column in zip(("heights", "bits"), self.columns[:2], strict=True):
            if arrays[f"{name}_list"].shape != used.shape:
                raise ValueError(f"not one of {name} for each entry of the maps")
            column.ravel()[used] = arrays[f"{name}_list"]
        self._steps[...], self._base[...] = arrays["steps"], arrays["base"]
        for name, array in self._remembered():
            array[...] = arrays[name]
        self.columns.known[...] = arrays.get("known", self._whole_windows())
        stops = self.tracks.stops
        stops[np.isinf(stops)] = np.nan

    def _whole_windows(self) -> Ints:
        """Largest bounds of known cells, for states without them, shape (N, 4)."""
        whole = np.zeros_like(self.columns.known)
        for i, rest in enumerate(self.plans.rest):
            if np.isfinite(rest).all():
                around = np.tile(np.floor(rest * PER_METRE).astype(np.int64), 2)
                whole[i] = around + np.array([-1, -1, 1, 1]) * (SIDE // 2)
        return whole

    def _remembered(self) -> Iterator[tuple[str, NDArray[np.generic]]]:
        """Name and array of the state except the maps."""
        parts: dict[str, tuple[Any, ...]] = {
            "tracks": self.tracks,
            "plans": self.plans,
            "steering": self.steering,
        }
        for part, arrays in parts.items():
            for name, array in zip(arrays._fields, arrays, strict=True):  # type: ignore[attr-defined]
                yield f"{part}_{name}", array


def _saved(array: NDArray[np.generic]) -> NDArray[np.generic]:
    """A copy with inf for unknown heights: states hold no NaN."""
    if array.dtype.kind != "f":
        return array.copy()
    return np.where(np.isnan(array), np.inf, array)


def _within(goal: Floats, position: Floats) -> Floats:
    """The goals, clamped to the border of the map, shape (N, 3), [m]."""
    most = 0.25 * (SIDE // 2 - 4)
    way = goal - position
    far = np.abs(way[:, :2]).max(axis=1)
    part = np.minimum(1.0, most / np.maximum(far, 1e-9))
    goal[:, :2] = position[:, :2] + part[:, None] * way[:, :2]
    return goal


@njit(cache=True)
def _map(envs, sensed, columns, tracks, steps, dt):
    """Update tracks and maps of `envs` (k,); no mapping while a lift carries the body."""
    for i in envs:
        position = sensed.position[i]
        own = map_of(columns, i)
        keep_around(own, position[0], position[1], sensed.rays[i].max())
        if sensed.falling[i]:
            continue
        things = tracks_of(tracks, i)
        track(things, sensed.movers[i], steps[i], dt)
        on = carrier_under(things, position, _UNDER)
        if on < 0 or abs(things.velocity[on, 2]) <= _STILL:
            map_rays(
                own, position, sensed.angle[i], sensed.rays[i],
                sensed.kinds[i], sensed.floors[i], sensed.movers[i],
            )  # fmt: skip
