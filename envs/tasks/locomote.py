"""Locomote: walk at a commanded speed and turn at a commanded rate."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from ambulo.configs.arrays import Floats, Ints
from ambulo.configs.errors import ConfigError
from ambulo.envs.locomotion.body import walk_frames
from ambulo.envs.locomotion.commanded import CommandedBatch
from ambulo.envs.locomotion.reward import (
    Terms,
    command_terms,
    imitation_terms,
)
from ambulo.envs.reference.gaits import Blend
from ambulo.envs.reference.steering import Steering, leaning

LEASH = 0.2
"""How far the moving frame runs ahead of a body that does not follow, [m]."""
CHANGE = (0.4, 0.5)
"""Fastest change of the speed, [m/s^2], and of the turning rate, [rad/s^2], towards what is
wanted: 30 deg/s of turning come in about a second, 1 m/s of speed in two and a half."""
EASE = 0.15
"""Time in which such a change begins and ends, [s]."""


class LocomoteBatch(CommandedBatch):
    """N bodies that follow commands; see `CommandedBatch`.

    The moving frame goes as commanded. With the base `gait`, the reference's gaits at the
    commanded speed are followed in it; with the base `pose`, joint targets are the standing
    pose's, and the frame keeps the commanded heading under the body.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """As `LocomotionBatch`."""
        self._follows_gait = args[0].environment.has_controller
        super().__init__(*args, **kwargs)
        if self._follows_gait:
            # The feet are the first two end effectors.
            ahead = self._followed.effectors[..., [0, 3]].mean(axis=0)
            self._steering = Steering(self.character, ahead)

    def order(
        self, envs: Ints, speed: Floats, turning: Floats, side: Floats | float = 0.0
    ) -> None:
        """As `CommandedBatch`; there are no commands to the side."""
        if np.count_nonzero(side):
            raise ConfigError("the task locomote takes no commands to the side")
        self.goal[envs, 0], self.goal[envs, 1] = speed, turning
        self.next_command[envs] = np.inf

    def _blend(self) -> Blend:
        if not self._follows_gait:
            return self.gaits.natural(self.num_envs)
        return self.gaits.blend(self.command[:, 0])

    def _reference(self, phase: Floats) -> tuple[Floats, Floats, Floats]:
        if not self._follows_gait:
            return super()._reference(phase)
        qpos, qvel, torque = self.gaits.at(phase, self.blend)
        turning = self.command[:, 1]
        if not np.count_nonzero(turning):
            return qpos, qvel, torque
        lean = leaning(self.command[:, 0], turning)
        bent = self._steering.bend(
            (qpos, qvel), phase, self.blend.period, turning, lean
        )
        return *bent, torque

    def _begin(self, envs: Ints) -> None:
        for env in envs:
            self._draw(int(env), 0.0)
        self.command[envs] = self.goal[envs]
        self.command[envs, 1] = 0.0
        self.change[envs] = 0.0

    @property
    def _fastest(self) -> float:
        return self.config.environment.speed[1]

    def _advance(self) -> None:
        dt = self.simulation.dt
        time = self.simulation.time
        for env in np.flatnonzero(time >= self.next_command):
            self._draw(int(env), float(time[env]))
        speed = self.blend.speed if self._follows_gait else self.command[:, 0]
        walk_frames(self.anchor, speed, self.command[:, 1], dt)
        settle(self.goal, dt, self.command, self.change)
        self.blend = self._blend()
        leash = LEASH if self._follows_gait else 0.0
        _wait(self.simulation.qpos[:, :2].copy(), leash, self.anchor)

    def _terms(self, power: Floats, actions: Floats) -> Terms:
        weights = self.config.rewards
        terms = {
            **command_terms(
                self.state, self.command[:, 0], self.command[:, 1], weights
            ),
            "alive": np.full(self.num_envs, weights.alive),
            **self._cost_terms(power, actions),
        }
        if self._follows_gait:
            effectors, com = self._followed_now()
            self._steering.shift_seen(
                effectors, com, leaning(self.command[:, 0], self.command[:, 1])
            )
            likeness = imitation_terms(self.state, effectors, com, weights)
            terms |= {n: self.reference_weight * term for n, term in likeness.items()}
        return terms

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


@njit(cache=True)
def settle(goal: Floats, dt: float, command: Floats, change: Floats) -> None:
    """Let commands (N, 2) come nearer to the goal in `dt`, [s], without a jerk."""
    ease = min(1.0, dt / EASE)
    for b in range(len(goal)):
        for i in range(2):
            # Four times as long as the change eases: then it does not overshoot.
            pull = (goal[b, i] - command[b, i]) / (4.0 * EASE)
            pull = min(max(pull, -CHANGE[i]), CHANGE[i])
            change[b, i] += (pull - change[b, i]) * ease
            command[b, i] += change[b, i] * dt


@njit(cache=True)
def _wait(root: Floats, leash: float, anchor: Floats) -> None:
    """Let the moving frames (N, 4) be at most `leash`, [m], from the roots (N, 2)."""
    for b in range(len(anchor)):
        x, y = anchor[b, 0] - root[b, 0], anchor[b, 1] - root[b, 1]
        share = min(1.0, leash / max(math.sqrt(x * x + y * y), 1e-9))
        anchor[b, 0], anchor[b, 1] = root[b, 0] + x * share, root[b, 1] + y * share


BATCH = LocomoteBatch
