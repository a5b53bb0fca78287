"""`ambulo body make`: a physical body from a rig."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

from ambulo.commands.body.check import BodyTestFlags, checked, show
from ambulo.commands.data.flags import ReadingFlags
from ambulo.common.command_line import Arg, command
from ambulo.common.files import refuse_existing
from ambulo.common.flag_types import OutFile, positional
from ambulo.common.gl import import_mujoco
from ambulo.common.paths import resolve_path
from ambulo.configs.errors import CharacterError

LISTED = 6
"""Bodies with rigid parts that are named."""


@dataclass(frozen=True, kw_only=True)
class MakeFlags(BodyTestFlags, ReadingFlags):
    """Make a physical body (MJCF) with the proportions of a rig, and check it.

    It has capsules, soles and motors; masses and inertias by published anthropometry. Exit
    code 1 if it falls.
    """

    rig: Annotated[str, positional("RIG")]
    """a BVH, AMC, NPZ, glTF, GLB or VRM file"""
    out: Annotated[OutFile, Arg("FILE", names=("--out", "-o"))]
    """the .xml to write"""
    height: Annotated[float | None, Arg("M")] = None
    """stature, m (default: the rig's)"""
    mass: Annotated[float | None, Arg("KG")] = None
    """kg (default: 75 kg at 1.75 m, with the cube of the height)"""
    no_check: bool = False
    """only make it"""

    @property
    def usual_rest_pose(self) -> str:
        """Rest pose without the flag: a standing body."""
        return "auto"


@command("ambulo body make")
def main(flags: MakeFlags) -> int:
    """Make, write and check the body."""
    from ambulo.motion.roles.files import roles_beside, write_roles

    path = resolve_path(flags.out)
    if path.suffix != ".xml":
        raise CharacterError(f"--out {flags.out}: a body is written as .xml")
    beside = path.with_suffix(".roles.json")
    rig = resolve_path(flags.rig)
    rigs = roles_beside(rig)
    if rigs is not None and rigs.resolve() == beside.resolve():
        raise CharacterError(
            f"--out {flags.out}: {rigs.name} is the rig's; name it otherwise"
        )
    refuse_existing([beside], force=flags.force)  # it would say other roles
    import_mujoco()
    from ambulo.envs.characters.make_body import make_body

    source = flags.read(rig)
    made = make_body(source.motion.skeleton, height=flags.height, mass=flags.mass)
    made = replace(made, notes=(*source.notes, *made.notes))
    made.write(path)
    if flags.map or rigs is not None:
        write_roles(beside, made.roles)
    else:
        beside.unlink(missing_ok=True)
    if flags.json != "-":
        print(f"made       {path}: {made.text()}")
        for line in merged_lines(made.merged):
            print(f"rigid      {line}")
        for note in made.notes:
            print(f"note       {note}")
    if flags.no_check:
        return 0
    return show(checked(str(path), flags), flags, str(path))


def merged_lines(merged: dict[str, tuple[str, ...]]) -> list[str]:
    """Say which joints of a rig are rigid parts of which body, the largest first."""
    rows = sorted(merged.items(), key=lambda row: -len(row[1]))
    lines = [
        f"{len(names)} joint{'s' * (len(names) > 1)} with {body}: {', '.join(names[:3])}"
        f"{', ...' * (len(names) > 3)}"
        for body, names in rows[:LISTED]
    ]
    rest = sum(len(names) for _, names in rows[LISTED:])
    return [*lines, f"{rest} more"] if rest else lines
