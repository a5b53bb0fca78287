"""Imitation of a teacher before reinforcement learning (DAgger).

S. Ross, G. Gordon and A. Bagnell, A Reduction of Imitation Learning and Structured
Prediction to No-Regret Online Learning, AISTATS 2011. The teacher is asked in the states
that the network itself gets into, so that it learns to come back from its own mistakes.
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
from ambulo.envs.locomotion.protocol import WalkerBatch
from ambulo.evaluate.locomotion.teachers import Teacher
from ambulo.policies.networks.simulation_nn import SimulationNN

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Round:
    """How a round of teaching went."""

    samples: int
    """States asked about so far."""
    error: float
    """Root mean square of the network's miss in the last pass, [actions]."""
    length: float
    """Mean length of the episodes that ended in this round, [control steps]; NaN: none."""


@dataclass
class Lessons:
    """Observations (n, size) and the teacher's actions (n, A) in them."""

    obs: list[NDArray[np.float32]] = field(default_factory=list)
    actions: list[NDArray[np.float32]] = field(default_factory=list)

    def tensors(self, device: torch.device) -> tuple[Tensor, Tensor]:
        """Everything so far."""
        obs = torch.as_tensor(np.concatenate(self.obs))
        actions = torch.as_tensor(np.concatenate(self.actions))
        return obs.to(device), actions.to(device)


def teach(
    policy: SimulationNN,
    batch: WalkerBatch,
    config: TeacherConfig,
    teacher: Teacher,
    *,
    seed: int,
    stop: StopRequest,
    threads: int = 1,
    progress: Callable[[Round], None] = lambda _: None,
) -> list[Round]:
    """Teach `policy` what `teacher` does with the bodies of `batch`; how each round went.

    The teacher's actions are cut off at 1, as they would be when played. The bodies are
    left in the middle of episodes: reset them.

    Raises:
        ConfigError: the controller is to teach, and the bodies have none.
        Interrupted: `stop` was requested.
    """
    rng = np.random.default_rng([seed, 3])
    optimizer = torch.optim.Adam(policy.parameters(), lr=config.learning_rate)
    lessons, rounds = Lessons(), []
    steps = max(1, math.ceil(config.samples / config.rounds / batch.num_envs))
    batch.reset(np.arange(batch.num_envs))
    for number in range(config.rounds):
        length = _collect(policy, batch, config, teacher, lessons, rng, number, steps)
        last = number == config.rounds - 1
        epochs = config.last_epochs if last else config.epochs
        torch.set_num_threads(threads)
        error = _fit(policy, optimizer, lessons, config, epochs, cool=last)
        torch.set_num_threads(1)
        samples = sum(map(len, lessons.obs))
        rounds.append(Round(samples, error, length))
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
    lessons: Lessons,
    rng: np.random.Generator,
    number: int,
    steps: int,
) -> float:
    """Play `steps` control steps and note what the teacher would do; mean episode length."""
    policy.set_training_mode(False)
    ended: list[int] = []
    for _ in range(steps):
        wanted = np.clip(teacher.actions(batch), -1.0, 1.0).astype(np.float32)
        lessons.obs.append(batch.obs.copy())
        lessons.actions.append(wanted)
        played = wanted
        if number >= config.mix_rounds:
            with torch.inference_mode():
                seen = torch.as_tensor(batch.obs, device=policy.device)
                played = policy.means(seen).cpu().numpy()
        noise = config.noise * rng.normal(size=wanted.shape)
        _, _, terminated, truncated, _ = batch.step(played + noise)
        done = np.flatnonzero(terminated | truncated)
        if len(done):
            ended += batch.episode.steps[done].tolist()
            batch.reset(done)
    if number <= config.mix_rounds:
        for obs in lessons.obs[-steps:]:
            policy.observe(torch.as_tensor(obs, device=policy.device))
    return float(np.mean(ended)) if ended else math.nan


def _fit(
    policy: SimulationNN,
    optimizer: torch.optim.Optimizer,
    lessons: Lessons,
    config: TeacherConfig,
    epochs: int,
    *,
    cool: bool,
) -> float:
    """Passes over everything collected; error of the last one."""
    policy.set_training_mode(True)
    obs, actions = lessons.tensors(policy.device)
    size, error = min(config.batch_size, len(obs)), math.nan
    for epoch in range(epochs):
        share = epoch / max(epochs - 1, 1) if cool else 0.0
        for group in optimizer.param_groups:
            group["lr"] = config.learning_rate * 0.1**share
        order = torch.randperm(len(obs))
        losses = []
        for at in range(0, len(obs) - size + 1, size):
            rows = order[at : at + size]
            loss = functional.mse_loss(policy.means(obs[rows]), actions[rows])
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            losses.append(loss.item())
        error = math.sqrt(float(np.mean(losses)))
    return error
