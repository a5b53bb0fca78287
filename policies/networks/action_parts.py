"""One distribution over actions of several parts: numbers, choices, or both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from stable_baselines3.common.distributions import DiagGaussianDistribution
from torch import Tensor, nn
from torch.distributions import Categorical, Normal

from ambulo.configs.agent_spec import ActionSpec


class PartsDistribution(DiagGaussianDistribution):
    """Independent parts: a diagonal Gaussian for numbers, a categorical for each choice.

    Actions are rows (B, width): the numbers of a part, or the index of its choice. A network
    has an output for each number (its mean) and for each value of a choice (its score).
    """

    def __init__(self, parts: Sequence[ActionSpec]) -> None:
        """Create the distribution of actions with these parts, in order."""
        super().__init__(sum(part.width for part in parts))
        self.outputs = sum(part.outputs for part in parts)
        """Outputs of a network for one action."""
        means: list[int] = []
        numbers: list[int] = []
        self._scores: list[slice] = []
        self._chosen: list[int] = []
        at = column = 0
        for part in parts:
            if part.choices is None:
                means += range(at, at + part.outputs)
                numbers += range(column, column + part.width)
            else:
                self._scores.append(slice(at, at + part.outputs))
                self._chosen.append(column)
            at, column = at + part.outputs, column + part.width
        self._count = len(means)
        self._means, self._numbers = _columns(means), _columns(numbers)

    def proba_distribution_net(
        self, latent_dim: int, log_std_init: float = 0.0
    ) -> tuple[nn.Module, nn.Parameter]:
        """Return the last layer, and the log standard deviation of each number."""
        log_std = torch.full((self._count,), float(log_std_init))
        return nn.Linear(latent_dim, self.outputs), nn.Parameter(log_std)

    def proba_distribution(
        self, mean_actions: Tensor, log_std: Tensor
    ) -> PartsDistribution:
        """Take the outputs (B, outputs) of a network, and `log_std`."""
        self._batch = mean_actions.shape[0]
        self._normal: Any = None
        check = (
            torch.is_grad_enabled()
        )  # weights that act are finite: updates see to it
        if self._count:
            means = mean_actions[:, self._means]
            std = log_std.exp().expand_as(means)
            self._normal = Normal(means, std, validate_args=check)
        self._choices: list[Any] = [
            Categorical(logits=mean_actions[:, s], validate_args=check)
            for s in self._scores
        ]
        return self

    def log_prob(self, actions: Tensor) -> Tensor:
        """Log-probability (B,) of `actions` (B, width)."""
        total = actions.new_zeros(self._batch)
        if self._normal is not None:
            total = total + self._normal.log_prob(actions[:, self._numbers]).sum(dim=1)
        for choice, column in zip(self._choices, self._chosen, strict=True):
            total = total + choice.log_prob(actions[:, column])
        return total

    def entropy(self) -> Tensor:
        """Entropy (B,): the sum over the parts."""
        parts = [choice.entropy() for choice in self._choices]
        if self._normal is not None:
            parts.append(self._normal.entropy().sum(dim=1))
        return torch.stack(parts).sum(dim=0)

    def sample(self) -> Tensor:
        """Draw actions (B, width)."""
        numbers = None if self._normal is None else self._normal.rsample()
        return self._row(numbers, [choice.sample() for choice in self._choices])

    def mode(self) -> Tensor:
        """Return means and the likeliest choices, (B, width)."""
        numbers = None if self._normal is None else self._normal.mean
        chosen = [choice.logits.argmax(dim=1) for choice in self._choices]
        return self._row(numbers, chosen)

    def _row(self, numbers: Tensor | None, chosen: Sequence[Any]) -> Tensor:
        """Put the parts where they belong."""
        device = chosen[0].device if numbers is None else numbers.device
        row = torch.zeros(self._batch, self.action_dim, device=device)
        if numbers is not None:
            row[:, self._numbers] = numbers
        for column, index in zip(self._chosen, chosen, strict=True):
            row[:, column] = index.to(row.dtype)
        return row


def _columns(indices: list[int]) -> slice | list[int]:
    """Return `indices` as a slice if they are side by side: tensors take it faster."""
    if not indices or indices[-1] - indices[0] >= len(indices):
        return indices
    return slice(indices[0], indices[-1] + 1)
