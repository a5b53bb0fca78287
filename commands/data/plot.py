"""`ambulo data plot`: a clip as a sheet of poses, and as a film."""

from __future__ import annotations

import argparse
import math
from pathlib import Path

from ambulo.commands.data.inputs import (
    add_frames_flag,
    add_reading_flags,
    motion_files,
    reading_of,
)
from ambulo.common.files import check_parent, write_bytes
from ambulo.common.paths import resolve_path
from ambulo.configs.errors import ConfigError, MotionError, RenderError
from ambulo.motion.analysis import movement_text
from ambulo.motion.contacts import foot_contacts
from ambulo.motion.landmarks import has_feet
from ambulo.motion.motion import Motion
from ambulo.motion.operations import frames_of
from ambulo.motion.skeletons import load_skeleton
from ambulo.viz.skeleton_actor import actor_of
from ambulo.viz.skeleton_view import DARK, LIGHT, THEMES


def add_parser(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `plot` to the actions of `ambulo data`."""
    parser = actions.add_parser(
        "plot",
        help="draw a clip",
        description="Draw a clip as a sheet of poses (PNG) and, if asked, as a film.",
    )
    add = parser.add_argument
    add("path", metavar="FILE", help="motion file")
    add("--out", metavar="PNG", help="the sheet (default: FILE's name + .png, here)")
    add("--no-sheet", action="store_true", help="only the film")
    add("--gif", metavar="FILE", help="also a film as GIF")
    add("--mp4", metavar="FILE", help="also a film as mp4")
    add("--start", type=float, default=0.0, metavar="S", help="from this time on")
    add("--stop", type=float, metavar="S", help="up to this time")
    add_frames_flag(parser)
    add(
        "--cycle", action="store_true",
        help="draw the cycle that `ambulo train walk --reference FILE` would follow",
    )  # fmt: skip
    add("--poses", type=int, default=10, metavar="N", help="on the sheet (default: 10)")
    add(
        "--theme", choices=tuple(THEMES), default=None,
        help="colours (default: sheet light, film dark)",
    )  # fmt: skip
    add_reading_flags(parser)


def run(args: argparse.Namespace) -> int:
    """Draw; 0."""
    source = resolve_path(args.path)
    if source.is_dir():
        raise ConfigError(f"{source}: plot draws one file, not a folder")
    motion_files(source)
    sheet, films = _outputs(args, source)
    motion = reading_of(args).motion(source)
    chosen = None
    if args.frames is not None or args.cycle:
        if args.start or args.stop is not None:
            raise ConfigError("--start and --stop cut a clip that is drawn as a whole")
        chosen = _chosen(motion, args.frames, cycle=args.cycle)
    else:
        motion = cut(motion, args.start, args.stop)
    from ambulo.viz.contact_sheet import contact_sheet
    from ambulo.viz.skeleton_film import write_film

    contacts = foot_contacts(motion) if has_feet(motion.skeleton) else None
    actor = actor_of(motion, contacts=contacts, label=source.name)
    if sheet is not None:
        png = contact_sheet(
            actor, motion.fps, title=source.name, subtitle=facts(motion, chosen),
            poses=args.poses, chosen=chosen, theme=THEMES.get(args.theme, LIGHT),
        )  # fmt: skip
        write_bytes(sheet, png)
        print(sheet)
    for film in films:
        theme = THEMES.get(args.theme, DARK)
        shown = actor if chosen is None else actor[chosen]
        print(write_film(film, [shown], motion.fps, theme=theme))
    return 0


def _chosen(motion: Motion, frames: str | None, *, cycle: bool) -> slice:
    """The frames that are drawn of a clip, after a line about them.

    Raises:
        MotionError: There are none, or no cycle.
        ConfigError: `frames` are not two numbers.
    """
    if cycle:
        from ambulo.envs.reference.captured import captured_cycle

        found = captured_cycle(motion, load_skeleton("human23"), frames=frames)
        print(found.text())
        return slice(found.first, found.last)
    chosen = frames_of(motion, frames)
    text = movement_text(motion[chosen])
    print(f"{motion.label}: frames {chosen.start}:{chosen.stop}; {text}")
    return chosen


def cut(motion: Motion, start: float, stop: float | None) -> Motion:
    """The frames of `motion` from `start` to `stop`, [s].

    Raises:
        MotionError: there are none.
    """
    last = math.inf if stop is None else stop
    if not 0.0 <= start <= last or start > motion.duration:
        raise MotionError(
            f"{motion.name}: nothing from {start:g} s "
            f"{'on' if stop is None else f'to {stop:g} s'}; it lasts "
            f"{motion.duration:.2f} s"
        )
    first = round(start * motion.fps)
    end = len(motion) if last > motion.duration else round(last * motion.fps) + 1
    return motion[first:end]


def facts(motion: Motion, chosen: slice | None = None) -> str:
    """Frames, rate, time and joints in a line, or what was chosen of them."""
    text = (
        f"{len(motion)} frames, {motion.fps:.6g} fps, {motion.duration:.2f} s, "
        f"{len(motion.skeleton)} joints"
    )
    if chosen is None:
        return text
    part = motion[chosen]
    return f"{text}; frames {chosen.start}:{chosen.stop}: {movement_text(part)}"


def _outputs(args: argparse.Namespace, source: Path) -> tuple[Path | None, list[Path]]:
    """Where sheet and films go; refused before any work is done."""
    if args.poses < 1:
        raise ConfigError(f"--poses {args.poses}: must be at least 1")
    films = []
    for kind, text in (("gif", args.gif), ("mp4", args.mp4)):
        if text is None:
            continue
        check_parent(text)
        if Path(text).suffix != f".{kind}":
            raise RenderError(f"--{kind} {text}: expected a name in .{kind}")
        films.append(resolve_path(text))
    if args.no_sheet:
        if not films:
            raise ConfigError("--no-sheet leaves nothing to draw; give --gif or --mp4")
        return None, films
    text = args.out if args.out is not None else f"{source.stem}.png"
    check_parent(text)
    if Path(text).suffix.lower() != ".png":
        raise RenderError(f"--out {text}: a sheet is a .png")
    return resolve_path(text), films
