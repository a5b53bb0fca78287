"""The parts of a training in a game: agents of all engines, learner, self-play, model files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from stable_baselines3.common.callbacks import BaseCallback

from ambulo.common.console import Display
from ambulo.common.files import write_atomic
from ambulo.common.run_folder import RunFolder
from ambulo.common.signals import StopRequest
from ambulo.configs.errors import ConfigError
from ambulo.configs.godot import GameConfig, GodotConfig
from ambulo.evaluate.game.agents import AgentsBatch
from ambulo.evaluate.game.demonstrations import read_demonstrations
from ambulo.evaluate.game.engines import open_agents
from ambulo.evaluate.game.play import PolicyPlayer, play, usual_opponent
from ambulo.evaluate.game.scores import scores_of
from ambulo.policies.agents.game import GameAgent, GameModel
from ambulo.policies.files.headers import stamp
from ambulo.policies.files.model_file import ModelFile, TrainingState, save_model
from ambulo.policies.kinds.game import GameMetadata
from ambulo.policies.learner import ppo_learner
from ambulo.policies.networks.kinds_policy import (
    KindsPolicy,
    make_kinds_policy,
    row_space,
)
from ambulo.policies.sb3_batch_env import RemoteBatchEnv, Sb3BatchEnv
from ambulo.train.godot.cloning import clone, cloning_csv
from ambulo.train.godot.reward_scale import RewardScale
from ambulo.train.godot.self_play import SelfPlayBatch, callbacks_of, has_teams
from ambulo.train.shared.callbacks import Metrics
from ambulo.train.shared.dagger import CriticFirst
from ambulo.train.shared.observation_statistics import ObservationStatistics, warm_up
from ambulo.train.shared.rl_task import RLTask, TaskFactory, WorkerSpec
from ambulo.train.shared.run_folders import GodotRunFolder
from ambulo.train.shared.worker_state import fresh_seed

EVALUATION_SEED = 1_000_000
"""Added to the training's seed for the seeds of evaluated episodes."""
Open = Callable[..., AgentsBatch]
"""Opens the agents of a game; see `open_agents`."""


class GodotTraining(RLTask[GameAgent]):
    """Agents and learner of a game, new or for a checkpoint."""

    rank = ("success_rate", "return_mean")

    def __init__(
        self,
        config: GodotConfig,
        folder: RunFolder,
        *,
        command: str = "",
        deterministic: bool = True,
        remote: bool = False,
        all_envs: int | None = None,
        opened: Open = open_agents,
    ) -> None:
        """Open the game and make the learner.

        Args:
            config: all settings.
            folder: where results go; it exists.
            command: command line for model files, without paths.
            deterministic: whether validation uses mean actions.
            remote: whether workers have the engines; one engine then tells the learner what
                the agents are.
            all_envs: agents of all workers, if these are a part of them.
            opened: opens the agents.
        """
        self.config, self.folder, self._command = config, folder, command
        self.budget = config.training
        training, env = config.training, config.environment
        logs = folder.logs / "godot"
        one = env.replace(godot_engines=1) if remote else env
        agents = opened(one, seed=training.seed, log_folder=logs)
        self._has_teams = has_teams(agents)
        self.batch: Any = agents
        count = None
        try:
            if training.self_play is not None and self._has_teams:
                first = make_kinds_policy(agents.kinds, config.network)
                self.batch = SelfPlayBatch(
                    agents, training.self_play, first, training.seed
                )
            self._all_envs = all_envs or self.batch.num_envs
            if remote:
                count = self._all_envs = self.batch.num_envs * env.godot_engines
            space = row_space(agents.kinds)
            self.learner = ppo_learner(
                KindsPolicy,
                Sb3BatchEnv(self.batch, space)
                if count is None
                else RemoteBatchEnv(self.batch, space, count),
                config,
                tensorboard_log=str(folder.logs),
                policy_kwargs={"kinds": agents.kinds, "network": config.network},
                recurrent=config.network.recurrent > 0,
            )
        except BaseException:
            agents.close()
            raise
        self.validation = self._validation = GodotValidation(
            env.replace(godot_engines=1), config, opened, deterministic=deterministic
        )

    @property
    def policy(self) -> KindsPolicy:
        """The policies that learn."""
        policy: Any = self.learner.policy
        assert isinstance(policy, KindsPolicy)
        return policy

    def begin(self, stop: StopRequest, *, initialised: bool) -> bool:
        """Imitate recorded play, or collect statistics of observations."""
        demos, training = self.config.training.demonstrations, self.config.training
        if demos.folder is not None:
            recorded = read_demonstrations(demos.folder, self.policy.kinds)
            epochs = clone(self.policy, recorded, demos, stop, training.seed)
            write_atomic(self.folder.path / "cloning.csv", cloning_csv(epochs))
        elif not initialised:
            warm_up(self.policy, self.batch, self.config.network.warm_up_steps)
        if isinstance(self.batch, SelfPlayBatch):
            self.batch.pool.clear()
            self.batch.remember(self.policy)
        return True

    def callbacks(self, display: Display) -> Sequence[BaseCallback]:
        """Return logs."""
        return [GameMetrics(self.folder.metrics, display)]

    def environment_callbacks(self) -> Sequence[BaseCallback]:
        """Return statistics, the pool of past selves, and what follows imitation."""
        demos, ppo = self.config.training.demonstrations, self.config.ppo
        beside = [ObservationStatistics(), *callbacks_of(self.batch)]
        if ppo.normalize_returns:
            beside.append(RewardScale(ppo.reward_scale))
        if demos.folder is not None:
            beside.append(CriticFirst(demos.critic_updates, self._all_envs))
        return beside

    def factory(self) -> TaskFactory:
        """Return the settings, from which workers make everything."""
        return partial(worker_part, self.config)

    def agent(self) -> GameAgent:
        """Return a snapshot of the policies."""
        return GameAgent(self._model(None))

    def capture(self, extra: dict[str, Any]) -> TrainingState:
        """Return the state of the learner, with `extra` and the past selves."""
        state = super().capture(extra)
        if not isinstance(self.batch, SelfPlayBatch):
            return state
        return TrainingState(state.arrays | self.batch.pool_arrays(), state.values)

    def restore(self, state: TrainingState, extra: dict[str, Any]) -> None:
        """Put `state` back; a game cannot be put back, so that its episodes begin anew."""
        super().restore(state, extra)
        if isinstance(self.batch, SelfPlayBatch):
            self.batch.load_pool(state.arrays)
        learner = self.learner
        learner._last_obs = None
        seed = fresh_seed(learner.seed or 0, 0, learner.num_timesteps)
        rng = np.random.default_rng(seed)
        self.batch.seed(rng.integers(2**31, size=self.batch.num_envs).tolist())

    def write(self, path: Path, state: TrainingState | None) -> None:
        """Write a model file; with `state` it is a checkpoint."""
        save_model(path, self._model(state))

    def close(self) -> None:
        """End the engines."""
        self.batch.close()
        self._validation.close()

    def _model(self, state: TrainingState | None) -> GameModel:
        metadata = GameMetadata(
            num_timesteps=self.learner.num_timesteps,
            config=self.config,
            agents=self.policy.kinds,
            action_repeat=getattr(self.batch, "action_repeat", 8),
            **stamp(self._command, None),
        )
        weights = {
            name: tensor.detach().cpu().clone()
            for name, tensor in self.policy.state_dict().items()
        }
        return ModelFile(metadata, weights, state)


def worker_part(config: GodotConfig, spec: WorkerSpec, folder: Path) -> GodotTraining:
    """Start a worker's engines, with the seed of `spec`.

    Raises:
        ConfigError: the engines cannot be divided among the workers.
    """
    engines = config.environment.godot_engines
    workers = spec.all_envs // spec.num_envs
    if engines % workers:
        raise ConfigError(
            f"--workers {workers}: must divide environment.godot_engines = {engines}"
        )
    config = spec.part_of(config)
    config = config.override("environment", godot_engines=engines // workers)
    return GodotTraining(config, GodotRunFolder(folder), all_envs=spec.all_envs)


class GodotValidation:
    """Scores of policies in episodes with fixed seeds, in an engine of its own."""

    def __init__(
        self,
        game: GameConfig,
        config: GodotConfig,
        opened: Open,
        *,
        deterministic: bool,
    ) -> None:
        """Keep the settings; the engine starts at the first call."""
        self._game, self._training = game, config.training
        self._opened, self._deterministic = opened, deterministic
        self._agents: AgentsBatch | None = None

    def __call__(self, agent: GameAgent) -> dict[str, float]:
        """Return the scores of the first team; other teams have their `usual_opponent`."""
        training = self._training
        first = training.seed + EVALUATION_SEED
        if self._agents is None:
            self._agents = self._opened(self._game, seed=first, log_folder=None)
        agents = self._agents
        agents.seed([first + row for row in range(agents.num_envs)])
        tables = play(
            agents,
            PolicyPlayer(agent, deterministic=self._deterministic),
            usual_opponent(agents, training.seed, agent.policy.width),
            agents.team == 0,
            training.eval_episodes,
        )
        return scores_of(tables)

    def close(self) -> None:
        """End the engine."""
        if self._agents is not None:
            self._agents.close()


class GameMetrics(Metrics):
    """Also logs faults of the engines."""

    def more(self, row: dict[str, Any], env: Sb3BatchEnv) -> None:
        """Add the number of faults of the roll-out."""
        if env.info_sums.get("bridge_fault"):
            row["rollout/bridge_faults"] = env.info_sums["bridge_fault"]
