"""Settings of the gait environment: which bodies, and the reward of Park et al. 2022."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ambulo.configs.base import Config
from ambulo.configs.types import Count, NonNegative, Positive


class GaitConfig(Config):
    """The gait task: parameters, the action on the clock, and weights of the reward.

    The reward is 2 head average step + metabolic, as published; each factor is an
    exponential of minus its weight times a squared error, and is logged.
    """

    parameters: dict[str, float] = Field(default_factory=dict)
    """Fixed gait parameters; all others are drawn at random."""
    sample: bool = True
    """Draw the other parameters; otherwise they are a healthy adult's."""
    impaired: Count | None = None
    """Muscle parameters that are drawn for each body, anywhere in their ranges, the others
    healthy; null draws all of them as published, which leaves few bodies that can walk."""
    vary: tuple[str, ...] = ()
    """With `impaired`: only these muscle parameters are drawn; none stands for all."""
    base: str | None = None
    """Policy that the trained one corrects, as a node of a cascade above it: a model file,
    a run folder, a shipped model or a cascade."""
    groups: Count = 16
    """Different bodies that are simulated at once; each is shared by several environments."""
    lifetime: Count = 300
    """Control steps after which a group of environments gets another body."""
    time_warp: Annotated[float, Field(ge=0, lt=1)] = 0.1
    """Relative speed-up of the gait phase for an action of 1."""
    head_velocity: NonNegative = 4.0
    """Weight of changes of the head's velocity from step to step, [s^2/m^2]."""
    head_rotation: NonNegative = 4.0
    """Weight of the head's rotation from its mean direction, [1/rad^2]."""
    average_velocity: NonNegative = 6.0
    """Weight of the error of the velocity over the last cycle, [s^2/m^2]."""
    step: NonNegative = 2.0
    """Weight of the error of the standing foot's position."""
    step_scale: Positive = 8.0
    """Scale of that error, [1/m]."""
    step_tolerance: NonNegative = 0.075
    """Error along each axis that costs nothing, [m]."""
    metabolic: NonNegative = 8.0
    """Weight of the mean squared torque over the motors' limits, or activation of muscles."""
    likeness: NonNegative = 0.0
    """Weight of the imitation terms (`rewards`), which the published reward does not have."""
