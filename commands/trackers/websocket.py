"""Bodies over WebSocket: the first message is a header, then a row a message.

Each client has a body and a coroutine of its own. After each row the others have a turn. One
that does not read its answers waits for them alone, and is closed after `SEND_SECONDS`.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import logging
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING

from ambulo.commands.trackers.stream import (
    Places,
    Stream,
    StreamConfig,
    StreamsFullError,
    answer_text,
    error_text,
    skeleton_text,
)
from ambulo.configs.errors import AmbuloError, IKError
from ambulo.ik.trackers.network import TrackerNetwork
from ambulo.ik.trackers.recording_lines import (
    MOST_LINE,
    RecordingHeader,
    parse_header,
    parse_row,
)

if TYPE_CHECKING:
    from websockets.asyncio.server import ServerConnection
    from websockets.http11 import Request, Response

log = logging.getLogger(__name__)

HEADER_SECONDS = 5.0
"""Time in which a client must send its header, [s]."""
SEND_SECONDS = 5.0
"""Time in which a client must read an answer, [s]."""
RECEIVE_BUFFER = 2 * MOST_LINE
"""Bytes of a client that the system keeps: what it can make the server parse in one turn."""
MOST_WRONG = 100
"""Wrong rows in succession after which a client is closed."""
POLICY, BUSY = 1008, 1013
"""Codes of closing (RFC 6455 and its registry): a rule was broken; try again later."""


class WebSocketBodies:
    """All WebSocket clients of a server."""

    def __init__(
        self, network: TrackerNetwork, config: StreamConfig, places: Places
    ) -> None:
        """A server without clients."""
        self._network, self._config, self._places = network, config, places
        self.rows = self.wrong = self.slow = 0
        """Rows answered, rows refused, and clients closed since they did not read."""

    @asynccontextmanager
    async def serving(self, bind: str, port: int) -> AsyncIterator[int]:
        """Serve in the context, on the port that it gives.

        Raises:
            AmbuloError: The address cannot be bound.
        """
        from websockets.asyncio.server import serve
        from websockets.typing import Origin

        from ambulo.commands.trackers.connection import BoundedConnection

        origins = [None, *(Origin(text) for text in self._config.origins)]
        try:
            server = await serve(
                self._client, bind, port, origins=origins, compression=None,
                process_request=self._admit, max_size=MOST_LINE, max_queue=16,
                create_connection=BoundedConnection,
                logger=logging.getLogger(f"{__name__}.websockets"),
            )  # fmt: skip
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise AmbuloError(f"{bind}:{port}: cannot be bound: {reason}") from None
        async with server:
            for each in server.sockets:  # and for the connections that it accepts
                each.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER)
            yield next(iter(server.sockets)).getsockname()[1]

    async def _admit(
        self, connection: ServerConnection, request: Request
    ) -> Response | None:
        """Refuse a connection without the secret, or one too many, before it opens."""
        secret = self._config.secret
        given = request.headers.get_all("Authorization")
        requested = b"Bearer " + secret
        if secret and not (
            len(given) == 1
            and hmac.compare_digest(given[0].encode(errors="replace"), requested)
        ):
            return connection.respond(HTTPStatus.UNAUTHORIZED, "wrong or no secret\n")
        if self._places.used >= self._places.most:
            return connection.respond(
                HTTPStatus.SERVICE_UNAVAILABLE, "all places are taken\n"
            )
        return None

    async def _client(self, connection: ServerConnection) -> None:
        """Serve one client until it leaves."""
        from websockets.exceptions import ConnectionClosed

        try:
            self._places.take()
        except StreamsFullError as error:
            await connection.close(BUSY, str(error))
            return
        try:
            header = await self._header(connection)
            if header is not None:
                await self._converse(connection, Stream(self._network, header), header)
        except ConnectionClosed:
            pass
        except TimeoutError:
            await self._end(connection)
        except Exception:
            # No rule foresaw it. The other clients go on.
            log.exception("%s: given up", connection.remote_address)
            await self._end(connection)
        finally:
            self._places.free()

    async def _header(self, connection: ServerConnection) -> RecordingHeader | None:
        """The first message of a client; None, and it was closed, if it breaks a rule.

        Raises:
            TimeoutError: It was silent for `HEADER_SECONDS`.
        """
        limit = min(HEADER_SECONDS, self._config.idle_seconds)
        try:
            return parse_header(await self._next(connection, limit))
        except IKError as error:
            self.wrong += 1
            await self._say(connection, error_text(error))
            await connection.close(POLICY, "the header breaks a rule")
            return None

    async def _converse(
        self, connection: ServerConnection, stream: Stream, header: RecordingHeader
    ) -> None:
        """Answer a client's rows; `TimeoutError` where it is silent or does not read."""
        wrong = 0
        await self._skeleton(connection, stream)
        while True:
            try:
                message = await self._next(connection, self._config.idle_seconds)
                row = parse_row(message, header)
            except IKError as error:
                self.wrong += 1
                wrong += 1
                await self._say(connection, error_text(error))
                if wrong >= MOST_WRONG:
                    await connection.close(POLICY, f"{wrong} wrong rows")
                    return
                continue
            wrong = 0
            self.rows += 1
            answer = stream.answer(row)
            await self._skeleton(connection, stream)
            await self._say(connection, answer_text(answer))
            await asyncio.sleep(0.0)

    async def _skeleton(self, connection: ServerConnection, stream: Stream) -> None:
        """Send the skeleton if it has changed."""
        if stream.skeleton_changed():
            await self._say(connection, skeleton_text(stream))

    async def _next(self, connection: ServerConnection, seconds: float) -> str:
        """The next message of a client, within `seconds`."""
        async with asyncio.timeout(seconds):
            message = await connection.recv()
        if not isinstance(message, str):
            raise IKError("expected a text message")
        return message

    async def _say(self, connection: ServerConnection, text: str) -> None:
        """Send a message to a client that reads."""
        try:
            async with asyncio.timeout(SEND_SECONDS):
                await connection.send(text)
        except TimeoutError:
            self.slow += 1
            raise

    @staticmethod
    async def _end(connection: ServerConnection) -> None:
        """Close a connection, if need be without a farewell."""
        with contextlib.suppress(Exception):
            async with asyncio.timeout(1.0):
                await connection.close(BUSY, "too slow or silent")
        connection.transport.abort()
