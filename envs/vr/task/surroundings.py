"""What the option `observations.surroundings` adds: rays at heights, and the floor ahead.

It is read from the levels themselves, so it is the same in every world; what moves in a level
is left to the rays of the published observation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ambulo.configs.arrays import Floats, Ints
from ambulo.envs.vr.contract import WorldSpec
from ambulo.envs.vr.geometry.solid_kernels import (
    local_shapes,
    nearby,
    room_for_shapes,
    support,
)
from ambulo.envs.vr.geometry.solid_ray_kernels import Ray, cut_box, cut_disc
from ambulo.envs.vr.geometry.triangle_kernels import cut_by_ray
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.world.packed_solids import PackedSolids, solids_of
from ambulo.envs.vr.world.state import WorldState

RAY_HEIGHTS = (0.3, 0.9, 1.5)
"""Heights of the rays above the feet, [m]."""
FLOOR_AHEAD = tuple((a, s) for a in (0.3, 0.6, 1.0, 1.5, 2.0) for s in (0.4, 0.0, -0.4))
"""Points ahead and left of the body at which the height of the floor is read, [m]."""
DEEPEST = 1.5
"""The floor is looked for this far above and below the feet, [m]."""


class Probes(NamedTuple):
    """Where the surroundings of a body are looked at."""

    heights: Floats
    """Of the rays above the feet, shape (H,), [m]."""
    length: float
    """Of the rays, [m]."""
    places: Floats
    """Points ahead and left of the body, shape (P, 2), [m]."""


class Surroundings:
    """Reads the surroundings of N envs."""

    def __init__(self, spec: WorldSpec) -> None:
        """No levels yet."""
        self._spec = spec
        self._probes = Probes(
            np.array(RAY_HEIGHTS), spec.ray_length, np.array(FLOOR_AHEAD)
        )
        self._packed = PackedSolids(as_drawn=True)
        self._levels: list[Level] = []

    def size(self) -> int:
        """Numbers of one env."""
        return len(RAY_HEIGHTS) * self._spec.num_rays + len(FLOOR_AHEAD)

    def read(
        self, state: WorldState, slots: Ints, levels: Sequence[Level]
    ) -> NDArray[np.float32]:
        """Rays by height, then heights of the floor ahead, shape (N, size), [m].

        `levels[slots[i]]` is the level of env i.
        """
        self._hold(levels)
        spec = self._spec
        rays = np.zeros((len(slots), len(RAY_HEIGHTS), spec.num_rays))
        floor = np.zeros((len(slots), len(FLOOR_AHEAD)))
        turn = state.yaw if spec.rays_in_head_frame else np.zeros_like(state.yaw)
        survey(
            self._packed.arrays(), slots, state.position, state.yaw, turn, self._probes,
            rays, floor,
        )  # fmt: skip
        flat: Floats = np.column_stack([rays.reshape(len(slots), -1), floor])
        return flat.astype(np.float32)

    def _hold(self, levels: Sequence[Level]) -> None:
        """Hold the shapes of `levels`, of which few have changed."""
        known = self._levels
        new = [
            k for k, lv in enumerate(levels) if k >= len(known) or known[k] is not lv
        ]
        if new:
            self._packed.set(new, [levels[k] for k in new])
            self._levels = list(levels)


@njit(cache=True)
def level_ray(shapes, ray, z, ends):  # type: ignore[no-untyped-def]
    """Distance along a level ray at height `z` to the first shape, at most its length, [m].

    `ends` (4,) is work space.
    """
    prisms, cylinders, triangles, _, near, n, _ = shapes
    n_prisms = prisms.shape[0]
    n_still = n_prisms + cylinders.shape[0]
    reach = ray.length
    for k in range(n):
        item = near[k]
        if item < n_prisms:
            row = prisms[item]
            if row[6] < z < row[7]:
                enter, leave = cut_box(ray, row)
                if enter <= leave and leave >= 0.0:
                    reach = min(reach, max(enter, 0.0))
        elif item < n_still:
            row = cylinders[item - n_prisms]
            if row[3] < z < row[4]:
                enter, leave = cut_disc(ray, row[0], row[1], row[2])
                if enter <= leave and leave >= 0.0:
                    reach = min(reach, max(enter, 0.0))
        else:
            row = triangles[item - n_still]
            if row[12] <= z <= row[13] and cut_by_ray(
                ray.x, ray.y, ray.cos, ray.sin, row, ends
            ):
                low = min(ends[1], ends[3])
                high = max(ends[1], ends[3])
                if low <= z <= high and high > low:
                    w = (z - ends[1]) / (ends[3] - ends[1])
                    at = ends[0] + w * (ends[2] - ends[0])
                    if at >= 0.0:
                        reach = min(reach, at)
    return reach


@njit(cache=True)
def survey(pack, slots, position, yaw, turn, probes, rays, floor):  # type: ignore[no-untyped-def]
    """Fill `rays` (N, H, R) and `floor` (N, P) of bodies in levels `slots` (N,).

    Args:
        pack: the levels, see `PackedSolids`.
        slots: of the level of each body.
        position: x, y, z of the feet, shape (N, 3), [m].
        yaw: heading, shape (N,), [rad].
        turn: direction of ray 0, shape (N,), [rad].
        probes: `Probes`.
        rays: distances, written.
        floor: heights relative to the feet, within `DEEPEST`, written.
    """
    ends = np.empty(4)
    movers = np.zeros((0, 9))
    count = rays.shape[2]
    for i in range(slots.shape[0]):
        solids = solids_of(pack, slots[i])
        near, seen = room_for_shapes(solids)
        x = position[i, 0]
        y = position[i, 1]
        z = position[i, 2]
        n = nearby(solids, x, y, probes.length, near, seen, 0)
        shapes = local_shapes(solids, near, n, movers)
        for r in range(count):
            heading = turn[i] + 2.0 * math.pi * r / count
            ray = Ray(x, y, math.cos(heading), math.sin(heading), probes.length)
            for h in range(probes.heights.shape[0]):
                rays[i, h, r] = level_ray(shapes, ray, z + probes.heights[h], ends)
        c = math.cos(yaw[i])
        s = math.sin(yaw[i])
        for p in range(probes.places.shape[0]):
            px = x + c * probes.places[p, 0] - s * probes.places[p, 1]
            py = y + s * probes.places[p, 0] + c * probes.places[p, 1]
            m = nearby(solids, px, py, 0.01, near, seen, p + 1)
            here = local_shapes(solids, near, m, movers)
            found, _ = support(here, px, py, z + DEEPEST)
            floor[i, p] = max(found - z, -DEEPEST)
