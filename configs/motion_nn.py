"""Architecture and training settings of the motion network, with defaults."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from ambulo.configs.base import Config
from ambulo.configs.choices import MotionMode
from ambulo.configs.motion import DatasetConfig
from ambulo.configs.types import (
    Count,
    Fraction,
    FractionBelowOne,
    NonNegative,
    Positive,
    Width,
)


class MotionNNConfig(Config):
    """A network that predicts the next states of a moving human23 body."""

    mode: MotionMode = "transformer_reg"
    """`mlp` takes the whole history at once; `transformer_reg` is a causal transformer over
    frames; `encoder` is a transformer over all frames of the history that also learns to fill
    in masked frames; every mode can encode."""
    history: Annotated[int, Field(ge=1, le=512)] = 10
    """Input frames."""
    chunk: Annotated[int, Field(ge=1, le=256)] = 25
    """Frames predicted in one pass; 1 is autoregressive, frame by frame."""
    fps: Positive = 25.0
    """Rate of the frames, [Hz]."""
    features: Literal["points", "sixd", "rotvec"] = "points"
    """Input features: two rows of each rotation matrix (`sixd`), these and joint positions
    (`points`), or rotation vectors."""
    residual: Literal["linear", "velocity", "zero"] = "linear"
    """Base to which the network's output is added: the prediction of a ridge regression, the
    last velocity with a fitted damping, or standing still."""
    linear_frames: Count = 3
    """Last frames of the history as inputs of the regression."""
    width: Annotated[int, Field(ge=8, le=4096)] = 256
    """Width of hidden layers, and of the encoding."""
    depth: Annotated[int, Field(ge=1, le=64)] = 4
    """Residual blocks or transformer layers."""
    heads: Width = 4
    """Attention heads; width / heads is even."""
    members: Annotated[int, Field(ge=1, le=64)] = 1
    """Number of ensemble members whose outputs are averaged."""
    dropout: FractionBelowOne = 0.1
    """Dropout rate of hidden values."""

    @model_validator(mode="after")
    def _sizes_fit(self) -> Self:
        if self.linear_frames > self.history:
            raise ValueError("linear_frames must not be more than history")
        if self.mode != "mlp" and self.width % (2 * self.heads):
            raise ValueError(
                f"width = {self.width} must be a multiple of 2 * heads = {2 * self.heads}"
            )
        return self


class MotionLossConfig(Config):
    """Weights of the training loss; 0 switches a term off."""

    position: NonNegative = 1.0
    """Squared error of joint angles, [rad^2], and of the root's position, [m^2]."""
    velocity: NonNegative = 0.1
    """Squared error of velocities."""
    joints: NonNegative = 10.0
    """Mean joint position error relative to the root, [m]."""
    smoothness: NonNegative = 0.01
    """Squared change of velocities from frame to frame."""
    masked: NonNegative = 1.0
    """Squared error of the features of masked frames; mode `encoder` only."""
    balance: bool = True
    """Divide the squared errors of each of the 56 numbers by their variance in the
    training data."""
    robust: NonNegative = 1.0
    """Errors beyond this (in standard deviations, if balanced) count linearly, not squared,
    which limits the influence of capture errors; 0 squares all."""
    frames: Count = 8
    """Frames of each predicted chunk for `joints`, resampled for each step."""


class MotionTrainingConfig(Config):
    """How a motion network is trained."""

    epochs: Count = 100
    """Passes over the training windows, at most."""
    learning_rate: Positive = 1e-3
    """AdamW's largest step size."""
    weight_decay: NonNegative = 0.05
    """Weight decay of AdamW."""
    warmup_steps: Annotated[int, Field(ge=0)] = 200
    """Steps in which the step size rises; it then falls as a cosine to 1 % of it."""
    gradient_clip: Positive = 1.0
    """Largest norm of the gradient."""
    average: FractionBelowOne = 0.998
    """Decay of the moving average of the weights, which is validated and saved."""
    rollout_ratio: Fraction = 0.2
    """Fraction of the batches that are trained on the network's own predictions."""
    rollout_steps: Count = 5
    """Frames of such a roll-out after the network's first chunk."""
    mask_ratio: FractionBelowOne = 0.3
    """Fraction of frames that are masked; mode `encoder` only."""
    speeds: Annotated[tuple[Positive, ...], Field(min_length=1)] = (1.0,)
    """Also train on clips played at these speeds."""
    noise: NonNegative = 0.0
    """Standard deviation of an offset of the normalised input pose, drawn once per window:
    augments for unseen bodies."""
    calibrate: bool = True
    """Scale each predicted frame of saved models by a factor fitted to the validation windows:
    corrects overconfidence on unseen subjects."""
    patience: Annotated[int, Field(ge=0)] = 15
    """Epochs without a better validation score before early stopping; 0 disables it."""
    save_every: Annotated[int, Field(ge=0)] = 0
    """Steps between checkpoints inside an epoch; 0 saves at the ends of epochs only."""
    seed: Annotated[int, Field(ge=0)] = 0
    """Seed of weights, dropout, roll-outs and masks."""
    device: str = "auto"
    """Torch device; `auto` takes a GPU where available."""
    output: str = "runs"
    """Folder of runs."""


class MotionRunConfig(Config):
    """All settings of a training run, as saved in its folder."""

    model: MotionNNConfig = Field(default_factory=MotionNNConfig)
    """The network."""
    loss: MotionLossConfig = Field(default_factory=MotionLossConfig)
    """The loss."""
    training: MotionTrainingConfig = Field(default_factory=MotionTrainingConfig)
    """The optimiser and schedule."""
    dataset: DatasetConfig = Field(default_factory=DatasetConfig)
    """The data set. `window` must cover history, roll-out and chunk."""
    data: tuple[str, ...] = ()
    """Folders of motion files."""

    @property
    def window(self) -> int:
        """Frames of the training windows: history, roll-out and chunk."""
        fed = self.training.rollout_steps if self.training.rollout_ratio else 0
        needed = self.model.history + fed + self.model.chunk
        return max(needed, self.dataset.window)

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.model.mode == "encoder" and not self.training.mask_ratio:
            raise ValueError("training.mask_ratio must be above 0 in mode encoder")
        if self.model.fps != self.dataset.fps:
            raise ValueError(
                f"model.fps = {self.model.fps:g} must equal "
                f"dataset.fps = {self.dataset.fps:g}"
            )
        if self.dataset.streaming and self.training.speeds != (1.0,):
            raise ValueError("dataset.streaming reads clips at their own speed only")
        return self
