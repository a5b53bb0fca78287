"""Totals of running navigation episodes: arrays over environments."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Floats, Ints
from ambulo.envs.vr.world.state import WorldState


@dataclass(frozen=True)
class NavigationEpisode:
    """Totals of the running episode of each env; every array has first axis N."""

    origin: Floats
    """Start pose x, y [m], yaw [rad], shape (N, 3)."""
    steps: Ints
    """Decisions so far."""
    start_distance: Floats
    """Distance to the goal at the start, [m]."""
    distance: Floats
    """Distance to the goal now, [m]."""
    best: Floats
    """Smallest distance to the current goal so far, [m]."""
    path: Floats
    """Horizontal length walked, [m]."""
    collisions: Ints
    """Collision events."""
    comfort: Floats
    """Sum of the comfort score."""
    reward: Floats
    """Return so far, unscaled and undiscounted."""

    @classmethod
    def zeros(cls, num_envs: int) -> NavigationEpisode:
        """Episodes not begun."""
        n = num_envs
        return cls(
            origin=np.zeros((n, 3)),
            steps=np.zeros(n, np.int64),
            start_distance=np.zeros(n),
            distance=np.zeros(n),
            best=np.zeros(n),
            path=np.zeros(n),
            collisions=np.zeros(n, np.int64),
            comfort=np.zeros(n),
            reward=np.zeros(n),
        )

    def begin(self, envs: Ints, poses: Floats) -> None:
        """Clear the totals of `envs`, which start at `poses` (k, 3)."""
        for array in self._arrays().values():
            array[envs] = 0
        self.origin[envs] = poses

    def advance(
        self,
        state: WorldState,
        distance: Floats,
        best: Floats,
        comfort: Floats,
        reward: Floats,
    ) -> None:
        """Add one step to the totals."""
        self.distance[:] = distance
        self.best[:] = best
        self.path[:] += state.path
        self.collisions[:] += state.collisions
        self.comfort[:] += comfort
        self.reward[:] += reward

    def state_dict(self) -> dict[str, NDArray[np.generic]]:
        """Copies of all arrays."""
        return {name: array.copy() for name, array in self._arrays().items()}

    def load_state_dict(self, arrays: dict[str, NDArray[np.generic]]) -> None:
        """Continue from `state_dict`."""
        for name, array in self._arrays().items():
            array[...] = arrays[name]

    def _arrays(self) -> dict[str, NDArray[np.generic]]:
        return {f.name: getattr(self, f.name) for f in fields(self)}
