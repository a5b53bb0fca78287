"""Weights of the rewards of VR navigation."""

from __future__ import annotations

from typing import Literal

from ambulo.configs.base import Config
from ambulo.configs.types import NonNegative, NonPositive


class NavigationRewardsConfig(Config):
    """Weights of the reward terms; each is logged on its own as `reward/<term>`."""

    goal_reached: float = 100.0
    """Paid once, when the task is solved."""
    progress: float = 1.0
    """Reward per metre closer to the goal (potential-based, so it telescopes)."""
    smooth_movement: float = 0.1
    """Smoothness in [0, 1] times this; paid as `bonus_mode` says."""
    comfort_bonus: float = 2.0
    """Published comfort score in [0, 1] times this; paid as `bonus_mode` says."""
    collision_penalty: NonPositive = -10.0
    """Per collision with an object, counted as `collision_mode` says."""
    person_collision: NonPositive | None = None
    """Per collision with a person, counted as `collision_mode` says; null is
    `collision_penalty`."""
    fall_penalty: NonPositive = -50.0
    """Paid once, on falling."""
    timeout_penalty: NonPositive = -20.0
    """Paid once, when the step limit ends the episode."""
    teleport_penalty: NonPositive = -1.0
    """Per discrete move (a jump of `actions.move_distance`)."""
    discomfort_cost: NonNegative = 0.0
    """Cost per environment step of (1 - comfort score)."""
    comfort_cost: NonNegative = 0.0
    """Cost per environment step of (1 - comfort index), see docs/comfort.md."""
    path_cost: NonNegative = 0.0
    """Cost per metre walked."""
    turn_cost: NonNegative = 0.0
    """Cost per radian turned."""
    jerk_cost: NonNegative = 0.0
    """Cost per environment step of the mean squared change of the action."""
    step_cost: NonNegative = 0.0
    """Cost per environment step."""
    posture_bonus: NonNegative = 0.0
    """Fraction of the targets (head, hands) that the IK solver meets, times the likeness of its
    pose to the body's, in [0, 1], times this; paid as `bonus_mode` says."""
    novelty_cost: NonNegative = 0.0
    """Cost per environment step of how badly a motion network foresaw the body's motion,
    in [0, 1)."""
    bonus_mode: Literal["progress", "step"] = "progress"
    """`progress` pays both bonuses per metre of *new best* distance to the goal, so they
    are bounded by the length of the path; `step` pays at every environment step as
    published, which teaches standing still, and is kept for comparison."""
    collision_mode: Literal["event", "decision", "tick"] = "event"
    """Definition of one collision: a touch after `collision_rearm` seconds without one,
    every environment step in contact, or every physics tick in contact."""
    collision_rearm: NonNegative = 0.5
    """Seconds without contact before the next touch is a new event."""
    progress_metric: Literal["geodesic", "euclidean"] = "geodesic"
    """Distance that progress is measured on."""
    custom: tuple[str, ...] = ()
    """Extra terms, each `package.module:ClassName` (see docs/vr_rewards.md)."""
