"""A classical planner as the teacher of a navigation policy."""

from __future__ import annotations

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.envs.vr.planners.planners import make_planner
from ambulo.envs.vr.task.batch import NavigationBatch


class PlannerLabels:
    """Actions of a planner in states that a policy visits; see `ActionLabels`."""

    def __init__(self, planner: str, num_envs: int) -> None:
        """`planner` by name, for a batch of `num_envs` environments."""
        self._planner = make_planner(planner, num_envs)

    def actions(self, batch: NavigationBatch) -> Floats:
        """Its actions now, shape (N, 3); it forgets episodes that have ended."""
        new = np.flatnonzero(batch.episode.steps == 0)
        if len(new):
            self._planner.reset(new, new)
        return self._planner.act(batch)
