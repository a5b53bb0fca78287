"""`ambulo levels`: generate, import, validate and draw level files."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from ambulo.commands import level_import
from ambulo.common.errors import USER_ERROR, Parser, front_door
from ambulo.common.paths import resolve_path
from ambulo.configs.errors import ConfigError, LevelError, RenderError


@front_door
def main(argv: Sequence[str] | None = None) -> int:
    """Run `ambulo levels ...`; its exit code."""
    args = _parser().parse_args(argv)
    if args.action == "generate":
        return _generate(args.family, args.seed, args.count, resolve_path(args.out))
    if args.action == "import":
        return level_import.run(args)
    if args.action == "validate":
        return _validate(resolve_path(args.path))
    return _draw(resolve_path(args.path), resolve_path(args.out))


def _parser() -> Parser:
    parser = Parser(
        prog="ambulo levels",
        description="Generate, import, validate and draw level files.",
    )
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    generate = actions.add_parser("generate", help="write levels of a family")
    generate.add_argument("--family", required=True, metavar="NAME")
    generate.add_argument("--seed", type=int, default=0, metavar="N")
    generate.add_argument(
        "--count", type=int, default=1, metavar="N",
        help="levels with the seeds from --seed on, into the folder --out",
    )  # fmt: skip
    generate.add_argument("--out", required=True, metavar="PATH")
    level_import.add_arguments(
        actions.add_parser("import", help="make a level of a Godot scene")
    )
    validate = actions.add_parser("validate", help="check a file, or all of a folder")
    validate.add_argument("path", metavar="PATH")
    draw = actions.add_parser("draw", help="draw a map of a level, or of a folder's")
    draw.add_argument("path", metavar="PATH")
    draw.add_argument("--out", required=True, metavar="PNG")
    return parser


def _generate(family: str, seed: int, count: int, out: Path) -> int:
    from ambulo.envs.vr.families import generate
    from ambulo.envs.vr.levels.level_io import save_level

    if count < 1:
        raise ConfigError(f"--count = {count}: must be at least 1")
    levels = [generate(family, seed + i) for i in range(count)]
    if count == 1 and out.suffix == ".json":
        files = [out]
    else:
        files = [out / f"{level.name}.json" for level in levels]
    files[0].parent.mkdir(parents=True, exist_ok=True)
    for file, level in zip(files, levels, strict=True):
        save_level(level, file)
        print(file)
    return 0


def _validate(path: Path) -> int:
    from ambulo.envs.vr.levels.level_io import load_levels

    files = sorted(path.glob("*.json")) if path.is_dir() else [path]
    bad = 0
    for file in files or [path]:
        try:
            [level] = load_levels(file)
        except LevelError as error:
            print(f"ambulo: error: {error}", file=sys.stderr)
            bad += 1
            continue
        x0, y0, x1, y1 = level.bounds
        print(
            f"{file}: ok: {level.name!r}, {x1 - x0:g} x {y1 - y0:g} m, "
            f"{len(level.boxes)} boxes, {len(level.cylinders)} cylinders, "
            f"{len(level.holes)} holes"
        )
    return USER_ERROR if bad else 0


def _draw(path: Path, out: Path) -> int:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    from ambulo.envs.vr.levels.level_io import load_levels
    from ambulo.viz.map_plot import draw_level_map

    levels = load_levels(path)[:_MOST_DRAWN]
    columns = min(len(levels), 4)
    rows = -(-len(levels) // columns)
    figure, axes = plt.subplots(
        rows, columns, squeeze=False, figsize=(5 * columns, 5 * rows)
    )
    for ax in axes.flat[len(levels) :]:
        ax.set_axis_off()
    for ax, level in zip(axes.flat, levels, strict=False):
        draw_level_map(ax, level)
        ax.set_title(level.name, parse_math=False)
    figure.tight_layout()
    try:
        figure.savefig(out, dpi=100)
    except ValueError as error:
        raise RenderError(f"{out}: {error}") from None
    finally:
        plt.close(figure)
    print(out)
    return 0


_MOST_DRAWN = 24
"""Levels of a folder that are drawn."""
