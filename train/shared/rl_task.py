"""The part of a reinforcement-learning run that depends on the kind of task."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from stable_baselines3.common.callbacks import BaseCallback

from ambulo.common.console import Display
from ambulo.common.run_folder import RunFolder
from ambulo.common.signals import StopRequest
from ambulo.configs.base import Config
from ambulo.policies.files.model_file import TrainingState
from ambulo.policies.ppo import FastPPO
from ambulo.train.shared.learner_state import (
    StatefulBatch,
    capture_learner,
    restore_learner,
    restore_progress,
)
from ambulo.train.shared.worker_state import fresh_seed, number_of_workers

log = logging.getLogger(__name__)

Agent = TypeVar("Agent")
Settings = TypeVar("Settings", bound=Config)


class Budget(Protocol):
    """The settings of a training that its loop needs; lengths are environment steps."""

    @property
    def total_timesteps(self) -> int:
        """Steps in all."""
        ...

    @property
    def save_freq(self) -> int:
        """Steps between checkpoints."""
        ...

    @property
    def eval_freq(self) -> int:
        """Steps between evaluations."""
        ...

    @property
    def num_workers(self) -> int:
        """Processes that have the environments, where there are workers."""
        ...


class RLTask(ABC, Generic[Agent]):
    """Environments, learner, scores and files of one kind of task."""

    budget: Budget
    """Length of the training, and how often it saves and evaluates."""
    rank: tuple[str, ...] = ("success_rate",)
    """Scores that decide which model is the best; a later one decides ties."""
    batch: StatefulBatch
    """The environments that are trained on."""
    learner: FastPPO
    """The learner of those environments."""
    folder: RunFolder
    """Where results go."""
    validation: Callable[[Agent], dict[str, float]]
    """Scores of a policy that are logged as `eval/<name>` while it trains."""

    @abstractmethod
    def agent(self) -> Agent:
        """Return a snapshot of the policy."""

    @abstractmethod
    def callbacks(self, display: Display) -> Sequence[BaseCallback]:
        """Return what runs beside the learner between roll-outs: logs, statistics."""

    def environment_callbacks(self) -> Sequence[BaseCallback]:
        """Return what runs beside the environments: curriculum, schedules."""
        return []

    def learner_settings(self) -> dict[str, Any]:
        """Return plain values of the learner's side that environments elsewhere follow."""
        return {}

    def follow(self, settings: Mapping[str, Any]) -> None:
        """Bring the environments to the `settings` of the learner's side."""

    def factory(self) -> TaskFactory:
        """Return how a worker makes this task with environments of its own."""
        raise NotImplementedError

    @abstractmethod
    def write(self, path: Path, state: TrainingState | None) -> None:
        """Write a model file; with `state` it is a checkpoint."""

    def extra(self) -> dict[str, Any]:
        """Return plain values of the task for checkpoints."""
        return {}

    def capture(self, extra: dict[str, Any]) -> TrainingState:
        """Return everything that a resume needs besides the policy, with `extra`."""
        return capture_learner(self.learner, self.batch, extra)

    def restore(self, state: TrainingState, extra: dict[str, Any]) -> None:
        """Put `state` of this task alone back; see `fits` for errors."""
        restore_learner(self.learner, self.batch, state)

    def resume(self, state: TrainingState, extra: dict[str, Any]) -> None:
        """Put the state of a checkpoint back; of several workers, episodes restart."""
        if number_of_workers(state) == 1:
            self.restore(state, extra)
            return
        learner, batch = self.learner, self.batch
        restore_progress(learner, state)
        log.warning("the checkpoint is of several workers: episodes begin anew")
        seed = fresh_seed(learner.seed or 0, 0, learner.num_timesteps)
        rng = np.random.default_rng(seed)
        batch.seed(rng.integers(2**31, size=batch.num_envs).tolist())

    def begin(self, stop: StopRequest, *, initialised: bool) -> bool:
        """Prepare the policy of a new training before reinforcement learning.

        Args:
            stop: ends the preparation early.
            initialised: whether the policy comes from another model.

        Returns:
            Whether the policy may be good already: it is then evaluated and saved.
        """
        return False

    def close(self) -> None:
        """Free the environments."""


@dataclass(frozen=True)
class WorkerSpec:
    """Environments and seeds of one worker of a training."""

    num_envs: int
    """Its environments."""
    batch_size: int
    """Its samples of each gradient step."""
    seed: int
    """Seed of its environments."""
    all_envs: int
    """Environments of all workers together."""

    def part_of(self, config: Settings) -> Settings:
        """Return settings of a training with this worker's part, except its environments."""
        config = config.override("training", seed=self.seed)
        return config.override("ppo", batch_size=self.batch_size)


TaskFactory = Callable[[WorkerSpec, Path], RLTask[Any]]
"""Makes a task with the environments of a worker; its files go to a folder."""
