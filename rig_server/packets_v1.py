"""Version 1 of the rig protocol: the published packets (see docs/index.md), byte for byte.

Little endian, one datagram per message, no length, sequence number or checksum; see
docs/rig_protocol.md.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ambulo.rig_server.layout import LEGS, MAX_BONES, MAX_NAME
from ambulo.rig_server.packets import Fault, PacketError

SETUP, FRAMES, PREDICTION = 1, 2, 3
"""First byte of each kind of packet."""
MAX_DATAGRAM = 32_768
"""Largest datagram that the published server receives, [bytes]."""

_PAIR = struct.Struct("<ii")
_FRAME_BYTES = 4 * LEGS.frame_size
_ANSWER_BYTES = 1 + 4 * LEGS.output_size


@dataclass(frozen=True)
class Setup:
    """0x01: names of the rig's bones, by their indices."""

    names: tuple[tuple[int, str], ...]


@dataclass(frozen=True, eq=False)
class FramesV1:
    """0x02: k frames of 63 float32. Shape (k, 63)."""

    values: NDArray[np.float32]


@dataclass(frozen=True)
class Ping:
    """A datagram of one byte; the published server only logs it."""

    value: int


Message = Setup | FramesV1 | Ping


def decode(data: bytes) -> Message:
    """Parse a client's message; `PacketError` for unknown types."""
    if len(data) == 1:
        return Ping(data[0])
    if not data or len(data) > MAX_DATAGRAM:
        raise PacketError(Fault.LENGTH, f"1 to {MAX_DATAGRAM} bytes, got {len(data)}")
    if data[0] == SETUP:
        return Setup(_names(data))
    if data[0] == FRAMES:
        if (len(data) - 1) % _FRAME_BYTES:
            raise PacketError(
                Fault.LENGTH, f"0x02 has 1 + k {_FRAME_BYTES} bytes, got {len(data)}"
            )
        values = np.frombuffer(data, "<f4", offset=1).astype(np.float32)
        return FramesV1(values.reshape(-1, LEGS.frame_size))
    raise PacketError(Fault.TYPE, f"no packet type 0x{data[0]:02x} for a server")


def _names(data: bytes) -> tuple[tuple[int, str], ...]:
    """Index and name of each bone; names are Latin-1, close to ANSI."""
    found: dict[int, str] = {}
    at = 1
    while at < len(data):
        if at + _PAIR.size > len(data):
            raise PacketError(Fault.LENGTH, "0x01 ends inside an index or length")
        index, size = _PAIR.unpack_from(data, at)
        at += _PAIR.size
        if not 1 <= size <= MAX_NAME or at + size > len(data):
            raise PacketError(Fault.LENGTH, f"a name of {size} bytes")
        if not 0 <= index < MAX_BONES or index in found:
            raise PacketError(
                Fault.CONTENT, f"bone index {index} twice or not in 0-255"
            )
        found[index] = data[at : at + size].decode("latin-1")
        at += size
    if not found:
        raise PacketError(Fault.LENGTH, "0x01 names no bone")
    return tuple(sorted(found.items()))


def encode_setup(names: tuple[tuple[int, str], ...]) -> bytes:
    """The 0x01 of these indices and names."""
    parts = [bytes([SETUP])]
    for index, name in names:
        text = name.encode("latin-1", errors="replace")
        parts += [_PAIR.pack(index, len(text)), text]
    return b"".join(parts)


def encode_frames(values: NDArray[np.float32]) -> bytes:
    """The 0x02 of frames (k, 63) or (63,): 1 + 252 k bytes."""
    return bytes([FRAMES]) + np.ascontiguousarray(values, "<f4").tobytes()


def encode_prediction(values: NDArray[np.float32]) -> bytes:
    """The 0x03 of an answer (24,): 97 bytes."""
    return bytes([PREDICTION]) + np.ascontiguousarray(values, "<f4").tobytes()


def decode_prediction(data: bytes) -> NDArray[np.float32]:
    """The answer (24,) in a 0x03; for clients."""
    if len(data) != _ANSWER_BYTES:
        raise PacketError(
            Fault.LENGTH, f"0x03 has {_ANSWER_BYTES} bytes, got {len(data)}"
        )
    if data[0] != PREDICTION:
        raise PacketError(Fault.TYPE, f"expected 0x03, got 0x{data[0]:02x}")
    return np.frombuffer(data, "<f4", offset=1).astype(np.float32)
