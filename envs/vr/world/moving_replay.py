"""What moved in an episode, computed again from how it began and where the agent was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Floats
from ambulo.envs.vr.contract import WorldSpec
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.world.moving import MovingThings
from ambulo.envs.vr.world.packed_solids import PackedSolids


@dataclass(frozen=True, eq=False)
class MovingBegun:
    """How what moves in a level began an episode of an agent that is alone in it."""

    spec: WorldSpec
    """Of the world."""
    arrays: Mapping[str, NDArray[np.generic]]
    """Of `MovingThings.arrays`, one row each."""

    @classmethod
    def of(cls, moving: MovingThings, env: int) -> MovingBegun:
        """What moves in the level of `env` right now."""
        arrays = {k: a[env : env + 1].copy() for k, a in moving.arrays().items()}
        return cls(moving.spec, arrays)

    def rows(self, level: Level, position: Floats, velocity: Floats) -> Floats:
        """Rows of `solid_kernels` at the start and after each step, shape (T + 1, M, 9).

        Args:
            level: where the episode was played.
            position: of the agent at the start and after each step, (T + 1, 3), [m].
            velocity: the same, (T + 1, 3), [m/s].
        """
        moving, solids = MovingThings(1, self.spec), PackedSolids()
        solids.set([0], [level])
        moving.set_levels([0], [level])
        slot = np.zeros(1, np.int64)
        moving.load(dict(self.arrays), slot, position[:1].copy())
        found = [moving.rows(0).copy()]
        for place, speed in zip(position[:-1], velocity[:-1], strict=True):
            moving.advance(
                slot, slot, place[None].copy(), speed[None].copy(), solids.arrays()
            )
            found.append(moving.rows(0).copy())
        return np.array(found)


def between_rows(rows: Floats, at: Floats) -> Floats:
    """Rows (T, M, 9) at and between their steps, at times `at` (F,) in steps, (F, M, 9)."""
    first = np.minimum(np.floor(at + 1e-9).astype(np.int64), max(len(rows) - 2, 0))
    before, after = rows[first], rows[np.minimum(first + 1, len(rows) - 1)]
    out: Floats = before + (at - first)[:, None, None] * (after - before)
    out[..., 4:6] /= np.maximum(np.hypot(out[..., 4], out[..., 5]), 1e-9)[..., None]
    return out
