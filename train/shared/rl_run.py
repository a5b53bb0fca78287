"""One run of reinforcement learning: train, evaluate, save, continue."""

from __future__ import annotations

import logging
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import torch
from stable_baselines3.common.callbacks import CallbackList

from ambulo.common.console import Display
from ambulo.common.run_folder import RunFolder
from ambulo.common.signals import StopRequest
from ambulo.configs.errors import ModelFileError, ObservationError, RewardError
from ambulo.policies.files.model_file import ModelFile, TrainingState
from ambulo.policies.learner import learn_until
from ambulo.train.shared.callbacks import (
    Checkpoints,
    ForwardScalars,
    PeriodicEvaluation,
    append_evaluation,
    evaluation_row,
    rewind_logs,
)
from ambulo.train.shared.learner_state import fits, load_weights
from ambulo.train.shared.rl_task import RLTask

if TYPE_CHECKING:
    from ambulo.train.shared.fleet import Fleet

log = logging.getLogger(__name__)

Task = TypeVar("Task", bound=RLTask[Any])


class RLRun(Generic[Task]):
    """A task that is trained in a run folder, new or from a checkpoint."""

    def __init__(
        self,
        task: Task,
        folder: RunFolder,
        checkpoint: ModelFile[Any] | None,
        initial: ModelFile[Any] | None = None,
        host: Fleet | None = None,
    ) -> None:
        """Give the learner its policy.

        Args:
            task: environments and learner, new.
            folder: where results go; it exists.
            checkpoint: what to continue from, or None.
            initial: a model whose policy a new run begins with, or None.
            host: workers that have the environments; None: this process has them.
        """
        self.task, self.folder = task, folder
        self._host: RLTask[Any] | Fleet = host or task
        self.seconds = 0.0
        """Time that training took, [s]."""
        self.best: tuple[float, ...] | None = None
        """Scores of the best model before `train`."""
        self._evaluation: PeriodicEvaluation | None = None
        self._is_new, self._is_initialised = checkpoint is None, initial is not None
        # SB3 continues in the newest folder PPO_<n>; the first one is PPO_1.
        (folder.logs / "PPO_1").mkdir(parents=True, exist_ok=True)
        given = checkpoint or initial
        if given is not None:
            load_weights(task.learner, given, pad=checkpoint is None)
        if checkpoint is not None:
            extra = extra_of(checkpoint.training, {"best"}, folder)
            assert checkpoint.training is not None
            with fits():
                self._host.resume(checkpoint.training, extra)
            best = extra["best"]
            if best is not None and len(best) == len(task.rank):  # of this version
                self.best = tuple(float(x) for x in best)
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
            ObservationError: The environments gave a number that is not finite.
            RewardError: They gave such a reward.
        """
        task, folder, budget = self.task, self.folder, self.task.budget
        total = budget.total_timesteps
        if self._is_new and self._host.begin(stop, initialised=self._is_initialised):
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
            beside = [*task.callbacks(display), *self._host.environment_callbacks()]
            callbacks = [
                ForwardScalars(folder.record),
                *beside,
                evaluation,
                checkpoints,
            ]
            try:
                learn_until(
                    task.learner, total, CallbackList(callbacks), log_interval=None
                )
            except (ObservationError, RewardError) as error:
                raise type(error)(f"{error} ({self._place()})") from None
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
        self.task.write(path, self._host.capture(extra))
        log.info("saved %s", path)

    def close(self) -> None:
        """Free the environments."""
        self._host.close()

    def _place(self) -> str:
        """Say how far the training is, and how it continues once its fault is mended."""
        text = f"after {self.num_timesteps} training steps"
        if not any(self.folder.checkpoints.glob("*.zip")):
            return text
        return (
            f"{text}; {self.folder.resume_command} continues from the last checkpoint"
        )

    def _scores(self) -> dict[str, float]:
        """Return the scores of the policy; evaluations do not change the training."""
        with torch.random.fork_rng(devices=[]):
            return self.task.validation(self.task.agent())

    def _evaluate_beginning(self) -> None:
        """Save the policy before reinforcement learning as the best so far."""
        scores = self._scores()
        append_evaluation(self.folder.evaluations, {"timesteps": 0, **scores})
        self.folder.record(0, evaluation_row(scores))
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
