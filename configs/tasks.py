"""The names of all locomotion tasks, and what sets them apart."""

from __future__ import annotations

import pkgutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

_FOLDER = Path(__file__).parents[1] / "envs" / "tasks"
TASKS = tuple(sorted(module.name for module in pkgutil.iter_modules([str(_FOLDER)])))
"""The files and folders of `envs/tasks`."""
if TYPE_CHECKING:
    Task = str
else:
    Task = Literal[TASKS]


@dataclass(frozen=True)
class TaskTraits:
    """What a task follows, and what may act in it; the defaults are those of a new task."""

    clock: bool = False
    """A gait with a phase is followed."""
    commands: int = 0
    """Numbers of a command: 2 are speed ahead and turning rate, 3 also speed to the left."""
    clips: bool = False
    """Clips are followed."""
    trackers: bool = False
    """These are seen through a player's trackers."""
    still: bool = False
    """The standing pose is followed."""
    parameters: bool = False
    """Bodies and gaits have parameters."""
    controller: bool = True
    """There is a gait or pose that a balance controller can stabilise."""
    modes: bool = False
    """Several references may be followed, each by some of the bodies."""
    terrain: bool = True
    """The ground may be other than flat."""
    bodies: tuple[str, ...] = ()
    """The only characters that can do it; any if empty."""
    own: bool = True
    """Whether bodies of the user's own can do it, whatever `bodies` says."""


TRAITS: dict[str, TaskTraits] = {
    "imitate": TaskTraits(clock=True, modes=True),
    "stand": TaskTraits(still=True),
    "gait": TaskTraits(
        clock=True,
        parameters=True,
        terrain=False,
        bodies=("human23", "myolegs"),
        own=False,
    ),
    "locomote": TaskTraits(clock=True, commands=2),
    "locomote/pose": TaskTraits(commands=2, still=True, controller=False),
    "walk_commands": TaskTraits(
        clock=True, commands=3, terrain=False, bodies=("human23",)
    ),
    "get_up": TaskTraits(
        still=True, controller=False, terrain=False, bodies=("human23",), own=False
    ),
    "track": TaskTraits(clips=True, controller=False, terrain=False),
    "track_body": TaskTraits(
        clock=True,
        commands=3,
        clips=True,
        trackers=True,
        terrain=False,
        bodies=("human23",),
        own=False,
    ),
    "track_body/poses": TaskTraits(
        clips=True,
        trackers=True,
        controller=False,
        terrain=False,
        bodies=("human23",),
        own=False,
    ),
}
"""By task, and by task and variant where a setting chooses between two; a task that is not
named has the defaults."""


def environment_id(task: str) -> str:
    """The id of a task's environment: `get_up` is `ambulo/GetUp-v0`."""
    return f"ambulo/{task.title().replace('_', '')}-v0"
