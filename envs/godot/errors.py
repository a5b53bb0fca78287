"""What can go wrong between Python and a Godot engine, one class for each kind of fault.

`kind` is the name under which `GodotWorld.faults` counts them.
"""

from __future__ import annotations

from typing import ClassVar

from ambulo.configs.errors import BridgeError


class BridgeFault(BridgeError):
    """A fault that a reconnection or a new engine may mend."""

    kind: ClassVar[str] = "fault"


class EngineDied(BridgeFault):
    """The engine could not be started, or its process has ended."""

    kind: ClassVar[str] = "died"


class Refused(BridgeFault):
    """Nobody listens at the address."""

    kind: ClassVar[str] = "refused"


class TimedOut(BridgeFault):
    """No whole answer came in time."""

    kind: ClassVar[str] = "timeout"


class Closed(BridgeFault):
    """The connection ended before the whole answer had come."""

    kind: ClassVar[str] = "closed"


class Malformed(BridgeFault):
    """The answer is not what the protocol says."""

    kind: ClassVar[str] = "malformed"


class BadStatus(BridgeFault):
    """The engine answered with an HTTP error."""

    kind: ClassVar[str] = "status"

    def __init__(
        self, status: int, message: str, code: str = "", field: str | None = None
    ) -> None:
        """An answer with `status`, and what its JSON body says."""
        where = f" (field {field})" if field else ""
        super().__init__(f"HTTP {status}{f' {code}' if code else ''}: {message}{where}")
        self.status, self.code, self.field = status, code, field


class VersionMismatch(BridgeError):
    """The engine speaks another version of the API or of the world contract."""


class Rejected(BridgeError):
    """The engine refuses what it is asked to simulate, or to talk to us at all."""
