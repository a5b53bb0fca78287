"""Architecture and training settings of the gait network, with defaults.

The defaults are those of GaitNet (the authors' code, "the reference"); the preset `fast` is
ours.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from ambulo.configs.base import Config
from ambulo.configs.types import (
    Count,
    Fraction,
    FractionBelowOne,
    NonNegative,
    Positive,
)


class GaitNetConfig(Config):
    """The network: parameters and phase in, a pose of 101 numbers out."""

    hidden: Annotated[int, Field(ge=1, le=4096)] = 512
    """Width of the hidden layers."""
    layers: Annotated[int, Field(ge=1, le=8)] = 3
    """Number of hidden layers (ReLU)."""
    harmonics: Annotated[int, Field(ge=1, le=16)] = 1
    """Number of harmonics: inputs are sine and cosine of 1 .. this times the phase."""
    statistics: bool = False
    """Normalise inputs and outputs by statistics of the data."""


class GaitNetLossConfig(Config):
    """Loss between predicted and true poses; means over numbers and frames."""

    kind: Literal["as_coded", "as_documented", "balanced"] = "as_coded"
    """`as_coded`: scale (weight x difference)^2, as in the reference's code; `as_documented`:
    scale x weight x difference^2, as in its documents; `balanced`: the latter with the root's
    displacement in metres per second and its height in decimetres, so that they count as much
    as rotations."""
    scale: Positive = 5.0
    """Factor on the whole loss."""
    root: Positive = 2.0
    """Weight of the root's displacement and height, numbers 6 to 8."""
    upper: Positive = 0.5
    """Weight of numbers 57 to 100: head and arms."""
    motion: NonNegative = 0.0
    """Weight of the error of the derivative by the phase, in radians of the cycle: an error of
    k oscillations per cycle counts k^2 times more. 0, as in the reference, switches it off;
    feet then slide."""
    feet: NonNegative = 0.0
    """Weight of the mean squared error of the velocities of ankles, heels and toes in contact,
    in (m/s)^2, times `scale`. 0, as in the reference, switches it off."""

    @property
    def pairs(self) -> bool:
        """Whether a batch holds pairs of consecutive frames."""
        return self.motion > 0.0 or self.feet > 0.0


class GaitNetDataConfig(Config):
    """Training data and its split."""

    split: Literal["parameters", "subject"] = "parameters"
    """`parameters`: by a hash of the parameters, so that all sequences of a body and gait are
    in one part; `subject`: whole people."""
    validation: FractionBelowOne = 0.1
    """Fraction for validation."""
    test: FractionBelowOne = 0.1
    """Fraction for the test."""
    validation_subjects: tuple[str, ...] = ()
    """With `subject`: validation subjects, instead of a choice by hash."""
    test_subjects: tuple[str, ...] = ()
    """With `subject`: test subjects."""
    buffer_rows: Annotated[int, Field(ge=600)] = 262_144
    """Frames of a buffer, 404 bytes each; two buffers are in memory."""
    mirror: bool = False
    """Also train on mirrored sequences, shifted by half a cycle."""
    strict: bool = False
    """Stop at the first unusable file instead of skipping it."""

    @model_validator(mode="after")
    def _something_left(self) -> Self:
        if self.validation + self.test >= 1.0:
            raise ValueError("validation and test leave nothing to learn from")
        if (self.validation_subjects or self.test_subjects) and self.split != "subject":
            raise ValueError("people are named, but the split is not by subject")
        return self


class GaitNetTrainingConfig(Config):
    """The optimiser and schedule."""

    epochs: Count = 100
    """Passes over all data."""
    passes: Count = 5
    """Passes over each buffer before the next is loaded."""
    batch_size: Annotated[int, Field(ge=2)] = 128
    """Frames of a minibatch."""
    learning_rate: Positive = 1e-5
    """Adam's step size at its highest."""
    schedule: Literal["constant", "cosine"] = "constant"
    """`cosine` falls to 1 % of the step size at the end."""
    warmup_steps: Annotated[int, Field(ge=0)] = 0
    """Steps in which it rises."""
    gradient_clip: Positive = 1.0
    """Largest norm of the gradient."""
    weight_decay: NonNegative = 0.0
    """Weight decay (AdamW)."""
    jitter: NonNegative = 0.0
    """Standard deviation of noise on the normalised parameters in training. It prevents
    overfitting to few bodies."""
    average: FractionBelowOne = 0.0
    """Decay of the moving average of the weights, which is validated and saved; 0: none."""
    patience: Annotated[int, Field(ge=0)] = 0
    """Epochs without a better validation score before early stopping; 0 disables it."""
    save_every: Annotated[int, Field(ge=1)] = 50
    """Iterations (buffers) between checkpoints; the end of the run saves too."""
    half_until: Fraction = 0.0
    """Fraction of the training with matrix products in half precision, on a GPU or a CPU with
    hardware support (AMX)."""
    threads: Annotated[int, Field(ge=0)] = 0
    """Threads of torch; 0 leaves its default."""
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    """Seed of weights, split and order."""
    device: str = "auto"
    """Torch device; `auto` takes a GPU where available."""
    output: str = "runs"
    """Folder of runs."""


class GaitNetRunConfig(Config):
    """All settings of a training run, as saved in its folder."""

    network: GaitNetConfig = Field(default_factory=GaitNetConfig)
    """The network."""
    loss: GaitNetLossConfig = Field(default_factory=GaitNetLossConfig)
    """The loss."""
    dataset: GaitNetDataConfig = Field(default_factory=GaitNetDataConfig)
    """The data set."""
    training: GaitNetTrainingConfig = Field(default_factory=GaitNetTrainingConfig)
    """The optimiser and schedule."""
    data: tuple[str, ...] = ()
    """Folders or files of refined sequences."""
