"""The raw geometry of a scene of any Godot project, written by a headless engine.

The exporter's script is that of our add-on, and the project need not have it: the engine
reads it from where it is. Nothing of the project is changed, but that the engine imports a
project that was not, as the editor does when it opens one.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from ambulo.configs.errors import BridgeError, ConfigError
from ambulo.envs.godot.launcher import dying_with_us, end_group
from ambulo.envs.godot.locate import (
    check_version,
    find_engine,
    find_project,
    import_project,
)

EXPORT_TIMEOUT = 120.0
"""Longest run of the engine, [s]."""
FRAMES = 10
"""Physics frames that a scene runs before its shapes are read."""
SCENE_ENDINGS = (".tscn", ".scn", ".glb", ".gltf", ".blend", ".fbx", ".dae")
"""Files that Godot opens as scenes."""

_SCRIPT = Path("addons", "ambulo_rl", "export", "run_export.gd")
_SAID = re.compile(r"^AMBULO_EXPORT (starting|problem) (.*)$", re.MULTILINE)
_ERROR = re.compile(r"^(?:SCRIPT |USER )?ERROR: (.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Scene:
    """A scene of a project."""

    project: Path
    """Folder with `project.godot`."""
    path: str
    """`res://` path."""


def find_scene(
    named: str, project: str | None = None, *, flag: str = "--project"
) -> Scene:
    """The scene that `named` (`res://` path or file) is in its project.

    Args:
        named: what the user wrote.
        project: folder of the project; None: the first folder with `project.godot` above
            the scene's file, or above the working directory.
        flag: the option that names the project, for messages.

    Raises:
        ConfigError: there is no such scene, or it is out of the project.
    """
    inside = named.removeprefix("res://")
    if inside != named:
        folder = _project(project, Path.cwd(), flag)
        file = folder / inside
    else:
        file = Path(named).expanduser()
        if project is not None and not file.is_absolute() and not file.exists():
            file = Path(project).expanduser() / file
        if not file.exists():
            raise ConfigError(f"{named}: no such file")
        folder = _project(project, file.absolute().parent, flag)
    file = Path(os.path.normpath(file.absolute()))
    try:
        relative = file.relative_to(folder)
    except ValueError:
        raise ConfigError(f"{named}: out of the project {folder}") from None
    if not file.is_file():
        raise ConfigError(f"{named}: no such scene in {folder}")
    if file.suffix.lower() not in SCENE_ENDINGS:
        known = ", ".join(SCENE_ENDINGS)
        raise ConfigError(f"{named}: no scene (a file that ends in {known})")
    return Scene(folder, f"res://{relative.as_posix()}")


def export_scene(
    scene: Scene,
    file: Path,
    *,
    engine: str | None = None,
    frames: int = FRAMES,
    timeout: float = EXPORT_TIMEOUT,
    lenient: bool = False,
) -> None:
    """Run `scene` in a headless engine and write its raw geometry to `file`.

    Args:
        scene: what to run.
        file: is written.
        engine: the Godot program, as for `find_engine`.
        frames: physics frames before the shapes are read.
        timeout: longest run, [s].
        lenient: go on when a script of the scene fails.

    Raises:
        BridgeError: no engine, or the scene cannot be loaded or started; one line.
    """
    program = find_engine(engine)
    check_version(program)
    script = _script(scene.project)
    import_project(program, scene.project)
    arguments = [
        *dying_with_us(), str(program), "--headless", "--path", str(scene.project),
        "--xr-mode", "off", "--fixed-fps", "60", "-s", str(script),
    ]  # fmt: skip
    settings = {
        "AMBULO_EXPORT_SCENE": scene.path,
        "AMBULO_EXPORT_FILE": str(file.absolute()),
        "AMBULO_EXPORT_FRAMES": str(frames),
        "AMBULO_EXPORT_LENIENT": str(int(lenient)),
    }
    file.unlink(missing_ok=True)
    code, said = _run(arguments, settings, timeout)
    if code == 0 and file.is_file():
        return
    raise BridgeError(f"{scene.path}: {_reason(code, said, timeout)}")


def _project(named: str | None, start: Path, flag: str) -> Path:
    if named is not None:
        folder = Path(os.path.normpath(Path(named).expanduser().absolute()))
        if not (folder / "project.godot").is_file():
            raise ConfigError(f"{flag} = {named!r}: holds no project.godot")
        return folder
    for folder in (start, *start.parents):
        if (folder / "project.godot").is_file():
            return folder
    raise ConfigError(f"no project.godot in {start} or above: name one with {flag}")


def _script(project: Path) -> Path:
    """The exporter: of our own add-on, else of the project's copy."""
    try:
        ours = find_project() / _SCRIPT
    except BridgeError:
        ours = project / _SCRIPT
    for script in (ours, project / _SCRIPT):
        if script.is_file():
            return script
    raise BridgeError(
        f"{project}: has no add-on that can export scenes: copy addons/ambulo_rl of a "
        "checkout into the project"
    )


def _run(
    arguments: list[str], settings: dict[str, str], timeout: float
) -> tuple[int | None, str]:
    """Exit code and output of the engine; no code: it was ended after `timeout`."""
    with tempfile.TemporaryFile() as stream:  # a pipe would fill up
        try:
            process = subprocess.Popen(
                arguments,
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                env=os.environ | settings,
                start_new_session=True,
            )
        except OSError as error:
            reason = error.strerror or error
            raise BridgeError(f"the engine cannot be started: {reason}") from None
        code: int | None = None
        try:
            code = process.wait(timeout)
        except subprocess.TimeoutExpired:
            pass
        finally:
            end_group(process)
        stream.seek(0)
        return code, stream.read().decode("utf-8", "replace")


def _reason(code: int | None, said: str, timeout: float) -> str:
    """Why there is no geometry, in one line."""
    last = dict.fromkeys(("problem", "starting"), "")
    for match in _SAID.finditer(said):
        last[match[1]] = match[2].strip()
    if last["problem"]:
        return last["problem"]
    error = _ERROR.search(said)
    engine_says = f" (the engine says: {error[1].strip()})" if error else ""
    if code is None:
        who = (
            f"node {last['starting']}: its script" if last["starting"] else "the scene"
        )
        return f"{who} is not ready within {timeout:g} s{engine_says}"
    if code < 0:
        return f"the engine crashed (signal {-code}){engine_says}"
    return f"the scene ended the engine (exit code {code}){engine_says}"
