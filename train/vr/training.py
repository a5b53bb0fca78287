"""The parts of a navigation training: levels, environments, learner, model files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from stable_baselines3.common.callbacks import BaseCallback

from ambulo.common.console import Display
from ambulo.common.files import write_atomic
from ambulo.common.run_folder import RunFolder
from ambulo.common.signals import StopRequest
from ambulo.configs.vr import NavigationConfig
from ambulo.envs.vr.task.batch import NavigationBatch
from ambulo.envs.vr.task.build import make_batch
from ambulo.envs.vr.task.env import action_space
from ambulo.envs.vr.task.reward import load_custom_terms
from ambulo.policies.agents.navigation import Agent, NavigationModel
from ambulo.policies.files.model_file import TrainingState, save_model
from ambulo.policies.learner import make_learner, model_of
from ambulo.policies.networks.actor_critic import NavigationPolicy
from ambulo.policies.sb3_batch_env import RemoteBatchEnv, Sb3BatchEnv
from ambulo.train.shared.dagger import CriticFirst, rounds_csv, teach
from ambulo.train.shared.rl_run import extra_of
from ambulo.train.shared.rl_task import RLTask, TaskFactory, WorkerSpec
from ambulo.train.shared.run_folders import NavigationRunFolder
from ambulo.train.vr.callbacks import LevelUpdates, NavigationMetrics
from ambulo.train.vr.curriculum import LevelCurriculum
from ambulo.train.vr.level_curriculum import TrainingLevels, stage_bank, stage_config
from ambulo.train.vr.planner_labels import PlannerLabels
from ambulo.train.vr.training_state import capture, restore
from ambulo.train.vr.validation import Validation


class NavigationTraining(RLTask[Agent]):
    """Levels, environments and learner of navigation, new or for a checkpoint."""

    rank: tuple[str, ...] = ("success_rate", "spl")

    def __init__(
        self,
        config: NavigationConfig,
        folder: RunFolder,
        checkpoint: NavigationModel | None = None,
        *,
        command: str = "",
        deterministic: bool = True,
        announce: Callable[[str], None] = lambda _: None,
        remote: bool = False,
    ) -> None:
        """Build levels, environments and learner.

        Args:
            config: all settings.
            folder: where results go; it exists.
            checkpoint: what the run continues from, or None.
            command: command line for model files, without paths.
            deterministic: whether validation uses mean actions.
            announce: called with a line on what begins.
            remote: whether workers have the environments; one small environment then
                gives the learner their shapes.
        """
        self.config, self.folder, self._command = config, folder, command
        self.budget = config.training
        self._announce = announce
        if config.environment.body != "capsule":
            # Nearly all solve all levels: agents differ in touches and falls.
            self.rank = ("return_mean",)
        self.validation = Validation(config, deterministic=deterministic)
        training = config.training
        self._curriculum = (
            LevelCurriculum(training.curriculum_stages)
            if training.use_curriculum
            else None
        )
        if checkpoint is not None:
            keys = {"new_levels", "curriculum", "best"}
            extra = extra_of(checkpoint.training, keys, folder)
            if self._curriculum is not None:
                self._curriculum.load_state_dict(extra["curriculum"])
        stage = self._curriculum.stage if self._curriculum is not None else None
        count = config.environment.num_environments
        self._levels: TrainingLevels | None = None
        if remote:
            small = config.override(
                "environment", world="compiled", scene=None, levels_per_family=1
            )
            self.batch: NavigationBatch = make_batch(
                small, config.environment.agents, privileged=True
            )
            env: Sb3BatchEnv = RemoteBatchEnv(self.batch, action_space(config), count)
        else:
            announce("building the training levels ...")
            begun = stage_config(config, stage)
            self.batch = make_batch(
                begun,
                count,
                seed=training.seed,
                privileged=True,
                bank=stage_bank(config, stage),
                custom_terms=load_custom_terms(config.rewards.custom),
                log_folder=folder.logs / "godot",
            )
            announce(
                "compiling the environment (up to half a minute the first time) ..."
            )
            compile_kernels(begun, self.batch)
            self._levels = TrainingLevels(config, self.batch, stage)
            env = Sb3BatchEnv(self.batch, action_space(config))
        self.learner = make_learner(config, env, tensorboard_log=str(folder.logs))

    def begin(self, stop: StopRequest, *, initialised: bool) -> bool:
        """Imitate the planner of the settings, unless the run begins with a model."""
        training = self.config.training
        if training.teacher is None or initialised:
            return False
        policy, ppo, teacher = self.learner.policy, self.config.ppo, training.teacher
        assert isinstance(policy, NavigationPolicy), "what `make_learner` makes"
        rounds = teach(
            policy,
            self.batch,
            teacher,
            PlannerLabels(teacher.planner, self.batch.num_envs),
            seed=training.seed,
            stop=stop,
            threads=training.update_threads,
            size=self.batch.layout.size,
            sequence=ppo.sequence or ppo.n_steps,
            progress=lambda row: self._announce(
                f"{teacher.planner} teaches: {row.samples}/{teacher.samples} states, "
                f"error {row.error:.3f}"
            ),
        )
        write_atomic(self.folder.path / "teacher.csv", rounds_csv(rounds))
        return True

    def callbacks(self, display: Display) -> Sequence[BaseCallback]:
        """Return logs."""
        radius = self.config.environment.goal_radius
        metrics = self.folder.metrics
        logs = NavigationMetrics(metrics, display, self._curriculum, radius)
        teacher = self.config.training.teacher
        if teacher is None:
            return [logs]
        count = self.config.environment.num_environments
        return [logs, CriticFirst(teacher.critic_updates, count)]

    def environment_callbacks(self) -> Sequence[BaseCallback]:
        """Return changes of levels and stages."""
        return [LevelUpdates(self._levels, self._curriculum)]

    def learner_settings(self) -> dict[str, Any]:
        """Return the state of the curriculum."""
        return {"curriculum": self._curriculum and self._curriculum.state_dict()}

    def follow(self, settings: Mapping[str, Any]) -> None:
        """Enter the stage of the learner's curriculum."""
        if self._curriculum is None or self._levels is None:
            return
        before = self._curriculum.index
        self._curriculum.load_state_dict(settings["curriculum"])
        if self._curriculum.index != before and self._levels.enter(
            self._curriculum.stage
        ):
            self.learner._last_obs = None  # new levels: episodes begin anew

    def factory(self) -> TaskFactory:
        """Return the settings, from which workers make everything."""
        return partial(worker_part, self.config)

    def agent(self) -> Agent:
        """Return a snapshot of the policy."""
        return Agent(model_of(self.learner, self.config))

    def extra(self) -> dict[str, Any]:
        """Return the state of levels and curriculum."""
        levels = {} if self._levels is None else {"new_levels": self._levels.counter}
        return {**levels, **self.learner_settings()}

    def capture(self, extra: dict[str, Any]) -> TrainingState:
        """Return the state of learner, environments and levels, with `extra`."""
        return capture(self.learner, self.batch, extra)

    def restore(self, state: TrainingState, extra: dict[str, Any]) -> None:
        """Put `state` back."""
        restore(self.learner, self.batch, state)
        if self._levels is not None:
            self._levels.counter = int(extra["new_levels"])

    def write(self, path: Path, state: TrainingState | None) -> None:
        """Write a model file; with `state` it is a checkpoint."""
        model = model_of(self.learner, self.config, command=self._command)
        save_model(path, replace(model, training=state))

    def close(self) -> None:
        """Free the world."""
        self.batch.close()


def worker_part(
    config: NavigationConfig, spec: WorkerSpec, folder: Path
) -> NavigationTraining:
    """Make a worker's part of a training: environments with the seed of `spec`."""
    config = spec.part_of(config)
    config = config.override("environment", num_environments=spec.num_envs)
    return NavigationTraining(config, NavigationRunFolder(folder))


def compile_kernels(config: NavigationConfig, batch: NavigationBatch) -> None:
    """Compile the code of a step before time is measured; `batch` stays unchanged."""
    if config.environment.scene is not None:  # only an engine can step it
        return
    if config.environment.world == "godot":  # an engine compiles nothing
        config = config.override("environment", world="compiled")
    if config.environment.character is not None:  # the step of a body is long anyway
        return
    count = config.environment.agents
    other = make_batch(config, count, privileged=True, bank=batch.bank)
    other.reset(np.arange(count))
    discrete = config.actions.mode == "discrete"
    other.step(np.zeros(count, np.int64) if discrete else np.zeros((count, 3)))
    other.close()
