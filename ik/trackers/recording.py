"""Recordings of trackers: a text file of one header and many rows, written and read.

The lines are those of live streams (`ambulo.ik.trackers.recording_lines`); see
docs/trackers_stream.md. A recording that breaks a rule is refused in one line that names file,
line and rule; files of `write_recording` end with a checksum, which detects a change of any
byte.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ambulo.configs.arrays import Bools, Floats
from ambulo.configs.atomic import replace_file
from ambulo.configs.errors import IKError, MotionFileError
from ambulo.configs.reading import read_regular
from ambulo.ik.trackers.conventions import Mounts, TrackerSample, poses_to_project
from ambulo.ik.trackers.recording_lines import (
    FORMAT,
    POSE,
    RecordingHeader,
    fill_row,
    header_line,
    parse_header,
    row_line,
)
from ambulo.ik.trackers.sizes import TRACKERS

MOST_BYTES = 128 * 2**20
"""Largest accepted file, [bytes]."""
MOST_ROWS = 400_000
"""Largest number of rows: more than an hour at 90 Hz."""


@dataclass(frozen=True, eq=False)
class Recording:
    """Poses of devices over time, in this project's axes; T rows."""

    header: RecordingHeader
    """The header line of its file."""
    times: Floats
    """Times, increasing, [s]. Shape (T,)."""
    positions: Floats
    """Positions of the devices, [m]. Shape (T, 6, 3), rows as in `ambulo.ik.rig.TARGETS`."""
    rotations: Floats
    """Rotations of the devices, wxyz, as recorded, of any length. Shape (T, 6, 4)."""
    present: Bools
    """Whether each is present. Shape (T, 6)."""

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.times)

    @property
    def duration(self) -> float:
        """Time from the first to the last row, [s]."""
        return float(self.times[-1] - self.times[0])

    @property
    def rate(self) -> float:
        """Rows per second, by the median step of time; 60.0 for a single row."""
        if len(self) < 2:
            return 60.0
        rate = 1.0 / float(np.median(np.diff(self.times)))
        whole = round(rate)
        return float(whole) if whole and abs(rate - whole) < 0.01 * whole else rate

    def row(self, index: int) -> TrackerSample:
        """The devices of one row."""
        return TrackerSample(
            self.positions[index],
            self.rotations[index],
            self.present[index],
            float(self.times[index]),
        )

    def joints(self, mounts: Mounts | None = None) -> Iterator[TrackerSample]:
        """Yield the poses of the tracked joints, row by row.

        Args:
            mounts: Mounts of the devices; by default those of the header.
        """
        used = self.header.joint_mounts() if mounts is None else mounts
        for place, turn, there in zip(
            self.positions, self.rotations, self.present, strict=True
        ):
            yield TrackerSample(*used.joints(place, turn), there)


def read_recording(path: str | os.PathLike[str]) -> Recording:
    """Return the recording in a file.

    Raises:
        MotionFileError: The file is missing or too large, or a line breaks a rule.
    """
    file = Path(path)
    try:
        data = read_regular(file, MOST_BYTES)
    except OSError as error:
        raise MotionFileError(file, 0, f"cannot be read: {error.strerror}") from None
    return recording_of(data, file)


def is_recording(path: str | os.PathLike[str]) -> bool:
    """Whether a file begins like a recording."""
    try:
        with open(path, "rb") as file:
            return FORMAT.encode() in file.read(4096).split(b"\n", 1)[0]
    except (OSError, ValueError):
        return False


def recording_of(data: bytes, name: str | os.PathLike[str] = "recording") -> Recording:
    """Return the recording in the bytes of a file.

    Args:
        data: The bytes.
        name: The file's name, for messages.

    Raises:
        MotionFileError: A line breaks a rule.
    """
    file = Path(name)
    # Counted first: a list of all lines takes up to 20 times the memory of short ones.
    if data.count(b"\n") > MOST_ROWS + 2:
        raise MotionFileError(file, 0, f"has more than {MOST_ROWS} rows")
    lines = data.split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    if not lines:
        raise MotionFileError(file, 0, "is empty")
    try:
        header = parse_header(lines[0])
    except IKError as error:
        raise MotionFileError(file, 1, str(error)) from None
    if header.checksum is not None:
        _check(file, data, lines)
        lines.pop()
    count = len(lines) - 1
    if count < 1:
        raise MotionFileError(file, len(lines), "has no rows")
    times, present = np.empty(count), np.zeros((count, TRACKERS), dtype=np.bool_)
    poses = np.zeros((count, TRACKERS, POSE))
    poses[..., 6] = 1.0
    rows, before = header.rows, -np.inf
    for i, line in enumerate(lines[1:]):
        try:
            times[i] = fill_row(line, rows, poses[i], present[i])
        except IKError as error:
            raise MotionFileError(file, i + 2, str(error)) from None
        if times[i] <= before:
            rule = f"the time must grow: {times[i]:g} s after {before:g} s"
            raise MotionFileError(file, i + 2, rule)
        before = times[i]
    positions, rotations = poses_to_project(poses, header.axes)
    return Recording(header, times, positions, rotations, present)


def write_recording(path: str | os.PathLike[str], recording: Recording) -> None:
    """Write a recording with a checksum, atomically.

    Raises:
        MotionFileError: The file cannot be written.
    """
    file = Path(path)
    try:
        replace_file(file, recording_bytes(recording))
    except OSError as error:
        raise MotionFileError(file, 0, f"cannot be written: {error.strerror}") from None


def recording_bytes(recording: Recording) -> bytes:
    """Return the content that `write_recording` writes."""
    header = recording.header.replace(checksum="crc32")
    lines = [header_line(header)]
    lines += [row_line(recording.row(i), header) for i in range(len(recording))]
    body = ("\n".join(lines) + "\n").encode()
    end = {"rows": len(recording), "crc32": f"{zlib.crc32(body):08x}"}
    return body + json.dumps(end).encode() + b"\n"


def _check(file: Path, data: bytes, lines: list[bytes]) -> None:
    """Compare the checksum in the last line; `MotionFileError` if it differs."""
    last, number = lines[-1], len(lines)
    body = data[: len(data.removesuffix(b"\n")) - len(last)]
    end = {"rows": number - 2, "crc32": f"{zlib.crc32(body):08x}"}
    if not last.startswith(b'{"rows": '):
        raise MotionFileError(file, number, "cut off: the checksum is missing")
    if last != json.dumps(end).encode():
        raise MotionFileError(
            file, number, "damaged: rows or checksum differ from what was written"
        )
