"""Parts of all actions of `ambulo data`: input files, and how they are read."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ambulo.common.console import bars
from ambulo.common.errors import one_line
from ambulo.common.paths import resolve_path
from ambulo.configs.errors import AmbuloError, MotionFileError
from ambulo.motion.formats.axes import UNITS, metres_per_unit, parse_axes
from ambulo.motion.formats.files import find_motions, units_of
from ambulo.motion.landmarks import rest_points
from ambulo.motion.motion import Motion
from ambulo.motion.operations import SPEEDS
from ambulo.motion.retargeting.person import person_fit
from ambulo.motion.retargeting.rest_pose import CHOICES, check_rest_pose
from ambulo.motion.retargeting.source import Source, read_source
from ambulo.motion.retargeting.standing import standing_fault
from ambulo.motion.roles import roles_of
from ambulo.motion.roles.files import read_roles
from ambulo.motion.skeleton import Skeleton

SOME_BAD = 1
"""Exit code when there are files that cannot be used; 2 is wrong usage."""


@dataclass(frozen=True)
class Choices:
    """What was chosen of a file that it need not say, in words, and how well it fits."""

    units: str
    """Its unit of length, and the size of the body."""
    axes: str
    """Which axis is up, and how often the body is upright."""
    rest_pose: str
    """The skeleton's rest pose, and whether that is a standing body."""

    def lines(self) -> list[str]:
        """Each as a line."""
        return [
            f"units: {self.units}",
            f"axes: {self.axes}",
            f"rest pose: {self.rest_pose}",
        ]


@dataclass(frozen=True)
class Reading:
    """How files are read."""

    asf: Path | None = None
    """Skeleton of AMC files; None: the one in their folder."""
    units: str = "auto"
    """Unit of length of the files."""
    drop_tpose: bool = False
    """Whether a made-up T-pose at the start is left out."""
    axes: str = "auto"
    """Up and forward axes of the files; "auto": up as the motion shows."""
    rest_pose: str = "file"
    """The skeleton's rest pose, as for `ambulo.motion.retargeting.rest_pose`."""
    strict: bool = False
    """Whether files that must be mended, or are doubtful, are refused."""
    roles: Path | None = None
    """Role map of their joints; None: found."""

    def motion(self, path: Path) -> Motion:
        """Return the motion in `path`, after a warning of what was chosen or mended.

        Raises:
            MotionFileError: It cannot be used.
        """
        return self.source(path).logged()

    def source(self, path: Path) -> Source:
        """Return the motion in `path`, and what was chosen that it does not say.

        Raises:
            MotionFileError: It cannot be used.
        """
        return read_source(
            path,
            asf=self.asf,
            units=self.units,
            drop_tpose=self.drop_tpose,
            axes=self.axes,
            rest_pose=self.rest_pose,
            strict=self.strict,
            roles=self.roles,
        )

    def unit_of(self, path: Path) -> str:
        """Return the unit of length that is taken for a file."""
        return units_of(path, self.asf) if self.units == "auto" else self.units

    def choices(self, path: Path, source: Source) -> Choices:
        """Return unit, axes and rest pose of a file that was read as `source`."""
        fit, fault = person_fit(source.motion), rest_fault(source.motion.skeleton)
        chosen = {name: text for name, _, text in map(_parted, source.notes)}
        given = "as the format has them" if self.axes == "auto" else self.axes
        rest = chosen.get("rest pose", "the file's")
        return Choices(
            f"{self.unit_of(path)}, {fit.size_text()}",
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


def add_reading_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags of `Reading`, `--strict` among them, and `--verbose`."""
    parser.add_argument(
        "--asf", metavar="FILE", help="skeleton of AMC files (default: beside them)"
    )
    parser.add_argument(
        "--units", default="auto", metavar="UNIT",
        help=f"unit of length of BVH and AMC: {', '.join(UNITS)}, or a number of metres "
        "(default: auto)",
    )  # fmt: skip
    parser.add_argument(
        "--drop-tpose", action="store_true",
        help="leave out the made-up T-pose with which BVH conversions start",
    )  # fmt: skip
    add_source_flags(parser)
    add_map_flag(parser)
    parser.add_argument(
        "--strict", action="store_true",
        help="refuse what else is mended or doubted in a note; stop at the first bad file "
        "of a folder, exit code 2",
    )  # fmt: skip
    parser.add_argument("--verbose", action="store_true", help="show tracebacks")


def add_frames_flag(parser: argparse.ArgumentParser) -> None:
    """Add `--frames`, a part of a file (`ambulo.motion.operations.frames_of`)."""
    parser.add_argument(
        "--frames", metavar="A:B",
        help="its frames A up to but not B, from 0 (default: all)",
    )  # fmt: skip


def add_speed_flag(parser: argparse.ArgumentParser) -> None:
    """Add `--speed`, for wrong frame rates (`ambulo.motion.operations.at_speed`)."""
    parser.add_argument(
        "--speed", type=speed_factor, default=1.0, metavar="FACTOR",
        help="of the clip beside its file: 0.5 if the file's frame rate is twice the real one "
        "(default: 1)",
    )  # fmt: skip


def speed_factor(text: str) -> float:
    """`text` as a speed beside a file's, for argparse."""
    low, high = SPEEDS
    try:
        speed = float(text)
    except ValueError:
        speed = 0.0
    if not low <= speed <= high:
        raise argparse.ArgumentTypeError(f"{text}: expected {low:g} to {high:g}")
    return speed


def add_source_flags(parser: argparse.ArgumentParser) -> None:
    """Add `--axes` and `--rest-pose`, which say what a motion file does not."""
    parser.add_argument(
        "--axes", default="auto", metavar="AXES",
        help="y-up, z-up, x-up, or the directions up and forward, such as Z,X "
        "(default: auto, up as the motion shows)",
    )  # fmt: skip
    parser.add_argument(
        "--rest-pose", metavar="POSE",
        help=f"rest pose of the skeleton: {CHOICES} (default: auto where motions are "
        "retargeted, else file)",
    )  # fmt: skip


def add_map_flag(parser: argparse.ArgumentParser) -> None:
    """Add `--map`, the roles of a file's joints."""
    parser.add_argument(
        "--map", metavar="FILE",
        help="roles of the joints, a .roles.json file (default: NAME.roles.json "
        "beside it, else found by shape and names)",
    )  # fmt: skip


def map_of(args: argparse.Namespace) -> Path | None:
    """Return the role map that is given, which can be read; None without one.

    Raises:
        ConfigError: It cannot be read.
    """
    if args.map is None:
        return None
    path = resolve_path(args.map)
    read_roles(path)
    return path


def check_source_flags(args: argparse.Namespace) -> None:
    """Refuse unknown axes and rest poses once, not for every file.

    Raises:
        MotionError: A value is unknown.
    """
    if args.axes != "auto":
        parse_axes(args.axes)
    if args.rest_pose is not None:
        check_rest_pose(args.rest_pose)


def reading_of(args: argparse.Namespace, rest_pose: str = "file") -> Reading:
    """Return how the flags ask files to be read; `rest_pose` is that without the flag."""
    check_source_flags(args)
    if args.units != "auto":
        metres_per_unit(args.units)  # refused here, not once for every file
    asf = None if args.asf is None else resolve_path(args.asf)
    if asf is not None and not asf.is_file():
        raise MotionFileError(asf, 0, "no such file")
    return Reading(
        asf=asf,
        units=args.units,
        drop_tpose=args.drop_tpose,
        axes=args.axes,
        rest_pose=args.rest_pose or rest_pose,
        strict=args.strict,
        roles=map_of(args),
    )


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
    """`files` one by one, with a bar on a terminal when there are several."""
    progress = bars(0, shown=len(files) > 1)
    with progress:
        task = progress.add_task("", total=len(files))
        for file in files:
            progress.update(task, description=file.name.replace("[", "\\["))
            yield file
            progress.advance(task)


def report(error: AmbuloError) -> None:
    """Print the error of one file of many to stderr."""
    print(f"ambulo: error: {one_line(error)}", file=sys.stderr)
