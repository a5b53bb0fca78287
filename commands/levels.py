"""`ambulo levels`: generate, import, validate, draw and describe level files."""

from __future__ import annotations

import importlib
import json
import sys
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from ambulo.common.command_line import Arg, Flags, Output, command
from ambulo.common.errors import USER_ERROR, print_error
from ambulo.common.files import refuse_existing
from ambulo.common.flag_types import (
    Count,
    OutFile,
    OutPath,
    Positive,
    ending,
    positional,
    within,
)
from ambulo.common.paths import resolve_path
from ambulo.configs.choices import ALL_FAMILIES
from ambulo.configs.errors import ConfigError, LevelError, RenderError
from ambulo.configs.names import LEVEL

if TYPE_CHECKING:
    from ambulo.envs.vr.levels.importing.convert import Imported
    from ambulo.envs.vr.levels.importing.raw import RawScene
    from ambulo.envs.vr.levels.level import Level

_MOST_LINES = 20
_CONVERT = "ambulo.envs.vr.levels.importing.convert"
REPORT = ".json.report.json"
"""Ending of the report on what a level lacks of its scene, in place of .json."""
_MOST_DRAWN = 24
"""Levels of a folder that are drawn."""


@dataclass(frozen=True, kw_only=True)
class LevelsGenerateFlags(Flags):
    """Write levels of a family."""

    family: Annotated[str, Arg("NAME")]
    """one of those below"""
    seed: int = 0
    """seed of the first level"""
    count: Count = 1
    """levels with the seeds from --seed on, into the folder --out"""
    out: OutPath
    """folder, or a .json file of one level"""


@command("ambulo levels generate", f"families: {', '.join(ALL_FAMILIES)}")
def generate(flags: LevelsGenerateFlags) -> int:
    """Write levels of a family."""
    from ambulo.envs.vr.families import generate as made
    from ambulo.envs.vr.levels.level_io import save_level

    out = resolve_path(flags.out)
    levels = [made(flags.family, flags.seed + i) for i in range(flags.count)]
    if flags.count == 1 and out.suffix == ".json":
        files = [out]
    else:
        files = [out / f"{level.name}.json" for level in levels]
    refuse_existing(files, force=flags.force)
    files[0].parent.mkdir(parents=True, exist_ok=True)
    for file, level in zip(files, levels, strict=True):
        save_level(level, file)
        print(file)
    return 0


def _level_name(name: str) -> str | None:
    return None if LEVEL.allows(name) else f"expected {LEVEL.expected}"


@dataclass(frozen=True, kw_only=True)
class LevelsImportFlags(Flags):
    """Make a level of a Godot scene."""

    scene: Annotated[str, positional("SCENE")]
    """res://NAME.tscn, a scene's file, or what the editor's button has written
    (NAME.ambulo_scene.json)"""
    out: Annotated[OutPath, Arg("JSON"), Output(".json", REPORT), ending(".json")]
    """the level file"""
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
def import_(flags: LevelsImportFlags) -> int:
    """Import a scene."""
    out = resolve_path(flags.out)
    # Modules with compiled kernels load while the engine runs the scene.
    loading = threading.Thread(target=importlib.import_module, args=(_CONVERT,))
    loading.start()
    try:
        scene = _read(flags)
    finally:
        loading.join()
    from ambulo.envs.vr.levels.importing.convert import converted
    from ambulo.envs.vr.levels.level_io import MAX_FILE_SIZE, save_level

    name = flags.name if flags.name is not None else _name_of(scene, flags.scene)
    imported = converted(scene, name, mask=flags.obstacle_mask)
    out.parent.mkdir(parents=True, exist_ok=True)
    save_level(imported.level, out, compact=True)
    if out.stat().st_size > MAX_FILE_SIZE:
        out.unlink()
        raise LevelError(f"{out}: would be larger than {MAX_FILE_SIZE >> 20} MiB")
    report = out.with_suffix(REPORT)
    report.write_text(json.dumps(imported.report, indent=1) + "\n", encoding="utf-8")
    _report(imported, out, report)
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


def _name_of(scene: RawScene, given: str) -> str:
    stem = Path(scene.scene or given).name.split(".")[0]
    return stem if LEVEL.allows(stem) else "scene"


def _report(imported: Imported, out: Path, report: Path) -> None:
    """Print the level that was made, and the parts of the scene that are missing in it."""
    for key, what in (
        ("not_carried", "not carried"),
        ("approximated", "approximated"),
        ("notes", "note"),
    ):
        rows = imported.report[key]
        for row in rows[:_MOST_LINES]:
            text = f"{what}: {row['path']} ({row['class']}): {row['reason']}"
            print(f"ambulo: {text}", file=sys.stderr)
        if len(rows) > _MOST_LINES:
            more = len(rows) - _MOST_LINES
            print(f"ambulo: {what}: {more} more, in {report}", file=sys.stderr)
    x0, y0, x1, y1 = imported.level.bounds
    numbers = ", ".join(
        f"{n} {kind}" for kind, n in imported.report["counts"].items() if n
    )
    print(
        f"{out}: {imported.level.name!r}, {x1 - x0:g} x {y1 - y0:g} m, {numbers}; "
        f"{len(imported.report['not_carried'])} not carried ({report})"
    )


@dataclass(frozen=True, kw_only=True)
class LevelsValidateFlags(Flags):
    """Check a level file, or all of a folder."""

    path: Annotated[str, positional("PATH")]
    """level file, or folder of them"""
    body: Literal["capsule", "human23", "twin"] = "capsule"
    """the body that is to walk there: capsule (0.5 m wide), or human23 and its twin, which
    need ways of 0.62 m"""


@command("ambulo levels validate")
def validate(flags: LevelsValidateFlags) -> int:
    """Check level files."""
    from ambulo.envs.vr.levels.level_io import load_levels

    bad = 0
    for file in _files(resolve_path(flags.path)):
        try:
            [level] = load_levels(file)
            _check_body(level, file, flags.body)
        except LevelError as error:
            print_error(error)
            bad += 1
            continue
        x0, y0, x1, y1 = level.bounds
        print(
            f"{file}: ok: {level.name!r}, {x1 - x0:g} x {y1 - y0:g} m, "
            + ", ".join(_counted(level))
        )
    return USER_ERROR if bad else 0


def _counted(level: Level) -> list[str]:
    """Return the number of parts of each kind, as words."""
    people = level.people
    crowd = 0 if people is None else people.count + len(people.walkers)
    kinds = (
        ("box", "boxes", len(level.boxes)),
        ("cylinder", "cylinders", len(level.cylinders)),
        ("hole", "holes", len(level.holes)),
        ("ramp", "ramps", len(level.ramps)),
        ("flight of stairs", "flights of stairs", len(level.stairs)),
        ("terrain", "terrains", len(level.heightfields)),
        ("mesh", "meshes", len(level.meshes)),
        ("mover", "movers", len(level.movers)),
        ("person", "people", crowd),
    )
    result = [f"{n} {one if n == 1 else more}" for one, more, n in kinds if n]
    return result or ["nothing on the floor"]


def _files(path: Path) -> list[Path]:
    """The level files of a folder, or `path` itself, which may not exist."""
    return (sorted(path.glob("*.json")) if path.is_dir() else []) or [path]


def _check_body(level: Level, file: Path, body: str) -> None:
    """Raise `LevelError` for a level in which `body` would be refused later."""
    from ambulo.envs.vr.body.fitting import BodySize, check_levels
    from ambulo.envs.vr.world.base import refuse_heights

    if body == "capsule":
        return
    name = f"body = {body}"
    try:
        refuse_heights([level], name)
        check_levels([level], BodySize(name))
    except LevelError as error:
        raise LevelError(f"{file}: {error}") from None


@dataclass(frozen=True, kw_only=True)
class LevelsDrawFlags(Flags):
    """Draw a map of a level, or of a folder's."""

    path: Annotated[str, positional("PATH")]
    """level file, or folder of them"""
    out: Annotated[OutFile, Arg("PNG"), ending(".png", ".svg", ".pdf")]
    """the picture"""


@command("ambulo levels draw")
def draw(flags: LevelsDrawFlags) -> int:
    """Draw maps of levels."""
    out = resolve_path(flags.out)
    drawable, bad = _drawable(_files(resolve_path(flags.path)))
    if not drawable:
        return USER_ERROR
    if len(drawable) > _MOST_DRAWN:
        print(f"the first {_MOST_DRAWN} of {len(drawable)} levels", file=sys.stderr)
    _draw_maps(drawable[:_MOST_DRAWN], out)
    print(out)
    return USER_ERROR if bad else 0


def _drawable(files: Sequence[Path]) -> tuple[list[tuple[Level, str]], int]:
    """The levels that can be drawn with their titles, and how many files are not right.

    What is wrong with a file is printed; a level without a way is drawn all the same.
    """
    from ambulo.envs.vr.levels.level_io import load_levels

    result: list[tuple[Level, str]] = []
    bad = 0
    for file in files:
        mark = ""
        try:
            [level] = load_levels(file)
        except LevelError as error:
            print_error(error)
            bad += 1
            try:
                [level] = load_levels(file, solvable=False)
            except LevelError:
                continue
            mark = " (no way to the goal)"
        result.append((level, level.name + mark))
    return result, bad


def _draw_maps(levels: Sequence[tuple[Level, str]], out: Path) -> None:
    """Draw maps with titles, four in a row.

    Raises:
        RenderError: A picture of that name cannot be written.
    """
    from matplotlib.lines import Line2D

    from ambulo.common.figures import new_figure
    from ambulo.viz.map_moving import moving_handles
    from ambulo.viz.map_plot import OVERHEAD_MARK, draw_level_map, has_overhead

    columns = min(len(levels), 4)
    rows = -(-len(levels) // columns)
    figure = new_figure((5.0 * columns, 5.0 * rows))
    axes = figure.subplots(rows, columns, squeeze=False)
    for ax in axes.flat[len(levels) :]:
        ax.set_axis_off()
    for ax, (level, title) in zip(axes.flat, levels, strict=False):
        draw_level_map(ax, level)
        ax.set_title(title, parse_math=False)
        handles = moving_handles([level])
        if has_overhead(level):
            handles.append(Line2D([], [], label="overhead", **OVERHEAD_MARK))
        if handles:
            ax.legend(
                handles=handles, loc="upper center", bbox_to_anchor=(0.5, -0.12),
                ncols=2, fontsize=8, frameon=False,
            )  # fmt: skip
    figure.tight_layout()
    try:
        figure.savefig(out, dpi=100)
    except ValueError as error:
        raise RenderError(f"{out}: {error}") from None


@dataclass(frozen=True, kw_only=True)
class LevelsSchemaFlags(Flags):
    """Print the JSON schema of level files, for editors."""


@command("ambulo levels schema")
def schema(flags: LevelsSchemaFlags) -> int:
    """Print the schema."""
    from ambulo.envs.vr.levels.level_io import level_schema

    print(json.dumps(level_schema(), indent=1))
    return 0
