"""The names of all locomotion tasks."""

from __future__ import annotations

import pkgutil
from pathlib import Path
from typing import TYPE_CHECKING, Literal

_FOLDER = Path(__file__).parents[1] / "envs" / "tasks"
TASKS = tuple(sorted(module.name for module in pkgutil.iter_modules([str(_FOLDER)])))
"""The files and folders of `envs/tasks`."""
if TYPE_CHECKING:
    Task = str
else:
    Task = Literal[TASKS]


def environment_id(task: str) -> str:
    """The id of a task's environment: `get_up` is `ambulo/GetUp-v0`."""
    return f"ambulo/{task.title().replace('_', '')}-v0"
