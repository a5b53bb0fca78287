"""What the option `observations.surroundings` adds: rays at heights, and the floor ahead.

It is read from the levels themselves, so it is the same in every world; what moves in a level
is left to the rays of the published observation.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ambulo.configs.arrays import Floats, Ints
from ambulo.envs.vr.contract import WorldSpec
from ambulo.envs.vr.geometry.survey_kernels import survey
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.world.packed_solids import PackedSolids, solids_of
from ambulo.envs.vr.world.state import WorldState

RAY_HEIGHTS = (0.3, 0.9, 1.5)
"""Heights of the rays above the feet, [m]."""
FLOOR_AHEAD = tuple((a, s) for a in (0.3, 0.6, 1.0, 1.5, 2.0) for s in (0.4, 0.0, -0.4))
"""Points ahead and left of the body at which the height of the floor is read, [m]."""
DEEPEST = 1.5
"""The floor is looked for this far above and below the feet, [m]."""


class Surroundings:
    """Reads the surroundings of N envs."""

    def __init__(self, spec: WorldSpec) -> None:
        """No levels yet."""
        self._spec = spec
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
        _survey_all(
            self._packed.arrays(), slots, state.position, state.yaw, turn,
            np.array(RAY_HEIGHTS), spec.ray_length, np.array(FLOOR_AHEAD), DEEPEST,
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
def _survey_all(  # type: ignore[no-untyped-def]
    pack, slots, position, yaw, turn, heights, length, places, deepest, rays, floor
):
    for i in range(slots.shape[0]):
        solids = solids_of(pack, slots[i])
        shapes = solids[0].shape[0] + solids[1].shape[0] + solids[2].shape[0]
        near = np.empty(max(shapes, 1), np.int64)
        seen = np.full(max(shapes, 1), -1, np.int64)
        survey(
            solids, position[i], yaw[i], turn[i], heights, length, places, deepest,
            rays[i], floor[i], near, seen,
        )  # fmt: skip
