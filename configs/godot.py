"""Settings of agents that learn in a Godot game."""

from __future__ import annotations

from pathlib import PurePath
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from ambulo.configs.base import Config
from ambulo.configs.choices import ENGINE_PLACES
from ambulo.configs.types import Count, Fraction, NonNegative, Positive, Steps, Widths
from ambulo.configs.vr_learning import PPOConfig, check_recurrent

Engines = Annotated[int, Field(ge=1, le=256)]


class ConvLayer(Config):
    """A convolution without padding."""

    channels: Annotated[int, Field(ge=1, le=512)]
    """Channels that it puts out."""
    kernel: Annotated[int, Field(ge=1, le=16)]
    """Height and width of its kernel, [pixels]."""
    stride: Annotated[int, Field(ge=1, le=16)] = 1
    """Distance between two places of the kernel, [pixels]."""


class GameConfig(Config):
    """The game, and how it is stepped."""

    godot_project: str | None = None
    """Folder with project.godot, or an exported game."""
    scene: str | None = None
    """Scene with the agents ("res://..."); null: the project's main scene."""
    godot_url: str | None = None
    """A running game; null starts engines."""
    godot_bin: str | None = None
    """Godot program; null looks for one."""
    godot_engines: Engines = 1
    """Engine processes, each with a copy of the scene."""
    headless: bool = True
    """Draw nothing; false for agents with cameras: it needs a screen, or the engine that
    `godot/install_engine.sh --with-gl` installs."""
    action_repeat: Annotated[int, Field(ge=1, le=1000)] | None = None
    """Physics ticks of a step; null: what the game says, or 8."""
    speed_up: Annotated[int, Field(ge=1, le=100)] | None = None
    """Physics ticks of a frame of the game; null: what the game says, or 1."""
    max_episode_steps: Count | None = None
    """Time limit of an episode, [steps]; null: that of the game."""
    godot_timeout: Positive = 30.0
    """From a request to its whole answer, [s]."""
    godot_max_failures: Annotated[int, Field(ge=1, le=1000)] = 6
    """Faults of an engine in a row after which training stops."""


class GameNetworkConfig(Config):
    """The networks of each kind of agent."""

    net_arch: Widths = (64, 64)
    """Hidden layer widths of actor and critic."""
    activation_fn: Literal["relu", "tanh", "elu", "silu"] = "tanh"
    """Hidden activation."""
    log_std_init: float = 0.0
    """Initial log standard deviation of each number of an action."""
    recurrent: Annotated[int, Field(ge=0, le=4096)] = 0
    """Units of a gated recurrent unit (GRU) behind the actor's first hidden layer; 0: none."""
    normalize_samples: Steps = 1_000_000
    """Samples after which the running mean and deviation of observations are frozen; 0: raw
    observations. Deviations below 1 count as 1."""
    warm_up_steps: Steps = 60
    """Steps of the fresh policy that the running statistics begin with."""
    convolutions: Annotated[tuple[ConvLayer, ...], Field(max_length=8)] = (
        ConvLayer(channels=16, kernel=3, stride=2),
        ConvLayer(channels=32, kernel=3, stride=2),
    )
    """Convolutions of each picture."""
    picture_features: Annotated[int, Field(ge=1, le=4096)] = 64
    """Numbers that become of a picture."""


class DemonstrationsConfig(Config):
    """Imitation of recorded play (behaviour cloning) before reinforcement learning."""

    folder: str | None = None
    """Folder of recordings; null: no imitation."""
    epochs: Count = 40
    """Passes over all recorded steps."""
    batch_size: Annotated[int, Field(ge=2)] = 256
    """Minibatch size."""
    learning_rate: Positive = 1e-3
    """Adam step size; it falls to a tenth."""
    critic_updates: Steps = 5
    """Updates afterwards that train the critic only."""


class SelfPlayConfig(Config):
    """Opponents that are past selves: agents of one policy in two teams."""

    snapshot_freq: Count = 20_000
    """Environment steps after which the policy joins the pool."""
    pool: Annotated[int, Field(ge=1, le=64)] = 8
    """Past selves that are kept; a new one takes the place of the oldest."""
    latest: Fraction = 0.5
    """Part of the episodes against the newest one; the others are against any of the pool."""


class GodotTrainingConfig(Config):
    """Budget, evaluation, checkpoints and where results go."""

    total_timesteps: Count = 300_000
    """Steps of agents in all."""
    save_freq: Count = 50_000
    """Steps between checkpoints."""
    eval_freq: Annotated[int, Field(ge=0)] = 50_000
    """Steps between evaluations; 0 never evaluates."""
    eval_episodes: Count = 20
    """Episodes of one evaluation."""
    num_workers: Annotated[int, Field(ge=1, le=256)] = 1
    """Processes that have the environments: `--workers` of `--engine ray`."""
    update_threads: Annotated[int, Field(ge=1, le=256)] = 1
    """CPU threads for the network update."""
    demonstrations: DemonstrationsConfig = Field(default_factory=DemonstrationsConfig)
    """Behaviour cloning at the beginning."""
    self_play: SelfPlayConfig | None = Field(default_factory=SelfPlayConfig)
    """Opponents that are past selves, for kinds in two teams; null: both teams learn."""
    init_from: str | None = None
    """Model whose policies a new run begins with: a file, a run folder or a shipped one."""
    seed: Annotated[int, Field(ge=0, lt=2**31)] = 0
    """Seed of everything random."""
    device: str = "cpu"
    """Torch device; small networks are faster on the CPU."""
    output: str = "runs"
    """Folder that run folders are made in; `user://` is Godot's user-data folder."""


class GodotPPOConfig(PPOConfig):
    """Proximal policy optimisation of agents in a game.

    Short roll-outs and small minibatches: games are slow, so that an update costs less than the
    steps that it saves (docs/results.md).
    """

    learning_rate: Positive = 3e-4
    """Adam step size at the start."""
    n_steps: Count = 32
    """Steps of each agent in one roll-out."""
    batch_size: Annotated[int, Field(ge=2)] = 64
    """Minibatch size; capped at the size of one roll-out."""
    n_epochs: Count = 10
    """Passes over each roll-out."""
    ent_coef: NonNegative = 1e-3
    """Weight of the entropy bonus."""
    reward_scale: Positive = 1.0
    """Factor on rewards inside the learner; logs and evaluation stay unscaled."""
    normalize_returns: bool = True
    """Also divide rewards by the running root mean square of the discounted returns of each
    kind of agent."""


class GodotConfig(Config):
    """All settings of a training in a Godot game."""

    environment: GameConfig = Field(default_factory=GameConfig)
    """The game."""
    network: GameNetworkConfig = Field(default_factory=GameNetworkConfig)
    """The policies."""
    ppo: GodotPPOConfig = Field(default_factory=GodotPPOConfig)
    """The learner."""
    training: GodotTrainingConfig = Field(default_factory=GodotTrainingConfig)
    """Budget and results."""

    def shareable(self) -> GodotConfig:
        """Return a copy to publish: without engine locations and without local folders."""
        training, demos = GodotTrainingConfig.model_fields, self.training.demonstrations
        first, folder = self.training.init_from, demos.folder
        return self.override("environment", **dict.fromkeys(ENGINE_PLACES)).override(
            "training",
            output=training["output"].default,
            init_from=first and PurePath(first).name,
            demonstrations=demos.replace(folder=folder and PurePath(folder).name),
        )

    @model_validator(mode="after")
    def _check(self) -> Self:
        check_recurrent(self.network.recurrent, self.ppo)
        return self
