"""Version 2 of the rig protocol: streams of trackers, answered with bodies. Little endian.

The header of a stream is the first line of a tracker recording, as text; this module does not
read it (`ambulo.ik.trackers.recording_lines` does).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ambulo.rig_server.packets import Fault, PacketError

MOST_HEADER = 8192
"""Longest header, [bytes]."""
MOST_TRACKERS = 6
"""Largest number of trackers of a stream."""
MOST_JOINTS = 256
"""Largest number of joints of a body."""
POSE = 7
"""Numbers of a pose: x, y, z, qx, qy, qz, qw."""
NO_TRACKER = 255
"""Status of a tracker that the stream does not have."""

_NONCE = struct.Struct("<Q")
_TRACKERS = struct.Struct("<dBBH")
_SKELETON = struct.Struct("<QHH")
_JOINT = struct.Struct("<hH3f")
_BODY = struct.Struct("<IBBHd6B2x")
_FLOATS = 3 + 4


@dataclass(frozen=True)
class TrackHello:
    """A client's request of a body for its trackers; SKELETON returns the nonce."""

    nonce: int
    header: str
    """The JSON header of a tracker recording."""


@dataclass(frozen=True, eq=False)
class TrackersMessage:
    """One row of N trackers, in the convention of the stream's header."""

    time: float
    """Time, [s]."""
    present: NDArray[np.bool_]
    """Presence of each tracker. Shape (N,)."""
    poses: NDArray[np.float32]
    """x, y, z, qx, qy, qz, qw. Shape (N, 7)."""


@dataclass(frozen=True, eq=False)
class SkeletonMessage:
    """The body of a session; sent again when its estimated size has changed."""

    nonce: int
    parents: tuple[int, ...]
    """Parent of each of the B joints, -1 for the root."""
    offsets: NDArray[np.float32]
    """Position of each joint on its parent, in the answers' convention. Shape (B, 3)."""


@dataclass(frozen=True, eq=False)
class BodyMessage:
    """The body of the client's datagram `sequence`, in the answers' convention."""

    sequence: int
    time: float
    """Time of the row, [s]."""
    status: int
    """`FrameStatus` of the row (`ambulo.ik.trackers.tracker`)."""
    statuses: tuple[int, ...]
    """`TrackerStatus` of each of the stream's trackers."""
    waiting: bool
    """Whether the T-pose announced by the header is still missing."""
    root: NDArray[np.float32]
    """Position of the root. Shape (3,)."""
    contacts: NDArray[np.float32]
    """Probabilities: left heel, left ball, right heel, right ball. Shape (4,)."""
    rotations: NDArray[np.float32]
    """Local rotations wxyz. Shape (B, 4)."""


def encode_track(message: TrackHello) -> bytes:
    """Payload of TRACK."""
    return _NONCE.pack(message.nonce) + message.header.encode()


def decode_track(payload: bytes) -> TrackHello:
    """The inverse of `encode_track`."""
    if not _NONCE.size < len(payload) <= _NONCE.size + MOST_HEADER:
        raise PacketError(Fault.LENGTH, f"a header has 1 to {MOST_HEADER} bytes")
    try:
        text = payload[_NONCE.size :].decode()
    except UnicodeDecodeError:
        raise PacketError(Fault.CONTENT, "a header that is not UTF-8") from None
    return TrackHello(_NONCE.unpack_from(payload)[0], text)


def encode_trackers(message: TrackersMessage) -> bytes:
    """Payload of TRACKERS; poses of absent trackers are sent as 0."""
    there = np.asarray(message.present, dtype=np.bool_)
    bits = sum(1 << i for i, here in enumerate(there.tolist()) if here)
    poses = np.where(there[:, None], message.poses, 0.0)
    head = _TRACKERS.pack(message.time, len(there), bits, 0)
    return head + np.ascontiguousarray(poses, "<f4").tobytes()


def decode_trackers(payload: bytes, count: int) -> TrackersMessage:
    """The inverse of `encode_trackers` for a stream of `count` trackers."""
    if len(payload) != _TRACKERS.size + 4 * POSE * count:
        raise PacketError(Fault.LENGTH, f"a row of {count} trackers has another length")
    time, number, bits, zero = _TRACKERS.unpack_from(payload)
    if number != count or zero or bits >> count:
        raise PacketError(Fault.CONTENT, f"a row of {number} trackers, bits {bits:#x}")
    if not abs(time) <= 1e10:
        raise PacketError(Fault.CONTENT, "a time that is not a number of seconds")
    poses = np.frombuffer(payload, "<f4", offset=_TRACKERS.size).astype(np.float32)
    present = np.array([bits >> i & 1 for i in range(count)], dtype=np.bool_)
    return TrackersMessage(time, present, poses.reshape(count, POSE))


def encode_skeleton(message: SkeletonMessage) -> bytes:
    """Payload of SKELETON."""
    joints = zip(message.parents, message.offsets.tolist(), strict=True)
    rows = [_JOINT.pack(parent, 0, *offset) for parent, offset in joints]
    return _SKELETON.pack(message.nonce, len(rows), 0) + b"".join(rows)


def decode_skeleton(payload: bytes) -> SkeletonMessage:
    """The inverse of `encode_skeleton`."""
    if len(payload) < _SKELETON.size:
        raise PacketError(Fault.LENGTH, "the payload is too short")
    nonce, count, _ = _SKELETON.unpack_from(payload)
    if count > MOST_JOINTS or len(payload) != _SKELETON.size + count * _JOINT.size:
        raise PacketError(Fault.LENGTH, f"a skeleton of {count} joints")
    rows = list(_JOINT.iter_unpack(payload[_SKELETON.size :]))
    offsets = np.array([row[2:] for row in rows], dtype=np.float32).reshape(-1, 3)
    return SkeletonMessage(nonce, tuple(row[0] for row in rows), offsets)


def encode_body(message: BodyMessage) -> bytes:
    """Payload of BODY."""
    statuses = [*message.statuses, *[NO_TRACKER] * MOST_TRACKERS][:MOST_TRACKERS]
    head = _BODY.pack(
        message.sequence, message.status, int(message.waiting), len(message.rotations),
        message.time, *statuses,
    )  # fmt: skip
    parts = (message.root, message.contacts, message.rotations)
    values = np.concatenate([np.ravel(part) for part in parts])
    return head + np.ascontiguousarray(values, "<f4").tobytes()


def decode_body(payload: bytes) -> BodyMessage:
    """The inverse of `encode_body`."""
    if len(payload) < _BODY.size:
        raise PacketError(Fault.LENGTH, "the payload is too short")
    sequence, status, waiting, joints, time, *statuses = _BODY.unpack_from(payload)
    if joints > MOST_JOINTS or len(payload) != _BODY.size + 4 * (_FLOATS + 4 * joints):
        raise PacketError(Fault.LENGTH, f"a body of {joints} joints")
    values = np.frombuffer(payload, "<f4", offset=_BODY.size).astype(np.float32)
    return BodyMessage(
        sequence, time, status,
        tuple(s for s in statuses if s != NO_TRACKER), bool(waiting),
        values[:3], values[3:7], values[7:].reshape(joints, 4),
    )  # fmt: skip
