"""The classical planner with memory: map what the rays hit, plan on the map, walk the plan.

It is the bound to hold a learned agent against that has the same sensors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ambulo.configs.arrays import Floats, Ints
from ambulo.envs.vr.planners.senses import (
    TURN_GAIN,
    at_rest_near_points,
    leap_to,
    response_time,
    senses,
    stick,
    wrapped,
)
from ambulo.envs.vr.task.grid_planner import GridPlanner, PlanSettings
from ambulo.envs.vr.task.observation import rotated

if TYPE_CHECKING:
    from ambulo.envs.vr.task.batch import NavigationBatch


class Mapper:
    """Maps obstacles and edges, plans as if the rest were free, walks to the waypoint.

    It plans as the configuration says. As a baseline it has its own `walls` and `reach`, with
    which its ways were shortest on validation levels.
    """

    name = "mapper"
    walls = 2.0
    """Cost factor of the unknown near obstacles as a baseline, see `PlanSettings`."""
    reach = 10.0
    """Largest distance of the waypoint as a baseline, [m]."""

    def __init__(self, num_envs: int) -> None:
        """Nothing mapped."""
        self._num_envs = num_envs
        self._made: GridPlanner | None = None

    def reset(self, envs: Ints, seeds: Ints) -> None:
        """Forget the maps of `envs`."""
        if self._made is not None:
            self._made.reset(envs)

    def act(self, batch: NavigationBatch) -> Floats:
        """Straight to the waypoint, facing it, at full speed."""
        now, spec = senses(batch), batch.spec
        if self._made is None:
            plan = PlanSettings.of(batch.config.observations)
            self._made = GridPlanner(self._num_envs, plan)
        goal = now.position + _turned(now.goal, now.yaw)
        self._made.update(
            np.arange(len(goal)), now.position, goal, now.rays,
            now.yaw + now.ray_angles[:, 0], spec.ray_length,
        )  # fmt: skip
        late = response_time(batch)
        position = now.position + late * _turned(now.velocity, now.yaw)
        way = self._made.points[:, 0] - position
        error = np.arctan2(way[:, 1], way[:, 0]) - now.yaw - late * now.yaw_rate
        error = wrapped(error)
        velocity = spec.max_speed * np.column_stack([np.cos(error), np.sin(error)])
        error = at_rest_near_points(batch, now.goal, velocity, error)
        velocity = leap_to(velocity, np.hypot(way[:, 0], way[:, 1]), now, spec)
        return stick(velocity, TURN_GAIN * error, spec)


class DenseMapper(Mapper):
    """The mapper with a ray for every degree: what 16 rays leave unseen it sees.

    It keeps more room from obstacles, too, so that it falls over no corner of a pit: with the
    mapper it brackets what sensing is worth.
    """

    name = "mapper360"
    rays = 360
    """Rays of the world that it is played in."""
    margin = 2.0
    """Cost factor of cells near obstacles, see `PlanSettings`."""


def _turned(vectors: Floats, yaw: Floats) -> Floats:
    """Vectors (N, 2) of the head frame in the frame of `yaw` (N,)."""
    return np.column_stack(rotated(vectors[:, 0], vectors[:, 1], yaw))
