"""Settings of locomotion policies and of their training."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from ambulo.configs.base import Config
from ambulo.configs.imitation import ImitationConfig
from ambulo.configs.muscle import MuscleUpdatesConfig
from ambulo.configs.types import Count, Fraction, Positive, Steps, Widths


class PriorConfig(Config):
    """Features of a motion network beside the observation."""

    model: str
    """File of a motion network (see `ambulo train motion`)."""
    frames: Count = 4
    """Number of past states given to its encoder."""
    unfreeze_at: Fraction | None = None
    """Fraction of the training after which the encoder is trained too; null keeps it frozen."""


class SimulationNetworkConfig(Config):
    """The policy of a simulated body: a Gaussian actor and a separate critic."""

    policy: Literal["simple", "prior", "modes", "two_level"] = "simple"
    """`simple` is SimulationNN; `prior` adds features of a motion network; `modes` has one head
    for each mode in the observation; `two_level` chooses the mode itself."""
    net_arch: Widths = (256, 256)
    """Hidden layer widths of the actor and of the critic."""
    activation_fn: Literal["relu", "tanh", "elu", "silu"] = "tanh"
    """Hidden activation."""
    log_std_init: float = -2.0
    """Initial log standard deviation of each action; one unit of action is
    `environment.action_scale`."""
    learn_std: bool = True
    """Let the standard deviation learn."""
    zero_start: bool = True
    """Initialise the mean action to 0, so that training starts from the built-in
    controller."""
    normalize_samples: Steps = 1_000_000
    """Samples after which the observation's running mean and deviation are frozen; 0 uses the
    layout's fixed scales."""
    warm_up_steps: Steps = 60
    """Steps of the untrained policy for the initial running statistics."""
    generators: Annotated[int, Field(ge=2, le=64)] | None = None
    """Movement generators of `two_level`; null: one for each mode."""
    prior: PriorConfig | None = None
    """The motion network of `prior`."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.policy == "prior") != (self.prior is not None):
            raise ValueError("network.prior and network.policy = prior need each other")
        return self


class TeacherConfig(ImitationConfig):
    """Imitation of a balance controller or of a policy before reinforcement learning."""

    model: str | None = None
    """A trained teacher policy, with its balance controller if it has one: a file, run folder
    or shipped model; null: the balance controller alone teaches."""
    mirror: bool = False
    """Mirror every second sample; for symmetric bodies and tasks."""


class LocomotionTrainingConfig(Config):
    """Budget, evaluation, checkpoints and where results go."""

    total_timesteps: Count = 1_000_000
    """Control steps in all, over all bodies, without those of the teacher."""
    save_freq: Count = 200_000
    """Control steps between checkpoints."""
    eval_freq: Annotated[int, Field(ge=0)] = 100_000
    """Control steps between evaluations; 0 never evaluates."""
    eval_episodes: Count = 64
    """Episodes of one evaluation."""
    eval_seconds: Positive = 20.0
    """Length of an evaluation's episodes, [s]."""
    reference_weights: tuple[Fraction, ...] = ()
    """Values of `rewards.reference_weight` in phases of equal length, such as (1.0, 0.5, 0.1,
    0.0); empty keeps it."""
    num_workers: Annotated[int, Field(ge=1, le=256)] = 1
    """Processes for the environments, with `--engine ray`; `--workers` overrides it; 1 leaves
    the number to the flag. Without Ray, this process runs them all."""
    update_threads: Annotated[int, Field(ge=1, le=256)] = 1
    """CPU threads for the network update."""
    num_threads: Annotated[int, Field(ge=1, le=256)] = 1
    """CPU threads for the physics."""
    teacher: TeacherConfig | None = None
    """Pre-train by imitating a teacher; null trains from scratch."""
    muscle_updates: MuscleUpdatesConfig | None = None
    """Train the muscle network alternately with the policy; null keeps it fixed."""
    seed: Annotated[int, Field(ge=0, lt=2**31)] = 0
    """Seed of everything random."""
    device: str = "cpu"
    """Torch device; small networks are faster on the CPU."""
    output: str = "runs"
    """Folder of run folders; `user://` is Godot's user-data folder."""
