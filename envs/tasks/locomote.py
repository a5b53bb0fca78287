"""Locomote: walk at a commanded speed and turn at a commanded rate."""

from __future__ import annotations

from typing import Any

import numpy as np

from ambulo.configs.arrays import Floats, Ints
from ambulo.configs.errors import ConfigError
from ambulo.envs.locomotion.commanded import CommandedBatch
from ambulo.envs.reference.foot_steering import FootSteering
from ambulo.envs.reference.gaits import Blend
from ambulo.envs.simulation.frames import hold_near, walk_frames
from ambulo.envs.tasks.walk_commands.commands import Settling, settle

LEASH = 0.2
"""Largest distance of the reference frame ahead of a body that lags behind, [m]."""
SETTLING = Settling((0.4, 0.5, 0.0), (0.4, 0.5, 0.0), 0.15)
"""Reaches 30 deg/s of turning rate in about 1 s, and 1 m/s of speed in 2.5 s."""


class LocomoteBatch(CommandedBatch):
    """N bodies that follow commands; see `CommandedBatch`.

    The reference frame moves as commanded. With the base `gait`, the reference's gaits at the
    commanded speed are followed in it. With the base `pose`, the joint targets are those of the
    standing pose, and the frame stays under the body with the commanded heading.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Create the batch; see `LocomotionBatch`."""
        self._follows_gait = args[0].environment.traits.controller
        super().__init__(*args, **kwargs)
        if self._follows_gait:
            gaits = self.gaits
            self._steering = FootSteering(self.character, gaits, len(gaits.speed))

    def set_command(
        self, envs: Ints, speed: Floats, turning: Floats, side: Floats | float = 0.0
    ) -> None:
        """As `CommandedBatch`; sideways commands are not supported."""
        if np.count_nonzero(side):
            raise ConfigError("the task locomote takes no commands to the side")
        self.goal[envs, 0], self.goal[envs, 1] = speed, turning
        self.next_command[envs] = np.inf

    def _blend(self) -> Blend:
        if not self._follows_gait:
            return self.gaits.natural(self.num_envs)
        return self.gaits.blend(self.command[:, 0])

    def _followed_command(self) -> Floats:
        return np.insert(self.command, 2, 0.0, axis=1)

    def _begin(self, envs: Ints) -> None:
        for env in envs:
            self._draw(int(env), 0.0)
        self.command[envs] = self.goal[envs]
        self.command[envs, 1] = 0.0
        self.change[envs] = 0.0

    def _advance(self) -> None:
        dt = self.simulation.dt
        time = self.simulation.time
        for env in np.flatnonzero(time >= self.next_command):
            self._draw(int(env), float(time[env]))
        speed = self.blend.speed if self._follows_gait else self.command[:, 0]
        walk_frames(self.reference_frame, speed, self.command[:, 1], dt)
        settle(self.goal, dt, self.command, self.change, SETTLING)
        self.blend = self._blend()
        leash = LEASH if self._follows_gait else 0.0
        hold_near(self.reference_frame, self.simulation.qpos[:, :2], leash)

    def _draw(self, index: int, now: float) -> None:
        """Give a body a new command."""
        env = self.config.environment
        wait, pace, straight, way = self.rngs[index].random(4)
        low, high = env.command_interval
        self.next_command[index] = now + low + wait * (high - low)
        low, high = env.speed
        self.goal[index, 0] = low + pace * (high - low)
        low, high = np.deg2rad(env.turn[0]), np.deg2rad(env.turn[1])
        turning = 0.0 if straight < env.straight else low + way * (high - low)
        self.goal[index, 1] = turning


BATCH = LocomoteBatch
