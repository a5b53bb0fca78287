"""Get up: rise from wherever a fall ended, and stand."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ambulo.configs.arrays import Bools, Floats, Ints
from ambulo.configs.locomotion import LocomotionConfig
from ambulo.envs.characters.character import Character
from ambulo.envs.locomotion.batch import LocomotionBatch
from ambulo.envs.locomotion.fallen_states import fallen_states
from ambulo.envs.locomotion.reward import Terms, rising_terms
from ambulo.envs.reference.reference import Reference
from ambulo.motion.rotations import yaw_of

FALLS, SEED = 256, 1
"""Falls whose ends are starts, and their seed."""
STANDING = 0.15
"""Fraction of episodes that begin in the standing pose: it must be kept, too."""
UNASSISTED = 0.5
"""Share of the training from which nothing lifts the body."""
HEIGHT, TILT = 0.15, 0.5
"""A root at most so much lower than in the standing pose, [m], and turned, [rad], stands."""


class GetUpBatch(LocomotionBatch):
    """N bodies that rise from the ground; see `LocomotionBatch`.

    The moving frame stays under the root and turns with it about the vertical. Nothing ends
    an episode but its time limit; it is a success if the body stands then.
    """

    rewards = ("rising", "costs")

    def __init__(
        self,
        config: LocomotionConfig,
        reference: Reference,
        character: Character,
        **kwargs: Any,
    ) -> None:
        """As `LocomotionBatch`."""
        super().__init__(config, reference, character, **kwargs)
        timestep = float(character.model.opt.timestep)
        self._fallen = fallen_states(character.name, timestep, FALLS, SEED)
        self._assist = 0.0  # only a training lifts

    def set_progress(self, share: float) -> None:
        """Lift less and less; see `LocomotionBatch.set_progress`."""
        left = max(0.0, 1.0 - share / UNASSISTED)
        self._assist = self.config.environment.assist * left

    @property
    def standing(self) -> Bools:
        """Which bodies stand. Shape (N,)."""
        low = self.state.height < self._stands_at - HEIGHT
        return np.asarray(~low & (self.state.up[:, 2] > np.cos(TILT)))

    def _start_states(
        self, envs: Ints, turns: Floats, rates: Floats
    ) -> tuple[Floats, Floats]:
        qpos, qvel = super()._start_states(envs, turns, rates)
        lying, still = self._fallen
        for row, body in enumerate(envs):
            chance, which = self.rngs[body].random(2)
            if chance >= STANDING:
                fall = int(which * len(lying))
                qpos[row], qvel[row] = lying[fall], still[fall]
        self.anchor[envs] = 0.0
        return qpos, qvel

    def _advance(self) -> None:
        self._follow_root()

    def _follow_root(self) -> None:
        """Put the moving frames under the roots, and lift these."""
        qpos = self.simulation.qpos
        self.anchor[:, :2], self.anchor[:, 2] = qpos[:, :2], yaw_of(qpos[:, 3:7])
        low = np.clip(1.0 - qpos[:, 2] / self._stands_at, 0.0, 1.0)
        lifted = self._assist * self.weight * np.minimum(1.0, 2.0 * low)
        lifted[self.simulation.fault > 0] = 0.0
        self.simulation.push[:, self._pelvis, 2] = lifted

    def _fell(self) -> Bools:
        return np.zeros(self.num_envs, np.bool_)

    def _succeeded(self, timeout: Bools) -> Bools:
        return np.asarray(timeout & self.standing)

    def _reward_groups(
        self, power: Floats, actions: Floats
    ) -> dict[str, Callable[[], Terms]]:
        state, weights = self.state, self.config.rewards
        rising = partial(rising_terms, state, self._stands_at, weights)
        return super()._reward_groups(power, actions) | {"rising": rising}


BATCH = GetUpBatch
