"""The commands `ambulo track` and `ambulo track-server`."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated

from ambulo.commands.data.flags import WITH_SKELETON, motion_ending
from ambulo.commands.network_flags import ServerFlags
from ambulo.common.command_line import Arg, Command, Flags
from ambulo.common.flag_types import (
    Count,
    OutFile,
    Port,
    one_of,
    positional,
    rule,
    within,
)
from ambulo.configs.errors import ConfigError

ORIGIN = re.compile(r"https?://[A-Za-z0-9.\-\[\]:]+")
"""Origin of a web page, as browsers send it."""
_TRACK = """\
examples:
  ambulo track session.trackers --out pose.bvh
  ambulo track session.trackers --calibrate --out pose.npz
  ambulo track walk.bvh --out pose.bvh       a motion, seen by headset and controllers
  ambulo track walk.bvh --record walk.trackers --convention openxr --out pose.bvh
"""
_SERVER = """\
examples:
  ambulo track-server                      WebSocket 127.0.0.1:6005, UDP 127.0.0.1:6004
  ambulo track-server --origin http://localhost:8000
  ambulo track-server --bind 0.0.0.0 --secret-file key.txt
"""


def _stature(metres: float) -> str | None:
    from ambulo.ik.trackers.shape import LARGEST, SMALLEST, STATURE

    return within(round(SMALLEST * STATURE, 2), round(LARGEST * STATURE, 2))(metres)


def _conventions() -> Iterable[str]:
    from ambulo.ik.trackers.conventions import CONVENTIONS

    return CONVENTIONS


@dataclass(frozen=True, kw_only=True)
class TrackFlags(Flags):
    """Track a whole body through a recording of headset, controllers and further trackers.

    See docs/trackers_stream.md. It goes frame by frame as it would be live, and its poses
    become a motion file.
    """

    recording: Annotated[str, positional("RECORDING")]
    """a recording of trackers, or a motion file (BVH, AMC, NPZ, DeepMimic), of which head
    and hands are seen"""
    out: Annotated[OutFile, motion_ending(), WITH_SKELETON]
    """poses: .bvh, .amc or .npz"""
    model: Annotated[str, Arg("NAME")] = "ik_trackers"
    """network that predicts bodies"""
    rate: Annotated[float | None, Arg("HZ"), within(10.0, 1000.0)] = None
    """of the poses (default: the recording's)"""
    ground: Annotated[
        float | None, Arg("M"), rule(math.isfinite, "must be a height in metres")
    ] = None
    """height of the ground"""
    height: Annotated[
        float | None,
        Arg("M"),
        _stature,
    ] = None
    """stature of the wearer"""
    calibrate: bool = False
    """the first row is a T-pose, of which proportions and mounts of the devices follow"""
    record: OutFile | None = None
    """of a motion file: write the recording of head and hands that it becomes"""
    convention: Annotated[str | None, one_of(_conventions, "convention")] = None
    """of that recording (default: ambulo)"""


@dataclass(frozen=True, kw_only=True)
class TrackServerFlags(ServerFlags):
    """Answer live streams of headset, controllers and further trackers with whole bodies.

    Over WebSocket and UDP (docs/trackers_stream.md).
    """

    port: Port = 6005
    """of the WebSocket; 0: any free one"""
    udp_port: Port = 6004
    """of UDP; 0: any free one"""
    no_websocket: bool = False
    """serve UDP alone"""
    no_udp: bool = False
    """serve WebSocket alone"""
    model: Annotated[str, Arg("NAME")] = "ik_trackers"
    """network that predicts bodies"""
    origin: Annotated[
        tuple[str, ...],
        Arg("URL", repeated=True),
        rule(
            ORIGIN.fullmatch, "expected scheme and host, such as http://localhost:8000"
        ),
    ] = ()
    """a web page that may connect, such as http://localhost:8000 (repeatable)"""
    max_clients: Count = 16
    """most clients at once"""

    def __post_init__(self) -> None:
        """Refuse a server of nothing."""
        super().__post_init__()
        if self.no_udp and self.no_websocket:
            raise ConfigError("--no-udp and --no-websocket: nothing would be served")


track = Command(
    "ambulo track", TrackFlags, "ambulo.commands.trackers.track:track", _TRACK
)
track_server = Command(
    "ambulo track-server",
    TrackServerFlags,
    "ambulo.commands.trackers.server:track_server",
    _SERVER,
)
