"""What every reinforcement-learning run does: train, evaluate, save, go on."""

from __future__ import annotations

import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import torch
from stable_baselines3.common.callbacks import BaseCallback, CallbackList

from ambulo.common.console import Display
from ambulo.common.run_folder import RunFolder
from ambulo.common.signals import StopRequest
from ambulo.configs.errors import ModelFileError
from ambulo.policies.files.model_file import TrainingState
from ambulo.policies.learner import learn_until
from ambulo.policies.ppo import FastPPO
from ambulo.train.shared.callbacks import Checkpoints, Evaluation

log = logging.getLogger(__name__)

Agent = TypeVar("Agent")


class Budget(Protocol):
    """The settings of a training that its loop needs."""

    @property
    def total_timesteps(self) -> int:
        """Decisions in all."""
        ...

    @property
    def save_freq(self) -> int:
        """Decisions between checkpoints."""
        ...

    @property
    def eval_freq(self) -> int:
        """Decisions between evaluations."""
        ...


class LearningRun(ABC, Generic[Agent]):
    """A learner, its players and its folder; a kind of task fills in the rest."""

    program = ""
    """The command that makes such runs."""
    rank: tuple[str, ...] = ("success_rate",)
    """Scores that decide which model is the best, the first before the next."""
    learner: FastPPO
    folder: RunFolder
    validation: Callable[[Agent], dict[str, float]]
    """Scores of a policy that are logged as `eval/<name>` while it trains."""
    seconds: float = 0.0
    """Time that training took, [s]."""
    best: tuple[float, ...] | None = None
    """Scores of the best model before `train`."""
    _evaluation: Evaluation | None = None

    @property
    @abstractmethod
    def budget(self) -> Budget:
        """How long it trains, and how often it saves and evaluates."""

    @abstractmethod
    def agent(self) -> Agent:
        """A snapshot of the policy."""

    @abstractmethod
    def callbacks(self, display: Display) -> Sequence[BaseCallback]:
        """What happens at roll-out boundaries before evaluation and checkpoints."""

    @abstractmethod
    def state(self, extra: dict[str, Any]) -> TrainingState:
        """Everything that a resume needs besides the policy, with `extra` in it."""

    @abstractmethod
    def write(self, path: Path, state: TrainingState | None) -> None:
        """Write a model file; with `state` it is a checkpoint."""

    def extra(self) -> dict[str, Any]:
        """Plain values of the task for checkpoints."""
        return {}

    @property
    def total_steps(self) -> int:
        """Environment steps of the whole training."""
        return self.budget.total_timesteps

    def train(self, display: Display, stop: StopRequest) -> None:
        """Train to the end and write the final model.

        Raises:
            Interrupted: `stop` was requested; a checkpoint is saved.
        """
        budget, folder = self.budget, self.folder
        total = budget.total_timesteps

        def scores() -> dict[str, float]:
            # Evaluations of any number leave the training as it would be without them.
            with torch.random.fork_rng(devices=[]):
                return self.validation(self.agent())

        evaluation = Evaluation(
            folder, budget.eval_freq, total, scores, self.save_model, self.rank
        )
        evaluation.best = self.best
        self._evaluation = evaluation
        checkpoints = Checkpoints(
            folder, budget.save_freq, total, self.save_checkpoint, stop
        )
        began = time.perf_counter()
        with display:
            callbacks = [*self.callbacks(display), evaluation, checkpoints]
            learn_until(self.learner, total, CallbackList(callbacks), log_interval=None)
        self.seconds = time.perf_counter() - began
        self.save_model(folder.final_model)
        if not folder.best_model.exists():
            self.save_model(folder.best_model)

    def save_model(self, path: Path) -> None:
        """Write the policy alone."""
        self.write(path, None)

    def save_checkpoint(self, path: Path) -> None:
        """Write the policy with everything that a resume needs."""
        best = self.best if self._evaluation is None else self._evaluation.best
        extra = {**self.extra(), "best": None if best is None else list(best)}
        self.write(path, self.state(extra))
        log.info("saved %s", path)


def extra_of(
    state: TrainingState | None, keys: set[str], program: str
) -> dict[str, Any]:
    """What a run of `program` added to a checkpoint: `keys`, at least."""
    assert state is not None
    extra = state.values.get("extra")
    if not isinstance(extra, dict) or not keys <= set(extra):
        raise ModelFileError(f"the checkpoint was not made by {program}")
    return extra


def best_of(extra: dict[str, Any]) -> tuple[float, ...] | None:
    """The scores of the best model before the checkpoint with `extra`."""
    best = extra["best"]
    return None if best is None else tuple(float(value) for value in best)
