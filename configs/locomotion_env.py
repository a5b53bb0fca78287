"""Configuration of a body and its task: imitating a gait, following commands, standing.

Lengths are metres, angles radians unless the text says degrees, times seconds.
"""

from __future__ import annotations

import json
import reprlib
from functools import cache
from typing import Annotated, Any, Literal, Self

from pydantic import (
    Field,
    TypeAdapter,
    ValidationError,
    model_validator,
)

from ambulo.configs.base import Config, error_line
from ambulo.configs.body import BodyRecord
from ambulo.configs.muscle import MuscleCondition
from ambulo.configs.task_registry import find_task, task_fault
from ambulo.configs.tasks import LEGS, TRAITS, TaskTraits
from ambulo.configs.types import Count, Fraction, NonNegative, Positive
from ambulo.configs.walk_commands import SPEED, TURN, check_range

Course = Literal["uphill", "downhill", "steps_up", "steps_down"]


"""Ground that is level at the start, then a slope or steps along +X."""


Backend = Literal["cpu", "warp"]


"""Physics back end: MuJoCo, or MuJoCo Warp on a GPU or its own CPU device."""


Span = tuple[float, float]


MYOLEGS: dict[str, Any] = {
    "joints": ("hip_*", "knee_*", "ankle_*", "subtalar_*"),
    "substeps": 8,
}


"""Environment defaults that differ for the character myolegs: its joints have other names,
and its muscles need a physics step of 1/240 s."""


SUITE_BODIES = ("human23", "myolegs", "myolegs_motors")


"""Built-in characters; all others are the user's own."""


OWN_BODY: dict[str, Any] = {
    "joints": LEGS,
    "substeps": 8,
}


"""Defaults that differ for users' own bodies: joints by their roles, and a physics step of
1/240 s. At 1/150 s the feet of heavy robots chatter: stable PD reads the contact forces of the
previous step, and deviations of their ankles grow sevenfold in a control step."""


class LocomotionEnvironmentConfig(Config):
    """The simulated body, its reference or commands, and its perturbations."""

    task: str = "imitate"
    """`imitate` tracks a reference gait, `locomote` follows commanded speed and turning,
    `stand` keeps standing, `gait` walks with parameters of gait and body, `track` follows any
    of many clips, `track_body` the trackers of a player, `get_up` rises from the ground,
    `walk_commands` walks in all directions, stops, stands and keeps its balance on contact with
    obstacles; or a user's own task."""
    task_package: str | None = None
    """Package or file of a user's own task; set automatically."""
    character: str = "human23"
    """The body: a name, a file (.xml of MuJoCo, .urdf, .body.json) or `package:function`."""
    body: BodyRecord | None = None
    """Prepared data of a user's own body: it travels with the settings, and is used as long as
    `character` matches its source."""
    actuation: Literal["torque", "muscle"] = "torque"
    """Actuators that apply the torque of stable PD: motors or muscles."""
    resolver: Literal["lsq", "nn"] = "lsq"
    """How a torque is distributed among muscles: by the exact solver or a muscle network."""
    muscle_network: str = "muscle_nn_myolegs"
    """The network of `resolver = nn`: a shipped one by name, or a safetensors file."""
    conditions: tuple[MuscleCondition, ...] = ()
    """Weak or short muscles; the reference stays that of the healthy body."""
    reference: str | None = None
    """A motion clip (.amc, .bvh, .npz, ...) or a prepared reference (.npz of the suite); null
    is the suite's own walk, that of the shipped model of the task where it has one for these
    settings (`locomote`, `walk_commands`), for myolegs that of `muscle_walk`. Not used by
    `stand`."""
    reference_frames: Annotated[str, Field(pattern=r"^\d*:\d*$")] | None = None
    """Part of the clip of `reference` in which a cycle is searched, A:B: frames A up to but not
    B, from 0; null: all of it."""
    standing_reference: bool = False
    """Accept a clip whose best cycle hardly moves although the clip does (a standing part). Not
    for myolegs, which only follow walks."""
    more_references: tuple[str, ...] = ()
    """Further clips or references; each is one mode, and the simulated bodies are divided
    among the modes (see `network.policy`). `imitate` only."""
    clips: tuple[str, ...] = ()
    """`track`: motion files, fitted references (`ambulo fit`), or folders of them; empty is the
    suite's own walk."""
    fit_clips: bool = False
    """`track`: make motion files feasible first, as `ambulo fit` does: about half a minute per
    second of clip, then cached; if false, they are followed as captured."""
    captured_share: Fraction = 0.0
    """`track`: fraction of episodes that show a fitted clip as it was captured."""
    whole_body_control: bool = False
    """`track`: correct the targets by inverse dynamics and the feet's ground forces, so that
    the body stays on any clip; actions add to it."""
    hard_clips_share: Fraction = 0.5
    """`track`: fraction of episodes whose clip is drawn by its failure rate."""
    assist: Fraction = 0.0
    """`get_up`: force that lifts the pelvis at the start of a training, in body weights; it
    fades to zero in the first half."""
    legs: Literal["walker", "poses"] = "walker"
    """`track_body`: `walker` steps as the walker of `walk_commands`, led along the tracked
    path, and only arms and head follow the tracked pose; with `poses`, all joints follow it."""
    max_joint_distance: Positive = 0.5
    """`track`: mean distance of joints from the clip's at which an episode ends, [m]."""
    num_environments: Count = 64
    """Bodies stepped together."""
    max_episode_steps: Count = 300
    """Control steps before an episode is truncated; 300 are 10 s."""
    control_rate: Annotated[int, Field(ge=5, le=200)] = 30
    """Actions per second, [Hz]."""
    substeps: Annotated[int, Field(ge=1, le=100)] = 5
    """Physics steps per action; stable PD runs in each."""
    backend: Backend = "cpu"
    """Physics back end: `cpu` is MuJoCo, in double precision on threads; `warp` is MuJoCo Warp
    (extra `gpu`), in single precision on a GPU, or without one on the CPU."""
    joints: Annotated[tuple[str, ...], Field(min_length=1)] = (
        "Femur?",
        "Tibia?",
        "Talus?",
        "Spine",
        "Torso",
    )
    """Shell patterns of the joints that actions and the balance controller move, by name or by
    role (`*_thigh`: all joints of a thigh)."""
    action_scale: Positive = 0.25
    """Offset of a joint's target for an action of 1, [rad]."""
    feed_forward: bool = True
    """Add the reference's torque from inverse dynamics."""
    balance_law: bool = True
    """Add the balance controller's offsets (built in, not learned) to the targets."""
    balance_limit: Positive = 0.6
    """Largest offset of the balance controller, [rad]."""
    start: Literal["random", "first"] = "random"
    """Phase at which episodes begin."""
    start_position_noise: NonNegative = 0.01
    """Standard deviation of joint angles at the start, [rad]."""
    start_velocity_noise: NonNegative = 0.05
    """Standard deviation of velocities at the start, [rad/s] and [m/s]."""
    start_on_feet: bool = False
    """Raise or lower a noisy start until its lowest sole is where the reference's is."""
    max_height_error: Positive = 0.25
    """Root height error at which the episode ends as a fall, [m]."""
    max_rotation_error: Positive = 0.8
    """Root rotation error at which the episode ends as a fall, [rad]."""
    push_impulse: Span = (0.0, 0.0)
    """Range of the impulses that push the pelvis sideways or ahead, [N s]; for users' own
    bodies those of a 70 kg body, in proportion to their mass; (0, 0): none."""
    push_interval: Span = (2.0, 5.0)
    """Range of the time between pushes, [s]."""
    push_duration: Positive = 0.2
    """Duration of a push, [s]."""
    target_noise: NonNegative = 0.0
    """Standard deviation of noise on the moved joint targets, [rad]."""
    speed: Span = (0.6, 1.6)
    """Range of commanded forward speeds, [m/s]."""
    turn: Span = (-30.0, 30.0)
    """Range of commanded turning, [deg/s], left positive."""
    straight: Fraction = 0.3
    """Fraction of commands without turning."""
    command_interval: Span = (3.0, 6.0)
    """Range of the time between commands, [s]; of `walk_commands` log-uniform."""
    base: Literal["gait", "pose"] = "gait"
    """Base of `locomote`'s actions: the reference gait at the commanded speed, or the standing
    pose (then neither reference nor balance controller acts)."""
    terrain: Literal["flat", "rough", "slope"] | Course = "flat"
    """The ground: level, random bumps, ramps up and down, or level first and then one slope or
    steps 2 m long. Not for `gait`, `track` and `get_up`; only `locomote` observes the ground
    ahead."""
    terrain_height: NonNegative = 0.03
    """Height of the bumps or of a step, [m], or of a slope over 4 m (0.03 is 0.4 deg)."""
    fault_folder: str | None = None
    """Folder for the state of an exploded simulation, for replay; null: none."""

    @model_validator(mode="before")
    @classmethod
    def _check_task(cls, data: object) -> object:
        """Refuse an unavailable task, and report its source."""
        name = data.get("task") if isinstance(data, dict) else None
        if isinstance(name, str) and isinstance(data, dict):
            package = data.get("task_package")
            fault = task_fault(name, package if isinstance(package, str) else None)
            if fault:
                shown = json.dumps(name[:200])
                raise ValueError(f".task = {shown}: {fault}")
        return data

    @model_validator(mode="after")
    def _set_dependent_defaults(self) -> Self:
        """Give unset settings the defaults of the chosen body and task."""
        self.__dict__["task_package"] = find_task(self.task).package
        defaults = self._dependent_defaults()
        for name in defaults.keys() - self.model_fields_set:
            self.__dict__[name] = defaults[name]  # frozen, and still unset
        return self

    def _dependent_defaults(self) -> dict[str, Any]:
        """Return the defaults that differ for the chosen body and task."""
        traits = self.traits
        defaults = dict(traits.defaults)
        if self.character in SUITE_BODIES:
            body = MYOLEGS if self.character == "myolegs" else {}
        else:
            body, defaults = OWN_BODY, defaults | dict(traits.own_defaults)
        if self.task_package is not None:
            defaults = {key: _valid(key, value) for key, value in defaults.items()}
        return body | defaults

    @property
    def body_name(self) -> str:
        """Name of the body: `character`, or that of its prepared record."""
        return self.character if self.prepared_body is None else self.prepared_body.name

    @property
    def prepared_body(self) -> BodyRecord | None:
        """The record of `character`, if it came with the settings."""
        if self.body is not None and self.body.source == self.character:
            return self.body
        return None

    def _set_otherwise(self) -> str:
        """Return the end of an error: the setting may belong to another body or task."""
        usual, fields = self._dependent_defaults(), type(self).model_fields
        varied = {*MYOLEGS, *(key for one in TRAITS.values() for key in one.defaults)}
        names = [
            name
            for name in sorted(varied & self.model_fields_set)
            if getattr(self, name) != usual.get(name, fields[name].default)
        ]
        return (
            f"; set otherwise than usual for task = {self.task}: {', '.join(names)}; "
            "remove these from the file, or --set environment.KEY=VALUE"
        )

    @model_validator(mode="after")
    def _check(self) -> Self:
        for name in (
            "push_impulse",
            "push_interval",
            "speed",
            "turn",
            "command_interval",
        ):
            low, high = getattr(self, name)
            if low > high:
                raise ValueError(f"{name} must be [min, max] with min <= max")
        if self.resolver == "nn" and self.actuation != "muscle":
            raise ValueError("resolver = nn needs actuation = muscle")
        if self.conditions and self.actuation != "muscle":
            raise ValueError("conditions of muscles need actuation = muscle")
        traits = self.traits
        if self.terrain != "flat" and not traits.terrain:
            raise ValueError(
                f"terrain = {self.terrain}: task = {self.task} needs terrain = flat"
            )
        own = self.character not in SUITE_BODIES
        if not traits.allows(self.character, own=own):
            raise ValueError(
                f"task = {self.task} needs character = {' or '.join(traits.bodies)}, not "
                f"{self.character}"
            )
        if self.more_references and not traits.modes:
            raise ValueError("more_references needs task = imitate")
        for name in ("push_impulse", "speed"):
            backwards = name == "speed" and traits.commands == 3
            if getattr(self, name)[0] < 0.0 and not backwards:
                end = self._set_otherwise() if name == "speed" else ""
                raise ValueError(f"{name} must not be negative{end}")
        for name in ("push_interval", "command_interval"):
            if getattr(self, name)[0] <= 0.0:
                raise ValueError(f"{name} must be above 0")
        return self

    @model_validator(mode="after")
    def _check_track(self) -> Self:
        traits = self.traits
        if self.whole_body_control and traits.clips and traits.clock:
            raise ValueError("whole_body_control needs legs = poses")
        if self.clips and not traits.clips:
            raise ValueError("clips needs task = track")
        if self.whole_body_control and not (
            traits.clips and self.actuation == "torque"
        ):
            raise ValueError(
                "whole_body_control needs task = track and actuation = torque"
            )
        if self.balance_law and not traits.controller and not traits.commands:
            raise ValueError(
                f"task = {self.task} has no balance controller: balance_law"
                f"{self._set_otherwise()}"
            )
        return self

    @model_validator(mode="after")
    def _check_walk(self) -> Self:
        traits = self.traits
        if self.assist and not traits.assist:
            raise ValueError("assist needs task = get_up")
        if traits.commands == 3 and not traits.clips:
            check_range("speed", self.speed, SPEED)
            check_range("turn", self.turn, TURN)
        return self

    @property
    def traits(self) -> TaskTraits:
        """Traits of the task, with its variant (`base`, `legs`)."""
        task = find_task(self.task)
        for variant in (self.base, self.legs):
            if variant in task.variants:
                return task.variants[variant]
        return task.traits

    @property
    def control_dt(self) -> float:
        """Duration of a control step, [s]."""
        return 1.0 / self.control_rate


@cache
def _adapter(key: str) -> TypeAdapter[Any]:
    """Validator of the single setting `key` of the environment."""
    field = LocomotionEnvironmentConfig.model_fields.get(key)
    if field is None or key.startswith("task"):
        raise ValueError(f"defaults of the task: no setting {key!r}")
    kind: Any = field.annotation
    for rule in field.metadata:
        kind = Annotated[kind, rule]
    return TypeAdapter(kind)


def _valid(key: str, value: object) -> Any:
    """Return a default of a user's own task; `ValueError` for an invalid one."""
    try:
        return _adapter(key).validate_python(value)
    except ValidationError as error:
        rule = error_line(error).partition(": ")[2]
        shown = reprlib.repr(value)
        raise ValueError(f"defaults of the task: {key} = {shown}: {rule}") from None
