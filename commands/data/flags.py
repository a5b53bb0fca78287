"""Flags of all commands that read motion files, and the commands `ambulo data`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal
from urllib.parse import urlsplit

from ambulo.common.command_line import Arg, Command, Flags, Output, Rule
from ambulo.common.downloads import Patience
from ambulo.common.engine_flags import WorkerFlags
from ambulo.common.flag_types import (
    Count,
    JsonFile,
    OutFile,
    OutPath,
    ending,
    positional,
    rule,
)
from ambulo.common.paths import resolve_path
from ambulo.configs.errors import ConfigError, MotionFileError

if TYPE_CHECKING:
    from ambulo.motion.retargeting.source import Source


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


def motion_ending(*others: str) -> Rule:
    """Return the rule of names of motion files that are written, or with other endings."""

    def fault(name: str) -> str | None:
        from ambulo.motion.formats.files import WRITTEN

        return ending(*WRITTEN, *others)(name)

    return fault


WITH_SKELETON = Output(".amc", ".asf")
"""Mark of motion files that are written: an AMC has its ASF beside it."""
BASE_URL = "http://mocap.cs.cmu.edu/subjects"
"""Where the files of subject 02 are `02/02.asf`, `02/02_01.amc` and so on."""
LONGEST_TIMEOUT = 86_400.0
"""Longest timeout of a connection: a day, [s]."""
MotionFolders = Annotated[
    tuple[str, ...],
    Arg("DIR", repeated=True),
    rule(bool, "an empty name; give a folder"),
]
"""Folders of motion files."""
Speed = Annotated[float, Arg("FACTOR"), _speed]
"""Speed of a clip beside that of its file."""
Rate = Annotated[
    float,
    Arg("HZ"),
    rule(
        lambda rate: 0.0 < rate <= 10_000.0,
        "expected a number above 0 and up to 10000",
    ),
]
"""A rate, [Hz]; no camera is faster, and a higher one would only fill the memory."""


def _is_timeout(value: float) -> bool:
    return 0.0 < value <= LONGEST_TIMEOUT


def checked_base(url: str) -> str:
    """`url` without a slash at its end; `ConfigError` if it is no web address."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        usable = False
    if not usable:
        raise ConfigError(f"--base-url {url}: expected http://... or https://...")
    return url.rstrip("/")


def _web_address(url: str) -> None:
    checked_base(url)


@dataclass(frozen=True, kw_only=True)
class SourceFlags(Flags):
    """Axes and rest pose, which motion files do not state."""

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

    def __post_init__(self) -> None:
        """Refuse a skeleton that does not exist."""
        super().__post_init__()
        if self.skeleton_file is not None and not self.skeleton_file.is_file():
            raise MotionFileError(self.skeleton_file, 0, "no such file")

    @property
    def skeleton_file(self) -> Path | None:
        """The skeleton of AMC files that is given; None without one."""
        return None if self.asf is None else resolve_path(self.asf)

    @property
    def usual_rest_pose(self) -> str:
        """Rest pose without the flag."""
        return "file"

    def read(self, path: Path) -> Source:
        """Return the motion in `path`, and assumptions that the file does not state.

        Raises:
            MotionFileError: It cannot be used.
        """
        from ambulo.motion.retargeting.source import read_source

        return read_source(
            path,
            asf=self.skeleton_file,
            units=self.units,
            drop_tpose=self.drop_tpose,
            axes=self.axes,
            rest_pose=self.rest_pose or self.usual_rest_pose,
            strict=self.strict,
            roles=self.roles,
        )


@dataclass(frozen=True, kw_only=True)
class ConvertFlags(WorkerFlags, ReadingFlags):
    """Convert a file by the endings of IN and OUT, or all files of a folder into another."""

    source: Annotated[str, positional("IN")]
    """motion file, or folder of them"""
    target: Annotated[OutPath, positional("OUT"), WITH_SKELETON]
    """file (.bvh, .amc, .npz), or folder"""
    to: Annotated[str | None, Arg("FORMAT")] = None
    """of the files of a folder: bvh, amc, npz"""
    frames: Annotated[str | None, Arg("A:B")] = None
    """frames A to B - 1, counted from 0 (default: all)"""
    speed: Speed = 1.0
    """of the clip beside its file: 0.5 if the file's frame rate is twice the real one"""
    fps: Rate | None = None
    """frames per second of the new files"""
    cutoff: Annotated[Rate | None, Arg("HZ", names=("--filter",))] = None
    """zero-phase low-pass with this cut-off, such as 10 (default: none)"""
    skeleton: Annotated[str | None, Arg("NAME")] = None
    """retarget to human23, ik23, cmu31, daz43, a body of your own (.xml, .urdf), or the
    skeleton of a motion file (.bvh, .glb, ...; default: keep the skeleton)"""
    fit_lengths: bool = False
    """give that skeleton the lengths of the source's limbs"""
    keep_feet: bool = False
    """leave feet where the source has them, instead of setting them on the ground"""
    out_units: Annotated[str, Arg("UNIT"), units_rule] = "auto"
    """unit of length of the new files, as for --units"""

    def __post_init__(self) -> None:
        """Refuse flags of a retargeting without one."""
        super().__post_init__()
        for flag, given in (
            ("--fit-lengths", self.fit_lengths),
            ("--keep-feet", self.keep_feet),
        ):
            if given and self.skeleton is None:
                raise ConfigError(f"{flag} needs --skeleton")

    @property
    def usual_rest_pose(self) -> str:
        """Rest pose without the flag: retargeting starts from a standing body."""
        return "file" if self.skeleton is None else "auto"


@dataclass(frozen=True, kw_only=True)
class InfoFlags(ReadingFlags):
    """Print what motion files hold: one in full, of a folder a table."""

    path: Annotated[str, positional("PATH")]
    """motion file, or folder of them"""
    json: JsonFile | None = None
    """as JSON, to FILE or to standard output"""
    save_map: OutFile | None = None
    """write the roles of the joints of one file to a .roles.json file, for --map"""


@dataclass(frozen=True, kw_only=True)
class ValidateFlags(ReadingFlags):
    """Read files in full and say of each whether it can be used.

    Exit code 1 if one of a folder cannot, 2 if it is the only one asked about.
    """

    path: Annotated[str, positional("PATH")]
    """motion file, or folder of them"""


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
    """frames A to B - 1, counted from 0 (default: all)"""
    cycle: bool = False
    """draw the cycle that `ambulo train walk --reference FILE` would follow"""
    poses: Count = 10
    """on the sheet"""
    theme: Literal["light", "dark"] | None = None
    """colours (default: sheet light, film dark)"""

    def __post_init__(self) -> None:
        """Refuse an empty picture, and cutting one that shows the whole motion."""
        super().__post_init__()
        if self.no_sheet and not (self.gif or self.mp4):
            raise ConfigError("--no-sheet leaves nothing to draw; give --gif or --mp4")
        if self.is_part and (self.start or self.stop is not None):
            raise ConfigError("--start and --stop cut a clip that is drawn as a whole")

    @property
    def is_part(self) -> bool:
        """Whether frames of the clip are drawn among the others."""
        return self.frames is not None or self.cycle


@dataclass(frozen=True, kw_only=True)
class FetchFlags(Flags):
    """Download skeletons (ASF) and clips (AMC).

    Interrupted downloads continue, complete files are verified.
    """

    source: Annotated[Literal["cmu"], positional("cmu")]
    """the CMU database"""
    subjects: Annotated[str, Arg("NN,NN")]
    """numbers with commas between, or ranges such as 1-5"""
    trials: Annotated[str | None, Arg("NN,NN")] = None
    """only these trials (default: all)"""
    to: Annotated[str, Arg("DIR")] = "cmu"
    """folder"""
    base_url: Annotated[str, Arg("URL"), _web_address] = BASE_URL
    """where the subjects are"""
    checksums: Annotated[str | None, Arg("FILE")] = None
    """a checksums.json that the files must agree with"""
    force: bool = False
    """download existing files again"""
    timeout: Annotated[float, Arg("S"), rule(_is_timeout, "above 0, at most a day")] = (
        Patience.timeout
    )
    """silence that ends a connection, [s]"""
    attempts: Count = Patience.attempts
    """tries of each file"""


convert = Command(
    "ambulo data convert", ConvertFlags, "ambulo.commands.data.convert:convert"
)
info = Command("ambulo data info", InfoFlags, "ambulo.commands.data.info:info")
validate = Command(
    "ambulo data validate", ValidateFlags, "ambulo.commands.data.validate:validate"
)
plot = Command("ambulo data plot", PlotFlags, "ambulo.commands.data.plot:plot")
fetch = Command("ambulo data fetch", FetchFlags, "ambulo.commands.data.fetch:fetch")
