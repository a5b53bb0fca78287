"""Where the Godot engine and our Godot project are, and the project's one-time import."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from ambulo.configs.errors import BridgeError

if sys.platform != "win32":
    import fcntl

INSTALLER = "godot/install_engine.sh"
"""Script of the checkout that installs an engine."""
IMPORT_TIMEOUT = 300.0
"""Longest import of the project, [s]."""
_STAMP = "ambulo_import.stamp"
_SOURCES = (".gd", ".tscn", ".tres", ".cfg", ".godot", ".svg")


def installed_engine() -> Path:
    """Where `install_engine.sh` puts the engine."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "ambulo" / "godot-4" / "bin" / "godot"


def find_engine(named: str | None = None) -> Path:
    """The Godot program.

    Args:
        named: a path or the name of a program; None: `GODOT_BIN`, else the one that
            `install_engine.sh` has installed, else `godot4` or `godot` on the PATH.

    Raises:
        BridgeError: there is none; the message says how to get one.
    """
    source, text = "godot_bin", named
    if not text:
        source, text = "GODOT_BIN", os.environ.get("GODOT_BIN")
    if text:
        found = shutil.which(os.path.expanduser(text))
        if found is None:
            raise BridgeError(f"{source} = {text!r}: no such program")
        return Path(found).absolute()
    installed = installed_engine()
    if shutil.which(installed) is not None:
        return installed
    for name in ("godot4", "godot"):
        found = shutil.which(name)
        if found is not None:
            return Path(found)
    raise BridgeError(
        f"no Godot engine found: run {INSTALLER} of the checkout, "
        "or name a Godot 4.5+ program with GODOT_BIN or --godot-bin"
    )


def find_project(named: str | None = None) -> Path:
    """The folder of our Godot project.

    Args:
        named: the folder; None: `AMBULO_GODOT_PROJECT`, else `godot/` of the checkout
            that this package is run from.

    Raises:
        BridgeError: no project is there.
    """
    source, text = "godot_project", named
    if not text:
        source, text = "AMBULO_GODOT_PROJECT", os.environ.get("AMBULO_GODOT_PROJECT")
    if text:
        folder = Path(text).expanduser().absolute()
        if not (folder / "project.godot").is_file():
            raise BridgeError(f"{source} = {text!r}: holds no project.godot")
        return folder
    folder = Path(__file__).resolve().parents[2] / "godot"
    if (folder / "project.godot").is_file():
        return folder
    raise BridgeError(
        "the Godot project is not part of the installed package: "
        "name the godot/ folder of a checkout with AMBULO_GODOT_PROJECT"
    )


def import_project(engine: Path, project: Path) -> None:
    """Import `project` unless that is done: without it, Godot knows no class names.

    Processes that come here at the same time wait for each other.

    Raises:
        BridgeError: the import failed.
    """
    if _is_imported(project):
        return
    with _import_lock(project):
        if _is_imported(project):  # another process was faster
            return
        arguments = [str(engine), "--headless", "--path", str(project), "--import"]
        try:
            done = subprocess.run(
                arguments,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=IMPORT_TIMEOUT,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise BridgeError(f"{project}: cannot be imported: {error}") from None
        if done.returncode != 0 or not _class_cache(project).is_file():
            lines = done.stdout.decode("utf-8", "replace").splitlines()
            tail = " | ".join(line.strip() for line in lines[-5:] if line.strip())
            raise BridgeError(
                f"{project}: cannot be imported (exit code {done.returncode}): {tail}"
            )
        (project / ".godot" / _STAMP).touch()


def _class_cache(project: Path) -> Path:
    return project / ".godot" / "global_script_class_cache.cfg"


def _is_imported(project: Path) -> bool:
    """Whether the last import is newer than every source file."""
    stamp = project / ".godot" / _STAMP
    if not stamp.is_file() or not _class_cache(project).is_file():
        return False
    return _newest(project) <= stamp.stat().st_mtime


def _newest(project: Path) -> float:
    """Time of the last change of a file that the import reads, [s]."""
    newest = 0.0
    for folder, folders, files in os.walk(project):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in files:
            if name.endswith(_SOURCES):
                with contextlib.suppress(OSError):
                    newest = max(newest, os.stat(os.path.join(folder, name)).st_mtime)
    return newest


@contextlib.contextmanager
def _import_lock(project: Path) -> Iterator[None]:
    """One import of `project` at a time on this machine (not on Windows)."""
    file = project / ".godot" / "ambulo_import.lock"
    try:
        file.parent.mkdir(exist_ok=True)
        stream = file.open("w")
    except OSError as error:
        reason = error.strerror or error
        raise BridgeError(f"{project}: cannot be imported: {file}: {reason}") from None
    with stream:
        if sys.platform != "win32":
            fcntl.flock(stream, fcntl.LOCK_EX)
        yield
