"""Configuration of VR navigation in seven groups, as published, plus our additions.

Every key of the published JSON files keeps its name and meaning. Lengths are metres,
angles degrees where the name or text says so, times seconds.
"""

from __future__ import annotations

from pathlib import PurePath
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from ambulo.configs.base import Config
from ambulo.configs.choices import ENGINE_PLACES
from ambulo.configs.imitation import ImitationConfig
from ambulo.configs.scenes import check_scene
from ambulo.configs.types import Count, Fraction, NonNegative, Positive, Steps
from ambulo.configs.vr_actions import Degrees, NavigationActionsConfig
from ambulo.configs.vr_bodies import (
    MOST_AGENTS,
    USUAL_EYES,
    check_agents,
    check_reach,
    check_rig,
)
from ambulo.configs.vr_comfort import check_comfort
from ambulo.configs.vr_learning import (
    NavigationNetworkConfig,
    PPOConfig,
    check_recurrent,
)
from ambulo.configs.vr_rewards import NavigationRewardsConfig

Task = Literal["navigate", "follow", "reach", "patrol"]
Body = Literal["capsule", "twin", "human23", "myolegs"]

MOTION_FEATURES = {"none": 0, "motion_nn": 256}
"""Size of each kind of `observations.motion`."""

_RETIRED = ("plan_margin", "plan_walls", "surroundings")
"""Keys of `observations` in files of earlier versions that have no effect any more."""


class NavigationObservationsConfig(Config):
    """Observations of the agent."""

    num_ray_sensors: Annotated[int, Field(ge=4, le=360)] = 16
    """Horizontal rays, evenly spaced over the full circle."""
    ray_length: Annotated[float, Field(ge=1e-6, le=1e6)] = 5.0
    """Range of a ray; also its reading when nothing is hit."""
    rays_see_edges: bool = True
    """Rays also end at floor edges (holes, outer border); false is the published sensor."""
    frame: Literal["head", "world"] = "head"
    """`head` turns vectors and rays with the yaw of the head; `world` is the published one."""
    normalize: bool = True
    """Fixed scaling inside the policy (never running statistics)."""
    memory: Literal["none", "visits", "map", "plan", "path", "navigator"] = "none"
    """Extra features remembered from earlier environment steps: `visits` counts the visited
    positions, `map` adds remembered free space and obstacles. `navigator` adds the output of a
    classical planner that runs on the agent's own senses: the path ahead over all floors, the
    reason for waiting, moving and near objects. `plan` and `path` are what agents of earlier
    versions observe of it: the path beside `map`, or beside visits."""
    plan_reach: Annotated[float, Field(ge=0.5, le=100.0)] = 2.5
    """Largest distance of the waypoint along the path, [m], with a planner: a larger one cuts
    the corners of the eight-neighbour path across open space."""
    motion: Literal["none", "motion_nn"] = "none"
    """Extra features of the body's own past: the encoding of its last poses by a shipped motion
    network (for a capsule or twin, the poses of an avatar)."""
    comfort: bool = False
    """Extra number: the comfort dial, from 0 (as fast as possible) to 1 (as comfortable as
    the settings ask), see docs/comfort.md."""
    format: Literal["flat", "dict"] = "flat"
    """One float32 vector, or a dictionary of named parts."""

    @model_validator(mode="before")
    @classmethod
    def _leave_out_retired(cls, data: object) -> object:
        """Drop planner settings of earlier versions, which old files contain."""
        if isinstance(data, dict):
            return {key: data[key] for key in data if key not in _RETIRED}
        return data


class NavigationEnvironmentConfig(Config):
    """The world and the task."""

    world: Annotated[
        Literal["compiled", "mujoco", "godot"],
        BeforeValidator(lambda name: "compiled" if name == "kernel" else name),
    ] = "compiled"
    """`compiled` is fast; `mujoco` has the same rules in plain Python, 1,000 times as slow;
    `godot` runs them in Godot engines. Older files call the first one `kernel`."""
    body: Body = "capsule"
    """Body of the agent: the sliding capsule of the world contract; a simulated character with
    legs, by name, driven by a walker; or `twin`, a fast surrogate of the walker that was fitted
    to the character's roll-outs."""
    walker: str = "walk_commands"
    """Walker policy that moves a character's legs as commanded: a shipped one by name, or a
    file. A twin approximates it."""
    twin: str | None = None
    """File of the twin (JSON, of `ambulo fit-twin`); null: the shipped one of the walker."""
    num_environments: Count = 64
    """Environments stepped together."""
    agents: Annotated[int, Field(ge=1, le=MOST_AGENTS)] = 1
    """Number of consecutive environments that share a level, in which they sense and touch each
    other."""
    max_episode_steps: Count = 1000
    """Environment steps before the episode is truncated."""
    physics_ticks_per_second: Annotated[int, Field(ge=10, le=1000)] = 90
    """Physics rate."""
    ticks_per_decision: Annotated[int, Field(ge=1, le=1000)] = 9
    """Physics ticks per action."""
    levels: tuple[str, ...] = ("train",)
    """Level families or named level sets. In training, one that is listed n times has n times
    as many levels."""
    scene: str | None = None
    """Scene of the Godot project ("res://...") of all episodes, with world = godot; replaces
    `levels` and `level_file`."""
    level_file: str | None = None
    """A level JSON file or a folder of them, for `level_file_fraction` of the episodes."""
    level_file_fraction: Fraction | None = None
    """Fraction of the episodes of training and validation in levels of `level_file`; the others
    are in `levels`. Null: 0.5 in a new run that begins with a model (`training.init_from`), so
    that the model forgets nothing, else 1."""
    levels_per_family: Count = 150
    """Different levels of each family held in the training bank."""
    level_refresh: Annotated[int, Field(ge=0)] = 0
    """Levels of the bank replaced by new ones after each roll-out."""
    goal_distance: tuple[Positive, Positive] = (5.0, 30.0)
    """Range of the straight-line distance from start to goal."""
    designed_start: Fraction = 0.4
    """Probability of the start and goal that the level was designed around."""
    start_jitter: tuple[NonNegative, Degrees] = (0.3, 20.0)
    """Largest distance [m] and rotation [deg] of a start from the one that a level fixes: in
    training always, in evaluation from the second episode of a level file on; zeros keep it."""
    goal_radius: Positive = 1.0
    """Horizontal distance at which the goal counts as reached."""
    fall_depth: Positive = 1.0
    """Depth below the floor at which the episode ends as a fall (published: 10)."""
    tasks: tuple[Task, ...] = ("navigate",)
    """Tasks drawn at episode start; more than one appends a task id to the observation."""
    follow_speed: NonNegative = 0.6
    """[m/s] of the moving goal."""
    patrol_goals: Annotated[int, Field(ge=1, le=16)] = 3
    """Number of consecutive goals of `patrol`."""
    reach_radius: Positive = 0.2
    """Distance between a hand and the target for `reach`."""
    reach_height: tuple[Positive, Positive] = (1.1, 1.1)
    """Range of the target's height for `reach`, [m]; a capsule's hands are at 1.1 m."""
    eye_height: Annotated[float, Field(ge=0.6, le=2.2)] = USUAL_EYES
    """Height of the head camera above the feet, [m]: 1.05 for a child of six, 1.2 seated, 1.75
    for a tall adult. The height of the body and of the hands scale with it."""
    comfort_range: tuple[Fraction, Fraction] = (0.0, 1.0)
    """Range of the comfort dial, drawn for each episode, with `observations.comfort`."""
    comfort_default: Fraction | None = None
    """Default comfort dial of a finished agent; null: the middle of `comfort_range`."""
    godot_url: str | None = None
    """URL of a running Godot game, such as http://127.0.0.1:8080; null starts engines."""
    godot_bin: str | None = None
    """Godot program; null looks for an installed one (`GODOT_BIN` names it too)."""
    godot_project: str | None = None
    """Folder of the Godot project; null is that of the checkout (or
    `AMBULO_GODOT_PROJECT`)."""
    godot_engines: Annotated[int, Field(ge=1, le=256)] = 1
    """Godot processes that share the environments."""
    godot_timeout: Positive = 30.0
    """Time limit of an engine's answer before it counts as hung, [s]."""
    godot_max_failures: Count = 6
    """Consecutive faults without an environment step between them after which an engine is
    given up."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.goal_distance[0] > self.goal_distance[1]:
            raise ValueError("goal_distance must be [min, max] with min <= max")
        if self.comfort_range[0] > self.comfort_range[1]:
            raise ValueError("comfort_range must be [min, max] with min <= max")
        if not self.levels and self.level_file is None:
            raise ValueError("levels must name at least one family or set")
        if not self.tasks:
            raise ValueError("tasks must name at least one task")
        check_scene(self.scene, self.world, self.level_file)
        check_reach(self.reach_height, self.body)
        if self.body != "capsule" and self.world == "godot":
            raise ValueError(f"body = {self.body}: not in world = godot")
        check_agents(self.agents, self.world, self.body)
        return self

    @property
    def character(self) -> str | None:
        """The simulated character, or None."""
        return None if self.body in ("capsule", "twin") else self.body

    @property
    def file_fraction(self) -> float:
        """Fraction of the episodes in levels of `level_file`, if there is one."""
        fraction = self.level_file_fraction
        return 1.0 if fraction is None else fraction

    @property
    def physics_dt(self) -> float:
        """Length of one physics tick, [s]."""
        return 1.0 / self.physics_ticks_per_second

    @property
    def decision_dt(self) -> float:
        """Time between two environment steps, [s]."""
        return self.ticks_per_decision / self.physics_ticks_per_second


class CurriculumStage(Config):
    """One stage of a curriculum; it ends by success or by budget, whichever comes first."""

    name: str
    """Name shown in logs."""
    max_goal_distance: Positive
    """Upper end of the goal distance in this stage, [m]."""
    timesteps: Count
    """Budget of the stage, [environment steps]."""
    levels: tuple[str, ...] | None = None
    """Level families or sets of this stage; null keeps `environment.levels`."""
    body: Body | None = None
    """Body of the agent in this stage; null keeps `environment.body`."""
    success_threshold: Fraction | None = 0.9
    """Promote when the success rate of recent episodes reaches this; null: budget only."""
    min_timesteps: Annotated[int, Field(ge=0)] = 50_000
    """Minimum environment steps in this stage before promotion by success."""


class NavigationTeacherConfig(ImitationConfig):
    """Imitation of a classical planner before reinforcement learning.

    It runs after `init_from`, in the environments of the first stage.
    """

    planner: Annotated[
        Literal["planner", "oracle"],
        BeforeValidator(lambda name: "planner" if name == "mapper" else name),
    ] = "planner"
    """The teacher: `planner` observes what the agent observes, `oracle` knows the level. Older
    files call the first one `mapper`."""
    samples: Count = 600_000
    """Total number of states labelled by the teacher."""
    rounds: Count = 8
    """Rounds of collecting and fitting."""
    epochs: Count = 3
    """Passes over all collected states in each round."""
    last_epochs: Count = 12
    """Passes after the last round."""
    batch_size: Annotated[int, Field(ge=2)] = 2048
    """Minibatch size."""
    mix_rounds: Steps = 1
    """Number of first rounds in which the teacher acts, with noise; then the network acts."""
    mix_decay: Fraction = 0.5
    """After these rounds the teacher still acts for a fraction of the environments:
    `mix_decay` in the first round after, its square in the next, and so on."""
    critic_updates: Steps = 40
    """Initial PPO updates that train the critic only."""


class NavigationTrainingConfig(Config):
    """Budget, evaluation, checkpoints and where results go."""

    total_timesteps: Count = 1_000_000
    """Environment steps in all, over all environments."""
    save_freq: Count = 100_000
    """Environment steps between checkpoints."""
    eval_freq: Annotated[int, Field(ge=0)] = 100_000
    """Environment steps between evaluations; 0 never evaluates."""
    eval_episodes: Count = 45
    """Episodes of one evaluation, on validation levels."""
    init_from: str | None = None
    """Model whose policy a new run starts from: a file, a run folder or a shipped agent's name;
    `--init-from` overrides it."""
    teacher: NavigationTeacherConfig | None = None
    """Imitate a planner before reinforcement learning, in runs that start without a model
    (`init_from`); null: no planner."""
    num_workers: Annotated[int, Field(ge=1, le=256)] = 1
    """Processes for the environments, with `--engine ray`; `--workers` overrides it; 1 leaves
    the number to the flag. Without Ray, this process runs them all."""
    update_threads: Annotated[int, Field(ge=1, le=256)] = 1
    """CPU threads for the network update (acting always uses one)."""
    use_curriculum: bool = False
    """Go through `curriculum_stages`."""
    curriculum_stages: tuple[CurriculumStage, ...] = ()
    """Stages in order."""
    seed: Annotated[int, Field(ge=0, lt=2**31)] = 0
    """Seed of everything random."""
    device: str = "cpu"
    """Torch device; small networks are faster on the CPU."""
    output: str = "runs"
    """Folder of run folders; `user://` is Godot's user-data folder."""

    @model_validator(mode="before")
    @classmethod
    def _without_lost_episodes(cls, data: Any) -> Any:
        """Drop `lost_episodes`, an obsolete setting of older files."""
        if not isinstance(data, dict):
            return data
        return {key: value for key, value in data.items() if key != "lost_episodes"}

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.use_curriculum and not self.curriculum_stages:
            raise ValueError("use_curriculum needs at least one of curriculum_stages")
        return self


class NavigationConfig(Config):
    """Everything about one training run."""

    network: NavigationNetworkConfig = Field(default_factory=NavigationNetworkConfig)
    """The actor and the critic."""
    ppo: PPOConfig = Field(default_factory=PPOConfig)
    """The learner."""
    rewards: NavigationRewardsConfig = Field(default_factory=NavigationRewardsConfig)
    """Reward weights."""
    observations: NavigationObservationsConfig = Field(
        default_factory=NavigationObservationsConfig
    )
    """Observations of the agent."""
    actions: NavigationActionsConfig = Field(default_factory=NavigationActionsConfig)
    """Actions of the agent."""
    environment: NavigationEnvironmentConfig = Field(
        default_factory=NavigationEnvironmentConfig
    )
    """The world and the task."""
    training: NavigationTrainingConfig = Field(default_factory=NavigationTrainingConfig)
    """Budget and outputs."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.actions.mode == "discrete" and self.network.action_bound is not None:
            raise ValueError("network.action_bound needs actions.mode = continuous")
        if self.actions.mode == "discrete" and self.training.teacher is not None:
            raise ValueError("training.teacher needs actions.mode = continuous")
        if self.actions.mode == "discrete" and self.environment.body != "capsule":
            raise ValueError(
                f"environment.body = {self.environment.body}: needs actions.mode = "
                "continuous"
            )
        if self.actions.follow_plan and self.observations.memory != "navigator":
            raise ValueError(
                "actions.follow_plan: needs observations.memory = navigator"
            )
        check_comfort(self.observations.comfort, self.actions)
        check_recurrent(self.network.recurrent, self.ppo)
        env = self.environment
        bodies = [env.body]
        for stage in self.training.curriculum_stages:
            if self.training.use_curriculum and stage.body is not None:
                check_agents(env.agents, env.world, stage.body)
                bodies.append(stage.body)
        for body in bodies:
            check_rig(self.actions, env.eye_height, body, needs_poses=self.needs_poses)
        return self

    @property
    def needs_poses(self) -> bool:
        """Whether observation or rewards need the pose of the body."""
        rewards = self.rewards
        costs = rewards.posture_bonus or rewards.novelty_cost
        return bool(costs) or self.observations.motion != "none"

    @property
    def usual_comfort(self) -> float:
        """Default comfort dial of an agent."""
        env = self.environment
        if env.comfort_default is not None:
            return env.comfort_default
        return 0.5 * (env.comfort_range[0] + env.comfort_range[1])

    def at_comfort(self, dial: float) -> NavigationConfig:
        """Return a copy whose episodes have the comfort `dial`; unchanged without a dial."""
        if not self.observations.comfort:
            return self
        return self.override(
            "environment", comfort_range=(dial, dial), comfort_default=dial
        )

    def without_engine_places(self) -> NavigationConfig:
        """Return a copy without the keys that locate engines."""
        return self.override("environment", **dict.fromkeys(ENGINE_PLACES))

    def passive(self) -> NavigationConfig:
        """Return a copy that runs nothing: without engine locations or code to import."""
        return self.without_engine_places().override("rewards", custom=())

    def shareable(self) -> NavigationConfig:
        """Return a copy to publish: without engine locations and without local folders."""
        output = NavigationTrainingConfig.model_fields["output"].default
        first = self.training.init_from
        return self.without_engine_places().override(
            "training", output=output, init_from=first and PurePath(first).name
        )
