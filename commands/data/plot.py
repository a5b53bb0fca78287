"""`ambulo data plot`: a clip as a sheet of poses, and as a film."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Literal

from ambulo.commands.data.flags import ReadingFlags
from ambulo.commands.data.inputs import motion_files
from ambulo.common.command_line import Arg, command
from ambulo.common.files import check_parent, write_bytes
from ambulo.common.flag_types import Count, OutFile, ending, positional
from ambulo.common.paths import resolve_path
from ambulo.configs.errors import ConfigError, MotionError
from ambulo.motion.analysis import movement_text
from ambulo.motion.contacts import foot_contacts
from ambulo.motion.landmarks import has_feet
from ambulo.motion.motion import Motion
from ambulo.motion.operations import frames_of
from ambulo.motion.skeletons import load_skeleton
from ambulo.viz.skeleton_actor import actor_of
from ambulo.viz.skeleton_view import DARK, LIGHT, THEMES


@dataclass(frozen=True, kw_only=True)
class PlotFlags(ReadingFlags):
    """Draw a clip as a sheet of poses (PNG) and, if asked, as a film."""

    path: Annotated[str, positional("FILE")]
    """motion file"""
    out: Annotated[OutFile | None, Arg("PNG"), ending(".png")] = None
    """the sheet (default: FILE's name + .png, here)"""
    no_sheet: bool = False
    """only the film"""
    gif: Annotated[OutFile | None, ending(".gif")] = None
    """also a film as GIF"""
    mp4: Annotated[OutFile | None, ending(".mp4")] = None
    """also a film as mp4"""
    start: Annotated[float, Arg("S")] = 0.0
    """from this time on"""
    stop: Annotated[float | None, Arg("S")] = None
    """up to this time"""
    frames: Annotated[str | None, Arg("A:B")] = None
    """its frames A up to but not B, from 0 (default: all)"""
    cycle: bool = False
    """draw the cycle that `ambulo train walk --reference FILE` would follow"""
    poses: Count = 10
    """on the sheet"""
    theme: Literal["light", "dark"] | None = None
    """colours (default: sheet light, film dark)"""

    def __post_init__(self) -> None:
        """Refuse to draw nothing, and to cut what is drawn as a whole."""
        super().__post_init__()
        if self.no_sheet and not (self.gif or self.mp4):
            raise ConfigError("--no-sheet leaves nothing to draw; give --gif or --mp4")
        if self.is_part and (self.start or self.stop is not None):
            raise ConfigError("--start and --stop cut a clip that is drawn as a whole")

    @property
    def is_part(self) -> bool:
        """Whether frames of the clip are drawn among the others."""
        return self.frames is not None or self.cycle


@command("ambulo data plot")
def main(flags: PlotFlags) -> int:
    """Draw a clip."""
    source = resolve_path(flags.path)
    if source.is_dir():
        raise ConfigError(f"{source}: plot draws one file, not a folder")
    motion_files(source)
    sheet = None
    if not flags.no_sheet:
        sheet = resolve_path(flags.out or f"{source.stem}.png")
        check_parent(str(sheet))
    films = [resolve_path(film) for film in (flags.gif, flags.mp4) if film is not None]
    motion = flags.reading().motion(source)
    chosen = None
    if flags.is_part:
        chosen = _chosen(motion, flags.frames, cycle=flags.cycle)
    else:
        motion = cut(motion, flags.start, flags.stop)
    from ambulo.viz.contact_sheet import contact_sheet
    from ambulo.viz.skeleton_film import write_film

    contacts = foot_contacts(motion) if has_feet(motion.skeleton) else None
    actor = actor_of(motion, contacts=contacts, label=source.name)
    if sheet is not None:
        png = contact_sheet(
            actor, motion.fps, title=source.name, subtitle=facts(motion, chosen),
            poses=flags.poses, chosen=chosen, theme=THEMES.get(flags.theme or "", LIGHT),
        )  # fmt: skip
        write_bytes(sheet, png)
        print(sheet)
    for film in films:
        theme = THEMES.get(flags.theme or "", DARK)
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
