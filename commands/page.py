"""`ambulo page build`: recorded episodes and live IK in a static web page."""

from __future__ import annotations

from collections.abc import Sequence

from ambulo.common.errors import Parser, front_door
from ambulo.common.paths import resolve_path
from ambulo.configs.errors import ConfigError, nearest


@front_door
def main(argv: Sequence[str] | None = None) -> int:
    """Run `ambulo page build ...`; its exit code."""
    from ambulo.viz.page.build import PAGES, build_site, check_folder

    names = [page.name for page in PAGES]
    parser = Parser(
        prog="ambulo page",
        description="Build a static web page that plays recorded episodes of agents and "
        "solves inverse kinematics; it opens from the disk or from any web server. Needs "
        "Node.js with npm.",
    )
    parser.add_argument("action", choices=["build"], help="build: write the page")
    parser.add_argument(
        "--out",
        required=True,
        metavar="FOLDER",
        help="new folder, or that of an earlier page",
    )
    parser.add_argument(
        "--pages", default="", metavar="NAMES",
        help=f"some of {', '.join(names)}, with commas between; default: all",
    )  # fmt: skip
    args = parser.parse_args(argv)
    chosen = [name for name in args.pages.split(",") if name]
    for name in chosen:
        if name not in names:
            raise ConfigError(f"--pages: unknown page {name!r}{nearest(name, names)}")
    out = resolve_path(args.out)
    check_folder(out)
    built = build_site(out, chosen)
    for name, size in built.sizes.items():
        print(f"{built.folder / f'{name}.html'}  {size / 1e6:.1f} MB")
    return 0
