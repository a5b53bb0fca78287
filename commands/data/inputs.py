"""Parts of all actions of `ambulo data`: input files, and how they are read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ambulo.commands.data.flags import ReadingFlags
from ambulo.common.console import shown
from ambulo.configs.errors import MotionFileError
from ambulo.motion.formats.files import find_motions, units_of
from ambulo.motion.landmarks import rest_points
from ambulo.motion.retargeting.person import person_fit
from ambulo.motion.retargeting.source import Source
from ambulo.motion.retargeting.standing import standing_fault
from ambulo.motion.roles import roles_of
from ambulo.motion.skeleton import Skeleton

SOME_BAD = 1
"""Exit code when there are files that cannot be used; 2 is wrong usage."""


@dataclass(frozen=True)
class Choices:
    """Unit, axes and rest pose that were assumed for a file, in words, with their fit."""

    units: str
    """Its unit of length, and the size of the body."""
    axes: str
    """Which axis is up, and how often the body is upright."""
    rest_pose: str
    """The skeleton's rest pose, and whether that is a standing body."""

    def lines(self) -> list[str]:
        """Each as a line."""
        return [f"{k.replace('_', ' ')}: {text}" for k, text in vars(self).items()]


def unit_of(flags: ReadingFlags, path: Path) -> str:
    """Return the unit of length that is taken for a file."""
    return units_of(path, flags.skeleton_file) if flags.units == "auto" else flags.units


def choices_of(flags: ReadingFlags, path: Path, source: Source) -> Choices:
    """Return unit, axes and rest pose of a file that was read as `source`."""
    fit, fault = person_fit(source.motion), rest_fault(source.motion.skeleton)
    chosen = {name: text for name, _, text in map(_parted, source.notes)}
    given = "as the format has them" if flags.axes == "auto" else flags.axes
    rest = chosen.get("rest pose", "the file's")
    return Choices(
        f"{unit_of(flags, path)}, {fit.size_text()}",
        f"{chosen.get('axes', given)}, {fit.upright_text()}",
        f"{rest}, {f'no standing body: {fault}' if fault else 'a standing body'}",
    )


def other_notes(notes: Sequence[str]) -> list[str]:
    """Return the notes that `Choices` does not repeat."""
    return [note for note in notes if _parted(note)[0] not in {"axes", "rest pose"}]


def rest_fault(skeleton: Skeleton) -> str:
    """Return what keeps a rest pose from being a standing body; "" if it is one."""
    roles = roles_of(skeleton)
    if not {"left_thigh", "right_thigh"} <= set(roles):
        return "no thighs are known"
    return standing_fault(skeleton, roles, rest_points(skeleton))


def _parted(note: str) -> tuple[str, str, str]:
    return note.partition(": ")


def motion_files(path: Path) -> list[Path]:
    """Return the file `path`, or every motion file in the folder `path` and below.

    Raises:
        MotionFileError: there is none.
    """
    if not path.is_dir():
        if not path.exists():
            raise MotionFileError(path, 0, "no such file or folder")
        return [path]
    files = find_motions(path)
    if not files:
        raise MotionFileError(path, 0, "no motion files in this folder")
    return files


def shown_progress(files: Sequence[Path]) -> Iterator[Path]:
    """Yield `files` one by one, with a bar on a terminal when there are several."""
    return shown(files, lambda file: file.name, 0)
