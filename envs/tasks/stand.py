"""Stand: keep standing, also when pushed."""

from __future__ import annotations

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.envs.locomotion.batch import LocomotionBatch
from ambulo.envs.locomotion.reward import Terms, standing_terms


class StandBatch(LocomotionBatch):
    """N bodies that stand facing +X; see `LocomotionBatch`."""

    def _terms(self, power: Floats, actions: Floats) -> Terms:
        weights = self.config.rewards
        height = float(self.gaits.qpos[0, 0, 2])
        return {
            **standing_terms(self.state, height, weights),
            "alive": np.full(self.num_envs, weights.alive),
            **self._cost_terms(power, actions),
        }


BATCH = StandBatch
