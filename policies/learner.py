"""From a configuration to a PPO learner, and training up to a total number of steps."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from stable_baselines3.common.policies import BasePolicy
from stable_baselines3.common.type_aliases import MaybeCallback
from stable_baselines3.common.utils import set_random_seed

from ambulo.configs.errors import ConfigError
from ambulo.configs.godot import GodotConfig
from ambulo.configs.locomotion import LocomotionConfig
from ambulo.configs.vr import NavigationConfig
from ambulo.configs.vr_learning import PPOConfig
from ambulo.policies.device import pick_device
from ambulo.policies.device_rollouts import DeviceRolloutBuffer
from ambulo.policies.files.model_file import ModelFile, weights_of
from ambulo.policies.kinds.vr_navigation import NavigationMetadata, describe
from ambulo.policies.networks.actor_critic import NavigationPolicy, navigation_kwargs
from ambulo.policies.plan_guide import PlanGuide
from ambulo.policies.ppo import FastPPO
from ambulo.policies.sb3_batch_env import Sb3BatchEnv
from ambulo.policies.sequence_ppo import SequencePPO

_FUSED_DEVICES = ("cpu", "cuda")
"""Devices on which fused Adam is used."""


def make_learner(
    config: NavigationConfig,
    env: Sb3BatchEnv,
    *,
    tensorboard_log: str | None = None,
) -> FastPPO:
    """A fresh learner for `env`, seeded with `training.seed`.

    The environments keep the random generators of their batch; torch, numpy, `random` and
    the action space are seeded here.

    Args:
        config: all settings.
        env: wraps a batch that has a `layout`; its observations may include the
            privileged numbers of the critic.
        tensorboard_log: folder of TensorBoard logs, or None.

    Raises:
        ConfigError: a device that is not here, a roll-out too small to learn from, or a
            penalty `ppo.plan_coef` that the agent cannot learn from.
    """
    layout = env.get_attr("layout")[0]
    scales = layout.scales()[: env.batch.obs.shape[1]]
    if not config.observations.normalize:
        scales = np.ones_like(scales)
    kwargs = navigation_kwargs(config.network)
    learner = ppo_learner(
        NavigationPolicy,
        env,
        config,
        tensorboard_log=tensorboard_log,
        policy_kwargs={"scales": scales, "actor_size": layout.size, **kwargs},
        recurrent=config.network.recurrent > 0,
    )
    learner.guide = PlanGuide.of(config, layout.slices())
    return learner


def ppo_learner(
    policy: type[BasePolicy],
    env: Sb3BatchEnv,
    config: NavigationConfig | LocomotionConfig | GodotConfig,
    *,
    policy_kwargs: Mapping[str, Any],
    tensorboard_log: str | None = None,
    recurrent: bool = False,
) -> FastPPO:
    """A fresh learner of any policy for `env`; everything random is seeded first.

    Torch, numpy, `random` and the action space get the seed `training.seed`.

    Args:
        policy: class of the policy.
        env: the environments.
        config: all settings.
        policy_kwargs: arguments of `policy`.
        tensorboard_log: folder of TensorBoard logs, or None.
        recurrent: whether the policy has states.

    Raises:
        ConfigError: a device that is not here, or a roll-out too small to learn from.
    """
    ppo, training = config.ppo, config.training
    place = pick_device(training.device)
    rollout = ppo.n_steps * env.num_envs
    if rollout < 2:
        raise ConfigError(
            "ppo.n_steps = 1 with one environment: a roll-out needs 2 decisions or more"
        )
    set_random_seed(training.seed, using_cuda=place.type == "cuda")
    env.action_space.seed(training.seed)
    optimizer = {"eps": 1e-5, "fused": place.type in _FUSED_DEVICES}
    kind: type[FastPPO] = FastPPO
    sequences: dict[str, Any] = {}
    if recurrent:
        kind = SequencePPO
        sequences = {"sequence": ppo.sequence, "burn_in": ppo.burn_in}
    with warnings.catch_warnings():
        # SB3 warns of a smaller last minibatch; FastPPO leaves that rest out.
        warnings.filterwarnings("ignore", message=".*mini-batch size.*")
        learner = kind(
            policy,
            env,
            learning_rate=learning_rate(ppo),
            n_steps=ppo.n_steps,
            batch_size=min(ppo.batch_size, rollout),
            n_epochs=ppo.n_epochs,
            gamma=ppo.gamma,
            gae_lambda=ppo.gae_lambda,
            clip_range=ppo.clip_range,
            ent_coef=ppo.ent_coef,
            vf_coef=ppo.vf_coef,
            max_grad_norm=ppo.max_grad_norm,
            target_kl=ppo.target_kl,
            reward_scale=ppo.reward_scale,
            route_coef=ppo.route_coef,
            update_threads=training.update_threads,
            tensorboard_log=tensorboard_log,
            device=place,
            rollout_buffer_class=None if place.type == "cpu" else DeviceRolloutBuffer,
            policy_kwargs={**policy_kwargs, "optimizer_kwargs": optimizer},
            **sequences,
        )
    learner.seed = training.seed
    if isinstance(learner.policy, NavigationPolicy):
        learner.policy.precision = number_format(ppo.precision, place)
    return learner


def number_format(precision: str, device: torch.device) -> torch.dtype:
    """Number format of the hidden layers that `ppo.precision` asks for on `device`."""
    if precision == "auto":
        found = torch.cpu.get_capabilities() if device.type == "cpu" else {}
        multiplies = found.get("avx512_bf16") or found.get("amx_bf16")
        return torch.bfloat16 if multiplies else torch.float32
    return torch.bfloat16 if precision == "bfloat16" else torch.float32


def learning_rate(ppo: PPOConfig) -> float | Callable[[float], float]:
    """The configured step size: a constant, or a function of the remaining fraction."""
    first, last = ppo.learning_rate, ppo.learning_rate_final
    if last is None:
        return first
    span = first - last

    def linear(remaining: float) -> float:
        # The last roll-out may pass the total, where the remaining fraction is negative.
        return last + span * max(remaining, 0.0)

    return linear


def learn_until(
    learner: FastPPO,
    total_timesteps: int,
    callback: MaybeCallback = None,
    **kwargs: Any,
) -> FastPPO:
    """Train until `total_timesteps` in all, counting those before a resume.

    Schedules span the whole training, so a resumed learner sees the step sizes of an
    uninterrupted one. `kwargs` go to SB3's `learn`.
    """
    left = max(total_timesteps - learner.num_timesteps, 0)
    learner.learn(left, callback, reset_num_timesteps=False, **kwargs)
    return learner


def model_of(
    learner: FastPPO, config: NavigationConfig, *, command: str = ""
) -> ModelFile[NavigationMetadata]:
    """A copy of the learner's policy with its metadata, to be saved or to act.

    Args:
        learner: has an environment.
        config: how it was trained; paths of engines are left out.
        command: command line of the training.
    """
    env = learner.get_env()
    assert env is not None
    metadata = describe(
        config,
        env.get_attr("layout")[0],
        num_timesteps=learner.num_timesteps,
        command=command,
    )
    return ModelFile(metadata, weights_of(learner.policy))
