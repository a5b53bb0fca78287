"""Totals of running navigation episodes: arrays over environments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ambulo.configs.arrays import Floats, Ints
from ambulo.envs.state_arrays import Arrays, StateArrays
from ambulo.envs.vr.contract import WorldSpec
from ambulo.envs.vr.task.comfort import comfort_index, head_motion
from ambulo.envs.vr.world.state import WorldState

_LATER = ("people_collisions", "comfort_index", "acceleration")
"""Arrays that saved states of earlier versions lack."""


def seen_velocity(state: WorldState, spec: WorldSpec) -> Floats:
    """Horizontal velocity of visible motion, without teleports, shape (N, 2), [m/s].

    Without teleports, the array is the state's own.
    """
    now = state.velocity[:, :2]
    if spec.teleport <= 0.0:
        return now
    return np.where((state.moves > 0)[:, None], 0.0, now)


@dataclass(frozen=True)
class NavigationEpisode(StateArrays):
    """Totals of the running episode of each env; every array has first axis N."""

    shapes: ClassVar = {"origin": (3,), "acceleration": (2,)}

    origin: Floats
    """Start pose x, y [m], yaw [rad], shape (N, 3)."""
    steps: Ints
    """Environment steps so far."""
    start_distance: Floats
    """Distance to the goal at the start, [m]; for a patrol, the path past all goals."""
    distance: Floats
    """Present distance to the goal, [m]."""
    best: Floats
    """Smallest distance to the current goal so far, [m]."""
    path: Floats
    """Horizontal length walked, [m]."""
    collisions: Ints
    """Collision events."""
    people_collisions: Ints
    """Collision events with people."""
    comfort: Floats
    """Sum of the published comfort score."""
    comfort_index: Floats
    """Sum of the comfort index."""
    acceleration: Floats
    """Horizontal acceleration in the last step, shape (N, 2), [m/s^2]."""
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
        index: Floats,
        reward: Floats,
    ) -> None:
        """Add one step to the totals."""
        self.distance[:] = distance
        self.best[:] = best
        self.path[:] += state.path
        self.collisions[:] += state.collisions
        self.people_collisions[:] += state.people_collisions
        self.comfort[:] += comfort
        self.comfort_index[:] += index
        self.reward[:] += reward

    def feel(
        self,
        state: WorldState,
        velocity: Floats,
        yaw_rate: Floats,
        spec: WorldSpec,
        now: Floats,
    ) -> Floats:
        """Return the comfort index of a step, shape (N,).

        Args:
            state: State after the step.
            velocity: Visible horizontal velocity before it, shape (N, 2), [m/s].
            yaw_rate: Yaw rate before it, shape (N,), [rad/s].
            spec: Settings of the world.
            now: Visible velocity after it (`seen_velocity`), shape (N, 2), [m/s].
        """
        dt = spec.decision_dt
        acceleration = (now - velocity) / dt
        jerk = (acceleration - self.acceleration) / dt
        self.acceleration[:] = acceleration
        twist = (state.yaw_rate - yaw_rate) / dt
        return comfort_index(
            head_motion(now, acceleration, jerk, state.yaw, state.yaw_rate, twist),
            spec.vignette,
        )

    def load_state_dict(self, arrays: Arrays) -> None:
        """Continue from `state_dict`, also of earlier versions with fewer arrays."""
        missing = {name: np.zeros_like(getattr(self, name)) for name in _LATER}
        super().load_state_dict({**missing, **arrays})
