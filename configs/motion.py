"""Configuration of motion data sets: rates, windows, splits, streaming, curriculum."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from ambulo.configs.base import Config
from ambulo.configs.types import Count, FractionBelowOne, Positive, ProperFraction

Seed = Annotated[int, Field(ge=0, lt=2**31)]


class ActivityStage(Config):
    """One stage of a curriculum of activities."""

    activities: tuple[str, ...] = Field(min_length=1)
    """Labels added in this stage; those of earlier stages stay."""
    epochs: Count = 10
    """Maximum length of the stage, [epochs]."""


class ActivityCurriculum(Config):
    """Activities in stages; after the last stage, all of them.

    A stage ends after its epochs, or when the validation loss has not improved for `patience`
    epochs.
    """

    stages: tuple[ActivityStage, ...] = ()
    """Stages in order; empty: all activities from the start."""
    patience: Annotated[int, Field(ge=1)] | None = 3
    """Epochs without progress that end a stage; null: only its maximum length does."""
    min_progress: FractionBelowOne = 0.01
    """Smallest progress, as a fraction of the best loss so far."""


WALK_RUN_JUMP = ActivityCurriculum(
    stages=(
        ActivityStage(activities=("walk",)),
        ActivityStage(activities=("run",)),
        ActivityStage(activities=("jump",)),
    )
)
"""Walking first, then also running, then also jumping, then all the rest."""


class DatasetConfig(Config):
    """How motion files become batches of windows."""

    fps: Positive = 25.0
    """Rate of the states, [Hz]."""
    window: Annotated[int, Field(ge=2)] = 35
    """Frames of a window: history and prediction."""
    stride: Count = 1
    """Frames between the starts of consecutive windows."""
    batch_size: Count = 256
    """Windows of a batch."""
    mirror: bool = True
    """Mirror half of the training windows."""
    split_by: Literal["subject", "activity"] = "subject"
    """Test on unseen people, or on unseen recordings of every activity."""
    test_ratio: ProperFraction = 0.15
    """Fraction of the recordings in the test set."""
    validation_ratio: FractionBelowOne = 0.1
    """Fraction of the recordings in the validation set."""
    test_subjects: tuple[str, ...] = ()
    """Test subjects, instead of a random choice."""
    seed: Seed = 0
    """Seed of the split and of the windows' order."""
    streaming: bool = False
    """Read windows from shards on disk instead of holding all clips in memory."""
    buffer_mb: Positive = 64.0
    """Streaming: frames held in memory, [MB]."""
    shard_mb: Positive = 4.0
    """Streaming: largest size of a shard, [MB]."""
    curriculum: ActivityCurriculum = Field(default_factory=ActivityCurriculum)
    """Curriculum over activities."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.test_ratio + self.validation_ratio >= 1.0:
            raise ValueError(
                "test_ratio and validation_ratio leave nothing to learn from"
            )
        if self.test_subjects and self.split_by != "subject":
            raise ValueError('test_subjects needs split_by = "subject"')
        if self.streaming and self.shard_mb > self.buffer_mb:
            raise ValueError("shard_mb must not be larger than buffer_mb")
        return self
