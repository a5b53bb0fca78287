"""One training run, from its configuration or a checkpoint to its final model."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from stable_baselines3.common.callbacks import BaseCallback

from ambulo.common.console import Display
from ambulo.configs.vr import NavigationConfig, TrainingConfig
from ambulo.envs.vr.task.batch import NavigationBatch
from ambulo.envs.vr.task.build import make_batch
from ambulo.envs.vr.task.reward import load_custom_terms
from ambulo.envs.vr.task.spaces import action_space
from ambulo.policies.agents.navigation import Agent, NavigationModel
from ambulo.policies.files.model_file import TrainingState, save_model
from ambulo.policies.learner import make_learner, model_of
from ambulo.policies.ppo import FastPPO
from ambulo.policies.sb3_batch_env import Sb3BatchEnv
from ambulo.train.shared.callbacks import rewind_logs
from ambulo.train.shared.learner_state import adopt
from ambulo.train.shared.learning_run import LearningRun, best_of, extra_of
from ambulo.train.vr.callbacks import Lessons, NavigationMetrics
from ambulo.train.vr.curriculum import Curriculum
from ambulo.train.vr.lessons import TrainingLevels, stage_bank
from ambulo.train.vr.run_folder import NavigationRunFolder
from ambulo.train.vr.training_state import capture, resume
from ambulo.train.vr.validation import Validation


class TrainingRun(LearningRun[Agent]):
    """The objects of a run, built fresh or from a checkpoint."""

    program = "train_vr_navigation"
    rank = ("success_rate", "spl")

    def __init__(
        self,
        config: NavigationConfig,
        folder: NavigationRunFolder,
        command: Sequence[str],
        model: NavigationModel | None,
        initial: NavigationModel | None = None,
        *,
        shared_command: str = "",
        deterministic: bool = True,
    ) -> None:
        """Build levels, players and learner.

        Args:
            config: all settings.
            folder: where results go; it exists.
            command: flags of the command line, for the report.
            model: the checkpoint to continue from, or None.
            initial: a model whose policy a new run begins with, or None.
            shared_command: command line for model files, without paths.
            deterministic: whether validation uses mean actions.
        """
        self.config, self.folder = config, folder
        self.command = shlex.join([self.program, *command])
        self._shared_command = shared_command
        self.validation = Validation(config, deterministic=deterministic)
        extra = {}
        if model is not None:
            keys = {"new_levels", "curriculum", "best"}
            extra = extra_of(model.training, keys, self.program)
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
        env = Sb3BatchEnv(self.batch, action_space(config))
        self.learner: FastPPO = make_learner(
            config, env, tensorboard_log=str(folder.logs)
        )
        if initial is not None:
            adopt(self.learner, initial)
        if model is not None:
            resume(self.learner, self.batch, model)
            self._levels.counter = int(extra["new_levels"])
            self.best = best_of(extra)
            rewind_logs(folder, self.learner.num_timesteps)

    @property
    def budget(self) -> TrainingConfig:
        """The settings of the training."""
        return self.config.training

    def callbacks(self, display: Display) -> Sequence[BaseCallback]:
        """Logs and lessons."""
        radius = self.config.environment.goal_radius
        return [
            NavigationMetrics(self.folder.metrics, display, self._curriculum, radius),
            Lessons(self._levels, self._curriculum),
        ]

    def agent(self) -> Agent:
        """A snapshot of the policy."""
        return Agent(model_of(self.learner, self.config, self.batch.layout))

    def extra(self) -> dict[str, Any]:
        """How far levels and lessons are."""
        return {
            "new_levels": self._levels.counter,
            "curriculum": self._curriculum and self._curriculum.state_dict(),
        }

    def state(self, extra: dict[str, Any]) -> TrainingState:
        """Learner, players and levels."""
        return capture(self.learner, self.batch, extra)

    def write(self, path: Path, state: TrainingState | None) -> None:
        """Write a model file; with `state` it is a checkpoint."""
        model = model_of(
            self.learner, self.config, self.batch.layout, command=self._shared_command
        )
        save_model(path, replace(model, training=state))

    def close(self) -> None:
        """Free the world."""
        self.batch.close()


def compile_kernels(config: NavigationConfig, batch: NavigationBatch) -> None:
    """Compile what a step runs, before clocks start; nothing of `batch` changes."""
    if config.environment.world == "godot":  # an engine compiles nothing
        config = config.override("environment", world="kernel")
    other = make_batch(config, 1, privileged=True, bank=batch.bank)
    other.reset(np.zeros(1, np.int64))
    discrete = config.actions.mode == "discrete"
    other.step(np.zeros(1, np.int64) if discrete else np.zeros((1, 3)))
    other.close()
