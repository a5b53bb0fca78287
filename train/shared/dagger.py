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
from typing import Generic, Protocol, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from stable_baselines3.common.callbacks import BaseCallback
from torch import Tensor
from torch.nn import functional

from ambulo.common.signals import Interrupted, StopRequest
from ambulo.configs.arrays import Bools, Floats
from ambulo.configs.batch import TaskBatch
from ambulo.configs.imitation import ImitationConfig
from ambulo.policies.checked_steps import checked_reset, checked_steps
from ambulo.policies.networks.actor_critic import ActorCritic, NavigationPolicy
from ambulo.policies.ppo import FastPPO
from ambulo.policies.sequence_record import cut

log = logging.getLogger(__name__)


Batch = TypeVar("Batch", bound=TaskBatch)
Batch_contra = TypeVar("Batch_contra", bound=TaskBatch, contravariant=True)


class ActionLabels(Protocol[Batch_contra]):
    """Returns its own actions in states that another policy visits."""

    def actions(self, batch: Batch_contra) -> Floats:
        """Its actions now, not clipped, shape (N, A)."""
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


def teach(
    student: ActorCritic,
    batch: Batch,
    config: ImitationConfig,
    teacher: ActionLabels[Batch],
    *,
    seed: int,
    stop: StopRequest,
    threads: int = 1,
    size: int | None = None,
    change: Change | None = None,
    sequence: int = 1,
    progress: Callable[[DaggerRound], None] = lambda _: None,
) -> list[DaggerRound]:
    """Train `student` to imitate `teacher` on `batch`; return statistics of each round.

    The teacher's actions are clipped to [-1, 1], as the environment would clip them. The
    environments are left in the middle of episodes: reset them.

    Args:
        student: The network; parameters that do not act are left alone.
        batch: Its environments.
        config: How it is taught.
        teacher: Labels states of `batch`.
        seed: Of what is random here.
        stop: Ends the training after a round.
        threads: Torch threads of an update.
        size: Numbers at the head of an observation that the student sees; None: all.
        change: Changes minibatches, such as their left and right.
        sequence: Steps of the sequences that a student with a state learns from.
        progress: Called after each round.

    Raises:
        ConfigError: The teacher is a balance controller, and the bodies have none.
        Interrupted: `stop` was requested.
    """
    optimizer = torch.optim.Adam(student.parameters(), lr=config.learning_rate)
    collector = _Collector(student, batch, config, teacher, seed, size)
    dataset, rounds = collector.dataset, []
    for number in range(config.rounds):
        length = collector.collect(number)
        last = number == config.rounds - 1
        epochs = config.last_epochs if last else config.epochs
        torch.set_num_threads(threads)
        student.set_training_mode(True)
        if isinstance(student, NavigationPolicy) and student.units > 0:
            batches = sequence_batches(student, dataset, config.batch_size, sequence)
        else:
            batches = step_batches(student, dataset, config.batch_size, change)
        error = fit_epochs(optimizer, batches, config.learning_rate, epochs, cool=last)
        torch.set_num_threads(1)
        samples = sum(map(len, dataset.obs))
        rounds.append(DaggerRound(samples, error, length))
        log.info("teacher: %s", rounds[-1])
        progress(rounds[-1])
        if stop.signal_number is not None:
            raise Interrupted(stop.signal_number)
    return rounds


class _Collector(Generic[Batch]):
    """Environments in which student and teacher act, and what they see there."""

    def __init__(
        self,
        student: ActorCritic,
        batch: Batch,
        config: ImitationConfig,
        teacher: ActionLabels[Batch],
        seed: int,
        size: int | None,
    ) -> None:
        """Begin episodes everywhere; see `teach`."""
        self._student, self._batch, self._config = student, batch, config
        self._teacher, self._size = teacher, size
        self._rng = np.random.default_rng([seed, 3])
        self._state = torch.zeros(batch.num_envs, student.units, device=student.device)
        self.dataset = DaggerDataset()
        checked_reset(batch, np.arange(batch.num_envs))

    def collect(self, number: int) -> float:
        """Act in round `number`, record the teacher's actions; return the mean length."""
        student, batch, config = self._student, self._batch, self._config
        student.set_training_mode(False)
        steps = max(1, math.ceil(config.samples / config.rounds / batch.num_envs))
        after = number - config.mix_rounds
        fraction = 1.0 if after < 0 else config.mix_decay ** (after + 1)
        led = round(fraction * batch.num_envs)  # environments in which the teacher acts
        lengths: list[int] = []

        def act() -> Floats:
            label = np.clip(self._teacher.actions(batch), -1.0, 1.0).astype(np.float32)
            self.dataset.obs.append(batch.obs[:, : self._size].copy())
            self.dataset.actions.append(label)
            self.dataset.starts.append(batch.episode.steps == 0)
            applied = label
            if led < batch.num_envs or student.units:  # whose state sees every step
                applied = np.concatenate([label[:led], self._act()[led:]])
            noisy: Floats = applied + config.noise * self._rng.normal(size=label.shape)
            return noisy

        for ended in checked_steps(batch, act, steps):
            lengths += batch.episode.steps[ended].tolist()
        if number <= config.mix_rounds:
            for obs in self.dataset.obs[-steps:]:
                student.observe(torch.as_tensor(obs, device=student.device))
        return float(np.mean(lengths)) if lengths else math.nan

    def _act(self) -> NDArray[np.float32]:
        """Mean actions (N, A) of the student now; episodes begin with a state of zeros."""
        student, device = self._student, self._student.device
        begun = torch.as_tensor(self.dataset.starts[-1], device=device)
        with torch.inference_mode():
            seen = torch.as_tensor(self.dataset.obs[-1], device=device)
            state = self._state * ~begun[:, None]
            actions, self._state = student.mean_step(seen, state)
            found: NDArray[np.float32] = actions.cpu().numpy()
        return found


Batches = Callable[[], Iterator[tuple[Tensor, Tensor]]]
"""Yields actions and their targets (B, A) of each minibatch of a pass over the data."""


def step_batches(
    student: ActorCritic, dataset: DaggerDataset, size: int, change: Change | None
) -> Batches:
    """Return minibatches of `size` steps in any order."""
    obs, actions = dataset.tensors(student.device)
    size = min(size, len(obs))
    state = obs.new_zeros(size, 0)

    def batches() -> Iterator[tuple[Tensor, Tensor]]:
        order = torch.randperm(len(obs))
        for at in range(0, len(obs) - size + 1, size):
            rows = order[at : at + size]
            seen, target = obs[rows], actions[rows]
            if change is not None:
                seen, target = change(seen, target)
            yield student.mean_step(seen, state)[0], target

    return batches


def sequence_batches(
    policy: NavigationPolicy, dataset: DaggerDataset, size: int, length: int
) -> Batches:
    """Return minibatches of `size` steps, in sequences of `length` steps.

    Before each pass over the data, states are computed anew with the current weights, from
    the first step on. Gradients go back to the beginning of a sequence. What is left over
    at the end of the data is not used yet.
    """
    length = min(length, len(dataset.obs))
    steps = len(dataset.obs) // length * length
    parts = (dataset.obs, dataset.actions, dataset.starts)
    obs, actions, starts = (
        torch.as_tensor(np.stack(part[:steps])).to(policy.device) for part in parts
    )
    data = [cut(part, length) for part in (obs, actions, starts)]
    size = max(1, size // length)

    def batches() -> Iterator[tuple[Tensor, Tensor]]:
        states = states_before(policy, obs, starts, length)
        order = torch.randperm(len(states))
        for at in range(0, len(states), size):
            rows = order[at : at + size]
            seen, target, begun = (part[rows].transpose(0, 1) for part in data)
            means = policy.mean_sequences(seen, states[rows], begun)
            yield means, target.flatten(0, 1)

    return batches


def states_before(
    policy: NavigationPolicy, obs: Tensor, starts: Tensor, length: int
) -> Tensor:
    """States before each sequence, in the order of `cut`, shape (P, units)."""
    state = torch.zeros(obs.shape[1], policy.units, device=obs.device)
    found = []
    for at in range(0, len(obs), length):
        found.append(state)
        end = at + length
        state = policy.advanced(obs[at:end], state, starts[at:end])
    return torch.cat(found)


def fit_epochs(
    optimizer: torch.optim.Optimizer,
    batches: Batches,
    learning_rate: float,
    epochs: int,
    *,
    cool: bool,
) -> float:
    """Minimise squared errors; return the root mean square of the last epoch.

    Args:
        optimizer: Of the parameters that learn.
        batches: The minibatches of an epoch.
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
