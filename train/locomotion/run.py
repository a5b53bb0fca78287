"""One locomotion training, from its configuration or a checkpoint to its final model."""

from __future__ import annotations

import csv
import io
import logging
import shlex
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from stable_baselines3.common.callbacks import BaseCallback

from ambulo.configs.base import load_json
from ambulo.configs.errors import RunFolderError
from ambulo.configs.locomotion import LocomotionConfig
from ambulo.configs.motion_nn import MotionNNConfig
from ambulo.configs.simulation_nn import LocomotionTrainingConfig
from ambulo.envs.locomotion.batch import LocomotionBatch
from ambulo.policies.locomotion_agent import LocomotionAgent
from ambulo.policies.locomotion_learner import make_locomotion_learner
from ambulo.policies.locomotion_model_file import (
    LocomotionModel,
    describe_locomotion,
    load_locomotion,
    save_locomotion,
)
from ambulo.policies.model_file import TrainingState
from ambulo.policies.motion_model_file import load_encoder
from ambulo.policies.motion_nn import MotionNN
from ambulo.policies.motion_prior import SimulationNNWithPrior
from ambulo.policies.ppo import FastPPO
from ambulo.policies.simulation_nn import SimulationNN
from ambulo.train.locomotion.callbacks import LocomotionMetrics, Schedules, Statistics
from ambulo.train.locomotion.task import (
    action_names,
    bytes_of,
    make_bodies,
    references_for,
    stored_references,
    vector_env,
)
from ambulo.train.locomotion.teacher import Round, teach
from ambulo.train.shared.callbacks import rewind_logs
from ambulo.train.shared.console import Display
from ambulo.train.shared.files import write_atomic
from ambulo.train.shared.find_model import find_model
from ambulo.train.shared.learner_state import (
    adopt,
    capture_learner,
    fits,
    restore_learner,
)
from ambulo.train.shared.learning_run import LearningRun, best_of, extra_of
from ambulo.train.shared.paths import resolve_path
from ambulo.train.shared.run_folder import RunFolder
from ambulo.train.shared.signals import StopRequest
from ambulo.train.vr.options import shareable_arguments

log = logging.getLogger(__name__)

BODY_SEEDS = 10_000
"""Seeds of bodies that belong to one training seed."""


class LocomotionRunFolder(RunFolder):
    """Paths of a run; nothing is created by making one of these."""

    program = "train_locomotion"
    prefix = "locomotion_"

    def check(self, checkpoint: Path) -> None:
        """`ModelFileError` for a damaged checkpoint."""
        load_locomotion(checkpoint)


@dataclass(frozen=True)
class ResumePoint:
    """Where a resumed training goes on."""

    folder: LocomotionRunFolder
    """The run."""
    model: LocomotionModel | None
    """Its newest checkpoint, or the one that was named; None: killed before the first."""
    config: LocomotionConfig
    """Settings of the run."""


def find_resume_point(path: str) -> ResumePoint:
    """The newest whole checkpoint of the run folder `path`, or the checkpoint `path`.

    Raises:
        RunFolderError: neither a run folder nor a checkpoint in one.
        ModelFileError: a damaged file was named.
    """
    target = resolve_path(path)
    if not target.exists():
        raise RunFolderError(f"{target}: no such run folder or checkpoint")
    places = [target] if target.is_dir() else list(target.resolve().parents[:2])
    folders = [folder for folder in map(LocomotionRunFolder, places) if folder.exists]
    if not folders:
        raise RunFolderError(f"{target}: not a run folder: no run.json and config.json")
    folder = folders[0]
    checkpoint = folder.newest_checkpoint() if target.is_dir() else target
    model = None if checkpoint is None else load_locomotion(checkpoint)
    if model is not None and model.training is None:
        raise RunFolderError(
            f"{checkpoint}: holds no training state; resume a file of checkpoints/"
        )
    return ResumePoint(folder, model, load_json(LocomotionConfig, folder.config))


class LocomotionRun(LearningRun[LocomotionAgent]):
    """The objects of a run, built fresh or from a checkpoint."""

    program = "train_locomotion"
    rank = ("survival_rate", "return_mean")

    def __init__(
        self,
        config: LocomotionConfig,
        folder: LocomotionRunFolder,
        command: Sequence[str],
        model: LocomotionModel | None,
        initial: LocomotionModel | None = None,
    ) -> None:
        """Build bodies and learner.

        Args:
            config: all settings.
            folder: where results go; it exists.
            command: command line, for the report and, without paths, for model files.
            model: the checkpoint to go on from, or None.
            initial: a model whose policy a new run begins with, or None.
        """
        self.config, self.folder = config, folder
        self.command = shlex.join([self.program, *command])
        self._shared_command = shlex.join([self.program, *shareable_arguments(command)])
        training, source = config.training, str(folder.path)
        if model is not None:  # the clip may have changed, or be gone
            self.references = stored_references(model, source)
        else:
            self.references = references_for(config)
        self.batch: LocomotionBatch = make_bodies(
            config,
            config.environment.num_environments,
            self.references,
            seed=BODY_SEEDS * training.seed,
            threads=training.num_threads,
        )
        # SB3 goes on in the newest folder PPO_<n>; the published one is PPO_1.
        (folder.logs / "PPO_1").mkdir(parents=True, exist_ok=True)
        given = model or initial
        self.learner: FastPPO = make_locomotion_learner(
            config,
            vector_env(self.batch),
            encoder=_encoder(config, given),
            tensorboard_log=str(folder.logs),
        )
        self._begun = False
        if initial is not None:
            adopt(self.learner, initial)
            self._begun = True
        if model is not None:
            extra = extra_of(model.training, {"best"}, self.program)
            assert model.training is not None
            adopt(self.learner, model)
            with fits():
                restore_learner(self.learner, self.batch, model.training)
            self.best, self._begun = best_of(extra), True
            rewind_logs(folder, self.learner.num_timesteps)

    @property
    def budget(self) -> LocomotionTrainingConfig:
        """The settings of the training."""
        return self.config.training

    @property
    def policy(self) -> SimulationNN:
        """The network that learns."""
        assert isinstance(self.learner.policy, SimulationNN)
        return self.learner.policy

    @property
    def encoder(self) -> MotionNNConfig | None:
        """Settings of the prior's motion network."""
        policy = self.policy
        if not isinstance(policy, SimulationNNWithPrior):
            return None
        return policy.encoder.config

    def train(
        self,
        display: Display,
        evaluate: Callable[[LocomotionAgent], dict[str, float]],
        stop: StopRequest,
    ) -> float:
        """As every run, after the teacher or a warm-up where it is new."""
        if not self._begun:
            self._begin(stop)
            self._begun = True
            self.save_checkpoint(self.folder.checkpoint(0))
        return super().train(display, evaluate, stop)

    def _begin(self, stop: StopRequest) -> None:
        """What comes before reinforcement learning."""
        training, policy = self.config.training, self.policy
        if training.teacher is None:
            self._warm_up(self.config.network.warm_up_steps)
            return
        rounds = teach(
            policy,
            self.batch,
            training.teacher,
            seed=training.seed,
            stop=stop,
            threads=training.num_workers,
        )
        policy.normalizer.freeze()
        write_atomic(self.folder.path / "teacher.csv", _csv(rounds))

    def _warm_up(self, steps: int) -> None:
        """Let the fresh policy act, for the running statistics alone."""
        batch, policy = self.batch, self.policy
        batch.reset(np.arange(batch.num_players))
        seen = []
        for _ in range(steps):
            seen.append(torch.as_tensor(batch.obs.copy()))
            with torch.inference_mode():
                actions, _, _ = policy(seen[-1].to(policy.device))
            _, _, terminated, truncated, _ = batch.step(actions.cpu().numpy())
            batch.reset(np.flatnonzero(terminated | truncated))
        if seen:
            policy.observe(torch.cat(seen).to(policy.device))

    def callbacks(self, display: Display) -> Sequence[BaseCallback]:
        """Logs, schedules and statistics."""
        prior = self.config.network.prior
        unfreeze_at = None if prior is None else prior.unfreeze_at
        return [
            Statistics(),
            Schedules(self.batch, self.config.training, unfreeze_at),
            LocomotionMetrics(self.folder.metrics, display),
        ]

    def agent(self) -> LocomotionAgent:
        """A snapshot of the policy."""
        return LocomotionAgent(self._model(None))

    def state(self, extra: dict[str, Any]) -> TrainingState:
        """Learner and bodies."""
        return capture_learner(self.learner, self.batch, extra)

    def write(self, path: Path, state: TrainingState | None) -> None:
        """Write a model file; with `state` it is a checkpoint."""
        save_locomotion(path, self._model(state))

    def close(self) -> None:
        """Free the bodies."""
        self.batch.close()

    def _model(self, state: TrainingState | None) -> LocomotionModel:
        metadata = describe_locomotion(
            self.config,
            self.batch.layout,
            action_names(self.batch),
            encoder=self.encoder,
            num_timesteps=self.learner.num_timesteps,
            command=self._shared_command,
        )
        weights = {
            name: tensor.detach().cpu().clone()
            for name, tensor in self.policy.state_dict().items()
        }
        return LocomotionModel(metadata, weights, bytes_of(self.references), state)


def _encoder(
    config: LocomotionConfig, given: LocomotionModel | None
) -> MotionNNConfig | MotionNN | None:
    """The prior's motion network: that of a `given` model, or as configured.

    It may be named as models are everywhere: a file, a run folder or a shipped model.
    """
    prior = config.network.prior
    if prior is None:
        return None
    if given is not None and given.metadata.encoder is not None:
        return given.metadata.encoder  # its weights come with the policy
    return load_encoder(find_model(prior.model))


def _csv(rounds: Sequence[Round]) -> str:
    """The rounds of a teacher as a table."""
    text = io.StringIO()
    writer = csv.DictWriter(text, ["samples", "error", "length"])
    writer.writeheader()
    writer.writerows(asdict(row) for row in rounds)
    return text.getvalue()
