"""Where the Godot engine and our Godot project are, and the project's one-time import."""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from ambulo.configs.caches import user_cache
from ambulo.configs.errors import BridgeError, RenderError
from ambulo.envs.godot.launcher import dying_with_us, end_group

if sys.platform != "win32":
    import fcntl

INSTALLER = "godot/install_engine.sh"
"""Script of the checkout that installs an engine."""
SCREEN_STARTER = "godot-xvfb"
"""The engine with a virtual screen, as made by the installer."""
IMPORT_TIMEOUT = 300.0
"""Longest import of the project, [s]."""
OLDEST_VERSION = (4, 5)
"""The oldest Godot that runs our project."""
VERSION_TIMEOUT = 30.0
"""Longest answer of a program to `--version`, [s]."""
_STAMP = "ambulo_import.stamp"
_SOURCES = (
    ".gd", ".tscn", ".tres", ".cfg", ".godot", ".svg", ".scn", ".res", ".glb", ".gltf",
    ".obj", ".fbx", ".blend", ".png", ".jpg", ".gdshader",
)  # fmt: skip
JOLT = "Jolt Physics"
"""3D physics of projects whose scenes are worlds; games of their own agents have any."""
ADD_ON = Path("addons", "ambulo_rl")
"""Folder of the add-on in a project."""
PACK = ".pck"
"""Ending of an exported game that an engine runs."""
_VERSION = re.compile(r"^(\d+)\.(\d+)(?:\.\d+)?\.[a-z]", re.MULTILINE)
_READ_ONLY = (errno.EACCES, errno.EPERM, errno.EROFS)


def installed_engine() -> Path:
    """Where `install_engine.sh` puts the engine."""
    return user_cache("godot-4", "bin", "godot")


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


def find_drawing_engine(named: str | None = None) -> Path:
    """The drawing program: an engine with a virtual screen, or with the real one.

    Args:
        named: The Godot program, see `find_engine`; its folder is searched first.

    Raises:
        RenderError: No program; the message explains the installation.
    """
    engine: Path | None = None
    with contextlib.suppress(BridgeError):
        engine = find_engine(named)
    places = [SCREEN_STARTER]
    if engine is None or named is None or not _has_screen():
        places.insert(0, str(installed_engine().with_name(SCREEN_STARTER)))
    else:
        places.clear()  # the named one opens its window itself
    if engine is not None:
        places.insert(0, str(engine.with_name(SCREEN_STARTER)))
    for place in places:
        found = shutil.which(place)
        if found is not None:
            return Path(found).absolute()
    if engine is not None and _has_screen():
        return engine
    raise RenderError(
        f"no Godot engine that can draw here: run {INSTALLER} --with-gl of the checkout"
    )


def _has_screen() -> bool:
    """Whether a window can probably be opened."""
    if sys.platform in ("win32", "darwin"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def check_version(engine: Path) -> None:
    """Refuse a program that is not Godot, or too old; each is asked once.

    Raises:
        BridgeError: with what the program says about itself.
    """
    said = _version_of(str(engine))
    match = _VERSION.search(said)
    if match is not None and (int(match[1]), int(match[2])) >= OLDEST_VERSION:
        return
    first = next((line.strip() for line in said.splitlines() if line.strip()), "")
    oldest = ".".join(map(str, OLDEST_VERSION))
    raise BridgeError(f"needs Godot {oldest} or newer, {engine} says {first[:80]!r}")


@functools.cache
def _version_of(engine: str) -> str:
    """Output of the program for `--version`."""
    try:
        done = subprocess.run(
            [engine, "--version"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=VERSION_TIMEOUT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise BridgeError(
            f"{engine}: no answer to --version within {VERSION_TIMEOUT:g} s"
        ) from None
    except OSError as error:
        reason = error.strerror or error
        raise BridgeError(f"{engine}: cannot be started: {reason}") from None
    return done.stdout.decode("utf-8", "replace")


def find_project(named: str | None = None) -> Path:
    """The folder of a Godot project, or the file of an exported game.

    Args:
        named: the folder or file; None: `AMBULO_GODOT_PROJECT`, else `godot/` of the checkout
            that this package is run from.

    Raises:
        BridgeError: no project is there.
    """
    source, text = "godot_project", named
    if not text:
        source, text = "AMBULO_GODOT_PROJECT", os.environ.get("AMBULO_GODOT_PROJECT")
    if text:
        folder = Path(text).expanduser().absolute()
        if not folder.is_file() and not (folder / "project.godot").is_file():
            raise BridgeError(f"{source} = {text!r}: holds no project.godot")
        return folder
    folder = Path(__file__).resolve().parents[2] / "godot"
    if (folder / "project.godot").is_file():
        return folder
    raise BridgeError(
        "the Godot project is not part of the installed package: "
        "name the godot/ folder of a checkout with AMBULO_GODOT_PROJECT"
    )


def is_program(project: Path) -> bool:
    """Whether `project` is an exported game that runs without an engine beside it."""
    return project.is_file() and project.suffix != PACK


def check_scene(project: Path, scene: str, *, physics: str = "") -> None:
    """Refuse a scene that is not in `project`, or a project without the add-on.

    What an exported game holds is not looked for; no `scene` ("") is in every project.
    `physics` is the engine of 3D physics that the project must name; "": any.

    Raises:
        BridgeError: with what is missing, and where it must be.
    """
    if project.is_file():
        return
    if not (project / ADD_ON / "plugin.cfg").is_file():
        raise BridgeError(
            f"{project}: has no add-on: copy godot/{ADD_ON} of the checkout to "
            f"{project / ADD_ON}"
        )
    lines = (project / "project.godot").read_text("utf-8", "replace").splitlines()
    if physics and f'3d/physics_engine="{physics}"' not in lines:
        raise BridgeError(
            f"{project}: set Project Settings > Physics > 3D > Physics Engine to {physics}"
        )
    file = project / scene.removeprefix("res://")
    if scene and not file.is_file():
        raise BridgeError(f"scene {scene}: no such file in the project {project}")


def import_project(engine: Path, project: Path) -> None:
    """Import `project` unless that is done: without it, Godot knows no class names.

    Processes that come here at the same time wait for each other. In a folder that
    cannot be written, an older import has to do.

    Raises:
        BridgeError: the import failed, or cannot be written.
    """
    if project.is_file() or _is_imported(project):
        return
    try:
        with _import_lock(project) as lock:
            if not _is_imported(project):  # or another process was faster
                _run_import(engine, project, lock)
                (project / ".godot" / _STAMP).touch()
    except OSError as error:
        reason = error.strerror or error
        if error.errno not in _READ_ONLY:
            raise BridgeError(f"{project}: cannot be imported: {reason}") from None
        if not _class_cache(project).is_file():
            raise BridgeError(
                f"{project}: cannot be imported: {reason}; copy the project to a "
                "writable folder and name it with AMBULO_GODOT_PROJECT"
            ) from None


def _run_import(engine: Path, project: Path, lock: int) -> None:
    """Run the engine to import; it ends with us, and `lock` is held as long as it runs."""
    arguments = [str(engine), "--headless", "--path", str(project), "--import"]
    with tempfile.TemporaryFile() as said:  # a pipe would end with us
        try:
            process = subprocess.Popen(
                [*dying_with_us(), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
                pass_fds=(lock,) if os.name == "posix" else (),
                start_new_session=True,
            )
        except OSError as error:
            reason = error.strerror or error
            raise BridgeError(f"{engine}: cannot be started: {reason}") from None
        try:
            code = process.wait(IMPORT_TIMEOUT)
        except subprocess.TimeoutExpired:
            raise BridgeError(
                f"{project}: was not imported within {IMPORT_TIMEOUT:g} s; import it once "
                f"by hand: {shlex.join(arguments)}"
            ) from None
        finally:
            end_group(process)  # when it takes too long, or we are interrupted
        if code == 0 and _class_cache(project).is_file():
            return
        said.seek(0)
        lines = said.read().decode("utf-8", "replace").splitlines()
        tail = " | ".join(line.strip() for line in lines[-5:] if line.strip())
        raise BridgeError(f"{project}: cannot be imported (exit code {code}): {tail}")


def _class_cache(project: Path) -> Path:
    return project / ".godot" / "global_script_class_cache.cfg"


def _is_imported(project: Path) -> bool:
    """Whether the last import is newer than every source file."""
    stamp = project / ".godot" / _STAMP
    if not stamp.is_file() or not _class_cache(project).is_file():
        return False
    return newest_change(project) <= stamp.stat().st_mtime


def newest_change(project: Path) -> float:
    """Time of the last change of a file that the import reads, [s].

    A file that was copied or unpacked here counts from then on, though it keeps the time
    at which it was written: an add-on is often older than the project's last import.
    """
    newest = 0.0
    for folder, folders, files in os.walk(project):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in files:
            if name.endswith(_SOURCES):
                with contextlib.suppress(OSError):
                    found = os.stat(os.path.join(folder, name))
                    newest = max(newest, found.st_mtime, found.st_ctime)
    return newest


@contextlib.contextmanager
def _import_lock(project: Path) -> Iterator[int]:
    """One import of `project` at a time on this machine (not on Windows).

    Gives the descriptor: a process that inherits it holds the lock until it ends.
    """
    file = project / ".godot" / "ambulo_import.lock"
    file.parent.mkdir(exist_ok=True)
    with file.open("w") as stream:
        if sys.platform != "win32":
            fcntl.flock(stream, fcntl.LOCK_EX)
        yield stream.fileno()
