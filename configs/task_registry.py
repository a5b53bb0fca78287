"""Registry of tasks: the suite's, installed packages', users' files, `ambulo.register`.

A task's name is that of its file or of its entry point in the group `ambulo.tasks`. Names are
listed without importing anything; a task is imported at its first use. Data files only name
tasks; the user alone decides which code is imported for a name.
"""

from __future__ import annotations

import logging
import os
import re
import shlex
import sys
from dataclasses import replace
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from ambulo.configs.base import Config
from ambulo.configs.errors import ConfigError, nearest
from ambulo.configs.tasks import TASKS, TRAITS, TaskSpec, TaskTraits, environment_id

logger = logging.getLogger(__name__)

GROUP = "ambulo.tasks"
"""Entry-point group of installed packages with tasks."""
FILES = "AMBULO_TASKS"
"""Environment variable: files with tasks, separated as in PATH. Child processes inherit it."""
NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
"""Names of tasks."""
PACKAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
"""Names of packages and files that messages may repeat."""

_GIVEN: dict[str, TaskSpec] = {}
"""Tasks added by `register_task`."""
_ADDED: dict[str, str] = {}
"""Files added by `register_file`, by task name, as the user gave them."""


def task_names() -> tuple[str, ...]:
    """The names of all available tasks; those of the suite first."""
    return tuple(dict.fromkeys((*TASKS, *_GIVEN, *_files(), *_installed())))


def find_task(name: str) -> TaskSpec:
    """Return a task.

    Raises:
        ConfigError: The name is unknown, or the task's code cannot be used.
    """
    if name in TASKS:
        return _of_suite(name)
    if name in _GIVEN:
        return _GIVEN[name]
    if name in _files():
        return _from_file(name, _files()[name])
    if name in _installed():
        return _from_package(name)
    raise ConfigError(f"unknown task {name!r}{nearest(name, task_names())}")


def register_task(name: str, task: TaskSpec) -> None:
    """Add a task to this process, or replace one that was added.

    Raises:
        ConfigError: The suite has a task of that name, or the name is invalid.
    """
    fault = name_fault(name)
    if fault:
        raise ConfigError(f"task {name!r}: {fault}")
    origin = str(getattr(task.batch, "__module__", "")).partition(".")[0]
    _GIVEN[name] = _checked(task, f"task {name!r}", task.package or origin)


def register_file(path: str | os.PathLike[str]) -> str:
    """Add the task of a file to this process and its child processes; return its name.

    Raises:
        ConfigError: The file is missing, or has no task.
    """
    file = Path(path).expanduser().absolute()
    fault = name_fault(file.stem) if file.is_file() else "no such file"
    if fault:
        raise ConfigError(f"{path}: {fault}")
    if os.pathsep in str(file):
        raise ConfigError(
            f"{path}: a file with a task has no {os.pathsep!r} in its path"
        )
    others = [text for text in _listed() if Path(text).stem != file.stem]
    os.environ[FILES] = os.pathsep.join([*others, str(file)])
    _GIVEN.pop(file.stem, None)
    _from_file(file.stem, file)
    _ADDED[file.stem] = str(path)
    return file.stem


def shell_prefix() -> str:
    """Return what a shell command needs in front to know the tasks of added files."""
    known = _files()
    added = [text for name, text in _ADDED.items() if name in known]
    if not added or sys.platform == "win32":
        return ""
    return f"{FILES}={shlex.quote(os.pathsep.join(_listed()))} "


def task_fault(name: str, package: str | None) -> str:
    """Return why a task cannot be used, and the remedy; empty if it can.

    Args:
        name: The task.
        package: Package or file of the task according to the settings.
    """
    if package and PACKAGE.fullmatch(package) is None:
        package = None
    if name in task_names():
        try:
            here = find_task(name).package
        except ConfigError as error:
            return str(error)
        if package and package != here:
            logger.warning("task %s was of %s, and is of %s here", name, package, here)
        return ""
    if package and package.endswith(".py"):
        return f"it is in a file {package}: set {FILES} to its path"
    if package:
        return f"it is of the package {package}, which is not installed: pip install it"
    return f"unknown task{nearest(name, task_names())}"


@cache
def _of_suite(name: str) -> TaskSpec:
    """A task of the suite; its batch is imported when environments are created."""
    variants = {
        key.partition("/")[2]: traits
        for key, traits in TRAITS.items()
        if key.startswith(f"{name}/")
    }
    module = f"ambulo.envs.tasks.{name}"
    return TaskSpec(module, TRAITS.get(name, TaskTraits()), variants)


def _listed() -> list[str]:
    """The files in the environment variable."""
    return [text for text in os.environ.get(FILES, "").split(os.pathsep) if text]


def _files() -> dict[str, Path]:
    """Files with tasks by their stems."""
    files = [Path(text).expanduser().absolute() for text in _listed()]
    return {file.stem: file for file in files if not name_fault(file.stem)}


@cache
def _installed() -> dict[str, EntryPoint]:
    """Entry points by task name, without invalid names."""
    found: dict[str, EntryPoint] = {}
    for point in entry_points(group=GROUP):
        fault = name_fault(point.name)
        if not fault and point.name in found:
            fault = f"{found[point.name].value} has this name already"
        if fault:
            logger.warning("entry point %s of %s: %s", point.name, GROUP, fault)
        else:
            found[point.name] = point
    return found


def name_fault(name: str) -> str:
    """Return why a name is invalid for a user's task; empty if it is valid."""
    if NAME.fullmatch(name) is None:
        return (
            "a task's name has small letters, digits and _ (at most 40), a letter first"
        )
    if environment_id(name) in map(environment_id, TASKS):
        return f"the suite has a task {name}: choose another name"
    return ""


@cache
def _from_package(name: str) -> TaskSpec:
    """The task of an entry point."""
    point = _installed()[name]
    package = point.dist.name if point.dist is not None else point.module
    source = f"task {name!r} of the package {package}"
    try:
        found = point.load()
    except Exception as error:
        raise _broken(source, error) from error
    return _checked(found, source, package)


@cache
def _from_file(name: str, file: Path) -> TaskSpec:
    """The task of a file, imported once under a unique module name."""
    module_name, source = f"ambulo_task_{name}", file.name
    spec = spec_from_file_location(module_name, file)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[module_name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[module_name]
        raise _broken(source, error) from error
    return _checked(getattr(module, "TASK", None), source, file.name)


def _broken(source: str, error: Exception) -> ConfigError:
    """The error of code that cannot be imported."""
    what = " ".join(str(error).split())
    return ConfigError(f"{source} cannot be imported: {type(error).__name__}: {what}")


def _checked(task: Any, source: str, package: str) -> TaskSpec:
    """Return a task object with its source; refuse anything else."""
    if not isinstance(task, TaskSpec):
        shown = "nothing" if task is None else type(task).__name__
        raise ConfigError(f"{source}: expected TASK = TaskSpec(...), found {shown}")
    settings = task.settings
    if not (isinstance(settings, type) and issubclass(settings, Config)):
        raise ConfigError(f"{source}: settings: expected a subclass of Config")
    return replace(task, package=package)
