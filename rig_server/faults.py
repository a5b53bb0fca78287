"""Why a datagram was not used: one name for each reason, as the server counts them."""

from __future__ import annotations

from enum import StrEnum

from ambulo.rig_server.layout import RigError


class Fault(StrEnum):
    """Reasons to drop a datagram."""

    LENGTH = "length"
    """Its length is not one that its type has, or it is larger than any may be."""
    TYPE = "type"
    """No such type of message, or none that a server takes."""
    VERSION = "version"
    """A version of the protocol that is not spoken here."""
    CHECKSUM = "checksum"
    """Its CRC32 is wrong: damaged on the way."""
    SECRET = "secret"
    """Its tag is missing or wrong, or it came without one where a secret is set."""
    SESSION = "session"
    """Not a session of the address it came from."""
    REPLAYED = "replayed"
    """Its sequence number was seen before, or is too old to tell."""
    CONTENT = "content"
    """Values that cannot be: not finite, no unit quaternion, a broken rig."""
    FULL = "full"
    """No room for another client."""
    BUSY = "busy"
    """Older frames of a client that sends faster than the server can work."""


class PacketError(RigError):
    """A datagram that breaks a rule."""

    def __init__(self, fault: Fault, rule: str) -> None:
        """Dropped for `fault`; `rule` says what was broken."""
        super().__init__(rule)
        self.fault = fault
