"""Architecture and training settings of the gait network, with defaults.

The defaults are the published ones of GaitNet; the preset `fast` is ours.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from ambulo.configs.base import Config
from ambulo.configs.types import Count, NonNegative, Positive

Share = Annotated[float, Field(ge=0, lt=1)]


class GaitNetConfig(Config):
    """The network: parameters and phase in, a pose of 101 numbers out."""

    hidden: Annotated[int, Field(ge=1, le=4096)] = 512
    """Width of the hidden layers."""
    layers: Annotated[int, Field(ge=1, le=8)] = 3
    """Number of hidden layers (ReLU)."""
    harmonics: Annotated[int, Field(ge=1, le=16)] = 1
    """Inputs are sine and cosine of the phase times 1 .. this."""
    statistics: bool = False
    """Whether inputs and outputs are centred and scaled by statistics of the data."""


class GaitNetLossConfig(Config):
    """Loss between predicted and true poses; means over numbers and frames."""

    kind: Literal["as_coded", "as_documented", "balanced"] = "as_coded"
    """`as_coded`: scale (weight x difference)^2, what the published code does;
    `as_documented`: scale x weight x difference^2, what its documents say; `balanced`: the
    latter with the root's displacement in metres per second and its height in decimetres,
    as large as rotations."""
    scale: Positive = 5.0
    """Factor on the whole loss."""
    root: Positive = 2.0
    """Weight of the root's displacement and height, numbers 6 to 8."""
    upper: Positive = 0.5
    """Weight of numbers 57 to 100: head and arms."""
    motion: NonNegative = 0.0
    """Weight of the error of the change with the phase, in radians of the cycle: an error
    that swings k times in a cycle counts k^2 times as much again. 0, as published, leaves
    it out; without it feet slide."""
    feet: NonNegative = 0.0
    """Weight of the mean squared error of the velocities of ankles, heels and toes that
    stand, in (m/s)^2, times `scale`. 0, as published, leaves it out."""

    @property
    def pairs(self) -> bool:
        """Whether a batch holds frames and the frames after them."""
        return self.motion > 0.0 or self.feet > 0.0


class GaitNetDataConfig(Config):
    """Training data and its split."""

    split: Literal["parameters", "subject"] = "parameters"
    """`parameters`: by a hash of the parameters, so that a body and gait is in one part
    with all its sequences; `subject`: whole people."""
    validation: Share = 0.1
    """Fraction for validation."""
    test: Share = 0.1
    """Fraction for the test."""
    validation_subjects: tuple[str, ...] = ()
    """With `subject`: validation subjects, instead of a choice by hash."""
    test_subjects: tuple[str, ...] = ()
    """With `subject`: test subjects."""
    buffer_rows: Annotated[int, Field(ge=600)] = 262_144
    """Frames of a buffer, 404 bytes each; two buffers are held at once."""
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
    """Frames of a step."""
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
    """Deviation of normal noise on the normalised parameters that are learnt from. It
    prevents overfitting to few bodies."""
    average: Share = 0.0
    """Decay of the moving average of the weights, which is validated and kept; 0: none."""
    patience: Annotated[int, Field(ge=0)] = 0
    """Epochs without a better validation score after which it ends; 0 never ends early."""
    save_every: Annotated[int, Field(ge=1)] = 50
    """Iterations (buffers) between checkpoints; the end of the run saves too."""
    half_until: Annotated[float, Field(ge=0, le=1)] = 0.0
    """Fraction of the training in which matrices are multiplied in half precision, where a
    GPU is used or a CPU that does it in hardware (AMX)."""
    threads: Annotated[int, Field(ge=0)] = 0
    """Threads of torch; 0 leaves its default."""
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    """Of weights, split and order."""
    device: str = "auto"
    """Torch device; `auto` takes a GPU where there is one."""
    output: str = "runs"
    """Folder of runs."""


class GaitNetRunConfig(Config):
    """All settings of a training run, as its folder keeps them."""

    network: GaitNetConfig = GaitNetConfig()
    """The network."""
    loss: GaitNetLossConfig = GaitNetLossConfig()
    """The loss."""
    dataset: GaitNetDataConfig = GaitNetDataConfig()
    """The data set."""
    training: GaitNetTrainingConfig = GaitNetTrainingConfig()
    """The optimiser and schedule."""
    data: tuple[str, ...] = ()
    """Folders or files of refined sequences."""
