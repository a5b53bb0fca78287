"""From the settings of a game to its learner."""

from __future__ import annotations

from collections.abc import Sequence

from ambulo.configs.agent_spec import AgentSpec
from ambulo.configs.batch import TaskBatch
from ambulo.configs.godot import GodotConfig
from ambulo.policies.learner import ppo_learner
from ambulo.policies.networks.kinds_policy import KindsPolicy, row_space
from ambulo.policies.ppo import FastPPO
from ambulo.policies.sb3_batch_env import RemoteBatchEnv, Sb3BatchEnv


def make_game_learner(
    config: GodotConfig,
    batch: TaskBatch,
    kinds: Sequence[AgentSpec],
    *,
    remote_envs: int | None = None,
    tensorboard_log: str | None = None,
) -> FastPPO:
    """Return a fresh learner of all `kinds`, seeded with `training.seed`.

    Args:
        config: All settings.
        batch: Agents; its rows are those of `KindsPolicy`.
        kinds: Of its agents.
        remote_envs: Agents that workers have in place of `batch`; None: none.
        tensorboard_log: Folder of TensorBoard logs, or None.
    """
    training, network = config.training, config.network
    space = row_space(kinds)
    env: Sb3BatchEnv = Sb3BatchEnv(batch, space)
    if remote_envs is not None:
        env = RemoteBatchEnv(batch, space, remote_envs)
    return ppo_learner(
        KindsPolicy,
        env,
        config.ppo,
        seed=training.seed,
        device=training.device,
        threads=training.update_threads,
        tensorboard_log=tensorboard_log,
        policy_kwargs={"kinds": kinds, "network": network},
        recurrent=network.recurrent > 0,
    )
