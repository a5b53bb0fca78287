"""`ambulo body check`: what was found of a body, and whether it stands."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from ambulo.common.console import bars
from ambulo.common.files import check_parent, write_bytes, write_or_print
from ambulo.common.gl import import_mujoco
from ambulo.common.paths import resolve_path
from ambulo.common.tables import new_table, print_table
from ambulo.configs.errors import RenderError

if TYPE_CHECKING:
    from ambulo.evaluate.locomotion.body_check import BodyCheck

FALLS = 1
"""Exit code when the body falls; 2 is a body that cannot be used."""


def add_parser(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `check` to the actions of `ambulo body`."""
    parser = actions.add_parser(
        "check",
        help="what is found of a body, and whether it stands",
        description="Find joints by role, soles, gains and torque limits of a body, and let "
        "it stand 10 s, undisturbed and pushed. Exit code 1 if it falls, 2 if it cannot be "
        "used.",
    )
    parser.add_argument(
        "body", metavar="BODY", help="FILE.xml, FILE.urdf, package:function or a name"
    )
    add_test_flags(parser)
    parser.add_argument("--verbose", action="store_true", help=argparse.SUPPRESS)


def add_test_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags of the test and its report."""
    parser.add_argument("--no-pushes", action="store_true", help="do not push it")
    parser.add_argument(
        "--json", metavar="FILE", help="the report as JSON; - for standard output"
    )
    parser.add_argument(
        "--picture", metavar="FILE", help="a picture with the roles, .png"
    )


def run(args: argparse.Namespace) -> int:
    """Check a body; 0, or 1 if it falls."""
    return show(checked(args.body, args), args, args.body)


def check_outputs(args: argparse.Namespace) -> None:
    """Refuse files of the report that cannot be written, before the work.

    Raises:
        RunFolderError: One cannot.
        RenderError: The picture has another ending than .png.
    """
    check_parent(args.json)
    check_parent(args.picture)
    if args.picture is not None and Path(args.picture).suffix != ".png":
        raise RenderError(f"--picture {args.picture}: a picture ends in .png")


def checked(body: str, args: argparse.Namespace) -> BodyCheck:
    """Return what is found of a body, with a bar meanwhile."""
    check_outputs(args)
    import_mujoco()
    from ambulo.evaluate.locomotion.body_check import CALM, PUSHED, check_body

    total = CALM + PUSHED * (not args.no_pushes)
    with bars(0, unit="bodies") as progress:
        task = progress.add_task("standing", total=total)
        return check_body(
            body,
            pushes=not args.no_pushes,
            progress=lambda done: progress.advance(task, done),
        )


def show(check: BodyCheck, args: argparse.Namespace, body: str) -> int:
    """Print what was found, write JSON and picture; return the exit code."""
    if args.json == "-":
        write_or_print("-", json.dumps(check.to_dict(), indent=1) + "\n")
    else:
        _print(check)
        if args.json is not None:
            text = json.dumps(check.to_dict(), indent=1) + "\n"
            write_or_print(args.json, text)
            print(f"report     {args.json}")
    if args.picture is not None:
        from ambulo.evaluate.locomotion.body_check import check_picture

        path = resolve_path(args.picture)
        write_bytes(path, check_picture(check, body))
        if args.json != "-":
            print(f"picture    {path}")
    return 0 if check.passes else FALLS


def _print(check: BodyCheck) -> None:
    """Say what was found."""
    print(f"body       {check.name}: {check.text}")
    table = new_table()
    for head in ("role", "joint", "turned by"):
        table.add_column(head)
    for head in ("gain, N m/rad", "limit, N m", "holds, N m", "load"):
        table.add_column(head, justify="right")
    for role, row in check.roles.items():
        table.add_row(
            role.replace("_", " "),
            row.joint,
            ", ".join(row.chain) if row.chain != (row.joint,) else "",
            f"{row.stiffness:.0f}" if row.stiffness else "",
            f"{row.limit:.0f}" if row.limit else "",
            f"{row.holding:.1f}" if row.limit else "",
            f"{row.load:.0%}" if row.limit else "",
        )
    print_table(Console(), table)
    print(f"roles      {len(check.roles)}, fit {check.confidence:.0%}")
    print(f"front      {check.facing}")
    soles = check.soles
    print(
        f"soles      {soles.points} contact spheres, {100 * soles.length:.0f} x "
        f"{100 * soles.width:.0f} cm; centre of mass {100 * soles.margin:.0f} cm inside"
    )
    for note in check.notes:
        print(f"note       {note}")
    print(f"standing   {check.verdict}")
