"""Totals of running locomotion episodes: arrays over bodies."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Floats, Ints


@dataclass(frozen=True)
class EpisodeState:
    """Totals of the running episode of each body; every array has first axis N."""

    steps: Ints
    """Control steps so far."""
    reward: Floats
    """Return so far, unscaled and undiscounted."""
    path: Floats
    """Horizontal path length of the root, [m]."""
    work: Floats
    """Absolute work of the joints, [J]."""
    start_distance: Floats
    """0: there is no goal to reach."""

    @classmethod
    def zeros(cls, count: int) -> EpisodeState:
        """Return totals of `count` episodes that have not begun."""
        return cls(
            np.zeros(count, np.int64),
            *(np.zeros(count) for _ in range(len(fields(cls)) - 1)),
        )

    def begin(self, envs: Ints) -> None:
        """Clear the totals of `envs`."""
        for field in fields(self):
            getattr(self, field.name)[envs] = 0

    def state_dict(self) -> dict[str, NDArray[np.generic]]:
        """Copies of all arrays."""
        return {f.name: getattr(self, f.name).copy() for f in fields(self)}

    def load_state_dict(self, arrays: dict[str, NDArray[np.generic]]) -> None:
        """Continue from `state_dict`."""
        for field in fields(self):
            getattr(self, field.name)[...] = arrays[field.name]
