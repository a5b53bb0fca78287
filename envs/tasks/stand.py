"""Stand: keep standing, also when pushed."""

from __future__ import annotations

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.envs.tasks.locomotion.batch import LocomotionBatch
from ambulo.envs.tasks.locomotion.reward import Terms, cost_terms, standing_terms


class StandBatch(LocomotionBatch):
    """N bodies that stand facing +X; see `LocomotionBatch`."""

    def _terms(self, power: Floats, actions: Floats) -> Terms:
        weights = self.config.rewards
        speed = np.hypot(self.state.heading[:, 0], self.state.heading[:, 1])
        height = float(self.gaits.qpos[0, 0, 2])
        return {
            **standing_terms(self.state, height, weights),
            "alive": np.full(self.num_envs, weights.alive),
            **cost_terms(power, self.weight, speed, actions, self.action, weights),
        }


BATCH = StandBatch
