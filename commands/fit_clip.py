"""The command `ambulo fit`: make a clip feasible for a simulated body."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ambulo.commands.data.inputs import add_frames_flag, add_speed_flag
from ambulo.commands.fit_many import check_no_reference, fit_many
from ambulo.common.character_flag import CHARACTER_HELP, absolute_character
from ambulo.common.console import bars
from ambulo.common.errors import Parser, front_door
from ambulo.common.files import check_parent, refuse_existing
from ambulo.common.paths import resolve_path
from ambulo.configs.errors import ConfigError, RenderError
from ambulo.envs.characters.character import Character
from ambulo.envs.reference.clips.clip_reference import (
    ClipReference,
    clip_reference,
    fitted_body,
)
from ambulo.envs.reference.reference_file import save_reference
from ambulo.motion.analysis import movement_text
from ambulo.motion.operations import at_speed, frames_of
from ambulo.motion.retargeting.source import read_source
from ambulo.muscle.coupling import joint_coupling
from ambulo.train.shared.jobs import add_worker_flags

PROGRAM = "ambulo fit"
FALLS = 1
"""Exit code when the body falls; 2 is wrong usage."""
FILMS = (".mp4", ".gif")
"""Endings of films."""


@front_door
def main(argv: Sequence[str] | None = None) -> int:
    """Fit a clip, write its reference and film, and return the exit code."""
    args = _parser().parse_args(argv)
    if args.bodies < 0:
        raise ConfigError(f"--bodies {args.bodies}: must be at least 0")
    character = fitted_body(args.body)
    _check_body(character)
    if len(args.clips) > 1 or resolve_path(args.clips[0]).is_dir():
        return fit_many(args)
    path = resolve_path(args.clips[0])
    check_no_reference(path)
    target = resolve_path(args.out or f"{path.stem}.{character.name}.npz")
    for file in (target, args.film):
        check_parent(None if file is None else str(file))
    if target.suffix != ".npz":
        raise ConfigError(f"--out {target}: a reference ends in .npz")
    refuse_existing([target], force=args.force)
    if args.film is not None and args.film.suffix not in FILMS:
        raise RenderError(f"{args.film}: a film ends in {' or '.join(FILMS)}")
    motion = at_speed(read_source(path).logged(), args.speed)
    rows = frames_of(motion, args.frames)
    part = motion[rows]
    print(
        f"clip       {motion.label}: frames {rows.start}:{rows.stop} of {len(motion)}, "
        f"{part.duration:.2f} s at {part.fps:g} fps; {movement_text(part)}"
    )
    with bars(0) as progress:
        task = progress.add_task("fitting", total=None)

        def show(done: int, of: int) -> None:
            progress.update(task, completed=done, total=of)

        found = clip_reference(
            motion, character,
            bodies=args.bodies, seed=args.seed, frames=args.frames, progress=show,
        )  # fmt: skip
    save_reference(target, found.reference)
    _print(found)
    print(f"reference  {target}")
    if args.film is not None:
        print(f"film       {_film(args.film, found)}")
    return 0 if found.falls_at is None else FALLS


def _parser() -> Parser:
    parser = Parser(
        prog=PROGRAM,
        description="Make a clip feasible for a simulated body: what it does, with joint "
        "targets and feedback that hold it, as a reference file. About half a minute a "
        "second of clip. Exit code 1 if the body falls.",
    )
    parser.add_argument(
        "clips", nargs="+", metavar="CLIP",
        help="a motion file (BVH, AMC, NPZ, DeepMimic); several, or a folder of them, "
        "become references in the folder --out",
    )  # fmt: skip
    add_frames_flag(parser)
    add_speed_flag(parser)
    parser.add_argument(
        "--character", "--body", dest="body", default="human23", metavar="BODY",
        type=absolute_character, help=f"{CHARACTER_HELP} (default: human23)",
    )  # fmt: skip
    parser.add_argument(
        "--out",
        metavar="PATH",
        help="the reference (default: CLIP.BODY.npz, here); a folder for several clips, "
        "whose references are kept if they are there already",
    )
    parser.add_argument("--force", action="store_true", help="replace what is there")
    parser.add_argument(
        "--film",
        type=Path,
        metavar="FILE",
        help="a film of clip and body, .mp4 or .gif",
    )
    parser.add_argument(
        "--bodies", type=int, default=40, metavar="N",
        help="disturbed bodies in each test of the feedback; 0 for no test (default: 40)",
    )  # fmt: skip
    parser.add_argument("--seed", type=int, default=0, help="of the tests (default: 0)")
    add_worker_flags(parser)
    parser.add_argument("--verbose", action="store_true", help=argparse.SUPPRESS)
    return parser


def _check_body(character: Character) -> None:
    """Refuse bodies that cannot be fitted yet.

    Raises:
        ConfigError: Muscles, or joints that are tied to others.
    """
    if character.actuation is not None:
        raise ConfigError(
            f"--character {character.name}: has muscles; clips need motors"
        )
    free = joint_coupling(character.model).independent
    if not np.isin(character.dofs(*character.skeleton.joints), free).all():
        raise ConfigError(
            f"--character {character.name}: joints are tied to others; clips need free joints"
        )


def _print(found: ClipReference) -> None:
    """Say what became of the clip."""
    report = found.report
    print(
        f"error      {100 * report['error_world']:.1f} cm in the world, "
        f"{100 * report['error_local']:.1f} cm beside the root; root at most "
        f"{100 * report['root_deviation']:.1f} cm off"
    )
    for need in found.needs:
        print(f"support    {need.text()}")
    if found.falls_at is not None:
        before = [need for need in found.needs if need.begin <= found.falls_at]
        why = f", where support is missing from {before[-1].begin:.2f} s on" * bool(
            before
        )
        print(
            f"falls      at {found.falls_at:.2f} s (frame {found.frame(found.falls_at)}): the "
            f"body cannot do this clip{why}"
        )
        return
    for name, value in report.items():
        if name.startswith("survives "):
            print(f"feedback   {value:4.0%} survive {name.removeprefix('survives ')}")


def _film(path: Path, found: ClipReference) -> Path:
    """Film clip and body side by side."""
    from ambulo.viz.skeleton_actor import actor_of
    from ambulo.viz.skeleton_film import write_film

    actors = [actor_of(found.clip, label="clip"), actor_of(found.body, label="body")]
    return write_film(path, actors, found.clip.fps, ghost=True)


if __name__ == "__main__":
    sys.exit(main())
