"""AMC files: the movement of the Acclaim format, as it is written and as a `Motion`.

See `ambulo.motion.formats.asf` for the format and the skeleton. The root is at `position`
of the ASF plus TX TY TZ; its rotation is C M C^-1 like a bone's, with C from
`orientation`. Frames come at 120 per second unless the file says
`:SAMPLES-PER-SECOND`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PureWindowsPath

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import MotionFileError
from ambulo.motion.formats.asf import ROOT, AsfFile, asf_to_skeleton, read_asf
from ambulo.motion.formats.axes import CMU_AXES, Axes, metres_per_unit
from ambulo.motion.formats.channels import quats_of_channels
from ambulo.motion.formats.disk import (
    decoded,
    file_errors,
    read_lines,
    rules_of,
    write_bytes,
)
from ambulo.motion.formats.number_text import (
    NumberTextError,
    not_a_number,
    parse_frames,
)
from ambulo.motion.motion import Motion
from ambulo.motion.skeleton import MAX_JOINTS

DEFAULT_FPS = 120.0
"""Rate of the CMU data base, [Hz]; AMC files seldom state theirs."""
_RATE = ":samples-per-second"
_NAMED_ASF = re.compile(r"#!oml:asf\s+(.*\S)", re.IGNORECASE)
_MAX_HEADER = 2**20


@dataclass(frozen=True, eq=False)
class AmcFile:
    """Contents of an AMC file, in its own units."""

    bones: tuple[tuple[str, int], ...]
    """Names in the order of the first frame, with their number of values."""
    values: Floats
    """All numbers of each frame, in that order. Shape (T, C)."""
    first: int = 1
    """Number of the first frame."""
    degrees: bool | None = None
    """`:DEGREES` or `:RADIANS`; None if the file has neither (then the ASF decides)."""
    fps: float = DEFAULT_FPS
    """Frames per second."""
    asf_name: str = ""
    """Path of the skeleton in the line `#!OML:ASF`, as written; "" if there is none."""


def read_amc(path: Path) -> AmcFile:
    """The AMC file `path`; `MotionFileError` names the line and the rule it breaks."""
    data = read_lines(path)
    start, line, header = _read_header(path, data)
    try:
        bones = _first_frame(path, data, start, line)
        names = [name.encode() for name, _ in bones]
        rows = parse_frames(data, start, line, names, [count for _, count in bones])
    except NumberTextError as error:
        raise MotionFileError(path, error.line, error.rule) from None
    rows.values.setflags(write=False)
    degrees, fps, asf_name = _header_values(path, header)
    return AmcFile(bones, rows.values, rows.first, degrees, fps, asf_name)


def write_amc(path: Path, amc: AmcFile) -> None:
    """Write `amc` atomically, with the fewest digits that identify every number."""
    lines = [f"#!OML:ASF {amc.asf_name}"] if amc.asf_name else []
    lines.append(":FULLY-SPECIFIED")
    if amc.degrees is not None:
        lines.append(":DEGREES" if amc.degrees else ":RADIANS")
    if amc.fps != DEFAULT_FPS:
        lines.append(f":SAMPLES-PER-SECOND {amc.fps!r}")
    stops = np.cumsum([count for _, count in amc.bones]).tolist()
    spans = [
        (name, stop - count, stop)
        for (name, count), stop in zip(amc.bones, stops, strict=True)
    ]
    for number, row in enumerate(amc.values.tolist(), start=amc.first):
        texts = [repr(value) for value in row]
        lines.append(str(number))
        lines.extend(" ".join([name, *texts[a:b]]) for name, a, b in spans)
    write_bytes(path, ("\n".join(lines) + "\n").encode())


def find_asf(amc: Path, asf_name: str = "") -> Path:
    """The skeleton file of the AMC file `amc`, in the same folder.

    The file that its first line names, if it is there; else the only ASF file; else the one
    whose name is the part before the first "_" (07.asf for 07_01.amc). The only one is refused
    if it has another subject's number: the bones of all subjects of the CMU data base have the
    same names, so that the mistake would go unnoticed.
    """
    with file_errors(amc):
        files = [p for p in amc.parent.iterdir() if p.suffix.lower() == ".asf"]
        result = sorted(p for p in files if p.is_file())
    named = PureWindowsPath(asf_name).name.lower()  # it splits at / and at \
    for candidate in result:
        if candidate.name.lower() == named:
            return candidate
    subject = amc.stem.partition("_")[0].lower()
    if len(result) == 1 and not _other_number(result[0].stem, subject):
        return result[0]
    for candidate in result:
        if candidate.stem.lower() == subject:
            return candidate
    there = ", ".join(p.name for p in result[:5]) or "none"
    raise MotionFileError(
        amc,
        0,
        f"its ASF skeleton is not in its folder (ASF files there: {there}); "
        "put it there, or name one with --asf FILE (asf=FILE in Python)",
    )


def _other_number(one: str, other: str) -> bool:
    """Whether both are numbers of subjects, and not the same."""
    numbers = one.isdecimal() and other.isdecimal()
    return numbers and int(one) != int(other)


def read_amc_motion(
    path: Path,
    asf: Path | None = None,
    units: str | float = "auto",
    axes: Axes = CMU_AXES,
) -> Motion:
    """The motion in the AMC file `path` on the skeleton of its ASF file.

    `asf` is that file, by default the result of `find_asf`. `units` is the unit of length of
    both: "auto" takes `:units length` of the ASF.
    """
    amc = read_amc(path)
    skeleton_path = find_asf(path, amc.asf_name) if asf is None else asf
    skeleton = read_asf(skeleton_path)
    columns = _match(path, skeleton_path, amc, skeleton)
    with rules_of(path):
        metres = skeleton.metres if units == "auto" else metres_per_unit(units)
        return amc_to_motion(amc, skeleton, columns, metres, axes, path.stem)


def amc_to_motion(
    amc: AmcFile,
    asf: AsfFile,
    columns: dict[str, slice],
    metres: float,
    axes: Axes = CMU_AXES,
    name: str = "",
) -> Motion:
    """The motion of `amc` on `asf`; `columns` are those of each joint with numbers."""
    skeleton = asf_to_skeleton(asf, metres, axes, name)
    unit = np.pi / 180.0 if amc_degrees(amc, asf) else 1.0
    dof = {bone.name: bone.dof for bone in asf.bones}
    angles = []
    for joint in skeleton.joints:
        given = asf.root_order if joint == ROOT else dof[joint]
        block = amc.values[:, columns.get(joint, slice(0, 0))]
        turns = [i for i, c in enumerate(given) if c.lower() in {"rx", "ry", "rz"}]
        order = "".join(given[i][1].upper() for i in reversed(turns))
        signs = axes.order_to_ours(order)[1]
        angles.append(block[:, turns[::-1]] * unit * signs)
    place = np.tile(np.array(asf.position), (len(amc.values), 1))
    root = amc.values[:, columns[ROOT]]
    for i, channel in enumerate(asf.root_order):
        if channel[0] == "T":
            place[:, "XYZ".index(channel[1])] += root[:, i]
    return Motion(
        skeleton=skeleton,
        fps=amc.fps,
        root_positions=axes.to_ours(place) * metres,
        rotations=quats_of_channels(angles, skeleton.orders, skeleton.axes),
        name=name,
    )


def amc_degrees(amc: AmcFile, asf: AsfFile) -> bool:
    """Whether the angles of `amc` are degrees, by the file or else by its skeleton."""
    return asf.degrees if amc.degrees is None else amc.degrees


def _match(path: Path, asf_path: Path, amc: AmcFile, asf: AsfFile) -> dict[str, slice]:
    """The columns of each joint; an error names both files if they do not fit."""
    target = {bone.name: len(bone.dof) for bone in asf.bones if bone.dof}
    target[ROOT] = len(asf.root_order)
    columns: dict[str, slice] = {}
    stop = 0

    def wrong(rule: str) -> MotionFileError:
        return MotionFileError(path, 0, f"{rule} (skeleton: {asf_path})")

    for name, count in amc.bones:
        if name not in target:
            raise wrong(f"bone {name[:48]!r} does not move in the skeleton")
        if count != target[name]:
            raise wrong(
                f"bone {name!r} has {count} numbers, the skeleton {target[name]}"
            )
        columns[name] = slice(stop, stop + count)
        stop += count
    for name in target:
        if name not in columns:
            raise wrong(f"bone {name!r} of the skeleton is missing in every frame")
    return columns


def _read_header(path: Path, data: bytes) -> tuple[int, int, list[tuple[int, str]]]:
    """Byte and line of the first frame, and the lines before it."""
    header: list[tuple[int, str]] = []
    number = 0
    for number, at, raw in _lines(data[:_MAX_HEADER], 0, 1):
        text = decoded(path, raw, number).strip()
        if text[:1].isdigit():
            return at, number, header
        if text and text[0] not in "#:":
            rule = (
                f"is no AMC file: expected a comment, a keyword or 1, got {text[:24]!r}"
            )
            raise MotionFileError(path, number, rule)
        header.append((number, text))
    raise MotionFileError(path, number, "has no frames")


def _lines(data: bytes, at: int, number: int) -> Iterator[tuple[int, int, bytes]]:
    """Number, first byte and bytes (64 KiB at most) of each line from byte `at` on."""
    while at < len(data):
        end = data.find(b"\n", at)
        end = len(data) if end < 0 else end
        yield number, at, data[at : min(end, at + 65536)]
        at, number = end + 1, number + 1


def _header_values(
    path: Path, header: list[tuple[int, str]]
) -> tuple[bool | None, float, str]:
    """Degrees or not, frames per second, and the name of the skeleton."""
    degrees: bool | None = None
    fps, asf_name = DEFAULT_FPS, ""
    for number, text in header:
        named = _NAMED_ASF.match(text)
        keyword = text.lower().split()[0] if text else ""
        if named:
            asf_name = named.group(1)
        elif keyword in {":degrees", ":radians"}:
            degrees = keyword == ":degrees"
        elif keyword == _RATE:
            word = [*text.split(), ""][1]
            try:
                fps = float(word)
            except ValueError:
                fps = -1.0
            if not 1e-4 <= fps <= 1e6:
                rule = f"expected frames per second above 0, got {word[:24]!r}"
                raise MotionFileError(path, number, rule)
    return degrees, fps, asf_name


def _first_frame(
    path: Path, data: bytes, start: int, line: int
) -> tuple[tuple[str, int], ...]:
    """Names, with their number of values, from the first frame."""
    bones: dict[str, int] = {}
    lines = _lines(data, start, line)
    next(lines)
    for number, at, raw in lines:
        words = raw.split()
        if words and words[0][:1].isdigit():
            break
        if words:
            name = decoded(path, words[0], number)
            if name in bones:
                rule = f"bone {name[:48]!r} comes twice in a frame"
                raise NumberTextError(number, rule)
            if len(words) == 1:
                raise NumberTextError(number, f"bone {name[:48]!r} has no numbers")
            if len(words) > 7 or len(bones) == MAX_JOINTS:
                rule = (
                    "more numbers than a bone has, or more bones than a character has"
                )
                raise NumberTextError(number, rule)
            if name[0] in "+-.":
                raise NumberTextError(number, not_a_number(data, at))
            bones[name] = len(words) - 1
    if not bones:
        raise NumberTextError(line, "the first frame has no bones")
    return tuple(bones.items())
