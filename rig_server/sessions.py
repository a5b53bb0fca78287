"""Sessions of clients over UDP, which the rig server and the body server have in common.

Datagrams are those of version 2 (`packets`). They wait in an inbox that is bounded for each
address. The next one is of the address with the least server time so far (`shares`): sources
first, then the addresses of each; addresses without a client together count as one source. No
datagram can raise an exception out of `receive`.
"""

from __future__ import annotations

import collections
import logging
import socket
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import ClassVar, Generic, TypeVar

from ambulo.rig_server import messages, packets
from ambulo.rig_server.inbox import Inbox
from ambulo.rig_server.messages import ErrorCode, Kind
from ambulo.rig_server.packets import Address, Fault, Packet, PacketError, ReplayWindow
from ambulo.rig_server.shares import FairShares

log = logging.getLogger(__name__)

STRANGERS: Address = ("", 0)
"""Represents all addresses without a client in the accounting of time."""
LARGEST = 65_535
"""Size of the receive buffer, [bytes]: no datagram is larger, so none is truncated."""


class Session:
    """A client: one session of an address."""

    def __init__(self, address: Address, session: int, nonce: int = 0) -> None:
        """A client that has sent nothing yet.

        Args:
            address: Where it sends from.
            session: Number that the server gave it; 0 in version 1.
            nonce: Number that it chose for its first message.
        """
        self.address, self.session, self.nonce = address, session, nonce
        self.window = ReplayWindow()
        """Sequence numbers that it has sent."""
        self.heard = 0.0
        """Time of its last datagram, [s]."""
        self.sent = 0
        """Sequence number of the last datagram to it."""


Client = TypeVar("Client", bound=Session)


class SessionServer(ABC, Generic[Client]):
    """The clients of a socket. `offer`, `receive` and `work` also run without a socket."""

    hello: ClassVar[Kind]
    """Message that begins a session."""
    max_sessions: ClassVar[int]
    """Largest number of sessions of one address."""

    def __init__(
        self,
        secret: bytes,
        send: Callable[[bytes, Address], None],
        clock: Callable[[], float],
        clients: dict[tuple[Address, int], Client],
        shares: FairShares[Address],
    ) -> None:
        """A server without clients.

        Args:
            secret: Shared secret; with one, only signed datagrams are accepted.
            send: Sends a datagram to an address.
            clock: Monotonic clock, [s].
            clients: The clients by address and session; empty.
            shares: Order in which the datagrams of addresses are processed.
        """
        self.inbox = Inbox()
        """Datagrams that are not read yet."""
        self.faults: collections.Counter[Fault] = collections.Counter()
        """Datagrams that were not used, or frames that were dropped, and why."""
        self.datagrams = self.unsent = 0
        self.broken = 0
        """Times that work on a client's datagrams failed and its sessions were removed."""
        self._secret, self._send, self._clock = secret, send, clock
        self._clients, self._shares = clients, shares
        self._handlers: dict[int, Callable[[Client, Packet], None]] = {
            Kind.BYE: lambda client, _: self.forget(client),
            Kind.PING: self._ping,
        }
        shares.add(STRANGERS, STRANGERS)

    @abstractmethod
    def forget(self, client: Client) -> None:
        """Remove a client that leaves."""

    @abstractmethod
    def begin(self, packet: Packet, address: Address) -> None:
        """Begin a session, or repeat its beginning."""

    def of(self, address: Address) -> list[Client]:
        """Return the sessions of an address."""
        return [client for (at, _), client in self._clients.items() if at == address]

    def drop(self, client: Client) -> None:
        """Remove a client whose datagrams broke the server."""
        self.forget(client)

    def offer(self, data: bytes, address: Address) -> None:
        """Queue a datagram, which is read when it is its address' turn."""
        before = self.inbox.dropped
        self.inbox.put(data, address, known=bool(self.of(address)))
        if self.inbox.dropped > before:
            self.faults[Fault.BUSY] += self.inbox.dropped - before

    def take(self, address: Address) -> tuple[bytes, Address] | None:
        """Return the next datagram of an address, or of the `STRANGERS`, and its sender."""
        sender = self.inbox.next_stranger() if address == STRANGERS else address
        data = None if sender is None else self.inbox.take(sender)
        return None if sender is None or data is None else (data, sender)

    def waits(self, address: Address) -> bool:
        """Return whether a datagram of an address, or of the `STRANGERS`, waits."""
        if address == STRANGERS:
            return bool(self.inbox.strangers)
        return self.inbox.waits(address)

    def receive(self, data: bytes, address: Address) -> None:
        """Process one datagram."""
        self.datagrams += 1
        try:
            self.read(data, address)
        except PacketError as error:
            self.faults[error.fault] += 1
            log.debug("%s:%d: %s", *address, error)
        except Exception:
            # An unforeseen error. The server continues, without the clients of this address.
            log.exception("%s:%d: given up", *address)
            self.broken += 1
            for client in self.of(address):
                self.drop(client)

    def read(self, data: bytes, address: Address) -> None:
        """Process a datagram of version 2; `PacketError` if it breaks a rule."""
        packet = packets.decode(data, self._secret)
        if packet.kind == self.hello:
            self.begin(packet, address)
            return
        client = self._clients.get((address, packet.session))
        if client is None or not packet.session:
            self.fail(address, packet, ErrorCode.UNKNOWN_SESSION, "")
            raise PacketError(Fault.SESSION, "no such session of this address")
        handler = self._handlers.get(packet.kind)
        if handler is None:
            rule = f"no message 0x{packet.kind:02x} for this server"
            raise PacketError(Fault.TYPE, rule)
        if not client.window.take(packet.sequence):
            raise PacketError(Fault.REPLAYED, f"sequence {packet.sequence} again")
        client.heard = self._clock()
        handler(client, packet)

    def make_room(self, address: Address) -> None:
        """Forget the most silent session of an address that has as many as it may."""
        mine = self.of(address)
        if len(mine) >= self.max_sessions:
            self.forget(most_silent(mine))

    def reply(self, client: Client, kind: Kind, payload: bytes) -> None:
        """Send a message of a session."""
        client.sent += 1
        packet = Packet(kind, client.session, client.sent, payload)
        self.send(packets.encode(packet, self._secret), client.address)

    def fail(
        self, address: Address, packet: Packet, code: ErrorCode, text: str
    ) -> None:
        """Answer a datagram with an ERROR."""
        failure = messages.Failure(code, packet.sequence, text)
        reply = Packet(Kind.ERROR, packet.session, 0, messages.encode_failure(failure))
        self.send(packets.encode(reply, self._secret), address)

    def send(self, data: bytes, address: Address) -> None:
        """Send a datagram; one that the system refuses is counted."""
        try:
            self._send(data, address)
        except OSError as error:
            self.unsent += 1
            log.debug("%s:%d: %s", *address, error)

    def drain(self, endpoint: socket.socket, most: int) -> bool:
        """Queue at most `most` datagrams of a socket; return whether none is left."""
        for _ in range(most):
            try:
                data, address = endpoint.recvfrom(LARGEST)
            except BlockingIOError:
                return True
            except OSError:
                continue  # an answer that could not be delivered (reported by Windows)
            self.offer(data, (address[0], address[1]))
        return False

    def _ping(self, client: Client, packet: Packet) -> None:
        self.reply(client, Kind.PONG, packet.payload[:64])


def most_silent(clients: Iterable[Client]) -> Client:
    """Return the client that was heard longest ago."""
    return min(clients, key=lambda client: client.heard)
