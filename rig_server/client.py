"""A client of the rig server, as in a game engine's plug-in."""

from __future__ import annotations

import contextlib
import secrets
import select
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.errors import AmbuloError
from ambulo.rig_server import messages, packets, packets_v1
from ambulo.rig_server.layout import RigLayout
from ambulo.rig_server.messages import ErrorCode, Kind, Option
from ambulo.rig_server.packets import Packet, PacketError

Float32 = NDArray[np.float32]


class ServerSilentError(AmbuloError):
    """The rig server does not answer."""


@dataclass(frozen=True, eq=False)
class Reply:
    """A received server message: one field is set."""

    answer: messages.Answer | None = None
    ack: messages.Ack | None = None
    status: messages.Status | None = None
    next: messages.Next | None = None
    failure: messages.Failure | None = None


class RigClient:
    """A client of version 2: `connect`, then `send` frames and read `replies`."""

    def __init__(
        self, host: str, port: int, layout: RigLayout, *, secret: bytes = b""
    ) -> None:
        """Create a client without connecting."""
        self.layout, self._secret = layout, secret
        self._socket = _connected(host, port)
        self._where = f"{host}:{port}"
        self.session = 0
        self.welcome: messages.Welcome | None = None
        self.damaged = 0
        """Datagrams that could not be read."""
        # One nonce for all HELLOs: a server that still knows this client keeps session and
        # model.
        self._nonce = secrets.randbits(63)
        self._sequence = 0

    def __enter__(self) -> RigClient:
        """Return the client."""
        return self

    def __exit__(self, *_: object) -> None:
        """Send BYE and close."""
        if self.session:
            self._send(Kind.BYE, b"")
        self._socket.close()

    def connect(self, timeout: float = 5.0) -> messages.Welcome:
        """Send HELLO until the server answers, at most `timeout` seconds.

        May be called again after a silence: a server that still knows this client continues the
        same session.
        """
        hello = messages.encode_hello(messages.Hello(self._nonce, self.layout))
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            self._send(Kind.HELLO, hello)
            for packet in self._packets(min(0.25, timeout)):
                if packet.kind == Kind.ERROR:
                    failure = messages.decode_failure(packet.payload)
                    if failure.code in {ErrorCode.BAD_RIG, ErrorCode.FULL}:
                        raise AmbuloError(f"{self._where}: refused: {failure.text}")
                if packet.kind == Kind.WELCOME:
                    welcome = messages.decode_welcome(packet.payload)
                    if welcome.nonce == self._nonce:
                        self.session, self.welcome = packet.session, welcome
                        return welcome
        raise ServerSilentError(
            f"{self._where}: no rig server answers (start one with `ambulo rig-server`, "
            "or check the secret)"
        )

    def send(self, values: Float32, options: Option) -> int:
        """Send frames (k, frame_size) or (frame_size,); returns their sequence number.

        An absent server loses them, as the network may.
        """
        table = values.reshape(-1, self.layout.frame_size)
        payload = messages.encode_frames(messages.FramesMessage(options, table))
        self._send(Kind.FRAMES, payload)
        return self._sequence

    def request_status(self) -> None:
        """Ask for a STATUS."""
        self._send(Kind.STATUS_REQUEST, b"")

    def request_next(self, count: int) -> None:
        """Ask for a free run of `count` frames."""
        self._send(Kind.NEXT_REQUEST, messages.encode_next_request(count))

    def replies(self, timeout: float = 0.0) -> Iterator[Reply]:
        """Received messages, after waiting at most `timeout` seconds for the first."""
        for packet in self._packets(timeout):
            if packet.session != self.session:
                continue
            try:
                reply = self._reply(packet)
            except PacketError:
                self.damaged += 1
                continue
            if reply is not None:
                yield reply

    def _reply(self, packet: Packet) -> Reply | None:
        payload, size = packet.payload, self.layout.output_size
        if packet.kind == Kind.PREDICTION:
            return Reply(answer=messages.decode_answer(payload, size))
        if packet.kind == Kind.ACK:
            return Reply(ack=messages.decode_ack(payload))
        if packet.kind == Kind.STATUS:
            return Reply(status=messages.decode_status(payload))
        if packet.kind == Kind.NEXT:
            return Reply(next=messages.decode_next(payload, size))
        if packet.kind == Kind.ERROR:
            return Reply(failure=messages.decode_failure(payload))
        return None

    def _send(self, kind: Kind, payload: bytes) -> None:
        """Send a message; an absent server loses it."""
        self._sequence += 1
        session = 0 if kind == Kind.HELLO else self.session
        packet = Packet(kind, session, self._sequence, payload)
        data = packets.encode(packet, self._secret)
        with contextlib.suppress(OSError):
            self._socket.send(data)

    def _packets(self, timeout: float) -> Iterator[Packet]:
        for data in _received(self._socket, timeout):
            try:
                yield packets.decode(data, self._secret)
            except PacketError:
                self.damaged += 1


class PublishedClient:
    """A client of version 1, byte for byte as published (see docs/index.md)."""

    def __init__(self, host: str, port: int) -> None:
        """A client; version 1 has no connection."""
        self._socket = _connected(host, port)

    def __enter__(self) -> PublishedClient:
        """Return the client."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the socket."""
        self._socket.close()

    def set_up(self, names: tuple[tuple[int, str], ...]) -> None:
        """Send a 0x01."""
        with contextlib.suppress(OSError):
            self._socket.send(packets_v1.encode_setup(names))

    def send(self, values: Float32) -> None:
        """Send a 0x02 of frames (k, 63) or (63,)."""
        with contextlib.suppress(OSError):
            self._socket.send(packets_v1.encode_frames(values))

    def answers(self, timeout: float = 0.0) -> Iterator[Float32]:
        """Received 0x03 answers, (24,) each."""
        for data in _received(self._socket, timeout):
            with contextlib.suppress(PacketError):
                yield packets_v1.decode_prediction(data)


def _connected(host: str, port: int) -> socket.socket:
    try:
        family, kind, number, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_DGRAM
        )[0]
        made = socket.socket(family, kind, number)
        made.setblocking(False)
        made.connect(address)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise AmbuloError(f"{host}:{port}: {reason}") from None
    return made


def _received(endpoint: socket.socket, timeout: float) -> Iterator[bytes]:
    """Received datagrams, after waiting at most `timeout` seconds for the first."""
    ready, _, _ = select.select([endpoint], [], [], timeout)
    while ready:
        try:
            yield endpoint.recv(65_535)
        except OSError:
            return  # nothing more has arrived, or no server listens
