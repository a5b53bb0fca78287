"""Architecture and training settings of IK networks, with defaults."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from ambulo.configs.base import Config
from ambulo.configs.types import Count, NonNegative, Positive, Widths

Share = Annotated[float, Field(ge=0, le=1)]
Kind = Literal["own", "published", "published_compact"]
Activation = Literal["leaky_relu", "elu", "tanh", "silu"]

PUBLISHED: dict[str, dict[str, Any]] = {
    "published": {"hidden": (256, 256, 128), "activation": "leaky_relu", "slope": 0.1},
    "published_compact": {"hidden": (128, 96), "activation": "tanh", "slope": 0.0},
}
"""Settings of the two networks with the published layout: 120 645 and 25 605 weights."""


def settled(given: Any) -> Any:
    """`given` settings of a network with those that its `kind` implies.

    An empty `past` of older files is left out.

    Raises:
        ValueError: A `past`, which networks of poses saw once.
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
    """`own` sees any subset of six targets (66 numbers) and answers the hips' position and 23
    rotations as six numbers each (141); `published` is 50-256-256-128-69 with leaky ReLU
    0.1 on Euler angles and rotation vectors, `published_compact` 50-128-96-69 with tanh."""
    hidden: Widths = (
        256,
        256,
        256,
    )
    """Widths of the hidden layers; those of the published kinds are fixed."""
    activation: Activation = "leaky_relu"
    """After each hidden layer; of the published kinds fixed."""
    slope: Annotated[float, Field(ge=0, lt=1)] = 0.1
    """Of the leaky ReLU below 0."""
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """Fraction of the hidden numbers that each step of the training leaves out."""

    @model_validator(mode="before")
    @classmethod
    def _settled(cls, given: Any) -> Any:
        return settled(given)


class IKLossConfig(Config):
    """Weights of the loss; 0 switches a term off. Lengths count in units of 10 cm."""

    position: NonNegative = 1.0
    """Mean joint position error by forward kinematics."""
    orientation: NonNegative = 0.7
    """Mean error of the joints' world orientations, [rad]."""
    contact: NonNegative = 0.5
    """Position error of ankle and toes of feet in contact."""
    pose: NonNegative = 0.3
    """Mean squared error of the output: six numbers of each local rotation."""
    limits: NonNegative = 0.5
    """Mean angle by which joints leave their swing-twist limits, [rad]."""
    smoothness: NonNegative = 0.1
    """Change of the joints' errors from one frame to the next, on consecutive frames."""
    refined: NonNegative = 1.0
    """Mean joint position error left after one refinement step towards the targets, to
    first order."""
    sampled: Annotated[float, Field(gt=0, le=1)] = 0.125
    """Fraction of a batch used for `limits` and `refined`, the most expensive terms."""
    effector: NonNegative = 1.0
    """Joints with a target count 1 + this times in `position` and `orientation`."""


class IKMaskConfig(Config):
    """Relative frequency of each set of present targets in training; normalised."""

    all: NonNegative = 0.3
    """Five effectors and the hips."""
    effectors: NonNegative = 0.25
    """Five effectors, no hips."""
    trackers: NonNegative = 0.25
    """Head and hands: a headset and two controllers."""
    any: NonNegative = 0.2
    """Each position with probability 0.7, and its rotation then with 0.8."""
    soft: Share = 0.1
    """Fraction of samples of `any` whose weights are drawn between 0.2 and 1."""

    @model_validator(mode="after")
    def _some(self) -> Self:
        if not self.all + self.effectors + self.trackers + self.any > 0.0:
            raise ValueError("one of all, effectors, trackers and any must be above 0")
        return self


class IKDataConfig(Config):
    """Training and test data, and augmentation."""

    test_ratio: Annotated[float, Field(gt=0, lt=1)] = 0.15
    """The test's fraction of the clips; whole people only, where there are three or more."""
    validation_ratio: Annotated[float, Field(gt=0, lt=1)] = 0.1
    """The validation's fraction of the clips; whole people only, as above."""
    test_subjects: tuple[str, ...] = ()
    """Test subjects, instead of a random choice."""
    validation_subjects: tuple[str, ...] = ()
    """Validation subjects, instead of a random choice."""
    seed: Annotated[int, Field(ge=0)] = 0
    """Of the split."""
    mirror: bool = True
    """Also train on mirrored poses."""
    balance: Share = 0.5
    """How much people with few poses count: 0 draws all poses alike, 1 all people."""
    blend: Share = 0.4
    """Probability of interpolating a pose towards another one, at most half-way."""
    mix: Share = 0.15
    """Probability of taking a limb with a target from another pose, for more variety than
    the clips have."""
    jitter_share: Share = 0.25
    """Fraction of the poses, among those where all five effectors have targets, whose joints
    are turned at random (and put back inside their limits)."""
    jitter: NonNegative = 0.3
    """Standard deviation of these turns about each axis, [rad]; of each pose drawn
    between 0 and this."""
    noise: NonNegative = 0.0
    """Standard deviation of noise on the positions of targets in training, [m]."""
    least: Count = 500
    """Minimum number of unique poses."""


class IKTrainingConfig(Config):
    """The optimiser and schedule."""

    epochs: Count = 100
    """Passes over as many poses as the training part has, at most."""
    batch_size: Annotated[int, Field(ge=2)] = 256
    """Poses of a step."""
    pairs: Share = 0.25
    """Fraction of a batch that is pairs of consecutive frames."""
    learning_rate: Positive = 1e-3
    """Adam's step size at its highest."""
    warmup_steps: Annotated[int, Field(ge=0)] = 100
    """Steps in which it rises; it then falls as a cosine to 1 %."""
    weight_decay: NonNegative = 0.05
    """Part of each weight that a step of size 1 would take away (AdamW)."""
    gradient_clip: Positive = 1.0
    """Largest norm of the gradient."""
    average: Annotated[float, Field(ge=0, lt=1)] = 0.999
    """Decay of the moving average of the weights, which is validated and kept."""
    vary_until: Share = 0.85
    """Fraction of the training in which poses are varied (`dataset.mix`, `jitter`, `noise`);
    after it the network settles on what people do."""
    patience: Annotated[int, Field(ge=0)] = 15
    """Epochs without a better validation score after which it ends; 0 never ends early."""
    save_every: Annotated[int, Field(ge=0)] = 0
    """Steps between checkpoints inside an epoch; 0 saves at the ends of epochs only."""
    amp: bool = True
    """Mixed precision for the network where a GPU is used; kinematics stay in float32."""
    threads: Annotated[int, Field(ge=0)] = 0
    """Threads of torch; 0 leaves its default."""
    seed: Annotated[int, Field(ge=0)] = 0
    """Of weights and batches."""
    device: str = "auto"
    """Torch device; `auto` takes a GPU where there is one."""
    output: str = "runs"
    """Folder of runs."""


class IKRunConfig(Config):
    """All settings of a training run, as its folder keeps them."""

    network: IKNetConfig = IKNetConfig()
    """The network."""
    loss: IKLossConfig = IKLossConfig()
    """The loss."""
    masks: IKMaskConfig = IKMaskConfig()
    """Present targets in training; `published` networks always see all."""
    dataset: IKDataConfig = IKDataConfig()
    """The data set."""
    training: IKTrainingConfig = IKTrainingConfig()
    """The optimiser and schedule."""
    data: str = ""
    """The file of poses."""
