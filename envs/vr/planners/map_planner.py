"""The classical planner with memory: it maps its readings, plans on the map, and walks there.

It is the fair bound for a learned agent, since it has the same senses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ambulo.configs.arrays import Floats, Ints
from ambulo.configs.errors import ConfigError
from ambulo.envs.vr.navigator.steering import WALK
from ambulo.envs.vr.planners.senses import (
    at_rest_near_points,
    leap_to,
    response_time,
    senses,
    wrapped,
)
from ambulo.envs.vr.task.observation import rotated
from ambulo.envs.vr.world.actions import TURN_GAIN, stick

if TYPE_CHECKING:
    from ambulo.envs.vr.task.batch import NavigationBatch

_HERE = 0.1
"""Distance below which points are not faced, [m]."""


class MapPlanner:
    """Walks the path of the batch's `Navigator`, facing along it."""

    name = "planner"

    def __init__(self, num_envs: int) -> None:
        """Do nothing: the batch holds the memory."""

    def reset(self, envs: Ints, seeds: Ints) -> None:
        """Do nothing: there is no state."""

    def act(self, batch: NavigationBatch) -> Floats:
        """Straight to the waypoint at full speed, unless something moves there.

        Raises:
            ConfigError: The memory of the batch has no navigator.
        """
        state, spec, navigator = batch.world.state, batch.spec, batch.memory.navigator
        if navigator is None:
            raise ConfigError(
                "the planner walks the paths of a navigator: needs observations.memory = "
                "navigator"
            )
        now = senses(batch)
        steering, late = navigator.steering, response_time(batch)
        velocity = np.column_stack(
            rotated(steering.velocity[:, 0], steering.velocity[:, 1], -state.yaw)
        )
        position = state.position[:, :2] + late * state.velocity[:, :2]
        way = steering.look - position
        distance = np.hypot(way[:, 0], way[:, 1])
        error = np.arctan2(way[:, 1], way[:, 0]) - state.yaw - late * state.yaw_rate
        error = np.where(distance < _HERE, 0.0, wrapped(error))
        if late > 0.0:
            pace = np.hypot(velocity[:, 0], velocity[:, 1])[:, None]
            ahead = pace * np.column_stack([np.cos(error), np.sin(error)])
            velocity = np.where((steering.state == WALK)[:, None], ahead, velocity)
        error = at_rest_near_points(batch, now.goal, velocity, error)
        velocity = leap_to(velocity, distance, now, spec)
        return stick(velocity, TURN_GAIN * error, spec, state.cooldown)


class DenseMapPlanner(MapPlanner):
    """The planner with 360 rays, which detect what 16 rays miss.

    Compared with the planner, it shows the value of sensing.
    """

    name = "planner360"
    rays = 360
    """Rays of its world."""
