"""`ambulo data plot`: a clip as a sheet of poses, and as a film."""

from __future__ import annotations

import math

from ambulo.commands.data.flags import PlotFlags
from ambulo.commands.data.inputs import motion_files
from ambulo.common.files import check_parent, refuse_existing, write_bytes
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


def plot(flags: PlotFlags) -> int:
    """Draw a clip."""
    source = resolve_path(flags.path)
    if source.is_dir():
        raise ConfigError(f"{source}: plot draws one file, not a folder")
    motion_files(source)
    sheet = None
    if not flags.no_sheet:
        sheet = resolve_path(flags.out or f"{source.stem}.png")
        check_parent(str(sheet))
        refuse_existing([sheet], force=flags.force)
    films = [resolve_path(film) for film in (flags.gif, flags.mp4) if film is not None]
    motion = flags.read(source).logged()
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
        from ambulo.envs.reference.cycles.captured import captured_cycle

        result = captured_cycle(motion, load_skeleton("human23"), frames=frames)
        print(result.text())
        return slice(result.first, result.last)
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
