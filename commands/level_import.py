"""`ambulo levels import`: a Godot scene as a level file."""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from ambulo.common.files import refuse_existing
from ambulo.common.paths import resolve_path
from ambulo.configs.errors import ConfigError, LevelError
from ambulo.configs.names import LEVEL

if TYPE_CHECKING:
    from ambulo.envs.vr.levels.importing.convert import Imported
    from ambulo.envs.vr.levels.importing.raw import RawScene

_MOST_LINES = 20
_CONVERT = "ambulo.envs.vr.levels.importing.convert"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `ambulo levels import`."""
    parser.add_argument(
        "scene", metavar="SCENE",
        help="res://NAME.tscn, a scene's file, or what the editor's button has written "
        "(NAME.ambulo_scene.json)",
    )  # fmt: skip
    parser.add_argument("--out", required=True, metavar="JSON")
    parser.add_argument("--force", action="store_true", help="replace files there")
    parser.add_argument(
        "--project", metavar="FOLDER", help="the Godot project (default: around SCENE)"
    )
    parser.add_argument("--name", help="of the level (default: the scene's file name)")
    parser.add_argument(
        "--obstacle-mask", type=int, default=1, metavar="N",
        help="collision layers of floors and obstacles, a bit each (default: 1)",
    )  # fmt: skip
    parser.add_argument(
        "--frames", type=int, default=10, metavar="N",
        help="physics frames that the scene runs before it is read (default: 10)",
    )  # fmt: skip
    parser.add_argument(
        "--timeout", type=float, default=120.0, metavar="SECONDS",
        help="longest run of the engine (default: 120)",
    )  # fmt: skip
    parser.add_argument(
        "--ignore-script-errors", action="store_true",
        help="go on when a script of the scene fails",
    )  # fmt: skip
    parser.add_argument("--godot-bin", metavar="PROGRAM", help="the Godot program")


def run(args: argparse.Namespace) -> int:
    """Import the scene that `args` name; the exit code."""
    _check(args)
    out = resolve_path(args.out)
    refuse_existing([out], force=args.force)
    # Modules with compiled kernels load while the engine runs the scene.
    loading = threading.Thread(target=importlib.import_module, args=(_CONVERT,))
    loading.start()
    try:
        scene = _read(args)
    finally:
        loading.join()
    from ambulo.envs.vr.levels.importing.convert import converted
    from ambulo.envs.vr.levels.level_io import MAX_FILE_SIZE, save_level

    name = args.name if args.name is not None else _name(scene, args.scene)
    found = converted(scene, name, mask=args.obstacle_mask)
    out.parent.mkdir(parents=True, exist_ok=True)
    save_level(found.level, out, compact=True)
    if out.stat().st_size > MAX_FILE_SIZE:
        out.unlink()
        raise LevelError(f"{out}: would be larger than {MAX_FILE_SIZE >> 20} MiB")
    report = out.with_name(f"{out.name}.report.json")
    report.write_text(json.dumps(found.report, indent=1) + "\n", encoding="utf-8")
    _tell(found, out, report)
    return 0


def _check(args: argparse.Namespace) -> None:
    if not 0 < args.obstacle_mask < 2**32:
        raise ConfigError(
            f"--obstacle-mask = {args.obstacle_mask}: expected 1 to 2^32-1"
        )
    if not 1 <= args.frames <= 100_000:
        raise ConfigError(f"--frames = {args.frames}: expected 1 to 100000")
    if args.name is not None and not LEVEL.allows(args.name):
        raise ConfigError(f"--name = {args.name!r}: expected {LEVEL.expected}")
    if not args.timeout > 0:
        raise ConfigError(f"--timeout = {args.timeout:g}: must be > 0")


def _read(args: argparse.Namespace) -> RawScene:
    """Raw geometry of the scene, from the engine or from a file."""
    from ambulo.envs.godot.scene_export import export_scene, find_scene
    from ambulo.envs.vr.levels.importing.raw import read_scene

    if args.scene.endswith(".json"):
        file = Path(args.scene).expanduser()
        if args.scene.startswith("res://"):
            raise ConfigError(f"{args.scene}: name the file itself")
        return read_scene(file)
    scene = find_scene(args.scene, args.project)
    with tempfile.TemporaryDirectory(prefix="ambulo_import_") as folder:
        file = Path(folder) / "scene.json"
        export_scene(
            scene,
            file,
            engine=args.godot_bin,
            frames=args.frames,
            timeout=args.timeout,
            lenient=args.ignore_script_errors,
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
