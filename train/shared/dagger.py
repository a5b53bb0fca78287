"""Imitation of a teacher before reinforcement learning (DAgger).

S. Ross, G. Gordon and A. Bagnell, A Reduction of Imitation Learning and Structured
Prediction to No-Regret Online Learning, AISTATS 2011. The teacher labels states that
the network itself reaches, so that it learns to recover from its own mistakes.
"""

from __future__ import annotations

import csv
import io
import logging
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Protocol, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from stable_baselines3.common.callbacks import BaseCallback
from torch import Tensor, nn
from torch.nn import functional

from ambulo.common.signals import Interrupted, StopRequest
from ambulo.configs.arrays import Bools, Floats
from ambulo.configs.batch import TaskBatch
from ambulo.configs.imitation import ImitationConfig
from ambulo.policies.checked_steps import checked_reset, checked_step
from ambulo.policies.ppo import FastPPO

log = logging.getLogger(__name__)


Batch = TypeVar("Batch", bound=TaskBatch)
Batch_contra = TypeVar("Batch_contra", bound=TaskBatch, contravariant=True)


class ActionLabels(Protocol[Batch_contra]):
    """Returns its own actions in states that another policy visits."""

    def actions(self, batch: Batch_contra) -> Floats:
        """Its actions now, not clipped, shape (N, A)."""
        ...


class Student(Protocol):
    """A network that is taught."""

    @property
    def device(self) -> torch.device:
        """Where it is."""
        ...

    def parameters(self) -> Iterator[nn.Parameter]:
        """Yield its parameters; those that do not act are left alone."""
        ...

    def set_training_mode(self, mode: bool) -> None:
        """Begin or end its updates."""
        ...

    def means(self, obs: Tensor) -> Tensor:
        """Mean actions (B, A), unclipped."""
        ...

    def observe(self, obs: Tensor) -> None:
        """Take observations (N, size) into its running statistics, if it has any."""
        ...


@dataclass(frozen=True)
class DaggerRound:
    """Statistics of one round of imitation."""

    samples: int
    """States labelled by the teacher so far."""
    error: float
    """Root mean square error of the network's actions in the last epoch."""
    length: float
    """Mean length of the episodes that ended in this round, [steps]; NaN: none."""


def rounds_csv(rounds: Sequence[DaggerRound]) -> str:
    """Return the rounds of a teacher as CSV."""
    text = io.StringIO()
    writer = csv.DictWriter(text, ["samples", "error", "length"])
    writer.writeheader()
    writer.writerows(asdict(row) for row in rounds)
    return text.getvalue()


def critic_first(learner: FastPPO, updates: int, num_envs: int) -> None:
    """Let the first `updates` of `learner` after a teacher train the critic alone.

    `num_envs`: environments of all workers together.
    """
    rollout = learner.n_steps * num_envs
    learner.critic_only = learner.num_timesteps < rollout * updates


class CriticFirst(BaseCallback):
    """Lets the first updates after a teacher train the critic alone."""

    def __init__(self, updates: int, num_envs: int) -> None:
        """For a training in `num_envs` environments of all workers together."""
        super().__init__()
        self._updates, self._num_envs = updates, num_envs

    def _on_step(self) -> bool:
        return True

    def _on_rollout_start(self) -> None:
        learner = self.model
        assert isinstance(learner, FastPPO)
        critic_first(learner, self._updates, self._num_envs)


@dataclass
class DaggerDataset:
    """Observations (n, size) and the teacher's actions (n, A) in them."""

    obs: list[NDArray[np.float32]] = field(default_factory=list)
    actions: list[NDArray[np.float32]] = field(default_factory=list)
    starts: list[Bools] = field(default_factory=list)
    """Whether an episode begins with a step."""

    def tensors(self, device: torch.device) -> tuple[Tensor, Tensor]:
        """Return all observations and actions, on `device`."""
        obs = torch.as_tensor(np.concatenate(self.obs))
        actions = torch.as_tensor(np.concatenate(self.actions))
        return obs.to(device), actions.to(device)


Change = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]
"""Changes the observations (B, size) and actions (B, A) of a minibatch."""
Fit = Callable[
    [torch.optim.Optimizer, DaggerDataset, ImitationConfig, int, bool], float
]
"""Fits data for a number of epochs, whose step size may fall; returns the last error."""


def teach(
    student: Student,
    batch: Batch,
    config: ImitationConfig,
    teacher: ActionLabels[Batch],
    *,
    seed: int,
    stop: StopRequest,
    threads: int = 1,
    size: int | None = None,
    change: Change | None = None,
    fit: Fit | None = None,
    progress: Callable[[DaggerRound], None] = lambda _: None,
) -> list[DaggerRound]:
    """Train `student` to imitate `teacher` on `batch`; return statistics of each round.

    The teacher's actions are clipped to [-1, 1], as the environment would clip them. The
    environments are left in the middle of episodes: reset them.

    Args:
        student: The network.
        batch: Its environments.
        config: How it is taught.
        teacher: Labels states of `batch`.
        seed: Of what is random here.
        stop: Ends the training after a round.
        threads: Torch threads of an update.
        size: Numbers at the head of an observation that the student sees; None: all.
        change: Changes minibatches, such as their left and right.
        fit: Fits a student that remembers, which then sees every step; None: `_fit`.
        progress: Called after each round.

    Raises:
        ConfigError: The teacher is a balance controller, and the bodies have none.
        Interrupted: `stop` was requested.
    """
    rng = np.random.default_rng([seed, 3])
    optimizer = torch.optim.Adam(student.parameters(), lr=config.learning_rate)
    dataset, rounds = DaggerDataset(), []
    steps = max(1, math.ceil(config.samples / config.rounds / batch.num_envs))
    checked_reset(batch, np.arange(batch.num_envs))
    for number in range(config.rounds):
        length = _collect(
            student, batch, config, teacher, dataset, rng, number, steps, size,
            every_step=fit is not None,
        )  # fmt: skip
        last = number == config.rounds - 1
        epochs = config.last_epochs if last else config.epochs
        torch.set_num_threads(threads)
        if fit is not None:
            error = fit(optimizer, dataset, config, epochs, last)
        else:
            error = _fit(student, optimizer, dataset, config, epochs, change, cool=last)
        torch.set_num_threads(1)
        samples = sum(map(len, dataset.obs))
        rounds.append(DaggerRound(samples, error, length))
        log.info("teacher: %s", rounds[-1])
        progress(rounds[-1])
        if stop.signal_number is not None:
            raise Interrupted(stop.signal_number)
    return rounds


def _collect(
    student: Student,
    batch: Batch,
    config: ImitationConfig,
    teacher: ActionLabels[Batch],
    dataset: DaggerDataset,
    rng: np.random.Generator,
    number: int,
    steps: int,
    size: int | None,
    *,
    every_step: bool,
) -> float:
    """Act for `steps` steps, record the teacher's actions; return the mean length."""
    student.set_training_mode(False)
    after = number - config.mix_rounds
    share = 1.0 if after < 0 else config.mix_decay ** (after + 1)
    led = round(share * batch.num_envs)  # environments in which the teacher acts
    ended: list[int] = []
    for _ in range(steps):
        target = np.clip(teacher.actions(batch), -1.0, 1.0).astype(np.float32)
        dataset.obs.append(batch.obs[:, :size].copy())
        dataset.actions.append(target)
        dataset.starts.append(batch.episode.steps == 0)
        applied = target
        if led < batch.num_envs or every_step:
            with torch.inference_mode():
                seen = torch.as_tensor(dataset.obs[-1], device=student.device)
                own = student.means(seen).cpu().numpy()
            applied = np.concatenate([target[:led], own[led:]])
        noise = config.noise * rng.normal(size=target.shape)
        _, _, terminated, truncated, _ = checked_step(batch, applied + noise)
        done = np.flatnonzero(terminated | truncated)
        if len(done):
            ended += batch.episode.steps[done].tolist()
            checked_reset(batch, done)
    if number <= config.mix_rounds:
        for obs in dataset.obs[-steps:]:
            student.observe(torch.as_tensor(obs, device=student.device))
    return float(np.mean(ended)) if ended else math.nan


def _fit(
    student: Student,
    optimizer: torch.optim.Optimizer,
    dataset: DaggerDataset,
    config: ImitationConfig,
    epochs: int,
    change: Change | None,
    *,
    cool: bool,
) -> float:
    """Fit all data for some epochs; return the error of the last one."""
    student.set_training_mode(True)
    obs, actions = dataset.tensors(student.device)
    size = min(config.batch_size, len(obs))

    def batches() -> Iterator[tuple[Tensor, Tensor]]:
        order = torch.randperm(len(obs))
        for at in range(0, len(obs) - size + 1, size):
            rows = order[at : at + size]
            seen, target = obs[rows], actions[rows]
            if change is not None:
                seen, target = change(seen, target)
            yield student.means(seen), target

    return fit_epochs(optimizer, batches, config.learning_rate, epochs, cool=cool)


def fit_epochs(
    optimizer: torch.optim.Optimizer,
    batches: Callable[[], Iterator[tuple[Tensor, Tensor]]],
    learning_rate: float,
    epochs: int,
    *,
    cool: bool,
) -> float:
    """Minimise squared errors; return the root mean square of the last epoch.

    Args:
        optimizer: Of the parameters that learn.
        batches: Yields actions and their targets (B, A) of each minibatch of an epoch.
        learning_rate: Step size.
        epochs: Passes.
        cool: Let the step size fall to a tenth.
    """
    error = math.nan
    for epoch in range(epochs):
        fraction = epoch / max(epochs - 1, 1) if cool else 0.0
        for group in optimizer.param_groups:
            group["lr"] = learning_rate * 0.1**fraction
        losses = []
        for actions, targets in batches():
            loss = functional.mse_loss(actions, targets)
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            losses.append(loss.item())
        error = math.sqrt(float(np.mean(losses)))
    return error
