"""`ambulo levels`: generate, import, validate, draw and describe level files."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ambulo.commands import level_import
from ambulo.common.errors import USER_ERROR, Parser, front_door
from ambulo.common.files import refuse_existing
from ambulo.common.paths import resolve_path
from ambulo.configs.errors import ConfigError, LevelError, RenderError

if TYPE_CHECKING:
    from ambulo.envs.vr.levels.level import Level

BODIES = ("capsule", "human23", "twin")
"""Bodies that `levels validate` knows the size of."""


@front_door
def main(argv: Sequence[str] | None = None) -> int:
    """Run `ambulo levels ...`; its exit code."""
    args = _parser().parse_args(argv)
    if args.action == "generate":
        return _generate(args)
    if args.action == "import":
        return level_import.run(args)
    if args.action == "validate":
        return _validate(resolve_path(args.path), args.body)
    if args.action == "draw":
        return _draw(resolve_path(args.path), resolve_path(args.out))
    from ambulo.envs.vr.levels.level_io import level_schema

    print(json.dumps(level_schema(), indent=1))
    return 0


def _parser() -> Parser:
    parser = Parser(
        prog="ambulo levels",
        description="Generate, import, validate, draw and describe level files.",
    )
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    generate = actions.add_parser(
        "generate", help="write levels of a family", late_epilog=_families
    )
    generate.add_argument(
        "--family", required=True, metavar="NAME", help="one of those below"
    )
    generate.add_argument("--seed", type=int, default=0, metavar="N")
    generate.add_argument(
        "--count", type=int, default=1, metavar="N",
        help="levels with the seeds from --seed on, into the folder --out",
    )  # fmt: skip
    generate.add_argument(
        "--out",
        required=True,
        metavar="PATH",
        help="folder, or a .json file of one level",
    )
    generate.add_argument(
        "--force", action="store_true", help="replace files that are there"
    )
    level_import.add_arguments(
        actions.add_parser("import", help="make a level of a Godot scene")
    )
    validate = actions.add_parser("validate", help="check a file, or all of a folder")
    validate.add_argument("path", metavar="PATH")
    validate.add_argument(
        "--body", choices=BODIES, default="capsule",
        help="who is to walk there: capsule (0.5 m wide, default), or human23 and its "
        "twin, which need ways of 0.62 m",
    )  # fmt: skip
    draw = actions.add_parser("draw", help="draw a map of a level, or of a folder's")
    draw.add_argument("path", metavar="PATH")
    draw.add_argument("--out", required=True, metavar="PNG")
    actions.add_parser(
        "schema", help="print the JSON schema of level files, for editors"
    )
    return parser


def _families() -> str:
    from ambulo.envs.vr.families import family_names  # too slow for other commands

    return f"families: {', '.join(family_names())}"


def _generate(args: argparse.Namespace) -> int:
    from ambulo.envs.vr.families import generate
    from ambulo.envs.vr.levels.level_io import save_level

    if args.count < 1:
        raise ConfigError(f"--count = {args.count}: must be at least 1")
    out = resolve_path(args.out)
    levels = [generate(args.family, args.seed + i) for i in range(args.count)]
    if args.count == 1 and out.suffix == ".json":
        files = [out]
    else:
        files = [out / f"{level.name}.json" for level in levels]
    refuse_existing(files, force=args.force)
    files[0].parent.mkdir(parents=True, exist_ok=True)
    for file, level in zip(files, levels, strict=True):
        save_level(level, file)
        print(file)
    return 0


def _validate(path: Path, body: str) -> int:
    from ambulo.envs.vr.levels.level_io import load_levels

    bad = 0
    for file in _files(path):
        try:
            [level] = load_levels(file)
            _check_body(level, file, body)
        except LevelError as error:
            _complain(error)
            bad += 1
            continue
        x0, y0, x1, y1 = level.bounds
        print(
            f"{file}: ok: {level.name!r}, {x1 - x0:g} x {y1 - y0:g} m, "
            + ", ".join(_counted(level))
        )
    return USER_ERROR if bad else 0


def _counted(level: Level) -> list[str]:
    """How many shapes, things and people there are of each kind, as words."""
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
    found = [f"{n} {one if n == 1 else more}" for one, more, n in kinds if n]
    return found or ["nothing on the floor"]


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


def _complain(error: LevelError) -> None:
    print(f"ambulo: error: {error}", file=sys.stderr)


def _draw(path: Path, out: Path) -> int:
    if out.suffix.lower() not in _PICTURES:
        raise RenderError(f"--out {out}: a map ends in .png, .svg or .pdf")
    drawable, bad = _drawable(_files(path))
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

    found: list[tuple[Level, str]] = []
    bad = 0
    for file in files:
        mark = ""
        try:
            [level] = load_levels(file)
        except LevelError as error:
            _complain(error)
            bad += 1
            try:
                [level] = load_levels(file, solvable=False)
            except LevelError:
                continue
            mark = " (no way to the goal)"
        found.append((level, level.name + mark))
    return found, bad


def _draw_maps(levels: Sequence[tuple[Level, str]], out: Path) -> None:
    """Draw maps with titles, four in a row.

    Raises:
        RenderError: A picture of that name cannot be written.
    """
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt
    from matplotlib.lines import Line2D

    from ambulo.viz.map_moving import moving_handles
    from ambulo.viz.map_plot import OVERHEAD_MARK, draw_level_map, has_overhead

    columns = min(len(levels), 4)
    rows = -(-len(levels) // columns)
    figure, axes = plt.subplots(
        rows, columns, squeeze=False, figsize=(5 * columns, 5 * rows)
    )
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
    finally:
        plt.close(figure)


_PICTURES = (".png", ".svg", ".pdf")
"""Endings of maps."""
_MOST_DRAWN = 24
"""Levels of a folder that are drawn."""
