"""Imitation of a teacher by a recurrent policy: it acts with a state and learns sequences.

Before each pass over the data, states are computed anew with the current weights, from the
first step on. Gradients go back to the beginning of a sequence.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor, nn

from ambulo.configs.batch import TaskBatch
from ambulo.configs.imitation import ImitationConfig
from ambulo.policies.networks.recurrent import RecurrentPolicy
from ambulo.policies.sequence_record import cut
from ambulo.train.shared.dagger import DaggerDataset, Fit, fit_epochs


class RecurrentStudent:
    """A recurrent policy in the environments of a batch; it sees every step."""

    def __init__(self, policy: RecurrentPolicy, batch: TaskBatch) -> None:
        """`policy` acts in `batch`, whose episodes are known by their steps."""
        self.policy, self._batch = policy, batch
        self._state = torch.zeros(batch.num_envs, policy.units, device=policy.device)

    @property
    def device(self) -> torch.device:
        """Where it is."""
        return self.policy.device

    def parameters(self) -> Iterator[nn.Parameter]:
        """Yield its parameters."""
        return self.policy.parameters()

    def set_training_mode(self, mode: bool) -> None:
        """Begin or end its updates."""
        self.policy.set_training_mode(mode)

    def means(self, obs: Tensor) -> Tensor:
        """Mean actions (N, A) of the next step of all environments, unclipped."""
        begun = torch.as_tensor(self._batch.episode.steps == 0, device=self.device)
        state = self._state * ~begun[:, None]
        found, self._state = self.policy.mean_step(obs, state)
        return found

    def observe(self, obs: Tensor) -> None:
        """Take in nothing: the scales are fixed."""


def sequence_fit(policy: RecurrentPolicy, length: int) -> Fit:
    """`fit_sequences` of `policy` with sequences of `length` steps, for `teach`."""

    def fit(
        optimizer: torch.optim.Optimizer,
        dataset: DaggerDataset,
        config: ImitationConfig,
        epochs: int,
        cool: bool,
    ) -> float:
        return fit_sequences(
            policy, optimizer, dataset, config, epochs, length=length, cool=cool
        )

    return fit


def fit_sequences(
    policy: RecurrentPolicy,
    optimizer: torch.optim.Optimizer,
    dataset: DaggerDataset,
    config: ImitationConfig,
    epochs: int,
    *,
    length: int,
    cool: bool,
) -> float:
    """Fit all data for some epochs; return the error of the last one.

    Args:
        policy: learns.
        optimizer: of its parameters.
        dataset: steps of all environments, in order.
        config: how it is taught; a minibatch has `batch_size` steps.
        epochs: passes.
        length: steps of a sequence; what is left over at the end is not used yet.
        cool: let the step size fall to a tenth.
    """
    policy.set_training_mode(True)
    length = min(length, len(dataset.obs))
    steps = len(dataset.obs) // length * length
    device = policy.device
    parts = (dataset.obs, dataset.actions, dataset.starts)
    obs, actions, starts = (
        torch.as_tensor(np.stack(part[:steps])).to(device) for part in parts
    )
    data = [cut(part, length) for part in (obs, actions, starts)]
    size = max(1, config.batch_size // length)

    def batches() -> Iterator[tuple[Tensor, Tensor]]:
        states = _states(policy, obs, starts, length)
        order = torch.randperm(len(states))
        for at in range(0, len(states), size):
            rows = order[at : at + size]
            seen, target, begun = (part[rows].transpose(0, 1) for part in data)
            means = policy.mean_sequences(seen, states[rows], begun)
            yield means, target.flatten(0, 1)

    return fit_epochs(optimizer, batches, config.learning_rate, epochs, cool=cool)


def _states(
    policy: RecurrentPolicy, obs: Tensor, starts: Tensor, length: int
) -> Tensor:
    """States before each sequence, in the order of `cut`, shape (P, units)."""
    state = torch.zeros(obs.shape[1], policy.units, device=obs.device)
    found = []
    for at in range(0, len(obs), length):
        found.append(state)
        end = at + length
        state = policy.advanced(obs[at:end], state, starts[at:end])
    return torch.cat(found)
