"""Classical controllers as baselines of agents, with the same actions.

All but `oracle` know only their readings; `oracle` knows the level and is the upper bound. None
of them learns, and no agent uses them.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from ambulo.configs.arrays import Floats, Ints
from ambulo.configs.errors import ConfigError, nearest
from ambulo.envs.vr.contract import BODY_RADIUS
from ambulo.envs.vr.planners.dwa import DynamicWindow
from ambulo.envs.vr.planners.map_planner import DenseMapPlanner, MapPlanner
from ambulo.envs.vr.planners.oracle import Oracle
from ambulo.envs.vr.planners.senses import senses, uniform
from ambulo.envs.vr.task.batch import NavigationBatch
from ambulo.envs.vr.world.actions import TURN_GAIN, stick

_WIDE = 0.5 * np.pi
"""Heading error at which `StraightLine` stops to turn on the spot, [rad]."""


class Planner(Protocol):
    """Controls all envs of a batch; actions of one env never depend on others."""

    name: str
    """Name in `--baselines`."""

    def reset(self, envs: Ints, seeds: Ints) -> None:
        """Begin new episodes of `envs` (k,); `seeds` (k,) seed all randomness."""
        ...

    def act(self, batch: NavigationBatch) -> Floats:
        """Actions of all envs, shape (N, 3), in [-1, 1]."""
        ...


class StandStill:
    """Never moves."""

    name = "stand"

    def __init__(self, num_envs: int) -> None:
        """Do nothing: there is no state."""

    def reset(self, envs: Ints, seeds: Ints) -> None:
        """Do nothing: there is no state."""

    def act(self, batch: NavigationBatch) -> Floats:
        """Return sticks at rest."""
        return np.zeros((batch.num_envs, 3))


class RandomWalk:
    """Uniform random stick positions, one every `HOLD` steps, interpolated in between."""

    name = "random"
    HOLD = 5

    def __init__(self, num_envs: int) -> None:
        """Create it before any reset."""
        self._seed = np.zeros(num_envs, np.int64)
        self._step = np.zeros(num_envs, np.int64)

    def reset(self, envs: Ints, seeds: Ints) -> None:
        """Restart the random streams of `envs`."""
        self._seed[envs] = seeds
        self._step[envs] = 0

    def act(self, batch: NavigationBatch) -> Floats:
        """Return the next point of every stream."""
        knot, blend = np.divmod(self._step, self.HOLD)
        self._step += 1
        weight = (blend / self.HOLD)[:, None]
        here, there = (uniform(self._seed, knot + k, 3) for k in (0, 1))
        return (1.0 - weight) * here + weight * there


class StraightLine:
    """Turns to the goal and walks, without sensing."""

    name = "straight"

    def __init__(self, num_envs: int) -> None:
        """Do nothing: there is no state."""

    def reset(self, envs: Ints, seeds: Ints) -> None:
        """Do nothing: there is no state."""

    def act(self, batch: NavigationBatch) -> Floats:
        """Walk forward, slower the more the goal is to the side."""
        goal = senses(batch).goal
        error = np.arctan2(goal[:, 1], goal[:, 0])
        speed = batch.spec.max_speed * np.clip(1.0 - np.abs(error) / _WIDE, 0.0, 1.0)
        velocity = np.column_stack([speed, np.zeros_like(speed)])
        return stick(
            velocity, TURN_GAIN * error, batch.spec, batch.world.state.cooldown
        )


class PotentialField:
    """Attraction to the goal plus repulsion from every short ray (Khatib 1986)."""

    name = "potential"
    REACH = 1.5
    """Free distance beyond the body at which an obstacle begins to repel, [m]."""
    STRENGTH = 0.35
    """Repulsion of one ray against the attraction of 1."""

    def __init__(self, num_envs: int) -> None:
        """Do nothing: there is no state."""

    def reset(self, envs: Ints, seeds: Ints) -> None:
        """Do nothing: there is no state."""

    def act(self, batch: NavigationBatch) -> Floats:
        """Move along the force, facing its direction."""
        now, spec = senses(batch), batch.spec
        length = np.maximum(np.hypot(now.goal[:, 0], now.goal[:, 1]), 1e-6)
        pull = now.goal / length[:, None]
        gap = np.maximum(now.rays - BODY_RADIUS, 0.05)
        push = np.maximum(1.0 / gap - 1.0 / self.REACH, 0.0)
        push *= self.STRENGTH * 16.0 / spec.num_rays
        away = np.stack([np.cos(now.ray_angles), np.sin(now.ray_angles)], axis=2)
        force = pull - (push[:, :, None] * away).sum(axis=1)
        size = np.maximum(np.hypot(force[:, 0], force[:, 1]), 1e-6)
        velocity = force / size[:, None] * np.minimum(size, 1.0)[:, None]
        error = np.arctan2(force[:, 1], force[:, 0])
        velocity *= spec.max_speed
        return stick(velocity, TURN_GAIN * error, spec, batch.world.state.cooldown)


PLANNERS: dict[str, type[Planner]] = {
    planner.name: planner
    for planner in (
        StandStill,
        RandomWalk,
        StraightLine,
        PotentialField,
        DynamicWindow,
        MapPlanner,
        DenseMapPlanner,
        Oracle,
    )
}
"""Every baseline by name, from weakest to strongest."""


def make_planner(name: str, num_envs: int) -> Planner:
    """The planner `name` for `num_envs` envs.

    Raises:
        ConfigError: There is no such planner.
    """
    if name not in PLANNERS:
        raise ConfigError(f"unknown baseline {name!r}{nearest(name, PLANNERS)}")
    return PLANNERS[name](num_envs)  # type: ignore[call-arg]
