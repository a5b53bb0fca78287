"""`ambulo body check`: what was found of a body, and whether it stands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from ambulo.common.command_line import Flags, command
from ambulo.common.files import json_text, write_bytes, write_or_print
from ambulo.common.flag_types import JsonFile, OutFile, ending, positional
from ambulo.common.gl import import_mujoco
from ambulo.common.paths import resolve_path

if TYPE_CHECKING:
    from ambulo.evaluate.locomotion.body_check import BodyCheck

FALLS = 1
"""Exit code when the body falls; 2 is a body that cannot be used."""


@dataclass(frozen=True, kw_only=True)
class BodyTestFlags(Flags):
    """The test of a body, and its report."""

    no_pushes: bool = False
    """do not push it"""
    json: JsonFile | None = None
    """the report as JSON, to FILE or to standard output"""
    picture: Annotated[OutFile | None, ending(".png")] = None
    """a picture with the roles, .png"""


@dataclass(frozen=True, kw_only=True)
class CheckFlags(BodyTestFlags):
    """Find joints by role, soles, gains and torque limits of a body, and let it stand.

    It stands for 10 s, undisturbed and pushed. Exit code 1 if it falls, 2 if it cannot be
    used.
    """

    body: Annotated[str, positional("BODY")]
    """FILE.xml, FILE.urdf, package:function or a name"""


@command("ambulo body check")
def main(flags: CheckFlags) -> int:
    """Check a body."""
    return show(checked(flags.body, flags), flags, flags.body)


def checked(body: str, flags: BodyTestFlags) -> BodyCheck:
    """Return what is found of a body, with a bar meanwhile."""
    import_mujoco()
    from ambulo.common.console import bars
    from ambulo.evaluate.locomotion.body_check import CALM, PUSHED, check_body

    total = CALM + PUSHED * (not flags.no_pushes)
    with bars(0, unit="bodies") as progress:
        task = progress.add_task("standing", total=total)
        return check_body(
            body,
            pushes=not flags.no_pushes,
            progress=lambda done: progress.advance(task, done),
        )


def show(check: BodyCheck, flags: BodyTestFlags, body: str) -> int:
    """Print what was found, write JSON and picture; return the exit code."""
    quiet = flags.json == "-"
    if not quiet:
        _print(check)
    write_or_print(flags.json, json_text(check.to_dict()))
    if flags.json is not None and not quiet:
        print(f"report     {flags.json}")
    if flags.picture is not None:
        from ambulo.evaluate.locomotion.body_check import check_picture

        path = resolve_path(flags.picture)
        write_bytes(path, check_picture(check, body))
        if not quiet:
            print(f"picture    {path}")
    return 0 if check.passes else FALLS


def _print(check: BodyCheck) -> None:
    """Say what was found."""
    from ambulo.common.tables import print_rows

    print(f"body       {check.name}: {check.text}")
    heads = (
        "role",
        "joint",
        "turned by",
        "gain, N m/rad",
        "limit, N m",
        "holds, N m",
        "load",
    )
    rows = [
        (
            role.replace("_", " "),
            row.joint,
            ", ".join(row.chain) if row.chain != (row.joint,) else "",
            f"{row.stiffness:.0f}" if row.stiffness else "",
            f"{row.limit:.0f}" if row.limit else "",
            f"{row.holding:.1f}" if row.limit else "",
            f"{row.load:.0%}" if row.limit else "",
        )
        for role, row in check.roles.items()
    ]
    print_rows("", heads, rows, left=3)
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
