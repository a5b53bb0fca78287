"""`ambulo levels import`: a Godot scene as a level file."""

from __future__ import annotations

import importlib
import json
import sys
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ambulo.common.command_line import Arg, Flags, command
from ambulo.common.files import refuse_existing
from ambulo.common.flag_types import Positive, positional, within
from ambulo.common.paths import resolve_path
from ambulo.configs.errors import ConfigError, LevelError
from ambulo.configs.names import LEVEL

if TYPE_CHECKING:
    from ambulo.envs.vr.levels.importing.convert import Imported
    from ambulo.envs.vr.levels.importing.raw import RawScene

_MOST_LINES = 20
_CONVERT = "ambulo.envs.vr.levels.importing.convert"


def _level_name(name: str) -> str | None:
    return None if LEVEL.allows(name) else f"expected {LEVEL.expected}"


@dataclass(frozen=True, kw_only=True)
class LevelsImportFlags(Flags):
    """Make a level of a Godot scene."""

    scene: Annotated[str, positional("SCENE")]
    """res://NAME.tscn, a scene's file, or what the editor's button has written
    (NAME.ambulo_scene.json)"""
    out: Annotated[str, Arg("JSON")]
    """the level file"""
    force: bool = False
    """replace files there"""
    project: Annotated[str | None, Arg("FOLDER")] = None
    """the Godot project (default: around SCENE)"""
    name: Annotated[str | None, _level_name] = None
    """of the level (default: the scene's file name)"""
    obstacle_mask: Annotated[int, within(1, 2**32 - 1)] = 1
    """collision layers of floors and obstacles, a bit each"""
    frames: Annotated[int, within(1, 100_000)] = 10
    """physics frames that the scene runs before it is read"""
    timeout: Annotated[Positive, Arg("SECONDS")] = 120.0
    """longest run of the engine"""
    ignore_script_errors: bool = False
    """go on when a script of the scene fails"""
    godot_bin: Annotated[str | None, Arg("PROGRAM")] = None
    """the Godot program"""


@command("ambulo levels import")
def main(flags: LevelsImportFlags) -> int:
    """Import a scene."""
    out = resolve_path(flags.out)
    refuse_existing([out], force=flags.force)
    # Modules with compiled kernels load while the engine runs the scene.
    loading = threading.Thread(target=importlib.import_module, args=(_CONVERT,))
    loading.start()
    try:
        scene = _read(flags)
    finally:
        loading.join()
    from ambulo.envs.vr.levels.importing.convert import converted
    from ambulo.envs.vr.levels.level_io import MAX_FILE_SIZE, save_level

    name = flags.name if flags.name is not None else _name(scene, flags.scene)
    found = converted(scene, name, mask=flags.obstacle_mask)
    out.parent.mkdir(parents=True, exist_ok=True)
    save_level(found.level, out, compact=True)
    if out.stat().st_size > MAX_FILE_SIZE:
        out.unlink()
        raise LevelError(f"{out}: would be larger than {MAX_FILE_SIZE >> 20} MiB")
    report = out.with_name(f"{out.name}.report.json")
    report.write_text(json.dumps(found.report, indent=1) + "\n", encoding="utf-8")
    _tell(found, out, report)
    return 0


def _read(flags: LevelsImportFlags) -> RawScene:
    """Raw geometry of the scene, from the engine or from a file."""
    from ambulo.envs.godot.scene_export import export_scene, find_scene
    from ambulo.envs.vr.levels.importing.raw import read_scene

    if flags.scene.endswith(".json"):
        file = Path(flags.scene).expanduser()
        if flags.scene.startswith("res://"):
            raise ConfigError(f"{flags.scene}: name the file itself")
        return read_scene(file)
    scene = find_scene(flags.scene, flags.project)
    with tempfile.TemporaryDirectory(prefix="ambulo_import_") as folder:
        file = Path(folder) / "scene.json"
        export_scene(
            scene,
            file,
            engine=flags.godot_bin,
            frames=flags.frames,
            timeout=flags.timeout,
            lenient=flags.ignore_script_errors,
        )
        try:
            return read_scene(file)
        except LevelError as error:
            text = str(error).removeprefix(f"{file}: ")
            raise LevelError(f"{scene.path}: {text}") from None


def _name(scene: RawScene, given: str) -> str:
    stem = Path(scene.scene or given).name.split(".")[0]
    return stem if LEVEL.allows(stem) else "scene"


def _tell(found: Imported, out: Path, report: Path) -> None:
    """What was made, and what could not be carried."""
    for key, what in (
        ("not_carried", "not carried"),
        ("approximated", "approximated"),
        ("notes", "note"),
    ):
        rows = found.report[key]
        for row in rows[:_MOST_LINES]:
            text = f"{what}: {row['path']} ({row['class']}): {row['reason']}"
            print(f"ambulo: {text}", file=sys.stderr)
        if len(rows) > _MOST_LINES:
            more = len(rows) - _MOST_LINES
            print(f"ambulo: {what}: {more} more, in {report}", file=sys.stderr)
    x0, y0, x1, y1 = found.level.bounds
    numbers = ", ".join(
        f"{n} {kind}" for kind, n in found.report["counts"].items() if n
    )
    print(
        f"{out}: {found.level.name!r}, {x1 - x0:g} x {y1 - y0:g} m, {numbers}; "
        f"{len(found.report['not_carried'])} not carried ({report})"
    )
