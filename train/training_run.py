"""One training run, from its configuration or a checkpoint to its final model."""

from __future__ import annotations

import logging
import shlex
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from stable_baselines3.common.callbacks import CallbackList

from ambulo.configs.base import load_json
from ambulo.configs.errors import ConfigError, ModelFileError, RunFolderError
from ambulo.configs.vr import RLConfig
from ambulo.envs.vr.batch import NavigationBatch
from ambulo.envs.vr.build import make_batch
from ambulo.envs.vr.reward import load_custom_terms
from ambulo.envs.vr.spaces import action_space
from ambulo.policies.agent import Agent, model_of
from ambulo.policies.learner import learn_until, make_learner
from ambulo.policies.model_file import ModelFile, TrainingState, load_model, save_model
from ambulo.policies.ppo import FastPPO
from ambulo.policies.sb3_vec_env import BatchVecEnv
from ambulo.train.callbacks import (
    Checkpoints,
    Evaluation,
    Lessons,
    Metrics,
    rewind_logs,
)
from ambulo.train.console import Display
from ambulo.train.curriculum import Curriculum
from ambulo.train.lessons import TrainingLevels, stage_bank
from ambulo.train.options import shareable_arguments
from ambulo.train.paths import resolve_path
from ambulo.train.run_folder import RunFolder, run_folder_of
from ambulo.train.signals import StopRequest
from ambulo.train.training_state import adopt, capture, resume

log = logging.getLogger(__name__)

Evaluate = Callable[[Agent], dict[str, float]]


@dataclass(frozen=True)
class ResumePoint:
    """Where a resumed training goes on."""

    folder: RunFolder | None
    """Run that the checkpoint belongs to; None for a file of its own."""
    checkpoint: Path | None
    """The checkpoint; None when the run was killed before its first one."""
    model: ModelFile | None
    """Contents of the checkpoint."""
    config: RLConfig
    """Settings of the run."""


def find_resume_point(path: str, *, trust_pickle: bool = False) -> ResumePoint:
    """The newest whole checkpoint of a run folder, or the checkpoint file `path`.

    Raises:
        RunFolderError: neither a run folder nor a checkpoint.
        ModelFileError: a damaged file was named.
        ConfigError: a file from elsewhere that names reward code to be imported.

    Where engines are is told by who resumes: a folder or file may be another's.
    """
    target = resolve_path(path)
    if target.is_dir():
        folder: RunFolder | None = RunFolder(target)
        assert folder is not None
        if not folder.exists:
            raise RunFolderError(
                f"{target}: not a run folder: no run.json and config.json"
            )
        checkpoint = folder.newest_checkpoint()
    elif target.exists():
        folder, checkpoint = run_folder_of(target), target
    else:
        raise RunFolderError(f"{target}: no such run folder or checkpoint")
    model = None
    if checkpoint is not None:
        model = load_model(checkpoint, trust_pickle=trust_pickle)
        if model.training is None:
            raise RunFolderError(
                f"{checkpoint}: holds no training state; resume a file of checkpoints/"
            )
    if folder is not None:
        config = load_json(RLConfig, folder.config)
    else:
        assert model is not None
        config = model.metadata.config
        if config.rewards.custom and not trust_pickle:
            raise ConfigError(
                f"{target}: names code in rewards.custom; "
                "resume its run folder, or use --trust-pickle"
            )
    return ResumePoint(folder, checkpoint, model, config.without_engine_places())


class TrainingRun:
    """The objects of a run, built fresh or from a checkpoint."""

    def __init__(
        self,
        config: RLConfig,
        folder: RunFolder,
        command: Sequence[str],
        model: ModelFile | None,
        initial: ModelFile | None = None,
    ) -> None:
        """Build levels, players and learner.

        Args:
            config: all settings.
            folder: where results go; it exists.
            command: command line, for the report and, without paths, for model files.
            model: the checkpoint to go on from, or None.
            initial: a model whose policy a new run begins with, or None.
        """
        self.config, self.folder = config, folder
        self.command = shlex.join(["train_vr_navigation", *command])
        self._shared_command = shlex.join(
            ["train_vr_navigation", *shareable_arguments(command)]
        )
        extra = {} if model is None else _extra_of(model)
        training = config.training
        self._curriculum = (
            Curriculum(training.curriculum_stages) if training.use_curriculum else None
        )
        if self._curriculum is not None and extra:
            self._curriculum.load_state_dict(extra["curriculum"])
        stage = self._curriculum.stage if self._curriculum is not None else None
        self.batch: NavigationBatch = make_batch(
            config,
            config.environment.num_environments,
            seed=training.seed,
            privileged=True,
            bank=stage_bank(config, stage),
            custom_terms=load_custom_terms(config.rewards.custom),
            log_folder=folder.logs / "godot",
        )
        compile_kernels(config, self.batch)
        self._levels = TrainingLevels(config, self.batch, stage)
        # SB3 goes on in the newest folder PPO_<n>; the published one is PPO_1.
        (folder.logs / "PPO_1").mkdir(parents=True, exist_ok=True)
        env = BatchVecEnv(self.batch, action_space(config))
        self.learner: FastPPO = make_learner(
            config, env, tensorboard_log=str(folder.logs)
        )
        self._best: tuple[float, float] | None = None
        if initial is not None:
            adopt(self.learner, initial)
        if model is not None:
            resume(self.learner, self.batch, model)
            self._levels.counter = int(extra["new_levels"])
            if extra["best"] is not None:
                self._best = (extra["best"][0], extra["best"][1])
            rewind_logs(folder, self.learner.num_timesteps)

    def train(self, display: Display, evaluate: Evaluate, stop: StopRequest) -> float:
        """Train to the end and write the final model; the seconds that training took.

        Raises:
            Interrupted: `stop` was requested; a checkpoint is saved.
        """
        training, folder = self.config.training, self.folder
        total = training.total_timesteps

        def scores() -> dict[str, float]:
            # Evaluations of any number leave the training as it would be without them.
            with torch.random.fork_rng(devices=[]):
                return evaluate(self.agent())

        evaluation = Evaluation(
            folder, training.eval_freq, total, scores, self.save_model
        )
        evaluation.best = self._best
        self._evaluation = evaluation
        callbacks = CallbackList(
            [
                Metrics(
                    folder.metrics,
                    display,
                    self._curriculum,
                    self.config.environment.goal_radius,
                ),
                Lessons(self._levels, self._curriculum),
                evaluation,
                Checkpoints(
                    folder, training.save_freq, total, self.save_checkpoint, stop
                ),
            ]
        )
        began = time.perf_counter()
        with display:
            learn_until(self.learner, total, callbacks, log_interval=None)
        seconds = time.perf_counter() - began
        self.save_model(folder.final_model)
        if not folder.best_model.exists():
            self.save_model(folder.best_model)
        return seconds

    def agent(self) -> Agent:
        """A snapshot of the policy."""
        return Agent.from_learner(self.learner, self.config, self.batch.layout)

    def save_model(self, path: Path) -> None:
        """Write the policy alone."""
        save_model(path, self._model(None))

    def save_checkpoint(self, path: Path) -> None:
        """Write the policy with everything that a resume needs."""
        best = self._evaluation.best
        extra = {
            "new_levels": self._levels.counter,
            "curriculum": self._curriculum and self._curriculum.state_dict(),
            "best": None if best is None else list(best),
        }
        state = capture(self.learner, self.batch, extra)
        save_model(path, self._model(state))
        log.info("saved %s", path)

    def close(self) -> None:
        """Free the world."""
        self.batch.close()

    def _model(self, state: TrainingState | None) -> ModelFile:
        model = model_of(
            self.learner, self.config, self.batch.layout, command=self._shared_command
        )
        return ModelFile(model.metadata, model.policy, state)


def compile_kernels(config: RLConfig, batch: NavigationBatch) -> None:
    """Compile what a step runs, before clocks start; nothing of `batch` changes."""
    if config.environment.world == "godot":  # an engine compiles nothing
        config = config.override("environment", world="kernel")
    other = make_batch(config, 1, privileged=True, bank=batch.bank)
    other.reset(np.zeros(1, np.int64))
    discrete = config.actions.mode == "discrete"
    other.step(np.zeros(1, np.int64) if discrete else np.zeros((1, 3)))
    other.close()


def _extra_of(model: ModelFile) -> dict[str, Any]:
    """What `TrainingRun.save_checkpoint` added to a checkpoint."""
    assert model.training is not None
    extra = model.training.values.get("extra")
    if not isinstance(extra, dict) or not {"new_levels", "curriculum", "best"} <= set(
        extra
    ):
        raise ModelFileError("the checkpoint was not made by train_vr_navigation")
    return extra
