"""Faults between Python and a Godot engine, one class for each kind.

`kind` is the name under which `GodotWorld.faults` counts them.
"""

from __future__ import annotations

from typing import ClassVar

from ambulo.configs.errors import BridgeError


class BridgeFault(BridgeError):
    """A fault that a reconnection or a new engine may mend."""

    kind: ClassVar[str] = "fault"

    def __init_subclass__(cls, kind: str) -> None:
        """A kind of fault, counted under the name `kind`."""
        cls.kind = kind


class EngineDied(BridgeFault, kind="died"):
    """The engine could not be started, or its process has ended."""


class Refused(BridgeFault, kind="refused"):
    """No server listens at the address."""


class TimedOut(BridgeFault, kind="timeout"):
    """No whole answer came in time."""


class Closed(BridgeFault, kind="closed"):
    """The connection ended before the whole answer had come."""


class Malformed(BridgeFault, kind="malformed"):
    """The answer is not what the protocol says."""


class BadStatus(BridgeFault, kind="status"):
    """The engine answered with an HTTP error."""

    def __init__(
        self, status: int, message: str, code: str = "", field: str | None = None
    ) -> None:
        """An answer with `status`, and what its JSON body says."""
        where = f" (field {field})" if field else ""
        super().__init__(f"HTTP {status}{f' {code}' if code else ''}: {message}{where}")
        self.status, self.code, self.field = status, code, field
        self.said = message


class VersionMismatch(BridgeError):
    """The engine speaks another version of the API or of the world contract."""


class Rejected(BridgeError):
    """The engine refuses what it is asked to simulate, or to talk to us at all."""
