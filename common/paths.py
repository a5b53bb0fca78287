"""User-given paths: `user://` is Godot's user-data folder of this system."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path

from ambulo.configs.errors import RunFolderError

USER_SCHEME = "user://"
PROJECT_VARIABLE = "AMBULO_GODOT_PROJECT"
"""Environment variable with the name of the Godot project whose folder `user://` is."""


def resolve_path(path: str | os.PathLike[str]) -> Path:
    """Return `path` on this file system, with `user://` and `~` replaced."""
    text = os.fspath(path)
    if text.startswith(USER_SCHEME):
        return godot_user_folder() / text.removeprefix(USER_SCHEME).lstrip("/")
    try:
        return Path(text).expanduser()
    except RuntimeError as error:
        raise RunFolderError(f"{text}: {error}") from None


def absolute_path(path: str) -> str:
    """Return a path that is the same in every folder."""
    return str(resolve_path(path).absolute())


def typed_command(name: str) -> str:
    """Return how to type an installed command: with its path where it is not on `PATH`.

    The first word of `name` is the program, as in `ambulo train vr`. Files with tasks of the
    user's own that this process was given are named in front.
    """
    from ambulo.configs.task_registry import shell_prefix  # not for every help

    tasks = shell_prefix()
    program, *words = name.split(" ")
    own = installed_program(program)
    on_path = shutil.which(program)
    if own is None or (on_path is not None and os.path.samefile(own, on_path)):
        return tasks + name
    here = Path.cwd()
    file = Path(own)
    path = file.relative_to(here) if here in file.parents else file
    return tasks + " ".join([shlex.quote(str(path)), *words])


def installed_program(name: str) -> str | None:
    """Return the file of a program that is installed with this Python; None without one."""
    return shutil.which(name, path=str(Path(sys.executable).parent))


def godot_user_folder(platform: str = sys.platform) -> Path:
    """Return the folder where Godot keeps the user data of the project."""
    project = os.environ.get(PROJECT_VARIABLE) or "Ambulo"
    if platform == "win32":
        roaming = os.environ.get("APPDATA")
        base = Path(roaming) if roaming else Path.home() / "AppData" / "Roaming"
        return base / "Godot" / "app_userdata" / project
    if platform == "darwin":
        support = Path.home() / "Library" / "Application Support"
        return support / "Godot" / "app_userdata" / project
    data = os.environ.get("XDG_DATA_HOME")
    base = Path(data) if data else Path.home() / ".local" / "share"
    return base / "godot" / "app_userdata" / project
