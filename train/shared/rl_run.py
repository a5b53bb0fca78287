"""One run of reinforcement learning: train, evaluate, save, continue."""

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
from ambulo.policies.files.model_file import ModelFile, TrainingState
from ambulo.policies.learner import learn_until
from ambulo.policies.ppo import FastPPO
from ambulo.train.shared.callbacks import (
    Checkpoints,
    PeriodicEvaluation,
    append_evaluation,
    rewind_logs,
)
from ambulo.train.shared.learner_state import (
    StatefulBatch,
    adopt,
    capture_learner,
    fits,
    restore_learner,
)

log = logging.getLogger(__name__)

Agent = TypeVar("Agent")


class Budget(Protocol):
    """The settings of a training that its loop needs, in environment steps."""

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


class RLTask(ABC, Generic[Agent]):
    """What one kind of task adds to a run: environments, learner, scores and files."""

    rank: tuple[str, ...] = ("success_rate",)
    """Scores that decide which model is the best; a later one decides ties."""
    batch: StatefulBatch
    """The environments that are trained on."""
    learner: FastPPO
    """The learner of those environments."""
    validation: Callable[[Agent], dict[str, float]]
    """Scores of a policy that are logged as `eval/<name>` while it trains."""

    @property
    @abstractmethod
    def budget(self) -> Budget:
        """Length of the training, and how often it saves and evaluates."""

    @abstractmethod
    def agent(self) -> Agent:
        """Return a snapshot of the policy."""

    @abstractmethod
    def callbacks(self, display: Display) -> Sequence[BaseCallback]:
        """Return what runs between roll-outs, before evaluation and checkpoints."""

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
        """Put `state` back; see `fits` for errors."""
        restore_learner(self.learner, self.batch, state)

    def begin(self, stop: StopRequest, *, adopted: bool) -> bool:
        """Prepare the policy of a new training before reinforcement learning.

        Args:
            stop: ends the preparation early.
            adopted: whether the policy comes from another model.

        Returns:
            Whether the policy may be good already: it is then evaluated and saved.
        """
        return False

    def close(self) -> None:
        """Free the environments."""


Task = TypeVar("Task", bound=RLTask[Any])


class RLRun(Generic[Task]):
    """A task that is trained in a run folder, new or from a checkpoint."""

    def __init__(
        self,
        task: Task,
        folder: RunFolder,
        checkpoint: ModelFile[Any] | None,
        initial: ModelFile[Any] | None = None,
    ) -> None:
        """Give the learner its policy.

        Args:
            task: environments and learner, new.
            folder: where results go; it exists.
            checkpoint: what to continue from, or None.
            initial: a model whose policy a new run begins with, or None.
        """
        self.task, self.folder = task, folder
        self.seconds = 0.0
        """Time that training took, [s]."""
        self.best: tuple[float, ...] | None = None
        """Scores of the best model before `train`."""
        self._evaluation: PeriodicEvaluation | None = None
        self._is_new, self._is_adopted = checkpoint is None, initial is not None
        # SB3 continues in the newest folder PPO_<n>; the first one is PPO_1.
        (folder.logs / "PPO_1").mkdir(parents=True, exist_ok=True)
        given = checkpoint or initial
        if given is not None:
            adopt(task.learner, given)
        if checkpoint is not None:
            extra = extra_of(checkpoint.training, {"best"}, folder)
            assert checkpoint.training is not None
            with fits():
                task.restore(checkpoint.training, extra)
            best = extra["best"]
            self.best = None if best is None else tuple(float(x) for x in best)
            rewind_logs(folder, task.learner.num_timesteps)

    @property
    def total_steps(self) -> int:
        """Environment steps of the whole training."""
        return self.task.budget.total_timesteps

    @property
    def num_timesteps(self) -> int:
        """Environment steps done."""
        return self.task.learner.num_timesteps

    def train(self, display: Display, stop: StopRequest) -> None:
        """Train to the end and write the final model.

        Raises:
            Interrupted: `stop` was requested; a checkpoint is saved.
        """
        task, folder, budget = self.task, self.folder, self.task.budget
        total = budget.total_timesteps
        if self._is_new and task.begin(stop, adopted=self._is_adopted):
            if budget.eval_freq > 0:
                self._evaluate_beginning()
            self.save_checkpoint(folder.checkpoint(0))
        self._is_new = False
        evaluation = PeriodicEvaluation(
            folder, budget.eval_freq, total, self._scores, self.save_model, task.rank
        )
        evaluation.best = self.best
        self._evaluation = evaluation
        checkpoints = Checkpoints(
            folder, budget.save_freq, total, self.save_checkpoint, stop
        )
        began = time.perf_counter()
        with display:
            callbacks = [*task.callbacks(display), evaluation, checkpoints]
            learn_until(task.learner, total, CallbackList(callbacks), log_interval=None)
        self.seconds = time.perf_counter() - began
        self.save_model(folder.final_model)
        if not folder.best_model.exists():
            self.save_model(folder.best_model)

    def save_model(self, path: Path) -> None:
        """Write the policy alone."""
        self.task.write(path, None)

    def save_checkpoint(self, path: Path) -> None:
        """Write the policy with everything that a resume needs."""
        best = self.best if self._evaluation is None else self._evaluation.best
        extra = {**self.task.extra(), "best": None if best is None else list(best)}
        self.task.write(path, self.task.capture(extra))
        log.info("saved %s", path)

    def close(self) -> None:
        """Free the environments."""
        self.task.close()

    def _scores(self) -> dict[str, float]:
        """Return the scores of the policy; evaluations do not change the training."""
        with torch.random.fork_rng(devices=[]):
            return self.task.validation(self.task.agent())

    def _evaluate_beginning(self) -> None:
        """Save the policy before reinforcement learning as the best so far."""
        scores = self._scores()
        append_evaluation(self.folder.evaluations, {"timesteps": 0, **scores})
        log.info("evaluation after 0: %s", scores)
        self.best = tuple(scores[name] for name in self.task.rank)
        self.save_model(self.folder.best_model)


def extra_of(
    state: TrainingState | None, keys: set[str], folder: RunFolder
) -> dict[str, Any]:
    """Return the values that a run added to a checkpoint, which has `keys` at least."""
    if state is None:
        raise ModelFileError("the model holds no training state: it is no checkpoint")
    extra = state.values.get("extra")
    if not isinstance(extra, dict) or not keys <= set(extra):
        raise ModelFileError(f"the checkpoint was not made by {folder.program}")
    return extra
