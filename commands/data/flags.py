"""Flags of all commands that read motion files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ambulo.common.command_line import Arg, Flags
from ambulo.common.flag_types import rule
from ambulo.common.paths import resolve_path
from ambulo.configs.errors import MotionFileError

if TYPE_CHECKING:
    from ambulo.commands.data.inputs import Reading


def _axes(text: str) -> None:
    from ambulo.motion.formats.axes import parse_axes

    if text != "auto":
        parse_axes(text)


def _rest_pose(text: str) -> None:
    from ambulo.motion.retargeting.rest_pose import check_rest_pose

    check_rest_pose(text)


def units_rule(text: str) -> None:
    """Refuse a text that is no unit of length; `MotionError` says which there are."""
    from ambulo.motion.formats.axes import metres_per_unit

    if text != "auto":
        metres_per_unit(text)


def _role_map(text: str) -> None:
    from ambulo.motion.roles.files import read_roles

    read_roles(resolve_path(text))


def _speed(value: float) -> str | None:
    from ambulo.motion.operations import SPEEDS

    low, high = SPEEDS
    return None if low <= value <= high else f"expected {low:g} to {high:g}"


MotionFolders = Annotated[
    tuple[str, ...],
    Arg("DIR", repeated=True),
    rule(bool, "an empty name; give a folder"),
]
"""Folders of motion files."""
Speed = Annotated[float, Arg("FACTOR"), _speed]
"""Speed of a clip beside that of its file."""


@dataclass(frozen=True, kw_only=True)
class SourceFlags(Flags):
    """What a motion file does not say."""

    axes: Annotated[str, Arg("AXES"), _axes] = "auto"
    """y-up, z-up, x-up, or the directions up and forward, such as Z,X; auto: up as the
    motion shows"""
    rest_pose: Annotated[str | None, Arg("POSE"), _rest_pose] = None
    """rest pose of the skeleton: auto, file, motion, t-pose or frame:N (default: auto where
    motions are retargeted, else file)"""


@dataclass(frozen=True, kw_only=True)
class MapFlags(Flags):
    """The roles of a file's joints."""

    map: Annotated[str | None, Arg("FILE"), _role_map] = None
    """roles of the joints, a .roles.json file (default: NAME.roles.json beside it, else
    found by shape and names)"""

    @property
    def roles(self) -> Path | None:
        """The role map that is given; None without one."""
        return None if self.map is None else resolve_path(self.map)


@dataclass(frozen=True, kw_only=True)
class ReadingFlags(SourceFlags, MapFlags):
    """How motion files are read."""

    asf: Annotated[str | None, Arg("FILE")] = None
    """skeleton of AMC files (default: beside them)"""
    units: Annotated[str, Arg("UNIT"), units_rule] = "auto"
    """unit of length of BVH and AMC: m, cm, mm, inch, asf, or a number of metres"""
    drop_tpose: bool = False
    """leave out the made-up T-pose with which BVH conversions start"""
    strict: bool = False
    """refuse what else is mended or doubted in a note; stop at the first bad file of a
    folder, exit code 2"""

    def reading(self, rest_pose: str = "file") -> Reading:
        """Return how files are read; `rest_pose` is that without the flag."""
        from ambulo.commands.data.inputs import Reading

        asf = None if self.asf is None else resolve_path(self.asf)
        if asf is not None and not asf.is_file():
            raise MotionFileError(asf, 0, "no such file")
        return Reading(
            asf=asf,
            units=self.units,
            drop_tpose=self.drop_tpose,
            axes=self.axes,
            rest_pose=self.rest_pose or rest_pose,
            strict=self.strict,
            roles=self.roles,
        )
