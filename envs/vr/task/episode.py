"""Totals of running navigation episodes: arrays over environments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ambulo.configs.arrays import Floats, Ints
from ambulo.envs.state_arrays import Arrays, StateArrays
from ambulo.envs.vr.world.state import WorldState


@dataclass(frozen=True)
class NavigationEpisode(StateArrays):
    """Totals of the running episode of each env; every array has first axis N."""

    shapes: ClassVar = {"origin": (3,)}

    origin: Floats
    """Start pose x, y [m], yaw [rad], shape (N, 3)."""
    steps: Ints
    """Environment steps so far."""
    start_distance: Floats
    """Distance to the goal at the start, [m]; of a patrol, the way to all of its goals."""
    distance: Floats
    """Distance to the goal now, [m]."""
    best: Floats
    """Smallest distance to the current goal so far, [m]."""
    path: Floats
    """Horizontal length walked, [m]."""
    collisions: Ints
    """Collision events."""
    people_collisions: Ints
    """Those of them with people."""
    comfort: Floats
    """Sum of the comfort score."""
    reward: Floats
    """Return so far, unscaled and undiscounted."""

    def begin(self, envs: Ints, poses: Floats) -> None:
        """Clear the totals of `envs`, which start at `poses` (k, 3)."""
        self.clear(envs)
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
        self.people_collisions[:] += state.people_collisions
        self.comfort[:] += comfort
        self.reward[:] += reward

    def load_state_dict(self, arrays: Arrays) -> None:
        """Continue from `state_dict`; earlier versions counted no people."""
        nobody = np.zeros_like(self.people_collisions)
        super().load_state_dict({"people_collisions": nobody, **arrays})
