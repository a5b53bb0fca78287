"""Observations, rewards and learner settings of agents with bodies."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ambulo.configs.base import Config
from ambulo.configs.types import Count, Fraction, NonNegative, Positive
from ambulo.configs.vr_learning import PPOConfig


class LocomotionObservationsConfig(Config):
    """Observations besides the deviation from the reference."""

    joint_state: bool = True
    """Positions and velocities of all joints."""
    feet: bool = True
    """Heights of the soles and the feet's contacts."""
    law: bool = True
    """The offsets of the balance controller, where it acts."""
    last_action: bool = False
    """The previous action."""


class LocomotionRewardsConfig(Config):
    """Weights of the reward terms; each is logged on its own as `reward/<term>`.

    The imitation terms are exponentials in [0, 1]; `locomote` multiplies them by
    `reference_weight`.
    """

    pose: NonNegative = 0.2
    """Error of joint rotations against the reference."""
    velocity: NonNegative = 0.05
    """Error of joint velocities."""
    end_effector: NonNegative = 0.1
    """Position error of feet, hands and head, relative to the root."""
    root: NonNegative = 0.35
    """Error of the root's position, rotation and velocity."""
    com: NonNegative = 0.3
    """Error of the centre of mass."""
    reference_weight: Fraction = 1.0
    """Factor on the imitation terms of `locomote`; training may lower it in phases."""
    speed: NonNegative = 1.0
    """`locomote`: forward and sideways velocity as commanded."""
    turn: NonNegative = 0.5
    """`locomote`: turning rate as commanded."""
    heading: NonNegative = 0.5
    """`locomote`, `stand`: heading as commanded."""
    alive: NonNegative = 0.2
    """`locomote`, `stand`: reward per step without a fall."""
    upright: NonNegative = 0.5
    """`stand`, `get_up`: trunk upright at standing height, without moving."""
    rise: NonNegative = 1.0
    """`get_up`: root height over that in standing, times 0.5 lying to 1 upright."""
    energy: NonNegative = 0.02
    """`locomote`, `stand`: weight of the cost of transport: joint power over weight times the
    larger of speed and 0.5 m/s."""
    smoothness: NonNegative = 0.05
    """Cost of the mean squared change of the action."""
    effort: NonNegative = 0.0
    """Cost of the mean squared action."""


class LocomotionPPOConfig(PPOConfig):
    """Proximal policy optimisation with defaults for walking."""

    learning_rate: Positive = 3e-4
    n_steps: Count = 32
    batch_size: Annotated[int, Field(ge=2)] = 512
    n_epochs: Count = 6
    gamma: Fraction = 0.97
    target_kl: Positive | None = 0.08
    reward_scale: Positive = 1.0
