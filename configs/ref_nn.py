"""What a gait network is and how it is trained: every choice, with its default.

The defaults are the published ones of GaitNet; the preset `fast` is ours.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from ambulo.configs.base import Config

Positive = Annotated[float, Field(gt=0)]
NonNegative = Annotated[float, Field(ge=0)]
Share = Annotated[float, Field(ge=0, lt=1)]
Count = Annotated[int, Field(ge=1)]


class RefNNConfig(Config):
    """The network: parameters and phase in, a pose of 101 numbers out."""

    hidden: Annotated[int, Field(ge=1, le=4096)] = 512
    """Width of the hidden layers."""
    layers: Annotated[int, Field(ge=1, le=8)] = 3
    """How many hidden layers with ReLU."""
    harmonics: Annotated[int, Field(ge=1, le=16)] = 1
    """Sine and cosine of the phase and of so many whole multiples are inputs."""
    statistics: bool = False
    """Whether inputs and outputs are centred and scaled by statistics of the data."""


class RefLossConfig(Config):
    """How far a predicted pose is from the true one; means over numbers and rows."""

    kind: Literal["as_coded", "as_documented", "balanced"] = "as_coded"
    """`as_coded`: scale (weight x difference)^2, what the published code does; `as_documented`:
    scale x weight x difference^2, what its documents say; `balanced`: the latter with the
    root's way in metres a second and its height in decimetres, as large as rotations."""
    scale: Positive = 5.0
    """Factor on everything."""
    root: Positive = 2.0
    """Weight of the root's way and height, numbers 6 to 8."""
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


class RefDataConfig(Config):
    """What is learnt from, and what is kept back."""

    split: Literal["parameters", "subject"] = "parameters"
    """`parameters`: by a hash of the parameters, so that a body and gait is in one part
    with all its sequences; `subject`: whole people."""
    validation: Share = 0.1
    """Share that validates."""
    test: Share = 0.1
    """Share that is never looked at in training."""
    validation_subjects: tuple[str, ...] = ()
    """With `subject`: the people that validate, instead of a choice by hash."""
    test_subjects: tuple[str, ...] = ()
    """With `subject`: the people of the test."""
    buffer_rows: Annotated[int, Field(ge=600)] = 262_144
    """Frames of a buffer, 404 bytes each; two buffers are held at once."""
    mirror: bool = False
    """Whether sequences are learnt from mirrored too, half a cycle later."""
    strict: bool = False
    """Whether a file that cannot be used ends the training."""

    @model_validator(mode="after")
    def _something_left(self) -> Self:
        if self.validation + self.test >= 1.0:
            raise ValueError("validation and test leave nothing to learn from")
        if (self.validation_subjects or self.test_subjects) and self.split != "subject":
            raise ValueError("people are named, but the split is not by subject")
        return self


class RefTrainingConfig(Config):
    """How it learns."""

    epochs: Count = 100
    """Times that all data are streamed."""
    passes: Count = 5
    """Times that each buffer is gone through before the next."""
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
    """What a step takes off the weights besides, times its size (AdamW)."""
    jitter: NonNegative = 0.0
    """Deviation of normal noise on the normalised parameters that are learnt from. With
    many parameters and few bodies the network would learn the bodies by heart."""
    average: Share = 0.0
    """Decay of the moving average of the weights, which is validated and kept; 0: none."""
    patience: Annotated[int, Field(ge=0)] = 0
    """Epochs without a better validation score after which it ends; 0 never ends early."""
    save_every: Annotated[int, Field(ge=1)] = 50
    """Iterations (buffers) between checkpoints; the end of the run saves too."""
    half_until: Annotated[float, Field(ge=0, le=1)] = 0.0
    """Share of the training in which matrices are multiplied in half precision, where a
    GPU is used or a CPU that does it in hardware (AMX)."""
    threads: Annotated[int, Field(ge=0)] = 0
    """Threads of torch; 0 leaves its default."""
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    """Of weights, split and order."""
    device: str = "auto"
    """Torch device; `auto` takes a GPU where there is one."""
    output: str = "runs"
    """Folder of runs."""


class RefRunConfig(Config):
    """All settings of a training run, as its folder keeps them."""

    network: RefNNConfig = RefNNConfig()
    """The network."""
    loss: RefLossConfig = RefLossConfig()
    """What it is judged by."""
    dataset: RefDataConfig = RefDataConfig()
    """What it learns from."""
    training: RefTrainingConfig = RefTrainingConfig()
    """How it learns."""
    data: tuple[str, ...] = ()
    """Folders or files of refined sequences."""
