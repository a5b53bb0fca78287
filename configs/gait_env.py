"""Settings of the gait environment: bodies, and the reward of Park et al. 2022."""

from __future__ import annotations

from pydantic import Field

from ambulo.configs.base import Config
from ambulo.configs.types import Count, FractionBelowOne, NonNegative, Positive


class GaitConfig(Config):
    """The gait task: parameters, the action on the phase, and weights of the reward.

    The reward is 2 head average step + metabolic, as in Park et al.; each factor is an
    exponential of minus its weight times a squared error, and is logged.
    """

    parameters: dict[str, float] = Field(default_factory=dict)
    """Fixed gait parameters; all others are drawn at random."""
    sample: bool = True
    """Draw the other parameters; if false, they are a healthy adult's."""
    impaired: Count | None = None
    """Muscle parameters that are drawn for each body, anywhere in their ranges, the others
    healthy; null draws all of them as Park et al., which leaves few bodies that can walk."""
    vary: tuple[str, ...] = ()
    """With `impaired`: only these muscle parameters are drawn; empty: any."""
    base: str | None = None
    """Policy that the trained one corrects, as its parent in a cascade: a model file, a run
    folder, a shipped model or a cascade."""
    groups: Count = 16
    """Different bodies simulated at once; several environments share each."""
    lifetime: Count = 300
    """Control steps after which a group of environments gets another body."""
    time_warp: FractionBelowOne = 0.1
    """Relative speed-up of the gait phase for an action of 1."""
    head_velocity: NonNegative = 4.0
    """Weight of changes of the head's velocity from step to step, [s^2/m^2]."""
    head_rotation: NonNegative = 4.0
    """Weight of the head's rotation from its mean direction, [1/rad^2]."""
    average_velocity: NonNegative = 6.0
    """Weight of the error of the velocity over the last cycle, [s^2/m^2]."""
    step: NonNegative = 2.0
    """Weight of the error of the stance foot's position."""
    step_scale: Positive = 8.0
    """Scale of that error, [1/m]."""
    step_tolerance: NonNegative = 0.075
    """Error along each axis without cost, [m]."""
    metabolic: NonNegative = 8.0
    """Weight of the mean squared torque over the motors' limits, or of the muscles'
    activation."""
    likeness: NonNegative = 0.0
    """Weight of the imitation terms (`rewards`), which the reward of Park et al. does not
    have."""
