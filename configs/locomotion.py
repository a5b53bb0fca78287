"""Configuration of locomotion: bodies that imitate a gait, follow commands or stand.

Lengths are metres, angles radians unless the text says degrees, times seconds.
"""

from __future__ import annotations

from typing import Any, Self

from pydantic import (
    Field,
    SerializeAsAny,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from ambulo.configs.base import Config, error_line, parse
from ambulo.configs.gait_env import GaitConfig
from ambulo.configs.locomotion_env import LocomotionEnvironmentConfig
from ambulo.configs.locomotion_learning import (
    LocomotionObservationsConfig,
    LocomotionPPOConfig,
    LocomotionRewardsConfig,
)
from ambulo.configs.simulation_nn import (
    LocomotionTrainingConfig,
    SimulationNetworkConfig,
)
from ambulo.configs.task_registry import find_task
from ambulo.configs.track_body import TrackBodyConfig
from ambulo.configs.variation import VariationConfig
from ambulo.configs.walk_commands import WalkCommandsConfig


class LocomotionConfig(Config):
    """Everything about one training run."""

    environment: LocomotionEnvironmentConfig = Field(
        default_factory=LocomotionEnvironmentConfig
    )
    """The body and the task."""
    observations: LocomotionObservationsConfig = Field(
        default_factory=LocomotionObservationsConfig
    )
    """Observations of the agent."""
    rewards: LocomotionRewardsConfig = Field(default_factory=LocomotionRewardsConfig)
    """Reward weights."""
    gait: GaitConfig = Field(default_factory=GaitConfig)
    """Parameters and reward of `gait`."""
    walk: WalkCommandsConfig = Field(default_factory=WalkCommandsConfig)
    """Commands, obstacles and reflexes of `walk_commands`; `track_body` takes obstacles."""
    trackers: TrackBodyConfig = Field(default_factory=TrackBodyConfig)
    """Trackers of `track_body`."""
    own: SerializeAsAny[Config] = Field(default_factory=Config)
    """Settings of a user's own task, of the class in its `TaskSpec`."""
    variation: VariationConfig = Field(default_factory=VariationConfig)
    """Other bodies and control delays in training."""
    network: SimulationNetworkConfig = Field(default_factory=SimulationNetworkConfig)
    """The actor and the critic."""
    ppo: LocomotionPPOConfig = Field(default_factory=LocomotionPPOConfig)
    """The learner."""
    training: LocomotionTrainingConfig = Field(default_factory=LocomotionTrainingConfig)
    """Budget and outputs."""

    @field_validator("own", mode="before")
    @classmethod
    def _as_the_task_says(cls, value: object, info: ValidationInfo) -> object:
        """Validate the group `own` as the class that the task names."""
        environment = info.data.get("environment")
        if environment is None:  # refused already
            return Config()
        settings = find_task(environment.task).settings
        for group in (LocomotionEnvironmentConfig, LocomotionRewardsConfig):
            taken = sorted(settings.model_fields.keys() & group.model_fields.keys())
            if taken:
                raise ValueError(f".{taken[0]}: a setting of the suite has this name")
        data = value.explicit_settings() if isinstance(value, Config) else value
        try:
            return settings.model_validate(data)
        except ValidationError as error:
            problem = error.errors(include_url=False)[0]
            if problem["type"] == "unknown_key":
                hint = "unknown key{hint}"
                raise PydanticCustomError("unknown_key", hint, problem["ctx"]) from None
            raise ValueError(f".{error_line(error)}") from None

    @model_validator(mode="after")
    def _check(self) -> Self:
        updates = self.training.muscle_updates
        if updates is not None and self.environment.resolver != "nn":
            raise ValueError("training.muscle_updates needs environment.resolver = nn")
        if self.variation.varies and self.environment.traits.parameters:
            raise ValueError(
                "variation: not for task = gait, whose bodies have parameters"
            )
        if self.walk.obstacles and self.variation.segment_mass != (1.0, 1.0):
            raise ValueError("variation.segment_mass: not with walk.obstacles")
        if self.gait.base is not None:
            if self.training.teacher is not None:
                raise ValueError("gait.base: a correction has no teacher")
            if self.network.prior is not None:
                raise ValueError("gait.base: a correction has no prior")
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as data: the reading process finds the task's own class itself."""
        return parse, (type(self), self.explicit_settings(), "settings")

    def shareable(self) -> LocomotionConfig:
        """Return a copy to publish, without local folders."""
        output = LocomotionTrainingConfig.model_fields["output"].default
        quiet = self.override("environment", fault_folder=None)
        return quiet.override("training", output=output)
