"""A WebSocket connection whose control frames, and what one turn may cost, are bounded.

websockets answers pings by itself, and parses all that one read brings before anything else
has a turn. It is imported with this module, so only a server that listens imports it.
"""

from __future__ import annotations

from typing import Any

from websockets.asyncio.server import Server, ServerConnection
from websockets.frames import DATA_OPCODES, CloseCode, Frame
from websockets.protocol import Event
from websockets.server import ServerProtocol

MAX_CONTROL = 100
"""Most control frames of a client in a second: pings, pongs and the end."""
WINDOW = 1.0
"""Time in which control frames are counted, [s]."""
PIECE = 6 * MAX_CONTROL
"""Bytes that are parsed before frames are counted; the smallest frame has 6."""


class BoundedConnection(ServerConnection):
    """A connection that ends where its client sends too many control frames."""

    def __init__(
        self, protocol: ServerProtocol, server: Server, **options: Any
    ) -> None:
        """See `ServerConnection`."""
        super().__init__(protocol, server, **options)
        self._counted, self._since = 0, self.loop.time()

    def data_received(self, data: bytes) -> None:
        """Parse what a read has brought, piece by piece."""
        for start in range(0, len(data), PIECE):
            if not self.transport.is_closing():
                super().data_received(data[start : start + PIECE])

    def process_event(self, event: Event) -> None:
        """Count control frames; end a connection that has sent too many."""
        super().process_event(event)
        if not isinstance(event, Frame) or event.opcode in DATA_OPCODES:
            return
        now = self.loop.time()
        if now - self._since > WINDOW:
            self._counted, self._since = 0, now
        self._counted += 1
        if self._counted == MAX_CONTROL + 1:
            reason = f"more than {MAX_CONTROL} control frames in {WINDOW:g} s"
            self.protocol.fail(CloseCode.POLICY_VIOLATION, reason)
            self.send_data()
            self.transport.close()

    def send_data(self) -> None:
        """Send what waits in one piece, and nothing to a client that is gone.

        The event loop logs every write to a lost connection.
        """
        waiting = self.protocol.data_to_send()
        if self.transport.is_closing():
            return
        if data := b"".join(waiting):
            self.transport.write(data)
        if b"" in waiting and self.transport.can_write_eof():
            self.transport.write_eof()
