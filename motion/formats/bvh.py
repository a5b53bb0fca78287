"""BVH files as they are written: the hierarchy and the table of channels.

Axes, units and quaternions are handled by `ambulo.motion.formats.bvh_motion`. Reading, writing
and reading again gives the same values, bit by bit.

The format is that of Biovision (M. Meredith and S. Maddock, "Motion Capture File Formats
Explained", 2001). Read here: keywords in any case, any order of channels, position
channels on any joint, CRLF, tabs, names with spaces, several End Sites. One line of the
motion block is one frame.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, NoReturn

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import MotionFileError
from ambulo.motion.formats.axes import Vec3
from ambulo.motion.formats.disk import decoded, read_lines, write_bytes
from ambulo.motion.formats.number_text import NumberTextError, parse_number, parse_table
from ambulo.motion.skeleton import MAX_JOINTS

CHANNELS = tuple(a + kind for kind in ("position", "rotation") for a in "XYZ")
"""The six channels that a joint can have."""
_CHANNEL_OF = {name.lower(): name for name in CHANNELS}
_MOTION = re.compile(rb"(?im)^[ \t\r]*motion\b")
_WORD = re.compile(r"[{}]|[^\s{}]+")
_NAME = re.compile(r"[^\n{]*")
_MAX_HEADER = 2**24


@dataclass(frozen=True)
class BvhJoint:
    """One ROOT or JOINT."""

    name: str
    """Its name, spaces inside included."""
    parent: int
    """Index of its parent; -1 for the root."""
    offset: Vec3
    """OFFSET, in the file's unit and axes."""
    channels: tuple[str, ...]
    """CHANNELS in the file's order, such as "Xposition" or "Zrotation"."""


@dataclass(frozen=True, eq=False)
class BvhFile:
    """Contents of a BVH file, in its own unit, axes and degrees."""

    joints: tuple[BvhJoint, ...]
    """All joints in the file's order, which is depth first."""
    tips: tuple[tuple[int, Vec3], ...]
    """The End Sites: index of the joint, OFFSET."""
    frame_time: float
    """Time from frame to frame, [s]."""
    values: Floats
    """The motion block. Shape (T, all channels of all joints)."""
    notes: tuple[str, ...] = ()
    """Repairs made when the file was read."""

    @property
    def fps(self) -> float:
        """Frames per second; an integer if the printed digits allow it.

        A frame time of .0083333 means 120: the integer whose frame time rounds to the same
        digits is taken if it is within 0.2 percent.
        """
        exact = 1.0 / self.frame_time
        digits = np.format_float_positional(self.frame_time).partition(".")[2]
        whole = round(exact)
        if whole < 1 or abs(whole - exact) > 0.002 * exact:
            return exact
        within = abs(1.0 / whole - self.frame_time) <= 0.5000001 * 10.0 ** -len(digits)
        return float(whole) if within else exact


def read_bvh(path: Path) -> BvhFile:
    """The BVH file `path`; `MotionFileError` names the line and the rule it breaks."""
    data = read_lines(path)
    joints, tips, motion = _read_header(path, data)
    frames, frame_time, start, line = _read_counts(path, data, motion)
    columns = sum(len(joint.channels) for joint in joints)
    if columns == 0:
        raise MotionFileError(path, 0, "no joint has any channel")
    room = (len(data) - start + 1) // (2 * columns)
    if frames > room + 1:  # one more may be a wrong count
        rule = f"claims {frames} frames of {columns} numbers; the file ends before"
        raise MotionFileError(path, line - 2, rule)
    try:
        values = _table(data, start, line, frames, columns)
    except NumberTextError as error:
        raise MotionFileError(path, error.line, error.rule) from None
    values.setflags(write=False)
    notes: tuple[str, ...] = ()
    if len(values) != frames:
        notes = (f"Frames says {frames}, but there are {len(values)}; all are read",)
    return BvhFile(joints, tips, frame_time, values, notes)


def _table(data: bytes, start: int, line: int, frames: int, columns: int) -> Floats:
    """The frames from byte `start` on; accepts one more or less than `frames`."""
    try:
        return parse_table(data, start, line, frames, columns)
    except NumberTextError as error:
        if abs(error.more) != 1 or frames + error.more < 1:
            raise
        try:
            return parse_table(data, start, line, frames + error.more, columns)
        except NumberTextError:
            raise error from None


def read_bvh_header(path: Path) -> BvhFile:
    """The hierarchy of the BVH file `path`, with an empty table. Shape (0, C)."""
    data = read_lines(path)
    joints, tips, motion = _read_header(path, data)
    frame_time = _read_counts(path, data, motion)[1]
    columns = sum(len(joint.channels) for joint in joints)
    return BvhFile(joints, tips, frame_time, np.zeros((0, columns)))


def write_bvh(path: Path, bvh: BvhFile) -> None:
    """Write `bvh` atomically, with the fewest digits that identify every number."""
    lines = ["HIERARCHY", *_hierarchy(bvh), "MOTION", f"Frames: {len(bvh.values)}"]
    lines.append(f"Frame Time: {bvh.frame_time!r}")
    lines.extend(" ".join(map(repr, row)) for row in bvh.values.tolist())
    write_bytes(path, ("\n".join(lines) + "\n").encode())


class _Word(NamedTuple):
    text: str
    line: int
    stop: int


class _Words:
    """The words of a header, with their lines."""

    def __init__(self, path: Path, text: str) -> None:
        self.path = path
        self._text = text
        self._at = 0
        self._line = 1

    def peek(self) -> _Word | None:
        match = _WORD.search(self._text, self._at)
        if match is None:
            return None
        line = self._line + self._text.count("\n", self._at, match.start())
        return _Word(match.group(), line, match.end())

    def next(self, expected: str) -> _Word:
        word = self.peek()
        if word is None:
            self.fail(self.line, f"ends where {expected} is expected")
        self._line, self._at = word.line, word.stop
        return word

    @property
    def line(self) -> int:
        return self._line

    def fail(self, line: int, rule: str) -> NoReturn:
        raise MotionFileError(self.path, line, rule)

    def keyword(self, *expected: str) -> _Word:
        word = self.next(" or ".join(expected))
        if word.text.upper() not in expected:
            rule = f"expected {' or '.join(expected)}, got {word.text[:24]!r}"
            self.fail(word.line, rule)
        return word

    def name(self) -> str:
        """The text up to the end of the line or a brace; the next word if it is empty."""
        match = _NAME.match(self._text, self._at)
        name = " ".join(match.group().split()) if match else ""
        if match and name:
            self._at = match.end()
            return name
        word = self.next("a joint's name")
        if word.text in "{}":
            self.fail(word.line, "a joint has no name")
        return word.text

    def number(self) -> float:
        word = self.next("a number")
        try:
            return parse_number(word.text)
        except ValueError as error:
            self.fail(word.line, str(error))

    def offset(self) -> Vec3:
        """The vector of "{ OFFSET x y z"."""
        self.keyword("{")
        self.keyword("OFFSET")
        return self.number(), self.number(), self.number()


def _read_header(
    path: Path, data: bytes
) -> tuple[tuple[BvhJoint, ...], tuple[tuple[int, Vec3], ...], int]:
    """Joints, tips, and the byte at which the motion block starts."""
    if not data[:4096].lstrip().upper().startswith(b"HIERARCHY"):
        raise MotionFileError(path, 1, "is no BVH file: expected HIERARCHY")
    # A joint's line starts with JOINT, so its name is no line MOTION.
    motion = _MOTION.search(data, 0, _MAX_HEADER)
    if motion is None:
        decoded(path, data[:_MAX_HEADER])
        rule = "ends without a line MOTION"
        raise MotionFileError(path, data.count(b"\n") + 1, rule)
    words = _Words(path, decoded(path, data[: motion.start()]))
    words.keyword("HIERARCHY")
    joints, tips = _read_tree(words)
    return tuple(joints), tuple(tips), motion.start()


def _read_tree(words: _Words) -> tuple[list[BvhJoint], list[tuple[int, Vec3]]]:
    joints: list[BvhJoint] = []
    tips: list[tuple[int, Vec3]] = []
    names: set[str] = set()
    open_joints: list[int] = []
    words.keyword("ROOT")
    _read_joint(words, joints, names, open_joints)
    while open_joints:
        word = words.keyword("JOINT", "END", "}")
        kind = word.text.upper()
        if kind == "}":
            open_joints.pop()
        elif kind == "END":
            words.keyword("SITE")
            after = words.peek()
            if after is not None and after.text != "{":
                words.name()
            tips.append((open_joints[-1], words.offset()))
            words.keyword("}")
        else:
            _read_joint(words, joints, names, open_joints)
    after = words.peek()
    if after is not None and after.text.upper() == "ROOT":
        words.fail(after.line, "a second ROOT; only one character in a file is read")
    if after is not None:
        words.fail(after.line, f"expected MOTION, got {after.text[:24]!r}")
    return joints, tips


def _read_joint(
    words: _Words, joints: list[BvhJoint], names: set[str], open_joints: list[int]
) -> None:
    line = words.line
    name = words.name()
    if not name.isprintable():
        words.fail(line, f"the joint name {name[:48]!r} cannot be printed")
    if name in names:
        words.fail(line, f"two joints are called {name[:48]!r}")
    if len(joints) == MAX_JOINTS:
        words.fail(line, f"more than {MAX_JOINTS} joints")
    offset = words.offset()
    channels: tuple[str, ...] = ()
    word = words.peek()
    if word is not None and word.text.upper() == "CHANNELS":
        channels = _read_channels(words)
    names.add(name)
    parent = open_joints[-1] if open_joints else -1
    open_joints.append(len(joints))
    joints.append(BvhJoint(name, parent, offset, channels))


def _read_channels(words: _Words) -> tuple[str, ...]:
    line = words.keyword("CHANNELS").line
    count = words.number()
    if count not in range(7):
        words.fail(line, f"expected 0 to 6 channels, got {count:g}")
    channels = []
    for _ in range(int(count)):
        word = words.next("a channel")
        channel = _CHANNEL_OF.get(word.text.lower())
        if channel is None:
            words.fail(
                word.line,
                f"expected {int(count)} channels of {', '.join(CHANNELS)}, "
                f"got {word.text[:24]!r}",
            )
        if channel in channels:
            words.fail(word.line, f"channel {channel} comes twice")
        channels.append(channel)
    return tuple(channels)


_COUNTS = re.compile(
    rb"\s*motion\s+frames\s*:\s*(\S+)\s+frame\s*time\s*:\s*(\S+)[ \t\r]*(\n|\Z)",
    re.IGNORECASE,
)


def _read_counts(path: Path, data: bytes, at: int) -> tuple[int, float, int, int]:
    """Number of frames, frame time, and the byte and line where the frames start."""
    line = data.count(b"\n", 0, at) + 1
    match = _COUNTS.match(data, at, at + 4096)
    if match is None:
        rule = "after MOTION, expected lines 'Frames: N' and 'Frame Time: SECONDS'"
        raise MotionFileError(path, line, rule)
    line_of = [data.count(b"\n", at, match.start(i)) + line for i in (1, 2)]
    frames_text, time_text = (
        match.group(i).decode("ascii", "backslashreplace") for i in (1, 2)
    )
    if not re.fullmatch(r"\+?[0-9]{1,18}", frames_text):
        rule = f"expected a number of frames, got {frames_text[:24]!r}"
        raise MotionFileError(path, line_of[0], rule)
    if int(frames_text) == 0:
        raise MotionFileError(path, line_of[0], "has no frames")
    try:
        frame_time = parse_number(time_text)
    except ValueError as error:
        raise MotionFileError(path, line_of[1], str(error)) from None
    if not 1e-6 <= frame_time <= 1e4:
        rule = f"expected a frame time above 0, in seconds, got {time_text[:24]}"
        raise MotionFileError(path, line_of[1], rule)
    start = match.end()
    return int(frames_text), frame_time, start, data.count(b"\n", at, start) + line


def _hierarchy(bvh: BvhFile) -> Iterator[str]:
    """The lines between HIERARCHY and MOTION."""
    tips: dict[int, list[Vec3]] = {}
    for owner, offset in bvh.tips:
        tips.setdefault(owner, []).append(offset)
    open_joints: list[int] = []
    for index, joint in enumerate(bvh.joints):
        while open_joints and open_joints[-1] != joint.parent:
            open_joints.pop()
            yield "\t" * len(open_joints) + "}"
        tab = "\t" * len(open_joints)
        yield f"{tab}{'JOINT' if open_joints else 'ROOT'} {joint.name}"
        yield tab + "{"
        yield f"{tab}\tOFFSET {' '.join(map(repr, joint.offset))}"
        yield f"{tab}\tCHANNELS {' '.join([str(len(joint.channels)), *joint.channels])}"
        for tip in tips.get(index, ()):
            yield tab + "\tEnd Site"
            yield tab + "\t{"
            yield f"{tab}\t\tOFFSET {' '.join(map(repr, tip))}"
            yield tab + "\t}"
        open_joints.append(index)
    while open_joints:
        open_joints.pop()
        yield "\t" * len(open_joints) + "}"
