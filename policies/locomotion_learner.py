"""From a locomotion configuration to its policy and learner."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from gymnasium import spaces

from ambulo.configs.locomotion import LocomotionConfig
from ambulo.configs.motion_nn import MotionNNConfig
from ambulo.configs.simulation_nn import SimulationNetworkConfig
from ambulo.policies.files.motion_model import load_encoder
from ambulo.policies.learner import ppo_learner
from ambulo.policies.networks.mode_policy import ModePolicy, TwoLevelPolicy
from ambulo.policies.networks.motion_nn import MotionNN
from ambulo.policies.networks.motion_prior import SimulationNNWithPrior
from ambulo.policies.networks.simulation_nn import Columns, SimulationNN
from ambulo.policies.ppo import FastPPO
from ambulo.policies.sb3_batch_env import Sb3BatchEnv

POLICIES: dict[str, type[SimulationNN]] = {
    "simple": SimulationNN,
    "prior": SimulationNNWithPrior,
    "modes": ModePolicy,
    "two_level": TwoLevelPolicy,
}
"""The policy classes by `network.policy`."""


def make_locomotion_learner(
    config: LocomotionConfig,
    env: Sb3BatchEnv,
    *,
    encoder: MotionNNConfig | MotionNN | None = None,
    tensorboard_log: str | None = None,
) -> FastPPO:
    """A fresh learner for `env`, seeded with `training.seed`.

    Args:
        config: all settings.
        env: wraps a batch with a `layout`.
        encoder: the motion network of a prior, where it is at hand; else it is read
            from the file that the configuration names.
        tensorboard_log: folder of TensorBoard logs, or None.
    """
    training = config.training
    layout = env.get_attr("layout")[0]
    learner = ppo_learner(
        POLICIES[config.network.policy],
        env,
        config.ppo,
        seed=training.seed,
        device=training.device,
        threads=training.num_workers,
        tensorboard_log=tensorboard_log,
        policy_kwargs=policy_kwargs(config.network, layout, encoder),
    )
    return learner


def policy_kwargs(
    network: SimulationNetworkConfig,
    layout: Any,
    encoder: MotionNNConfig | MotionNN | None = None,
) -> dict[str, Any]:
    """What the policy class of `network` needs besides spaces and step size."""
    columns = Columns.of(layout.schema())
    fixed = network.normalize_samples == 0
    scales = layout.scales() if fixed else np.ones(columns.size, np.float32)
    found: dict[str, Any] = {"columns": columns, "scales": scales, "network": network}
    if network.prior is not None:
        found["encoder"] = encoder or load_encoder(network.prior.model)
    return found


def make_policy(
    network: SimulationNetworkConfig,
    layout: Any,
    actions: int,
    encoder: MotionNNConfig | None = None,
) -> SimulationNN:
    """A policy without a learner, for weights that come with `load_state_dict`."""
    kwargs = policy_kwargs(network, layout, encoder)
    seen = spaces.Box(-np.inf, np.inf, (kwargs["columns"].size,), np.float32)
    moves = spaces.Box(-1.0, 1.0, (actions,), np.float32)
    constant: Callable[[float], float] = lambda _: 0.0  # noqa: E731
    return POLICIES[network.policy](seen, moves, constant, **kwargs)
