"""Locomote: walk at a commanded speed and turn at a commanded rate."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.errors import ConfigError
from ambulo.envs.locomotion.batch import LocomotionBatch
from ambulo.envs.locomotion.gaits import Blend
from ambulo.envs.locomotion.reward import (
    Terms,
    command_terms,
    cost_terms,
    imitation_terms,
)
from ambulo.envs.locomotion.terrain import Terrain, terrain_model
from ambulo.motion.roles import SIDES, roles_of

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LEASH = 0.5
"""How far the moving frame runs ahead of a body that does not follow, [m]."""
SETTLE = 1.5
"""Time in which commands change, [s]: speeds and turns move towards the wanted ones."""


class LocomoteBatch(LocomotionBatch):
    """N bodies that follow commands; see `LocomotionBatch`.

    The moving frame goes as commanded. With the base `gait`, the reference's gaits at the
    commanded speed are followed in it; with the base `pose`, joint targets are the standing
    pose's, and the frame keeps the commanded heading under the body.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """As `LocomotionBatch`."""
        config, character = args[0], args[2]
        env = config.environment
        count = kwargs["num_players"]
        self.goal: Floats = np.zeros((count, 2))
        """Commanded speed, [m/s], and turning rate, [rad/s], that are settled into."""
        self.next_command: Floats = np.full(count, np.inf)
        """Time of the next command, [s]. Shape (N,)."""
        self.reference_weight = config.rewards.reference_weight
        """Factor on the imitation terms."""
        self._terrain: Terrain | None = None
        self.uses_law = env.base == "gait"
        if env.terrain != "flat":
            self._terrain = Terrain(env.terrain, env.terrain_height)
            kwargs["model"] = terrain_model(character, self._terrain)
        super().__init__(*args, **kwargs)
        if self.uses_law:
            self._hips, self._mid_stance = self._turning_hips()

    _kept = (*LocomotionBatch._kept, "goal", "next_command")

    def set_progress(self, share: float) -> None:
        """Lower the weight of the imitation terms, as `training.reference_weights` says."""
        weights = self.config.training.reference_weights
        if weights:
            row = min(int(share * len(weights)), len(weights) - 1)
            self.reference_weight = weights[row]

    def _blend(self) -> Blend:
        if not self.uses_law:
            return self.gaits.natural(self.num_players)
        return self.gaits.blend(self.command[:, 0])

    def _reference(self, phase: Floats) -> tuple[Floats, Floats, Floats]:
        qpos, qvel, torque = super()._reference(phase)
        turning = self.command[:, 1]
        if not self.uses_law or not turning.any():
            return qpos, qvel, torque
        # A pelvis that turns over a standing foot turns in the hip: the thigh swings
        # against the turn in stance, and ahead of it before the next step.
        angle = 2.0 * np.pi * (phase[:, None] - self._mid_stance)
        turn = -(turning * self.blend.period / (2.0 * np.pi))[:, None] * np.sin(angle)
        step = np.zeros_like(qvel)
        step[:, self._hips] = turn
        qpos = self.simulation.tangent.moved(qpos, step)
        qvel[:, self._hips] -= turning[:, None] * np.cos(angle)
        return qpos, qvel, torque

    def _turning_hips(self) -> tuple[Ints, Floats]:
        """The dofs that turn the thighs about their length, and phases of mid-stance.

        Left, then right. A foot is farthest ahead of the root a quarter of a cycle before
        it is under it in stance.
        """
        if "left_thigh" not in roles_of(self.character.skeleton):
            raise ConfigError(f"{self.character.name} cannot be told to turn: imitate")
        roles, names = roles_of(self.character.skeleton), self.character.skeleton.joints
        dofs = [self.character.dofs(names[roles[f"{s}_thigh"]])[2] for s in SIDES]
        ahead = self._followed.effectors[..., [0, 3]].mean(axis=0)
        waves = np.exp(-2j * np.pi * np.arange(len(ahead)) / len(ahead)) @ ahead
        mid = 0.25 - np.angle(waves) / (2.0 * np.pi)
        return np.array(dofs), np.asarray(mid % 1.0)

    def _begin(self, players: Ints) -> None:
        for player in players:
            self._draw(int(player), 0.0)
        self.command[players] = self.goal[players]
        self.command[players, 1] = 0.0
        if self._terrain is not None:
            for player in players:
                self.anchor[player, :3] = self._terrain.place(self.rngs[player])
            self.anchor[players, 3] = self._terrain.height(self.anchor[players, :2])

    def _advance(self) -> None:
        env, dt = self.config.environment, self.simulation.dt
        time = self.simulation.time
        for player in np.flatnonzero(time >= self.next_command):
            self._draw(int(player), float(time[player]))
        span = np.array(
            [env.speed[1] - env.speed[0], np.deg2rad(env.turn[1] - env.turn[0])]
        )
        step = np.maximum(span, 1e-3) * dt / SETTLE
        self._walk_anchor(
            self.blend.speed if self.uses_law else self.command[:, 0],
            self.command[:, 1],
        )
        self.command += np.clip(self.goal - self.command, -step, step)
        self.blend = self._blend()
        root = self.simulation.qpos
        ahead = self.anchor[:, :2] - root[:, :2]
        leash = LEASH if self.uses_law else 0.0
        length = np.maximum(np.linalg.norm(ahead, axis=1, keepdims=True), 1e-9)
        self.anchor[:, :2] = root[:, :2] + ahead * np.minimum(1.0, leash / length)
        if self._terrain is not None:
            under = self._terrain.height(root[:, :2])
            self.anchor[:, 3] += 0.2 * (under - self.anchor[:, 3])

    def _ground(self, places: Floats) -> Floats:
        if self._terrain is None:
            return super()._ground(places)
        return self._terrain.height(places)

    def _terms(self, power: Floats, actions: Floats) -> Terms:
        weights = self.config.rewards
        speed = np.hypot(self.state.heading[:, 0], self.state.heading[:, 1])
        terms = {
            **command_terms(
                self.state, self.command[:, 0], self.command[:, 1], weights
            ),
            "alive": np.full(self.num_players, weights.alive),
            **cost_terms(power, self.weight, speed, actions, self.action, weights),
        }
        if self.uses_law:
            effectors, com = self._followed_now()
            likeness = imitation_terms(self.state, effectors, com, weights)
            terms |= {n: self.reference_weight * term for n, term in likeness.items()}
        return terms

    def _draw(self, player: int, now: float) -> None:
        """Give a body a new command."""
        env = self.config.environment
        wait, pace, straight, way = self.rngs[player].random(4)
        low, high = env.command_interval
        self.next_command[player] = now + low + wait * (high - low)
        low, high = env.speed
        self.goal[player, 0] = low + pace * (high - low)
        low, high = np.deg2rad(env.turn[0]), np.deg2rad(env.turn[1])
        turning = 0.0 if straight < env.straight else low + way * (high - low)
        self.goal[player, 1] = turning
