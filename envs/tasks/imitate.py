"""Imitate: follow a reference gait."""

from __future__ import annotations

from ambulo.configs.arrays import Floats
from ambulo.envs.locomotion.batch import LocomotionBatch
from ambulo.envs.locomotion.reward import Terms, imitation_terms


class ImitateBatch(LocomotionBatch):
    """N bodies that follow one gait along +X; see `LocomotionBatch`."""

    def _terms(self, power: Floats, actions: Floats) -> Terms:
        effectors, com = self._followed_now()
        weights = self.config.rewards
        costs = self._cost_terms(power, actions)
        del costs["energy"]
        return {**imitation_terms(self.state, effectors, com, weights), **costs}


BATCH = ImitateBatch
