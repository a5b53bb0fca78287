"""`ambulo page build`: recorded episodes and live IK in a static web page."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Literal

from ambulo.common.command_line import Arg, Flags, command
from ambulo.common.flag_types import names_of, positional
from ambulo.common.paths import resolve_path


def _pages() -> Iterable[str]:
    from ambulo.viz.page.build import PAGES

    return [page.name for page in PAGES]


@dataclass(frozen=True, kw_only=True)
class PageFlags(Flags):
    """Build a static web page that plays recorded episodes and solves inverse kinematics.

    It opens from the disk or from any web server. Needs Node.js with npm.
    """

    action: Annotated[Literal["build"], positional("ACTION")]
    """build: write the page"""
    out: Annotated[str, Arg("FOLDER")]
    """new folder, or that of an earlier page"""
    pages: Annotated[str, Arg("NAMES"), names_of(_pages, "page")] = ""
    """some of the pages, with commas between (default: all)"""


@command("ambulo page")
def main(flags: PageFlags) -> int:
    """Build the page."""
    from ambulo.viz.page.build import build_site, check_folder

    out = resolve_path(flags.out)
    check_folder(out)
    built = build_site(
        out, [name.strip() for name in flags.pages.split(",") if name.strip()]
    )
    for name, size in built.sizes.items():
        print(f"{built.folder / f'{name}.html'}  {size / 1e6:.1f} MB")
    return 0
