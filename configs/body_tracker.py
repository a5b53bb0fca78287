"""Architecture and training settings of body trackers, with defaults."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ambulo.configs.base import Config
from ambulo.configs.types import Count, NonNegative, Positive, Share, Width

Probability = Share


class TrackerNetConfig(Config):
    """The network: a layer, a gated recurrent unit (GRU), a layer, and the outputs."""

    encoder: Width = 256
    """Units of the layer before the GRU."""
    state: Width = 256
    """Units of the GRU, which are its state."""
    decoder: Width = 256
    """Units of the layer after the GRU."""
    lead: Annotated[float, Field(ge=0.0, le=0.3)] = 0.06
    """How far ahead of its newest input the pose is that the network predicts, [s]: as long
    as the smoothing of the pose takes afterwards."""


class TrackerLossConfig(Config):
    """Weights of the loss; 0 switches a term off. Lengths count in units of 10 cm."""

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
    """People, and how their movements are varied."""

    test_subjects: tuple[str, ...] = ()
    """People who are never seen in training; `test_ratio` if empty."""
    validation_subjects: tuple[str, ...] = ()
    """People who choose the best network; `validation_ratio` if empty."""
    test_ratio: Annotated[float, Field(ge=0, lt=1)] = 0.12
    """The test's share of the people."""
    validation_ratio: Annotated[float, Field(gt=0, lt=1)] = 0.06
    """The validation's share of the people."""
    people: Annotated[int, Field(ge=0)] = 0
    """Train on this many people only, drawn by `seed`; 0: all."""
    seed: Annotated[int, Field(ge=0)] = 0
    """Of the split."""
    balance: Share = 0.5
    """0 draws all seconds alike, 1 all people."""
    mirror: Probability = 0.5
    """Sequences that are mirrored, left to right."""
    proportions: NonNegative = 0.05
    """Standard deviation of the lengths of trunk, arms and legs, each against the others."""
    speed: Annotated[float, Field(ge=0, lt=1)] = 0.15
    """Movements are faster or slower by up to this factor."""
    shape_error: NonNegative = 0.03
    """Standard deviation of the error of the proportions that the network is given."""
    known_shape: Probability = 0.6
    """Sequences whose proportions are known within a quarter of that, as when calibrated."""
    noise: NonNegative = 0.001
    """Largest standard deviation of the trackers' positions, [m]; of each sequence drawn."""
    turn_noise: NonNegative = 0.01
    """The same of their rotations, [rad]."""
    grip: NonNegative = 0.015
    """Standard deviation of a constant error of each tracker's place on the body, [m]."""
    grip_turn: NonNegative = 0.1
    """The same of its rotation, [rad]."""
    three: Probability = 0.5
    """Sequences with head and hands alone."""
    others: tuple[NonNegative, NonNegative, NonNegative, NonNegative] = (1.0,) * 4
    """Weights of the other sets: with hips; with feet; with both; with each at random."""
    arms: Probability = 0.25
    """Sequences whose arms are moved as in another sequence."""
    dropout: NonNegative = 0.05
    """How often each tracker drops out, [1/s]; half of the sequences have no dropouts."""


class TrackerTrainingConfig(Config):
    """The optimiser and schedule."""

    epochs: Count = 36
    """Epochs of `epoch_steps` updates."""
    epoch_steps: Count = 250
    """Updates of an epoch."""
    streams: Annotated[int, Field(ge=2)] = 256
    """Sequences that are learnt from side by side."""
    steps: Annotated[int, Field(ge=4)] = 32
    """Network steps of an update; the state of the GRU goes on to the next."""
    learning_rate: Positive = 2e-3
    """Adam's step size at its highest."""
    warmup_steps: Annotated[int, Field(ge=0)] = 100
    """Steps in which it rises; it then falls as a cosine to 1 %."""
    weight_decay: NonNegative = 0.02
    """Part of each weight that a step of size 1 would take away (AdamW)."""
    gradient_clip: Positive = 1.0
    """Largest norm of the gradient."""
    average: Annotated[float, Field(ge=0, lt=1)] = 0.998
    """Decay of the moving average of the weights, which is validated and kept."""
    patience: Annotated[int, Field(ge=0)] = 0
    """Epochs without a better validation score after which it ends; 0 never ends early."""
    threads: Annotated[int, Field(ge=0)] = 0
    """Threads of torch; 0 leaves its default."""
    seed: Annotated[int, Field(ge=0)] = 0
    """Of weights and sequences."""
    device: str = "auto"
    """Torch device; `auto` takes a GPU where there is one."""
    output: str = "runs"
    """Folder of runs."""


class TrackerRunConfig(Config):
    """All settings of a training run, as its folder keeps them."""

    network: TrackerNetConfig = TrackerNetConfig()
    """The network."""
    loss: TrackerLossConfig = TrackerLossConfig()
    """The loss."""
    dataset: TrackerDataConfig = TrackerDataConfig()
    """The data set."""
    training: TrackerTrainingConfig = TrackerTrainingConfig()
    """The optimiser and schedule."""
    data: str = ""
    """The file of sequences, from `ambulo ik sequences`."""
