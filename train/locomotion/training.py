"""The parts of a locomotion training: environments, learner, teacher, model files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from stable_baselines3.common.callbacks import BaseCallback

from ambulo.common.console import Display
from ambulo.common.files import write_atomic
from ambulo.common.find_model import find_model
from ambulo.common.run_folder import RunFolder
from ambulo.common.signals import StopRequest
from ambulo.configs.errors import ConfigError, RunFolderError
from ambulo.configs.locomotion import LocomotionConfig
from ambulo.configs.motion_nn import MotionNNConfig
from ambulo.envs.locomotion.protocol import WalkerBatch
from ambulo.envs.reference.reference import reference_from_bytes
from ambulo.evaluate.locomotion.cascades import digest_of
from ambulo.evaluate.locomotion.evaluation import stored_references
from ambulo.muscle.muscle_nn import (
    MuscleNN,
    muscle_nn_bytes,
    muscle_nn_from_bytes,
)
from ambulo.policies.agents.locomotion import (
    LocomotionAgent,
    LocomotionModel,
    locomotion_model,
)
from ambulo.policies.agents.motion import load_encoder
from ambulo.policies.files.model_file import TrainingState, save_model, weights_of
from ambulo.policies.kinds.locomotion import describe_locomotion
from ambulo.policies.learner import ppo_learner
from ambulo.policies.networks.locomotion_policy import POLICIES, policy_kwargs
from ambulo.policies.networks.motion_nn import MotionNN
from ambulo.policies.networks.motion_prior import SimulationNNWithPrior
from ambulo.policies.networks.simulation_nn import SimulationNN
from ambulo.policies.sb3_batch_env import RemoteBatchEnv
from ambulo.train.locomotion.bodies import (
    References,
    action_names,
    bytes_of,
    carried_references,
    make_bodies,
    references_for,
    stored_muscles,
    teacher_of,
    vector_env,
)
from ambulo.train.locomotion.callbacks import LocomotionMetrics, Schedules
from ambulo.train.locomotion.mirrored import Mirrored
from ambulo.train.locomotion.muscle_updates import MuscleUpdates, network_of
from ambulo.train.locomotion.validation import LocomotionValidation
from ambulo.train.shared.dagger import rounds_csv, teach
from ambulo.train.shared.observation_statistics import ObservationStatistics, warm_up
from ambulo.train.shared.optimizer_state import group
from ambulo.train.shared.rl_task import RLTask, TaskFactory, WorkerSpec
from ambulo.train.shared.run_folders import LocomotionRunFolder

BODY_SEEDS = 10_000
"""Number of environment seeds for each training seed."""


@dataclass(frozen=True)
class Parts:
    """Files that a training reads besides its settings."""

    references: References
    """References of the bodies."""
    muscles: MuscleNN | None
    """A trained muscle network, instead of a new one."""
    encoder: MotionNNConfig | MotionNN | None
    """The motion network of a prior, or its settings where its weights come otherwise."""


class LocomotionTraining(RLTask[LocomotionAgent]):
    """Environments and learner of locomotion, new or for a checkpoint."""

    rank = ("success_rate", "survival_rate", "return_mean")

    def __init__(
        self,
        config: LocomotionConfig,
        folder: RunFolder,
        parts: Parts,
        *,
        command: str = "",
        deterministic: bool = True,
        remote: bool = False,
        all_envs: int | None = None,
    ) -> None:
        """Build environments and learner.

        Args:
            config: all settings.
            folder: where results go; it exists.
            parts: what was read from files; see `read_parts`.
            command: command line for model files, without paths.
            deterministic: whether validation uses mean actions.
            remote: whether workers have the environments; one body then gives the learner
                their shapes.
            all_envs: bodies of all workers, if these are a part of them.
        """
        self.config, self.folder, self._command = config, folder, command
        self.budget = config.training
        training, self._parts = config.training, parts
        base = config.gait.base
        self._above = {} if base is None else {"base": digest_of(base)}
        self.references = parts.references
        self.validation = LocomotionValidation(
            config, self.references, deterministic=deterministic
        )
        count = config.environment.num_environments
        self._all_envs = all_envs or count
        self.batch: WalkerBatch = make_bodies(
            config,
            1 if remote else count,
            self.references,
            seed=BODY_SEEDS * training.seed,
            threads=training.num_threads,
            muscles=parts.muscles,
        )
        self._muscles: MuscleUpdates | None = None
        if training.muscle_updates is not None:
            if remote:
                raise ConfigError(
                    "training.muscle_updates learns from the bodies of this process: "
                    "leave out --engine ray"
                )
            table = folder.path / "muscle_network.csv"
            updates = training.muscle_updates
            self._muscles = MuscleUpdates(self.batch, updates, training.seed, table)
        env = vector_env(self.batch)
        if remote:
            env = RemoteBatchEnv(self.batch, env.action_space, count)
        network, layout = config.network, self.batch.layout
        self.learner = ppo_learner(
            POLICIES[network.policy],
            env,
            config,
            tensorboard_log=str(folder.logs),
            policy_kwargs=policy_kwargs(network, layout, parts.encoder),
        )

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

    def begin(self, stop: StopRequest, *, initialised: bool) -> bool:
        """Train the muscle network, then imitate a teacher or warm up.

        The policy of a teacher may be better than anything that follows.
        """
        if self._muscles is not None:
            self._muscles.warm_up()
        if not initialised:
            self._begin(stop)
        return True

    def _begin(self, stop: StopRequest) -> None:
        """Imitate the teacher, or warm up without one."""
        training, policy = self.config.training, self.policy
        if training.teacher is None:
            warm_up(policy, self.batch, self.config.network.warm_up_steps)
            return
        rounds = teach(
            policy,
            self.batch,
            training.teacher,
            teacher_of(training.teacher, self.batch),
            seed=training.seed,
            stop=stop,
            threads=training.update_threads,
            change=Mirrored(self.batch) if training.teacher.mirror else None,
        )
        policy.normalizer.freeze()
        write_atomic(self.folder.path / "teacher.csv", rounds_csv(rounds))

    def callbacks(self, display: Display) -> Sequence[BaseCallback]:
        """Return logs."""
        muscles = [] if self._muscles is None else [self._muscles]
        metrics = LocomotionMetrics(self.folder.metrics, display)
        return [*muscles, metrics]

    def environment_callbacks(self) -> Sequence[BaseCallback]:
        """Return statistics, and schedules of bodies and learner."""
        prior = self.config.network.prior
        unfreeze_at = None if prior is None else prior.unfreeze_at
        schedules = Schedules(
            self.batch, self.config.training, unfreeze_at, self._all_envs
        )
        return [ObservationStatistics(), schedules]

    def factory(self) -> TaskFactory:
        """Return settings and references, from which workers make everything else."""
        muscles = self._parts.muscles
        return partial(
            worker_part,
            self.config,
            bytes_of(self.references),
            None if muscles is None else muscle_nn_bytes(muscles),
            self.encoder,
        )

    def agent(self) -> LocomotionAgent:
        """Return a snapshot of the policy."""
        return LocomotionAgent(self._model(None))

    def capture(self, extra: dict[str, Any]) -> TrainingState:
        """Return the state of learner, environments and muscle network, with `extra`."""
        state = super().capture(extra)
        if self._muscles is None:
            return state
        kept = self._muscles.state_dict()
        arrays = {f"muscles.{name}": array for name, array in kept.items()}
        return TrainingState({**state.arrays, **arrays}, state.values)

    def restore(self, state: TrainingState, extra: dict[str, Any]) -> None:
        """Put `state` back."""
        super().restore(state, extra)
        if self._muscles is not None:
            self._muscles.load_state_dict(group(state.arrays, "muscles"))

    def write(self, path: Path, state: TrainingState | None) -> None:
        """Write a model file; with `state` it is a checkpoint."""
        save_model(path, self._model(state))

    def close(self) -> None:
        """Free the environments."""
        self.batch.close()

    def _model(self, state: TrainingState | None) -> LocomotionModel:
        metadata = describe_locomotion(
            self.config,
            self.batch.layout,
            action_names(self.batch),
            encoder=self.encoder,
            num_timesteps=self.learner.num_timesteps,
            extra=self._above,
            command=self._command,
        )
        weights = weights_of(self.policy)
        network = network_of(self.batch)
        muscles = None if network is None else muscle_nn_bytes(network)
        references = bytes_of(carried_references(self.references))
        return locomotion_model(metadata, weights, references, state, muscles)


def worker_part(
    config: LocomotionConfig,
    references: Sequence[bytes],
    muscles: bytes | None,
    encoder: MotionNNConfig | None,
    spec: WorkerSpec,
    folder: Path,
) -> LocomotionTraining:
    """Make a worker's part of a training: bodies with the seed of `spec`."""
    config = spec.part_of(config)
    config = config.override("environment", num_environments=spec.num_envs)
    source = "the run"
    network = None if muscles is None else muscle_nn_from_bytes(muscles, source)
    found = tuple(reference_from_bytes(data, source) for data in references)
    parts, run = Parts(found, network, encoder), LocomotionRunFolder(folder)
    return LocomotionTraining(config, run, parts, all_envs=spec.all_envs)


def read_parts(
    config: LocomotionConfig,
    folder: RunFolder,
    model: LocomotionModel | None,
    initial: LocomotionModel | None = None,
) -> Parts:
    """Read what a training needs besides its settings.

    Args:
        config: all settings.
        folder: of the run.
        model: the checkpoint that the run continues from, or None.
        initial: a model whose policy a new run begins with, or None.

    Raises:
        RunFolderError: the model below a correction is not the same any more.
    """
    source, base = str(folder.path), config.gait.base
    if model is not None:
        known = model.metadata.extra.get("base")
        if known is not None and known != (base and digest_of(base)):
            raise RunFolderError(f"{base}: the base of this run has changed since")
    if config.environment.clips:
        references = references_for(config)
    elif model is not None:  # the clip may have changed or be missing
        references = stored_references(model, source)
    elif initial is not None and _follows(initial, config):
        references = stored_references(initial, source)
    else:
        references = references_for(config)
    given = model or initial
    return Parts(references, stored_muscles(given, source), _encoder(config, given))


def _follows(initial: LocomotionModel, config: LocomotionConfig) -> bool:
    """Whether a run keeps the references of the model `initial`: it names no others.

    A teacher brings references of its own.
    """
    env, theirs = config.environment, initial.metadata.config.environment
    named = env.reference is not None or config.training.teacher is not None
    return not named and env.task == theirs.task


def _encoder(
    config: LocomotionConfig, given: LocomotionModel | None
) -> MotionNNConfig | MotionNN | None:
    """Return the motion network of the prior: of a `given` model, or as configured.

    It may be named as models are everywhere: a file, a run folder or a shipped model.
    """
    prior = config.network.prior
    if prior is None:
        return None
    if given is not None and given.metadata.encoder is not None:
        return given.metadata.encoder  # its weights come with the policy
    return load_encoder(find_model(prior.model))
