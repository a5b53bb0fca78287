"""The locomotion tasks of the suite, and their traits."""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ambulo.configs.base import Config
from ambulo.configs.walk_commands import SPEED, TURN

_FOLDER = Path(__file__).parents[1] / "envs" / "tasks"
TASKS = tuple(sorted(module.name for module in pkgutil.iter_modules([str(_FOLDER)])))
"""The tasks of the suite: files and folders of `envs/tasks`."""


@dataclass(frozen=True)
class TaskTraits:
    """Reference and restrictions of a task; the defaults are those of a new task."""

    clock: bool = False
    """Follows a gait with a phase."""
    commands: int = 0
    """Size of a command: 2 for speed ahead and turning rate, 3 also for speed to the left."""
    clips: bool = False
    """Follows clips."""
    trackers: bool = False
    """Observes the clips through a player's trackers."""
    still: bool = False
    """Follows the standing pose."""
    parameters: bool = False
    """Bodies and gaits have parameters."""
    controller: bool = True
    """Has a gait or pose that a balance controller can stabilise."""
    modes: bool = False
    """Several references may be followed, each by some of the bodies."""
    assist: bool = False
    """Training may lift the bodies (`environment.assist`)."""
    terrain: bool = True
    """The ground may be uneven."""
    level_only: str = ""
    """Reason why evaluations leave out slopes and steps; empty: they do not."""
    bodies: tuple[str, ...] = ()
    """The only supported characters; any if empty."""
    own: bool = True
    """Whether users' own bodies are supported, whatever `bodies` says."""
    defaults: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the group environment whose defaults differ."""
    own_defaults: Mapping[str, Any] = field(default_factory=dict)
    """Further defaults that differ for users' own bodies."""
    evaluation: str = "locomotion"
    """Kind of evaluation of its policies, of `evaluate/kinds`."""

    def allows(self, character: str, *, own: bool) -> bool:
        """Whether a character, perhaps a user's `own` body, is supported."""
        return (self.own if own else not self.bodies) or character in self.bodies


@dataclass(frozen=True)
class TaskSpec:
    """A task: its batch of bodies, its traits, and its own settings."""

    batch: Any
    """A subclass of `LocomotionBatch`; for a task of the suite, the module that has it."""
    traits: TaskTraits = TaskTraits()
    """Its traits."""
    variants: Mapping[str, TaskTraits] = field(default_factory=dict)
    """Traits by value of the setting (`base`, `legs`) that chooses a variant."""
    settings: type[Config] = Config
    """Class of the group `own` of the configuration: settings and weights of rewards."""
    package: str | None = None
    """Package or file of the task, set by the registry; None: the suite."""


_CLIPS: dict[str, Any] = {
    "joints": ("*",),
    "action_scale": 0.8,
    "feed_forward": False,
    "balance_law": False,
    "start_on_feet": True,
}
"""Tasks that follow clips without a walker: actions alone move all joints."""
_WALK: dict[str, Any] = {"speed": SPEED, "turn": TURN}
LEGS = ("*_thigh", "*_shin", "*_foot", "spine", "chest")
"""Roles of the joints that actions move, for users' own bodies."""

TRAITS: dict[str, TaskTraits] = {
    "imitate": TaskTraits(clock=True, modes=True),
    "stand": TaskTraits(
        still=True, level_only="a body that stands comes to no slope or step"
    ),
    "gait": TaskTraits(
        clock=True,
        parameters=True,
        terrain=False,
        bodies=("human23", "myolegs"),
        own=False,
        evaluation="gait_policy",
    ),
    "locomote": TaskTraits(clock=True, commands=2),
    "locomote/pose": TaskTraits(commands=2, still=True, controller=False),
    "walk_commands": TaskTraits(
        clock=True, commands=3, terrain=False, bodies=("human23",), defaults=_WALK
    ),
    "get_up": TaskTraits(
        still=True,
        controller=False,
        assist=True,
        terrain=False,
        level_only="a body that lies comes to no slope or step",
        bodies=("human23",),
        own=False,
        # Joints move far from the standing pose.
        defaults={
            "joints": (
                "Femur?", "Tibia?", "Talus?", "Spine", "Torso",
                "Shoulder?", "Arm?", "ForeArm?",
            ),
            "action_scale": 1.5,
            "feed_forward": False,
            "balance_law": False,
        },
        own_defaults={"joints": (*LEGS, "*_clavicle", "*_upper_arm", "*_forearm")},
    ),
    "track": TaskTraits(
        clips=True,
        controller=False,
        terrain=False,
        level_only="a clip has its own place on level ground",
        defaults=_CLIPS,
        evaluation="track_policy",
    ),
    "track_body": TaskTraits(
        clock=True,
        commands=3,
        clips=True,
        trackers=True,
        terrain=False,
        bodies=("human23",),
        own=False,
        defaults={**_WALK, "start_on_feet": True},
        evaluation="track_body_policy",
    ),
    "track_body/poses": TaskTraits(
        clips=True,
        trackers=True,
        controller=False,
        terrain=False,
        bodies=("human23",),
        own=False,
        defaults=_CLIPS,
        evaluation="track_body_policy",
    ),
}  # fmt: skip
"""Traits of the suite's tasks, by task, or by task and variant; others have the defaults."""


def environment_id(task: str) -> str:
    """The id of a task's environment: `get_up` is `ambulo/GetUp-v0`."""
    return f"ambulo/{task.title().replace('_', '')}-v0"
