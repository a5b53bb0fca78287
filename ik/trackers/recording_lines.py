"""The lines of tracker recordings and of live streams: a JSON header, then JSON rows.

The header is an object (`RecordingHeader`). A row is an array: the time, [s], then for each of
the header's trackers [x, y, z, qx, qy, qz, qw] or null. A quaternion's order is always x, y, z,
w. A header with `"checksum": "crc32"` promises a last line {"rows": N, "crc32": "8 digits"}:
the CRC32 (IEEE 802.3) of all bytes before that line.
"""

from __future__ import annotations

import json
import logging
import math
from typing import Annotated, Any, Literal, NoReturn

import numpy as np
from pydantic import Field, model_validator

from ambulo.configs.arrays import Bools, Floats
from ambulo.configs.base import Config, parse
from ambulo.configs.errors import ConfigError, IKError
from ambulo.configs.json_text import json_value
from ambulo.ik.rig import TARGETS
from ambulo.ik.trackers.conventions import (
    Convention,
    Mounts,
    TrackerSample,
    convention,
    default_mounts,
    poses_from_project,
    poses_to_project,
)
from ambulo.ik.trackers.shape import LARGEST, SMALLEST, STATURE, BodyShape
from ambulo.ik.trackers.sizes import TRACKERS
from ambulo.motion.formats.mending import MOST_OFF

logger = logging.getLogger(__name__)

FORMAT = "ambulo-trackers"
VERSION = 1
MOST_LINE = 8192
"""Longest line, [bytes]."""
FARTHEST = 1e6
"""Largest coordinate of a pose."""
LATEST = 1e10
"""Largest time, [s]; far above clocks that count from 1970."""
POSE = 7
"""Numbers of a pose."""

Number = Annotated[float, Field(ge=-FARTHEST, le=FARTHEST)]
Pose = tuple[Number, Number, Number, Number, Number, Number, Number]
Ratio = Annotated[float, Field(ge=SMALLEST, le=LARGEST)]
Tracker = Literal["LeftHand", "RightHand", "LeftFoot", "RightFoot", "Head", "Hips"]
Axes = Literal["openxr", "unreal", "unity", "ambulo"]


class ShapeData(Config):
    """Proportions of the player: the stature, or three ratios to human23."""

    stature: Annotated[float, Field(gt=0.0)] | None = None
    """Standing height, [m]; instead of the ratios."""
    trunk: Ratio | None = None
    """Length of trunk, neck and head over human23's."""
    arm: Ratio | None = None
    """Length of the arms over human23's."""
    leg: Ratio | None = None
    """Length of the legs over human23's."""

    @model_validator(mode="after")
    def _one_kind(self) -> ShapeData:
        ratios = [self.trunk, self.arm, self.leg]
        if self.stature is None and None in ratios:
            raise ValueError("expected a stature, or trunk, arm and leg")
        if self.stature is not None:
            if ratios != [None] * 3:
                raise ValueError("expected a stature, or trunk, arm and leg, not both")
            if not SMALLEST <= self.stature / STATURE <= LARGEST:
                low, high = SMALLEST * STATURE, LARGEST * STATURE
                raise ValueError(f"stature must be from {low:.2f} to {high:.2f} m")
        return self

    def shape(self) -> BodyShape:
        """Return the proportions."""
        if self.stature is not None:
            return BodyShape(*[self.stature / STATURE] * 3)
        assert self.trunk is not None
        assert self.arm is not None
        assert self.leg is not None
        return BodyShape(self.trunk, self.arm, self.leg)


class RecordingHeader(Config):
    """The first line of a recording, and the first message of a live stream."""

    format: Literal["ambulo-trackers"]
    """Identifies the file format."""
    version: Literal[1]
    """Version of the format."""
    convention: Axes
    """Axes, unit and meaning of poses: see `ambulo.ik.trackers.conventions`."""
    trackers: Annotated[tuple[Tracker, ...], Field(min_length=1, max_length=TRACKERS)]
    """The trackers, in the order of the rows' entries; each once."""
    ground: Number = 0.0
    """Height of the ground, in the convention's unit."""
    shape: ShapeData | None = None
    """Proportions of the player; without them they are estimated."""
    mounts: dict[Tracker, Pose] = Field(default_factory=dict)
    """Pose of the joint in its device's frame, in the convention; else the default."""
    calibrate: bool = False
    """Whether the first row with a head is a T-pose for the calibration of shape and mounts."""
    name: Annotated[str, Field(max_length=200)] = ""
    """Name of the recording."""
    checksum: Literal["crc32"] | None = None
    """Whether the last line of the file is a checksum."""
    answers: Axes = "ambulo"
    """For live streams: axes and unit of the answers."""

    @model_validator(mode="after")
    def _rules(self) -> RecordingHeader:
        if len(set(self.trackers)) != len(self.trackers):
            raise ValueError("trackers: each may be named once")
        for name, pose in self.mounts.items():
            length = math.hypot(*pose[3:])
            if abs(length - 1.0) > MOST_OFF:
                raise ValueError(
                    f"mounts: {name}: expected a unit quaternion x, y, z, w"
                )
            if abs(length - 1.0) > 1e-3:
                text = "mounts: %s: a quaternion of length %.3g; normalised"
                logger.warning(text, name, length)
        return self

    @property
    def axes(self) -> Convention:
        """The convention of the rows."""
        return convention(self.convention)

    @property
    def rows(self) -> tuple[int, ...]:
        """The row of `TARGETS` of each tracker."""
        return tuple(TARGETS.index(name) for name in self.trackers)

    @property
    def ground_height(self) -> float:
        """Height of the ground, [m]."""
        return self.ground * self.axes.unit

    def player(self) -> BodyShape | None:
        """Return the proportions, or None."""
        return None if self.shape is None else self.shape.shape()

    def joint_mounts(self, shape: BodyShape | None = None) -> Mounts:
        """Return the given mounts, or else the convention's for a person of `shape`."""
        mounts = default_mounts(self.axes, shape or self.player())
        for name, pose in self.mounts.items():
            row = TARGETS.index(name)
            place, turn = poses_to_project(np.array(pose), self.axes)
            mounts.positions[row] = place
            mounts.rotations[row] = turn / np.linalg.norm(turn)
        return mounts


def parse_header(text: str | bytes) -> RecordingHeader:
    """Return the header in a line.

    Raises:
        IKError: The line is no header; the message names the rule.
    """
    if len(text) > MOST_LINE:
        raise IKError(f"a header has at most {MOST_LINE} bytes")
    try:
        data = json_value(_text(text))
    except ValueError as error:
        raise IKError(f"the header is not valid JSON: {_one_line(error)}") from None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise IKError(f'expected a header {{"format": "{FORMAT}", ...}}')
    if data.get("version") != VERSION:
        raise IKError(f"version {data.get('version')!r:.40}: {VERSION} is read")
    try:
        return parse(RecordingHeader, data, "header")
    except ConfigError as error:
        raise IKError(_one_line(error)) from None


def parse_row(text: str | bytes, header: RecordingHeader) -> TrackerSample:
    """Return the devices of one row.

    Raises:
        IKError: The line is no row of such a recording; the message names the rule.
    """
    poses = np.zeros((TRACKERS, POSE))
    poses[:, 6] = 1.0
    present = np.zeros(TRACKERS, dtype=np.bool_)
    time = fill_row(text, header.rows, poses, present)
    positions, rotations = poses_to_project(poses, header.axes)
    return TrackerSample(positions, rotations, present, time)


def fill_row(
    text: str | bytes, rows: tuple[int, ...], poses: Floats, present: Bools
) -> float:
    """Write the poses of a row into `poses` (6, 7) and `present` (6,); return the time.

    Raises:
        IKError: As `parse_row`.
    """
    if len(text) > MOST_LINE:
        raise IKError(f"a row has at most {MOST_LINE} bytes")
    try:
        data = json.loads(_text(text), parse_int=float, parse_constant=_no_constant)
    except RecursionError:
        raise IKError("the row is nested too deep") from None
    except ValueError as error:
        raise IKError(f"the row is not valid JSON: {_one_line(error)}") from None
    if not isinstance(data, list) or len(data) != len(rows) + 1:
        raise IKError(f"expected an array of the time and {len(rows)} poses")
    time = data[0]
    if type(time) is not float or not abs(time) <= LATEST:
        raise IKError(f"the time must be a number of seconds up to {LATEST:g}")
    for place, (row, pose) in enumerate(zip(rows, data[1:], strict=True), start=1):
        if pose is None:
            continue
        if not isinstance(pose, list) or len(pose) != POSE:
            raise IKError(f"pose {place}: expected null or {POSE} numbers")
        for value in pose:
            if type(value) is not float or not abs(value) <= FARTHEST:
                raise IKError(f"pose {place}: expected numbers up to {FARTHEST:g}")
        poses[row] = pose
        present[row] = True
    return time


def header_line(header: RecordingHeader) -> str:
    """Return the line of a header, without its end."""
    data = header.model_dump(mode="json", exclude_defaults=True)
    if "shape" in data:
        data["shape"] = {k: v for k, v in data["shape"].items() if v is not None}
    return json.dumps(data, allow_nan=False)


def row_line(row: TrackerSample, header: RecordingHeader, *, digits: int = 6) -> str:
    """Return the line of a row, without its end.

    Args:
        row: The devices.
        header: Header, which lists the trackers; absent ones are null.
        digits: Decimals of metres; quaternions have one more.
    """
    kind = header.axes
    poses = poses_from_project(row.positions, row.rotations, kind)
    decimals = digits + round(math.log10(kind.unit))
    entries: list[Any] = [round(row.time, 6)]
    for at in header.rows:
        if not row.present[at]:
            entries.append(None)
            continue
        place = [round(value, decimals) for value in poses[at, :3].tolist()]
        turn = [round(value, digits + 1) for value in poses[at, 3:].tolist()]
        entries.append([value + 0.0 for value in (*place, *turn)])
    return json.dumps(entries, allow_nan=False, separators=(",", ":"))


def _text(line: str | bytes) -> str:
    return line if isinstance(line, str) else line.decode()


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:300]
