"""Running statistics of observations in a policy: how they begin, and how they go on."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ambulo.configs.batch import TaskBatch
from ambulo.policies.checked_steps import checked_reset, checked_steps
from ambulo.policies.ppo import FastPPO
from ambulo.train.shared.callbacks import BoundaryCallback


class ObservationStatistics(BoundaryCallback):
    """Adds the observations of each roll-out to the running statistics of the policy.

    After the update that learnt from them: both see the same numbers.
    """

    def __init__(self) -> None:
        """Begin without a roll-out."""
        super().__init__()
        self._seen: torch.Tensor | None = None

    def _on_rollout_end(self) -> None:
        learner = self.model
        assert isinstance(learner, FastPPO)
        # The next roll-out empties the buffer before its boundary.
        seen = torch.as_tensor(learner.rollout_buffer.observations)
        self._seen = seen.clone().flatten(0, 1)

    def after_update(self) -> None:
        """Add the last roll-out of all learners, unless that is done."""
        learner, seen = self.model, self._seen
        assert isinstance(learner, FastPPO)
        if seen is None:
            return
        if learner.exchange is not None:
            seen = learner.exchange.gathered(seen)
        policy: Any = learner.policy
        policy.observe(seen.to(policy.device))
        self._seen = None

    def at_boundary(self, before: int, now: int) -> None:
        """Add the last roll-out."""
        self.after_update()


def warm_up(policy: Any, batch: TaskBatch, steps: int) -> None:
    """Step `batch` with a new `policy`, for its running statistics alone."""
    checked_reset(batch, np.arange(batch.num_envs))
    seen: list[torch.Tensor] = []

    def act() -> NDArray[np.generic]:
        seen.append(torch.as_tensor(batch.obs.copy()))
        with torch.inference_mode():
            actions, _, _ = policy(seen[-1].to(policy.device))
        return np.asarray(actions.cpu().numpy())

    for _ in checked_steps(batch, act, steps):
        pass
    if seen:
        policy.observe(torch.cat(seen).to(policy.device))
