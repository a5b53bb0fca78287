"""From a locomotion configuration to its learner."""

from __future__ import annotations

from ambulo.configs.locomotion import LocomotionConfig
from ambulo.configs.motion_nn import MotionNNConfig
from ambulo.policies.agents.motion import load_encoder
from ambulo.policies.learner import ppo_learner
from ambulo.policies.networks.locomotion_policy import POLICIES, policy_kwargs
from ambulo.policies.networks.motion_nn import MotionNN
from ambulo.policies.ppo import FastPPO
from ambulo.policies.sb3_batch_env import Sb3BatchEnv


def make_locomotion_learner(
    config: LocomotionConfig,
    env: Sb3BatchEnv,
    *,
    encoder: MotionNNConfig | MotionNN | None = None,
    tensorboard_log: str | None = None,
) -> FastPPO:
    """Return a fresh learner for `env`, seeded with `training.seed`.

    Args:
        config: All settings.
        env: Wraps a batch with a `layout`.
        encoder: The motion network of a prior; None reads the configured file.
        tensorboard_log: Folder of TensorBoard logs, or None.
    """
    training, prior = config.training, config.network.prior
    layout = env.get_attr("layout")[0]
    if prior is not None and encoder is None:
        encoder = load_encoder(prior.model)
    return ppo_learner(
        POLICIES[config.network.policy],
        env,
        config.ppo,
        seed=training.seed,
        device=training.device,
        threads=training.update_threads,
        tensorboard_log=tensorboard_log,
        policy_kwargs=policy_kwargs(config.network, layout, encoder),
    )
