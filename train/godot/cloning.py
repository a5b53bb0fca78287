"""Imitation of recorded play (behaviour cloning) before reinforcement learning."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ambulo.common.signals import Interrupted, StopRequest
from ambulo.configs.godot import DemonstrationsConfig
from ambulo.evaluate.game.demonstrations import Demonstrations
from ambulo.policies.networks.kinds_policy import KindsPolicy

SEQUENCE = 32
"""Steps of the sequences that policies with a memory learn from."""


@dataclass(frozen=True)
class CloningEpoch:
    """Statistics of one pass over the recordings."""

    samples: int
    """Recorded steps."""
    log_likelihood: float
    """Mean log-probability of the recorded actions of a step."""


def clone(
    policy: KindsPolicy,
    recorded: Mapping[str, Demonstrations],
    config: DemonstrationsConfig,
    stop: StopRequest,
    seed: int,
) -> list[CloningEpoch]:
    """Train `policy` on the actions of recorded play, by maximum likelihood.

    The running statistics of observations begin with those of the recordings. Standard
    deviations stay as they are, for exploration later; the critic has no part in it.

    Raises:
        Interrupted: `stop` was requested.
    """
    rng = np.random.default_rng([seed, 17])
    pieces = [*_pieces(policy, recorded)]
    for piece in pieces:
        policy.observe_recordings(piece.obs[piece.real])
    learning = [p for name, p in policy.named_parameters() if "log_std" not in name]
    optimizer = torch.optim.Adam(learning, lr=config.learning_rate)
    samples = sum(int(piece.real.sum()) for piece in pieces)
    size = max(1, config.batch_size // (SEQUENCE if policy.units else 1))
    epochs = []
    policy.set_training_mode(True)
    for epoch in range(config.epochs):
        fraction = epoch / max(config.epochs - 1, 1)
        for group in optimizer.param_groups:
            group["lr"] = config.learning_rate * 0.1**fraction
        total = 0.0
        for piece in pieces:
            for rows in _minibatches(piece.obs.shape[1], size, rng):
                part = piece.of(torch.as_tensor(rows))
                log_prob = _log_prob(policy, part)[part.real.flatten()]
                loss = -log_prob.mean()
                optimizer.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                optimizer.step()
                total += float(log_prob.detach().sum())
        epochs.append(CloningEpoch(samples, total / samples))
        if stop.signal_number is not None:
            raise Interrupted(stop.signal_number)
    return epochs


def cloning_csv(epochs: Sequence[CloningEpoch]) -> str:
    """Return the passes as CSV."""
    rows = [f"{epoch.samples},{epoch.log_likelihood:.6g}" for epoch in epochs]
    return "\n".join(["samples,log_likelihood", *rows]) + "\n"


@dataclass(frozen=True)
class _Sequences:
    """Recorded sequences of one kind, filled up at their ends; time is the first axis."""

    obs: Tensor
    """Rows of observations, (T, B, size)."""
    actions: Tensor
    """Rows of actions, (T, B, width)."""
    real: Tensor
    """What is not filled up, (T, B)."""

    def of(self, columns: Tensor) -> _Sequences:
        """Return some of the sequences."""
        return _Sequences(
            self.obs[:, columns], self.actions[:, columns], self.real[:, columns]
        )


def _pieces(
    policy: KindsPolicy, recorded: Mapping[str, Demonstrations]
) -> Iterator[_Sequences]:
    """Yield the recordings of each kind: as steps, or sequences for a memory."""
    length = SEQUENCE if policy.units else 1
    for index, kind in enumerate(policy.kinds):
        if kind.name not in recorded:
            continue
        demos = recorded[kind.name]
        count = sum(-(-len(obs) // length) for obs in demos.obs)
        rows = torch.zeros(length, count, policy.actor_size)
        rows[..., 0] = index
        actions = torch.zeros(length, count, policy.width)
        real = torch.zeros(length, count, dtype=torch.bool)
        at = 0
        for seen, acted in zip(demos.obs, demos.actions, strict=True):
            for begin in range(0, len(seen), length):
                steps = min(length, len(seen) - begin)
                part = slice(begin, begin + steps)
                rows[:steps, at, 1 : 1 + seen.shape[1]] = torch.as_tensor(seen[part])
                moves = torch.as_tensor(acted[part])
                actions[:steps, at, : acted.shape[1]] = moves
                real[:steps, at] = True
                at += 1
        device = policy.device
        yield _Sequences(rows.to(device), actions.to(device), real.to(device))


def _log_prob(policy: KindsPolicy, part: _Sequences) -> Tensor:
    """Log-probabilities (T * B,) of the actions of sequences that begin without a memory."""
    if policy.units == 0:
        flat = part.obs.flatten(0, 1), part.actions.flatten(0, 1)
        return policy.evaluate_actions(*flat)[1]
    state = part.obs.new_zeros(part.obs.shape[1], policy.units)
    starts = torch.zeros(part.obs.shape[:2], dtype=torch.bool, device=state.device)
    return policy.evaluate_sequences(part.obs, part.actions, state, starts)[1]


def _minibatches(
    count: int, size: int, rng: np.random.Generator
) -> Iterator[np.ndarray]:
    order = rng.permutation(count)
    for at in range(0, count, size):
        yield order[at : at + size]
