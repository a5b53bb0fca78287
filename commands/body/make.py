"""`ambulo body make`: a physical body from a rig."""

from __future__ import annotations

import argparse
from dataclasses import replace

from ambulo.commands.body.check import (
    add_test_flags,
    check_outputs,
    checked,
    show,
)
from ambulo.commands.data.inputs import add_reading_flags, reading_of
from ambulo.common.files import check_parent, refuse_existing
from ambulo.common.gl import import_mujoco
from ambulo.common.paths import resolve_path
from ambulo.configs.errors import CharacterError
from ambulo.motion.roles.files import roles_beside, write_roles

LISTED = 6
"""Bodies with rigid parts that are named."""


def add_parser(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `make` to the actions of `ambulo body`."""
    parser = actions.add_parser(
        "make",
        help="a body of capsules from a rig",
        description="Make a physical body (MJCF) with the proportions of a rig: capsules, "
        "soles, motors; masses and inertias by published anthropometry. Then check it: "
        "exit code 1 if it falls.",
    )
    parser.add_argument(
        "rig", metavar="RIG", help="a BVH, AMC, NPZ, glTF, GLB or VRM file"
    )
    parser.add_argument(
        "-o", "--out", required=True, metavar="FILE", help="the .xml to write"
    )
    parser.add_argument(
        "--height", type=float, metavar="M", help="stature, m (default: the rig's)"
    )
    parser.add_argument(
        "--mass", type=float, metavar="KG",
        help="kg (default: 75 kg at 1.75 m, with the cube of the height)",
    )  # fmt: skip
    parser.add_argument("--force", action="store_true", help="replace the file")
    parser.add_argument("--no-check", action="store_true", help="only make it")
    add_test_flags(parser)
    add_reading_flags(parser)


def run(args: argparse.Namespace) -> int:
    """Make, write and check the body; 0, or 1 if it falls."""
    check_parent(args.out)
    check_outputs(args)
    path = resolve_path(args.out)
    if path.suffix != ".xml":
        raise CharacterError(f"--out {args.out}: a body is written as .xml")
    beside = path.with_suffix(".roles.json")
    rig = resolve_path(args.rig)
    rigs = roles_beside(rig)
    if rigs is not None and rigs.resolve() == beside.resolve():
        raise CharacterError(
            f"--out {args.out}: {rigs.name} is the rig's; name it otherwise"
        )
    refuse_existing([path, beside], force=args.force)  # it would say other roles
    reading = reading_of(args, rest_pose="auto")
    import_mujoco()
    from ambulo.envs.characters.make_body import make_body

    source = reading.source(rig)
    made = make_body(source.motion.skeleton, height=args.height, mass=args.mass)
    made = replace(made, notes=(*source.notes, *made.notes))
    made.write(path)
    if args.map or rigs is not None:
        write_roles(beside, made.roles)
    else:
        beside.unlink(missing_ok=True)
    if args.json != "-":
        print(f"made       {path}: {made.text()}")
        for line in merged_lines(made.merged):
            print(f"rigid      {line}")
        for note in made.notes:
            print(f"note       {note}")
    if args.no_check:
        return 0
    return show(checked(str(path), args), args, str(path))


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
