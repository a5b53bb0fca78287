"""Settings of stable PD, of the activation solver and of the muscle network."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from ambulo.configs.base import Config
from ambulo.configs.types import Fraction, NonNegative, Positive, PositiveFraction

Whole = Annotated[int, Field(ge=1)]
Factor = Annotated[float, Field(gt=0, le=2)]


def _ordered(bounds: tuple[float, float]) -> tuple[float, float]:
    """Refuse a range whose end is below its start."""
    if bounds[0] > bounds[1]:
        raise ValueError(f"the range {bounds[0]:g} to {bounds[1]:g} is empty")
    return bounds


Factors = Annotated[tuple[Factor, Factor], AfterValidator(_ordered)]


class JointGain(Config):
    """Gains of the joints whose name matches a pattern."""

    joints: str
    """Shell pattern of joint names, as `hip_*` or `*knee*`; the last match wins."""
    stiffness: Positive
    """Proportional gain, [N m / rad] (slides: [N / m])."""
    damping: Positive
    """Derivative gain, [N m s / rad] (slides: [N s / m])."""


class SpdGains(Config):
    """Gains of stable PD; free joints have none."""

    stiffness: Positive = 300.0
    """Proportional gain of joints that no pattern matches, [N m / rad]."""
    damping: Positive = 24.5
    """Derivative gain of these, [N m s / rad]; 2 sqrt(stiffness / 2) of Lee et al. 2019."""
    joints: tuple[JointGain, ...] = ()
    """Gains of individual joints; each pattern must match at least one."""


class MuscleCondition(Config):
    """Weak, strong, short or long muscles, by a pattern of their names."""

    muscles: str
    """Shell pattern of muscle names, as `soleus_r` or `*_l`; the last match wins."""
    force: Annotated[float, Field(ge=0, le=2)] = 1.0
    """Factor of the peak force: 0.3 is a weak muscle, 0 a paralysed one."""
    length: Annotated[float, Field(ge=0.1, le=2)] = 1.0
    """Factor of the lengths of fibre and tendon: 0.9 is a contracture."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if not {"force", "length"} & self.model_fields_set:
            raise ValueError(f"give {self.muscles!r} a force or a length")
        return self


class ActivationCost(Config):
    """Cost of the exact solver: |torque error|^2 + effort |activation|^2."""

    effort: Positive = 17.5
    """Cost of a full activation, [N^2 m^2]; 17.5 is the training loss of Lee et al. 2019
    (torque error / 100 and 0.01 activation^2 as means) for 14 joints and 80 muscles."""
    iterations: Whole = 100
    """Maximum number of Newton steps; about ten are taken."""


class MuscleNNConfig(Config):
    """The network that replaces the solver, and how it is trained."""

    hidden: tuple[Whole, ...] = (256, 256, 256)
    """Widths; Lee et al. 2019 have (1024, 512, 512), Park et al. 2022 (256, 256, 256)."""
    output: Literal["relu_tanh", "sigmoid"] = "sigmoid"
    """`relu_tanh`: relu(tanh(y)), as Lee et al. `sigmoid`: sigmoid(y - 3)."""
    corrections: Annotated[int, Field(ge=0, le=4)] = 2
    """Weighted least-norm steps after a sigmoid that reduce the torque error, in training too.
    0 is the plain network."""
    torque_scale: Positive = 100.0
    """Torque error that costs 1, [N m]."""
    activation_weight: NonNegative = 0.01
    """Cost of the mean squared activation, beside the mean squared scaled torque error."""
    learning_rate: Positive = 1e-3
    """Adam, decayed by a cosine to zero."""
    batch_size: Whole = 256
    """Tuples per gradient step."""
    steps: Whole = 6000
    """Gradient steps."""
    poses: Whole = 15000
    """Random poses; each yields a tuple with a new target whenever it is drawn."""
    weakness: Factors = (1.0, 1.0)
    """Range of the force factor of each muscle group; (1, 1) trains healthy muscles."""
    shortness: Factors = (1.0, 1.0)
    """Range of the length factor of each muscle group."""
    reach: Fraction = 0.5
    """Fraction of the tuples whose activations are limited to those reachable in `reach_time`,
    as with activation dynamics in a simulation."""
    reach_time: Positive = 1.0 / 120.0
    """Time between evaluations of the network, [s]; integrated in two steps."""


class MuscleTrainingConfig(Config):
    """Settings of a training run beside those saved with the network."""

    epoch_steps: Whole = 500
    """Gradient steps between validations (an epoch)."""
    validation_poses: Annotated[int, Field(ge=0)] = 1000
    """Random poses of the validation, not trained on; 0: no validation."""
    final_corrections: Annotated[int, Field(ge=0, le=4)] | None = None
    """`corrections` of the saved network; None: as in training."""
    save_every: Annotated[int, Field(ge=0)] = 0
    """Steps between checkpoints within an epoch; 0: at the ends of epochs only."""
    threads: Annotated[int, Field(ge=0)] = 0
    """Threads of torch; 0 leaves its default."""
    seed: Annotated[int, Field(ge=0)] = 0
    """Seed of poses, target torques and weights."""
    device: Literal["cpu"] = "cpu"
    """Torch device; training data are drawn on the CPU."""
    output: str = "runs"
    """Folder of runs."""


class MuscleRunConfig(Config):
    """All settings of the training of a muscle network, as saved in its run folder."""

    character: str = "myolegs"
    """The body with the muscles."""
    network: MuscleNNConfig = Field(default_factory=MuscleNNConfig)
    """The network, its data and its optimiser."""
    training: MuscleTrainingConfig = Field(default_factory=MuscleTrainingConfig)
    """The run."""


class MuscleUpdatesConfig(Config):
    """Alternating training of muscle network and policy (Lee et al. 2019).

    The network is trained on the torques that stable PD requested in the roll-outs.
    """

    every: Whole = 1
    """Policy updates per update of the network."""
    steps: Whole = 20
    """Gradient steps of an update."""
    batch_size: Whole = 256
    """Tuples of a gradient step: half with torques from the roll-outs, half with random
    torques."""
    learning_rate: Positive = 3e-4
    """Adam step size."""
    capacity: Whole = 8192
    """Capacity of the buffer of tuples; the oldest are dropped first."""
    keep: PositiveFraction = 0.1
    """Fraction of the roll-out's tuples that are kept."""
    warm_up_steps: Annotated[int, Field(ge=0)] = 1000
    """Gradient steps before the first update of the policy, on tuples of a walk solved by the
    exact solver."""


MUSCLE_NN_FORMAT = "ambulo-muscle-nn"


class MuscleNNHeader(Config):
    """Header of a muscle network's tensor file, as JSON metadata."""

    format: Literal["ambulo-muscle-nn"] = "ambulo-muscle-nn"
    """Identifies the file format."""
    version: Literal[1] = 1
    """Version of the format."""
    config: MuscleNNConfig
    """Settings of the network."""
    muscles: tuple[str, ...]
    """Names of the muscles, in the order of the activations."""
    groups: tuple[str, ...]
    """Names of the muscle groups."""
    shape: tuple[int, int]
    """Joint axes and muscles of JtA."""
    conditioned: bool
    """Whether the factors of the muscle groups are inputs."""
