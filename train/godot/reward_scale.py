"""Rewards of every game at one size for the critics, whatever units a game counts in."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ambulo.policies.networks.kinds_policy import KindsPolicy
from ambulo.policies.ppo import FastPPO
from ambulo.train.shared.callbacks import BoundaryCallback


class RewardScale(BoundaryCallback):
    """Scales rewards so that the returns of each kind of agent have one root mean square.

    Returns of hundreds are beyond what critics reach in a short training, and the gradients
    of their errors leave nothing of the clipped gradient to the actors. The statistics are
    part of the policy (`KindsPolicy.observe_returns`), so that checkpoints and workers have
    them. A roll-out counts before the update that learns from it.
    """

    def __init__(self, size: float) -> None:
        """Scale returns to a root mean square of `size`."""
        super().__init__()
        self._size = size

    def at_boundary(self, before: int, now: int) -> None:
        """Do nothing: the scale follows each roll-out."""

    def _on_rollout_start(self) -> None:
        super()._on_rollout_start()
        self._learner.reward_scale = self._factors().cpu().numpy()

    def _on_rollout_end(self) -> None:
        learner, policy, before = self._learner, self._policy, self._factors()
        buffer, kinds = learner.rollout_buffer, self._kinds()
        returns = torch.as_tensor(buffer.returns).to(before.device) / before
        rows = torch.stack([kinds.expand_as(returns), returns], dim=-1).flatten(0, 1)
        if learner.exchange is not None:
            rows = learner.exchange.gathered(rows)
        policy.observe_returns(rows)
        change = self._factors() / before
        for array in (buffer.returns, buffer.values, buffer.advantages):
            shared = torch.as_tensor(array)
            shared *= change.to(shared.device)

    def _kinds(self) -> torch.Tensor:
        """Index of the kind of each agent, (N,)."""
        last = self._learner._last_obs
        assert isinstance(last, np.ndarray)
        return torch.tensor(last[:, 0], device=self._policy.device)

    def _factors(self) -> torch.Tensor:
        """Factor on the rewards of each agent, (N,)."""
        sizes = self._policy.return_sizes()[self._kinds().long()]
        factors: torch.Tensor = self._size / sizes
        return factors

    @property
    def _learner(self) -> FastPPO:
        learner = self.model
        assert isinstance(learner, FastPPO)
        return learner

    @property
    def _policy(self) -> KindsPolicy:
        policy: Any = self._learner.policy
        assert isinstance(policy, KindsPolicy)
        return policy
