"""Settings of networks and of the learner of VR navigation."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ambulo.configs.base import Config
from ambulo.configs.errors import ConfigError
from ambulo.configs.types import (
    Count,
    Fraction,
    NonNegative,
    Positive,
    PositiveFraction,
    Widths,
)

PLANNED = ("plan", "path", "navigator")
"""Kinds of `observations.memory` with a planner."""
VELOCITY_SCALE = 0.5
"""Factor on velocities that the memory `navigator` observes, [s/m]."""


class NavigationNetworkConfig(Config):
    """The actor and the critic."""

    policy: Literal["MlpPolicy"] = "MlpPolicy"
    """Kept for the original files; the actor and critic are separate perceptrons."""
    net_arch: Widths = (256, 256)
    """Hidden layer widths, used by both networks."""
    activation_fn: Literal["relu", "tanh", "elu", "silu"] = "relu"
    """Hidden activation."""
    log_std_init: float = -0.5
    """Initial log standard deviation of each action."""
    recurrent: Annotated[int, Field(ge=0, le=4096)] = 0
    """Units of a gated recurrent unit (GRU) after the actor's first hidden layer, as memory of
    the episode; 0: none. The critic has none."""
    privileged_critic: bool = True
    """Let the critic (training only) observe geodesic distance, time and contact."""
    action_bound: tuple[PositiveFraction, PositiveFraction] | None = None
    """Largest length of the stick and largest rotation of the agent's mean action (smoothly, by
    tanh); null leaves them to the clip at 1. Continuous actions only."""


class PPOConfig(Config):
    """Proximal policy optimisation."""

    learning_rate: Positive = 5e-4
    """Adam step size at the start."""
    learning_rate_final: NonNegative | None = None
    """Step size at the end of a linear schedule; null keeps it constant."""
    n_steps: Count = 32
    """Environment steps in one roll-out of each environment."""
    batch_size: Annotated[int, Field(ge=2)] = 2048
    """Minibatch size; capped at the size of one roll-out."""
    n_epochs: Count = 4
    """Passes over each roll-out."""
    gamma: Fraction = 0.99
    """Discount per environment step."""
    gae_lambda: Fraction = 0.95
    """Bias-variance trade-off of generalised advantage estimation."""
    clip_range: Positive = 0.2
    """Clip of the probability ratio."""
    ent_coef: NonNegative = 0.0
    """Weight of the entropy bonus."""
    vf_coef: NonNegative = 0.5
    """Weight of the value loss."""
    max_grad_norm: Positive = 0.5
    """Gradient clipping norm."""
    target_kl: Positive | None = None
    """Stop the epochs of an update when the KL estimate passes 1.5 times this."""
    route_coef: NonNegative = 0.0
    """Weight of the auxiliary loss that trains the actor to predict the shortest path
    (needs `network.privileged_critic`)."""
    plan_coef: NonNegative = 0.0
    """Initial weight of the penalty on the squared distance of the mean action from the action
    towards the planned waypoint; 0: no penalty. Needs `observations.memory` = navigator, path
    or plan, continuous actions and an actor without a GRU."""
    plan_coef_final: NonNegative | None = None
    """Final weight of that penalty after a linear schedule; null: as `plan_coef`."""
    reward_scale: Positive = 0.1
    """Factor on rewards inside the learner; logs and evaluation stay unscaled."""
    precision: Literal["float32", "bfloat16", "auto"] = "float32"
    """Number format of the hidden layers in updates. `bfloat16` halves the time of an update
    on CPUs that multiply it (AVX512-BF16, AMX) and is slower on others; `auto` is `bfloat16`
    on those CPUs and `float32` elsewhere. Weights, outputs and acting stay float32."""
    sequence: Count | None = None
    """Length of the sequences for training a recurrent actor (`network.recurrent`), [steps], a
    divisor of `n_steps`; null: `n_steps`."""
    burn_in: Annotated[int, Field(ge=0, le=1024)] = 8
    """Steps before each sequence that restore the state of a recurrent actor, without
    gradient."""


def check_guide(ppo: PPOConfig, *, memory: str, mode: str, recurrent: int) -> None:
    """Raise `ConfigError` if the penalty `ppo.plan_coef` does not apply to the agent.

    Args:
        ppo: Settings of the learner.
        memory: `observations.memory`.
        mode: `actions.mode`.
        recurrent: `network.recurrent`.
    """
    if ppo.plan_coef == 0.0:
        return
    wanted = f"ppo.plan_coef = {ppo.plan_coef:g} needs"
    if memory not in PLANNED:
        raise ConfigError(f"{wanted} observations.memory = {', '.join(PLANNED)}")
    if mode == "discrete":
        raise ConfigError(f"{wanted} actions.mode = continuous")
    if recurrent:
        raise ConfigError(f"{wanted} network.recurrent = 0")


def check_recurrent(units: int, ppo: PPOConfig) -> None:
    """Raise `ValueError` if an actor with a GRU of `units` cannot be trained as configured."""
    if units == 0:
        return
    sequence = ppo.sequence or ppo.n_steps
    if ppo.n_steps % sequence:
        raise ValueError(
            f"ppo.sequence = {sequence}: must divide ppo.n_steps = {ppo.n_steps}"
        )
