"""The classical planner with memory: it maps what it senses, plans on the map, and walks there.

It is the bound to hold a learned agent against that has the same senses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ambulo.configs.arrays import Floats, Ints
from ambulo.envs.vr.navigator.navigator import Navigator, Sensed
from ambulo.envs.vr.planners.senses import (
    TURN_GAIN,
    at_rest_near_points,
    leap_to,
    response_time,
    senses,
    stick,
    wrapped,
)
from ambulo.envs.vr.task.observation import rotated
from ambulo.envs.vr.task.tasks import goal_places

if TYPE_CHECKING:
    from ambulo.envs.vr.task.batch import NavigationBatch

_HERE = 0.1
"""Points that are nearer are not turned to, [m]."""


class MapPlanner:
    """Walks the path of a `Navigator`, facing where it goes."""

    name = "planner"

    def __init__(self, num_envs: int) -> None:
        """Nothing mapped."""
        self.navigator = Navigator(num_envs)

    def reset(self, envs: Ints, seeds: Ints) -> None:
        """Forget the maps of `envs`."""
        self.navigator.reset(envs)

    def act(self, batch: NavigationBatch) -> Floats:
        """Straight to the waypoint at full speed, unless something moves there."""
        state, spec, navigator = batch.world.state, batch.spec, self.navigator
        everyone = np.arange(batch.num_envs)
        navigator.update(everyone, sensed(batch), spec.max_speed, spec.decision_dt)
        steering = navigator.steering
        way = steering.look - state.position[:, :2]
        error = wrapped(np.arctan2(way[:, 1], way[:, 0]) - state.yaw)
        error[np.hypot(way[:, 0], way[:, 1]) < _HERE] = 0.0
        ahead, left = rotated(*steering.velocity.T, -state.yaw)
        velocity = np.column_stack([ahead, left])
        return stick(velocity, TURN_GAIN * error, spec)


def sensed(batch: NavigationBatch) -> Sensed:
    """What the envs of `batch` sense, in the frame of their levels."""
    state, spec = batch.world.state, batch.spec
    return Sensed(
        state.position,
        state.yaw if spec.rays_in_head_frame else np.zeros_like(state.yaw),
        goal_places(batch.task, batch.bank),
        state.rays,
        state.ray_ends,
        state.ray_floors,
        state.movers,
    )
