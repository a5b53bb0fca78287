"""Imitation of a teacher before reinforcement learning (DAgger).

S. Ross, G. Gordon and A. Bagnell, A Reduction of Imitation Learning and Structured
Prediction to No-Regret Online Learning, AISTATS 2011. The teacher labels states that
the network itself reaches, so that it learns to recover from its own mistakes.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from ambulo.common.signals import Interrupted, StopRequest
from ambulo.configs.simulation_nn import TeacherConfig
from ambulo.envs.locomotion.mirroring import (
    mirror_of_actions,
    mirror_of_observations,
)
from ambulo.envs.locomotion.protocol import WalkerBatch
from ambulo.evaluate.locomotion.teachers import Teacher
from ambulo.policies.networks.simulation_nn import SimulationNN

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class DaggerRound:
    """Statistics of one round of imitation."""

    samples: int
    """States labelled by the teacher so far."""
    error: float
    """Root mean square error of the network's actions in the last epoch."""
    length: float
    """Mean length of the episodes that ended in this round, [control steps]; NaN: none."""


@dataclass
class DaggerDataset:
    """Observations (n, size) and the teacher's actions (n, A) in them."""

    obs: list[NDArray[np.float32]] = field(default_factory=list)
    actions: list[NDArray[np.float32]] = field(default_factory=list)

    def tensors(self, device: torch.device) -> tuple[Tensor, Tensor]:
        """Return all observations and actions, on `device`."""
        obs = torch.as_tensor(np.concatenate(self.obs))
        actions = torch.as_tensor(np.concatenate(self.actions))
        return obs.to(device), actions.to(device)


class Mirrored:
    """Changes left and right of every second sample of a minibatch."""

    def __init__(self, batch: WalkerBatch) -> None:
        """Look up how observations and actions of `batch` are mirrored."""
        body, dofs = batch.character, batch.dofs
        seen = mirror_of_observations(batch.layout, body, dofs)
        moved = mirror_of_actions(body, dofs)
        self._parts = [
            (torch.as_tensor(part.source), torch.as_tensor(part.sign))
            for part in (seen, moved)
        ]

    def __call__(self, obs: Tensor, actions: Tensor) -> tuple[Tensor, Tensor]:
        """Return observations (B, size) and actions (B, A), the first half mirrored."""
        half = len(obs) // 2
        out = []
        for values, (source, sign) in zip((obs, actions), self._parts, strict=True):
            changed = values[:half, source.to(values.device)] * sign.to(values.device)
            out.append(torch.cat([changed, values[half:]]))
        return out[0], out[1]


def teach(
    policy: SimulationNN,
    batch: WalkerBatch,
    config: TeacherConfig,
    teacher: Teacher,
    *,
    seed: int,
    stop: StopRequest,
    threads: int = 1,
    progress: Callable[[DaggerRound], None] = lambda _: None,
) -> list[DaggerRound]:
    """Train `policy` to imitate `teacher` on `batch`; return statistics of each round.

    The teacher's actions are clipped to [-1, 1], as the environment would clip them. The
    environments are left in the middle of episodes: reset them.

    Raises:
        ConfigError: The teacher is a balance controller, and the bodies have none.
        Interrupted: `stop` was requested.
    """
    rng = np.random.default_rng([seed, 3])
    optimizer = torch.optim.Adam(policy.parameters(), lr=config.learning_rate)
    mirror = Mirrored(batch) if config.mirror else None
    dataset, rounds = DaggerDataset(), []
    steps = max(1, math.ceil(config.samples / config.rounds / batch.num_envs))
    batch.reset(np.arange(batch.num_envs))
    for number in range(config.rounds):
        length = _collect(policy, batch, config, teacher, dataset, rng, number, steps)
        last = number == config.rounds - 1
        epochs = config.last_epochs if last else config.epochs
        torch.set_num_threads(threads)
        error = _fit(policy, optimizer, dataset, config, epochs, mirror, cool=last)
        torch.set_num_threads(1)
        samples = sum(map(len, dataset.obs))
        rounds.append(DaggerRound(samples, error, length))
        log.info("teacher: %s", rounds[-1])
        progress(rounds[-1])
        if stop.signal_number is not None:
            raise Interrupted(stop.signal_number)
    return rounds


def _collect(
    policy: SimulationNN,
    batch: WalkerBatch,
    config: TeacherConfig,
    teacher: Teacher,
    dataset: DaggerDataset,
    rng: np.random.Generator,
    number: int,
    steps: int,
) -> float:
    """Act for `steps` control steps, record the teacher's actions; return the mean length."""
    policy.set_training_mode(False)
    after = number - config.mix_rounds
    share = 1.0 if after < 0 else config.mix_decay ** (after + 1)
    led = round(share * batch.num_envs)  # bodies that the teacher moves
    ended: list[int] = []
    for _ in range(steps):
        target = np.clip(teacher.actions(batch), -1.0, 1.0).astype(np.float32)
        dataset.obs.append(batch.obs.copy())
        dataset.actions.append(target)
        applied = target
        if led < batch.num_envs:
            with torch.inference_mode():
                seen = torch.as_tensor(batch.obs, device=policy.device)
                own = policy.means(seen).cpu().numpy()
            applied = np.concatenate([target[:led], own[led:]])
        noise = config.noise * rng.normal(size=target.shape)
        _, _, terminated, truncated, _ = batch.step(applied + noise)
        done = np.flatnonzero(terminated | truncated)
        if len(done):
            ended += batch.episode.steps[done].tolist()
            batch.reset(done)
    if number <= config.mix_rounds:
        for obs in dataset.obs[-steps:]:
            policy.observe(torch.as_tensor(obs, device=policy.device))
    return float(np.mean(ended)) if ended else math.nan


def _fit(
    policy: SimulationNN,
    optimizer: torch.optim.Optimizer,
    dataset: DaggerDataset,
    config: TeacherConfig,
    epochs: int,
    mirror: Mirrored | None,
    *,
    cool: bool,
) -> float:
    """Fit all data for some epochs; return the error of the last one."""
    policy.set_training_mode(True)
    obs, actions = dataset.tensors(policy.device)
    size, error = min(config.batch_size, len(obs)), math.nan
    for epoch in range(epochs):
        fraction = epoch / max(epochs - 1, 1) if cool else 0.0
        for group in optimizer.param_groups:
            group["lr"] = config.learning_rate * 0.1**fraction
        order = torch.randperm(len(obs))
        losses = []
        for at in range(0, len(obs) - size + 1, size):
            rows = order[at : at + size]
            seen, wanted = obs[rows], actions[rows]
            if mirror is not None:
                seen, wanted = mirror(seen, wanted)
            loss = functional.mse_loss(policy.means(seen), wanted)
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            losses.append(loss.item())
        error = math.sqrt(float(np.mean(losses)))
    return error
