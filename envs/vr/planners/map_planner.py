"""The classical planner with memory: it maps what it senses, plans on the map, and walks there.

It is the bound to hold a learned agent against that has the same senses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ambulo.configs.arrays import Floats, Ints
from ambulo.envs.vr.geometry.solid_ray_kernels import FLOOR_PARTS, NOTHING, WALL
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
_AT_AN_END = 1e-4
"""Rays that are shorter than their range by this end at something, [m]."""


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
        now = senses(batch)
        navigator.update(everyone, sensed(batch), spec.max_speed, spec.decision_dt)
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
            velocity = pace * np.column_stack([np.cos(error), np.sin(error)])
        error = at_rest_near_points(batch, now.goal, velocity, error)
        velocity = leap_to(velocity, distance, now, spec)
        return stick(velocity, TURN_GAIN * error, spec)


class DenseMapPlanner(MapPlanner):
    """The planner with a ray for every degree: what 16 rays leave unseen it sees.

    With the planner it brackets what sensing is worth.
    """

    name = "planner360"
    rays = 360
    """Rays of the world that it is played in."""


def sensed(batch: NavigationBatch) -> Sensed:
    """What the envs of `batch` sense, in the frame of their levels.

    Where their world tells no more than the lengths of rays, floors are taken to be level,
    and all that ends rays to stand still.
    """
    state, spec = batch.world.state, batch.spec
    kinds, floors = state.ray_ends, state.ray_floors
    if not spec.surroundings:
        kinds = np.where(state.rays < spec.ray_length - _AT_AN_END, WALL, NOTHING)
        floors = np.zeros((*state.rays.shape, FLOOR_PARTS))
    return Sensed(
        state.position,
        state.yaw if spec.rays_in_head_frame else np.zeros_like(state.yaw),
        goal_places(batch.task, batch.bank),
        state.rays,
        kinds,
        floors,
        state.movers,
    )
