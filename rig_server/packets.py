"""Version 2 of the rig protocol: the frame around every message.

A header of 28 bytes, little endian, then the payload, then, with a shared secret, a tag of 16
bytes; see docs/rig_protocol.md. Payloads are in `messages`.
"""

from __future__ import annotations

import hashlib
import hmac
import struct
import zlib
from dataclasses import dataclass
from enum import StrEnum

from ambulo.rig_server.layout import RigError

MAGIC = b"RIG2"
"""First bytes of a datagram of version 2; no version 1 type begins with 0x52."""
VERSION = 2
Address = tuple[str, int]
"""Host and port of a client."""
SIGNED = 1
"""Flag: a tag follows the payload."""
TAG = 16
"""Length of a tag, [bytes]."""
MAX_PAYLOAD = 32_768
"""Largest payload, [bytes]."""

_HEADER = struct.Struct("<4sBBHQIII")
_BEFORE_CHECKSUM = _HEADER.size - 4
HEADER = _HEADER.size
"""Length of a header: 28, [bytes]."""


class Fault(StrEnum):
    """Reasons to drop a datagram."""

    LENGTH = "length"
    """Its length does not match its type, or exceeds the maximum."""
    TYPE = "type"
    """The type of message is unknown, or not accepted by a server."""
    VERSION = "version"
    """The version of the protocol is not supported."""
    CHECKSUM = "checksum"
    """Its CRC32 is wrong: damaged in transit."""
    SECRET = "secret"
    """Its tag is missing or wrong, although a secret is set."""
    SESSION = "session"
    """The session does not belong to the address."""
    REPLAYED = "replayed"
    """Its sequence number was received before, or is too old to check."""
    CONTENT = "content"
    """Impossible values: not finite, no unit quaternion, a broken rig."""
    FULL = "full"
    """The server has no space for another client."""
    BUSY = "busy"
    """Dropped older frames of a client that sends faster than the server can work."""


class PacketError(RigError):
    """A datagram that breaks a rule."""

    def __init__(self, fault: Fault, rule: str) -> None:
        """A datagram dropped for `fault`; `rule` names the broken rule."""
        super().__init__(rule)
        self.fault = fault


@dataclass(frozen=True)
class Packet:
    """One datagram of version 2, checked."""

    kind: int
    """Type of message, see `messages.Kind`."""
    session: int
    """64-bit id from the server; 0 in a HELLO."""
    sequence: int
    """Number of the datagram in its direction, from 1; never repeated in a session."""
    payload: bytes


def encode(packet: Packet, secret: bytes = b"") -> bytes:
    """The bytes of `packet`, with a tag if there is a `secret`."""
    if len(packet.payload) > MAX_PAYLOAD:
        raise PacketError(Fault.LENGTH, f"a payload has at most {MAX_PAYLOAD} bytes")
    flags = SIGNED if secret else 0
    head = _HEADER.pack(
        MAGIC, VERSION, packet.kind, flags,
        packet.session, packet.sequence, len(packet.payload), 0,
    )[:_BEFORE_CHECKSUM]  # fmt: skip
    checksum = zlib.crc32(packet.payload, zlib.crc32(head))
    data = head + checksum.to_bytes(4, "little") + packet.payload
    return data + tag_of(data, secret) if secret else data


def decode(data: bytes, secret: bytes = b"") -> Packet:
    """The packet in a datagram; `PacketError` names the broken rule.

    With a `secret`, an unsigned packet is refused; without one, a tag is ignored.
    """
    if not HEADER <= len(data) <= HEADER + MAX_PAYLOAD + TAG:
        raise PacketError(Fault.LENGTH, f"{len(data)} bytes")
    magic, version, kind, flags, session, sequence, length, checksum = (
        _HEADER.unpack_from(data)
    )
    if magic != MAGIC:
        raise PacketError(Fault.TYPE, "not a datagram of version 2")
    if version != VERSION or flags & ~SIGNED:
        raise PacketError(Fault.VERSION, f"version {version}, flags {flags:#x}")
    end = HEADER + length
    if len(data) != end + (TAG if flags & SIGNED else 0):
        raise PacketError(Fault.LENGTH, f"{len(data)} bytes with a payload of {length}")
    payload = data[HEADER:end]
    if zlib.crc32(payload, zlib.crc32(data[:_BEFORE_CHECKSUM])) != checksum:
        raise PacketError(Fault.CHECKSUM, "wrong CRC32")
    if secret and not (
        flags & SIGNED and hmac.compare_digest(data[end:], tag_of(data[:end], secret))
    ):
        raise PacketError(Fault.SECRET, "no tag of the shared secret")
    return Packet(kind, session, sequence, payload)


def tag_of(data: bytes, secret: bytes) -> bytes:
    """First 16 bytes of HMAC-SHA256 (RFC 2104) of header and payload."""
    return hmac.new(secret, data, hashlib.sha256).digest()[:TAG]


class ReplayWindow:
    """Received sequence numbers of a session; 64 back are remembered.

    The sliding window of IPsec (RFC 4303, section 3.4.3): datagrams may overtake each other
    within it, and none is accepted twice.
    """

    SIZE = 64

    def __init__(self) -> None:
        """Start without received numbers."""
        self.newest = 0
        self._seen = 0

    def take(self, sequence: int) -> bool:
        """Record `sequence`; returns whether it is new."""
        if sequence > self.newest:
            shift = sequence - self.newest
            self._seen = (self._seen << shift) & (2**self.SIZE - 1) if shift < 64 else 0
            self._seen |= 1
            self.newest = sequence
            return True
        behind = self.newest - sequence
        if sequence < 1 or behind >= self.SIZE or self._seen >> behind & 1:
            return False
        self._seen |= 1 << behind
        return True
