"""Architecture and training settings of body trackers, with defaults."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ambulo.configs.base import Config
from ambulo.configs.types import (
    Count,
    Fraction,
    FractionBelowOne,
    NonNegative,
    Positive,
    ProperFraction,
    Width,
)


class TrackerNetConfig(Config):
    """The network: a layer, a gated recurrent unit (GRU), a layer, and the outputs."""

    encoder: Width = 256
    """Units of the layer before the GRU."""
    state: Width = 256
    """Units of the GRU, which are its state."""
    decoder: Width = 256
    """Units of the layer after the GRU."""
    lead: Annotated[float, Field(ge=0.0, le=0.3)] = 0.06
    """Time by which the predicted pose is ahead of the newest input, [s]; it makes up for the
    later smoothing of the pose."""


class TrackerLossConfig(Config):
    """Weights of the loss; 0 switches a term off. The unit of length is 10 cm."""

    position: NonNegative = 1.0
    """Mean distance of all joints, seen from the head."""
    world: NonNegative = 0.3
    """Mean distance of all joints in the world."""
    rotation: NonNegative = 0.3
    """Mean distance of the joints' world rotation matrices (Frobenius)."""
    local: NonNegative = 1.0
    """Mean squared error of the output: hips and local rotations."""
    velocity: NonNegative = 0.5
    """Mean error of the joints' velocities, [m/s]."""
    acceleration: NonNegative = 0.02
    """Mean error of the joints' accelerations, [m/s^2]."""
    skate: NonNegative = 0.3
    """Speed of points of the feet that are in contact, [m/s]."""
    ground: NonNegative = 0.5
    """Error of the heights of points of the feet near the ground."""
    contact: NonNegative = 0.2
    """Cross-entropy of contacts of heels and balls."""
    shape: NonNegative = 0.05
    """Negative log-likelihood of the corrections of the body's proportions."""
    legs: NonNegative = 0.5
    """Joints of the legs count 1 + this times."""


class TrackerDataConfig(Config):
    """Training people, and augmentation of their movements."""

    test_subjects: tuple[str, ...] = ()
    """People never seen in training; `test_ratio` if empty."""
    validation_subjects: tuple[str, ...] = ()
    """People for the choice of the best network; `validation_ratio` if empty."""
    test_ratio: FractionBelowOne = 0.12
    """Fraction of the people in the test set."""
    validation_ratio: ProperFraction = 0.06
    """Fraction of the people in the validation set."""
    people: Annotated[int, Field(ge=0)] = 0
    """Number of people to train on, drawn by `seed`; 0: all."""
    seed: Annotated[int, Field(ge=0)] = 0
    """Seed of the split."""
    balance: Fraction = 0.5
    """Sampling: 0 draws all seconds with equal probability, 1 all people."""
    mirror: Fraction = 0.5
    """Probability that a sequence is mirrored."""
    proportions: NonNegative = 0.05
    """Standard deviation of independent factors on the lengths of trunk, arms and legs."""
    speed: FractionBelowOne = 0.15
    """Largest relative change of the speed of movements."""
    shape_error: NonNegative = 0.03
    """Standard deviation of the error of the proportions that the network receives."""
    known_shape: Fraction = 0.6
    """Fraction of sequences with a quarter of that error, as after a calibration."""
    noise: NonNegative = 0.001
    """Largest standard deviation of noise on the trackers' positions, [m]; drawn for each
    sequence."""
    turn_noise: NonNegative = 0.01
    """Largest standard deviation of noise on the trackers' rotations, [rad]."""
    grip: NonNegative = 0.015
    """Standard deviation of a constant position offset of each tracker on the body, [m]."""
    grip_turn: NonNegative = 0.1
    """Standard deviation of its constant rotation offset, [rad]."""
    three: Fraction = 0.5
    """Fraction of sequences with head and hands only."""
    others: tuple[NonNegative, NonNegative, NonNegative, NonNegative] = (1.0,) * 4
    """Weights of the other tracker sets: with hips; with feet; with both; each at random."""
    arms: Fraction = 0.25
    """Probability that the arms are taken from another sequence."""
    dropout: NonNegative = 0.05
    """Rate at which each tracker drops out, [1/s]; half of the sequences have no dropouts."""


class TrackerTrainingConfig(Config):
    """The optimiser and schedule."""

    epochs: Count = 36
    """Epochs of `epoch_steps` updates."""
    epoch_steps: Count = 250
    """Updates of an epoch."""
    streams: Annotated[int, Field(ge=2)] = 256
    """Sequences of a minibatch."""
    steps: Annotated[int, Field(ge=4)] = 32
    """Network steps of an update; the GRU state carries over to the next."""
    learning_rate: Positive = 2e-3
    """Adam's largest step size."""
    warmup_steps: Annotated[int, Field(ge=0)] = 100
    """Steps in which it rises; it then falls as a cosine to 1 %."""
    weight_decay: NonNegative = 0.02
    """Weight decay of AdamW."""
    gradient_clip: Positive = 1.0
    """Largest norm of the gradient."""
    average: FractionBelowOne = 0.998
    """Decay of the moving average of the weights, which is validated and saved."""
    patience: Annotated[int, Field(ge=0)] = 0
    """Epochs without a better validation score before early stopping; 0 disables it."""
    threads: Annotated[int, Field(ge=0)] = 0
    """Threads of torch; 0 leaves its default."""
    seed: Annotated[int, Field(ge=0)] = 0
    """Seed of weights and sequences."""
    device: str = "auto"
    """Torch device; `auto` takes a GPU where available."""
    output: str = "runs"
    """Folder of runs."""


class TrackerRunConfig(Config):
    """All settings of a training run, as saved in its folder."""

    network: TrackerNetConfig = Field(default_factory=TrackerNetConfig)
    """The network."""
    loss: TrackerLossConfig = Field(default_factory=TrackerLossConfig)
    """The loss."""
    dataset: TrackerDataConfig = Field(default_factory=TrackerDataConfig)
    """The data set."""
    training: TrackerTrainingConfig = Field(default_factory=TrackerTrainingConfig)
    """The optimiser and schedule."""
    data: str = ""
    """The file of sequences, from `ambulo ik sequences`."""
