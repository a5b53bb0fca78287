"""Imitate: follow a reference gait."""

from __future__ import annotations

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.envs.tasks.locomotion.batch import LocomotionBatch
from ambulo.envs.tasks.locomotion.reward import Terms, cost_terms, imitation_terms


class ImitateBatch(LocomotionBatch):
    """N bodies that follow one gait along +X; see `LocomotionBatch`."""

    def _terms(self, power: Floats, actions: Floats) -> Terms:
        effectors, com = self._followed_now()
        weights = self.config.rewards
        speed = np.hypot(self.state.heading[:, 0], self.state.heading[:, 1])
        costs = cost_terms(power, self.weight, speed, actions, self.action, weights)
        del costs["energy"]
        return {**imitation_terms(self.state, effectors, com, weights), **costs}


BATCH = ImitateBatch
