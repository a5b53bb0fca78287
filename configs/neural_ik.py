"""Architecture and training settings of IK networks, with defaults."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from ambulo.configs.base import Config
from ambulo.configs.types import (
    Count,
    Fraction,
    FractionBelowOne,
    NonNegative,
    Positive,
    PositiveFraction,
    ProperFraction,
    Widths,
)

Kind = Literal["own", "published", "published_compact"]
Activation = Literal["leaky_relu", "elu", "tanh", "silu"]

PUBLISHED: dict[str, dict[str, Any]] = {
    "published": {"hidden": (256, 256, 128), "activation": "leaky_relu", "slope": 0.1},
    "published_compact": {"hidden": (128, 96), "activation": "tanh", "slope": 0.0},
}
"""Settings of the two networks with the original layout: 120 645 and 25 605 weights."""


def settled(given: Any) -> Any:
    """Settings of a network, completed by those that its `kind` implies.

    An empty `past` of older files is left out.

    Raises:
        ValueError: `past` is set; only networks of earlier versions had it.
    """
    if not isinstance(given, Mapping):
        return given
    values = dict(given)
    if values.pop("past", ()):
        raise ValueError(
            "past: networks of poses see one moment; body trackers (ik_trackers) see more"
        )
    return values | PUBLISHED.get(str(values.get("kind")), {})


class IKNetConfig(Config):
    """The network."""

    kind: Kind = "own"
    """`own` takes any subset of six targets (66 numbers) and returns the hips' position and 23
    rotations as six numbers each (141); `published` is 50-256-256-128-69 with leaky ReLU 0.1 on
    Euler angles and rotation vectors, `published_compact` 50-128-96-69 with tanh."""
    hidden: Widths = (
        256,
        256,
        256,
    )
    """Widths of the hidden layers; those of the published kinds are fixed."""
    activation: Activation = "leaky_relu"
    """Activation after each hidden layer; fixed for the published kinds."""
    slope: FractionBelowOne = 0.1
    """Slope of the leaky ReLU below 0."""
    dropout: FractionBelowOne = 0.0
    """Dropout rate of hidden values."""

    @model_validator(mode="before")
    @classmethod
    def _settled(cls, given: Any) -> Any:
        return settled(given)


class IKLossConfig(Config):
    """Weights of the loss; 0 switches a term off. The unit of length is 10 cm."""

    position: NonNegative = 1.0
    """Mean joint position error by forward kinematics."""
    orientation: NonNegative = 0.7
    """Mean error of the joints' world orientations, [rad]."""
    contact: NonNegative = 0.5
    """Position error of ankle and toes of feet in contact."""
    pose: NonNegative = 0.3
    """Mean squared error of the output: six numbers of each local rotation."""
    limits: NonNegative = 0.5
    """Mean angle by which joints exceed their swing-twist limits, [rad]."""
    smoothness: NonNegative = 0.1
    """Change of the joints' errors from one frame to the next, on consecutive frames."""
    refined: NonNegative = 1.0
    """Mean joint position error left after one refinement step towards the targets, to first
    order."""
    sampled: PositiveFraction = 0.125
    """Fraction of a batch used for `limits` and `refined`, the most expensive terms."""
    effector: NonNegative = 1.0
    """Joints with a target have weight 1 + this in `position` and `orientation`."""


class IKMaskConfig(Config):
    """Relative frequency of each set of present targets in training; normalised."""

    all: NonNegative = 0.3
    """Five effectors and the hips."""
    effectors: NonNegative = 0.25
    """Five effectors, no hips."""
    trackers: NonNegative = 0.25
    """Head and hands: a headset and two controllers."""
    any: NonNegative = 0.2
    """Each position with probability 0.7, its rotation then with 0.8."""
    soft: Fraction = 0.1
    """Fraction of samples of `any` whose weights are drawn between 0.2 and 1."""

    @model_validator(mode="after")
    def _some(self) -> Self:
        if not self.all + self.effectors + self.trackers + self.any > 0.0:
            raise ValueError("one of all, effectors, trackers and any must be above 0")
        return self


class IKDataConfig(Config):
    """Training and test data, and augmentation."""

    test_ratio: ProperFraction = 0.15
    """Fraction of the clips in the test set; whole people only, if there are three or more."""
    validation_ratio: ProperFraction = 0.1
    """Fraction of the clips in the validation set; whole people only, as above."""
    test_subjects: tuple[str, ...] = ()
    """Test subjects, instead of a random choice."""
    validation_subjects: tuple[str, ...] = ()
    """Validation subjects, instead of a random choice."""
    seed: Annotated[int, Field(ge=0)] = 0
    """Seed of the split."""
    mirror: bool = True
    """Also train on mirrored poses."""
    balance: Fraction = 0.5
    """Sampling of people with few poses: 0 draws all poses with equal probability, 1 all
    people."""
    blend: Fraction = 0.4
    """Probability of interpolating a pose towards another one, at most half-way."""
    mix: Fraction = 0.15
    """Probability of taking a limb with a target from another pose, for more variety than in
    the clips."""
    jitter_share: Fraction = 0.25
    """Fraction of the poses, among those with targets for all five effectors, whose joints are
    rotated at random (and clamped to their limits)."""
    jitter: NonNegative = 0.3
    """Largest standard deviation of these rotations about each axis, [rad]; drawn for each
    pose."""
    noise: NonNegative = 0.0
    """Standard deviation of noise on the positions of targets in training, [m]."""
    least: Count = 500
    """Minimum number of unique poses."""


class IKTrainingConfig(Config):
    """The optimiser and schedule."""

    epochs: Count = 100
    """Maximum number of passes over the training set."""
    batch_size: Annotated[int, Field(ge=2)] = 256
    """Poses of a minibatch."""
    pairs: Fraction = 0.25
    """Fraction of a batch that consists of pairs of consecutive frames."""
    learning_rate: Positive = 1e-3
    """Adam's largest step size."""
    warmup_steps: Annotated[int, Field(ge=0)] = 100
    """Steps in which it rises; it then falls as a cosine to 1 %."""
    weight_decay: NonNegative = 0.05
    """Weight decay of AdamW."""
    gradient_clip: Positive = 1.0
    """Largest norm of the gradient."""
    average: FractionBelowOne = 0.999
    """Decay of the moving average of the weights, which is validated and saved."""
    vary_until: Fraction = 0.85
    """Fraction of the training with augmented poses (`dataset.mix`, `jitter`, `noise`); then
    the network is tuned on unmodified poses."""
    patience: Annotated[int, Field(ge=0)] = 15
    """Epochs without a better validation score before early stopping; 0 disables it."""
    save_every: Annotated[int, Field(ge=0)] = 0
    """Steps between checkpoints inside an epoch; 0 saves at the ends of epochs only."""
    amp: bool = True
    """Mixed precision for the network where a GPU is used; kinematics stay in float32."""
    threads: Annotated[int, Field(ge=0)] = 0
    """Threads of torch; 0 leaves its default."""
    seed: Annotated[int, Field(ge=0)] = 0
    """Seed of weights and batches."""
    device: str = "auto"
    """Torch device; `auto` takes a GPU where available."""
    output: str = "runs"
    """Folder of runs."""


class IKRunConfig(Config):
    """All settings of a training run, as saved in its folder."""

    network: IKNetConfig = Field(default_factory=IKNetConfig)
    """The network."""
    loss: IKLossConfig = Field(default_factory=IKLossConfig)
    """The loss."""
    masks: IKMaskConfig = Field(default_factory=IKMaskConfig)
    """Present targets in training; `published` networks always see all."""
    dataset: IKDataConfig = Field(default_factory=IKDataConfig)
    """Present targets in training; `published` networks always have all."""
    training: IKTrainingConfig = Field(default_factory=IKTrainingConfig)
    """The optimiser and schedule."""
    data: str = ""
    """The file of poses."""
