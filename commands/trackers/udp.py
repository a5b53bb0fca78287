"""Bodies over UDP: version 2 of the rig protocol, one datagram of one client at a time.

Next is the client that has had least of the server's time, as in the rig server: sources
first, then the addresses of each; addresses without a client share what one source gets.
Datagrams that wait are few for each address; beyond that the oldest are dropped.
"""

from __future__ import annotations

import collections
import logging
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from ambulo.commands.trackers.stream import (
    BodyAnswer,
    Places,
    Stream,
    StreamConfig,
    StreamsFullError,
)
from ambulo.configs.errors import IKError
from ambulo.ik.trackers.conventions import TrackerSample, poses_to_project
from ambulo.ik.trackers.network import TrackerNetwork
from ambulo.ik.trackers.recording_lines import POSE, parse_header
from ambulo.ik.trackers.sizes import TRACKERS
from ambulo.rig_server import messages, packets, tracker_messages
from ambulo.rig_server.character import Address
from ambulo.rig_server.inbox import Inbox
from ambulo.rig_server.messages import ErrorCode, Kind
from ambulo.rig_server.packets import Fault, Packet, PacketError, ReplayWindow
from ambulo.rig_server.shares import FairShares
from ambulo.rig_server.tracker_messages import TrackersMessage

log = logging.getLogger(__name__)

STRANGERS: Address = ("", 0)
"""Stands for all addresses without a client where shares of time are counted."""
PATIENCE = 10.0
"""Silence after which a client must leave its place to another one, [s]."""
SESSIONS = 4
"""Most sessions of one address."""


@dataclass(eq=False)
class UdpClient:
    """A session of an address."""

    address: Address
    """Where it sends from."""
    nonce: int
    """Of its TRACK."""
    session: int
    """The number that it was given."""
    text: str
    """Its header."""
    stream: Stream
    """Its body."""
    heard: float
    """When it was heard last, [s]."""
    window: ReplayWindow = field(default_factory=ReplayWindow)
    """The numbers of its datagrams."""
    sent: int = 0
    """Datagrams that it was sent."""


class UdpBodies:
    """All UDP clients of a server. `offer` and `work` may be driven without a socket."""

    def __init__(
        self,
        network: TrackerNetwork,
        config: StreamConfig,
        places: Places,
        send: Callable[[bytes, Address], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """A server without clients.

        Args:
            network: The network that all bodies share.
            config: Limits and the shared secret.
            places: Places, shared with clients of other protocols.
            send: Sends a datagram to an address.
            clock: Seconds from any moment on.
        """
        self.faults: collections.Counter[Fault] = collections.Counter()
        """Datagrams that were not used, and why."""
        self.clients: dict[tuple[Address, int], UdpClient] = {}
        """By address and session."""
        self.rows = self.unsent = self.broken = 0
        """Rows answered, answers not sent, and clients removed since work failed."""
        self._network, self._config, self._places = network, config, places
        self._send, self._clock = send, clock
        self._inbox = Inbox()
        self._shares: FairShares[Address] = FairShares()
        self._shares.add(STRANGERS, STRANGERS)

    def of(self, address: Address) -> list[UdpClient]:
        """The sessions of an address."""
        return [client for (at, _), client in self.clients.items() if at == address]

    def offer(self, data: bytes, address: Address) -> None:
        """Take a datagram that is read when it is the turn of its address."""
        before = self._inbox.dropped
        self._inbox.put(data, address, known=bool(self.of(address)))
        self.faults[Fault.BUSY] += self._inbox.dropped - before

    def work(self) -> bool:
        """Read a datagram and answer it; False if none waits."""
        address = self._shares.next(self._waits)
        if address is None:
            return False
        source = address[0] or STRANGERS
        sender = self._inbox.next_stranger() if address == STRANGERS else address
        data = None if sender is None else self._inbox.take(sender)
        if sender is None or data is None:
            return True
        start = time.perf_counter()
        self.receive(data, sender)
        self._shares.charge(address, source, time.perf_counter() - start)
        return True

    def _waits(self, address: Address) -> bool:
        if address == STRANGERS:
            return bool(self._inbox.strangers)
        return self._inbox.waits(address)

    def receive(self, data: bytes, address: Address) -> None:
        """Answer a datagram at once."""
        try:
            self._receive(packets.decode(data, self._config.secret), address)
        except PacketError as error:
            self.faults[error.fault] += 1
            log.debug("%s:%d: %s", *address, error)
        except Exception:
            # No rule foresaw it. The server goes on, without the clients of this address.
            log.exception("%s:%d: given up", *address)
            self.broken += 1
            for client in self.of(address):
                self.forget(client)

    def _receive(self, packet: Packet, address: Address) -> None:
        if packet.kind == Kind.TRACK:
            self._track(packet, address)
            return
        client = self.clients.get((address, packet.session))
        if client is None:
            self._fail(address, packet, ErrorCode.UNKNOWN_SESSION, "")
            raise PacketError(Fault.SESSION, "no such session of this address")
        if packet.kind not in {Kind.TRACKERS, Kind.BYE, Kind.PING}:
            raise PacketError(
                Fault.TYPE, f"no message 0x{packet.kind:02x} for this server"
            )
        if not client.window.take(packet.sequence):
            raise PacketError(Fault.REPLAYED, f"sequence {packet.sequence} again")
        client.heard = self._clock()
        if packet.kind == Kind.BYE:
            self.forget(client)
        elif packet.kind == Kind.PING:
            self._reply(client, Kind.PONG, packet.payload[:64])
        else:
            self._row(client, packet)

    def _track(self, packet: Packet, address: Address) -> None:
        """Begin a session, or repeat its beginning."""
        try:
            hello = tracker_messages.decode_track(packet.payload)
            header = parse_header(hello.header)
        except (PacketError, IKError) as error:
            self._fail(address, packet, ErrorCode.BAD_TRACKERS, str(error))
            raise PacketError(Fault.CONTENT, str(error)) from None
        mine = self.of(address)
        for client in mine:
            if (client.nonce, client.text) == (hello.nonce, hello.header):
                client.heard = self._clock()
                self._send_skeleton(client)
                return
        if len(mine) >= SESSIONS:
            self.forget(min(mine, key=lambda client: client.heard))
        stream = Stream(self._network, header, self._clock)
        try:
            self._take_place(address[0])
        except StreamsFullError as error:
            self._fail(address, packet, ErrorCode.FULL, str(error))
            raise PacketError(Fault.FULL, str(error)) from None
        client = UdpClient(
            address, hello.nonce, secrets.randbits(63) + 1, hello.header, stream,
            self._clock(),
        )  # fmt: skip
        self.clients[address, client.session] = client
        self._shares.add(address, address[0])
        stream.skeleton_changed()
        self._send_skeleton(client)

    def _take_place(self, source: str) -> None:
        """Take a place for a client of `source`.

        If all are taken, a client that has been silent for a while must leave its place, else
        one of the source that has most, if that has more than this one would have.
        """
        if self._places.used >= self._places.most and self.clients:
            oldest = min(self.clients.values(), key=lambda c: c.heard)
            patience = min(PATIENCE, self._config.idle_seconds)
            counts = collections.Counter(at[0] for at, _ in self.clients)
            largest, most = counts.most_common(1)[0]
            if self._clock() - oldest.heard > patience:
                self.forget(oldest)
            elif most > counts[source] + 1:
                crowd = [c for c in self.clients.values() if c.address[0] == largest]
                self.forget(min(crowd, key=lambda c: c.heard))
        self._places.take()

    def _row(self, client: UdpClient, packet: Packet) -> None:
        """Answer a row of trackers."""
        header = client.stream.header
        count = len(header.trackers)
        try:
            message = tracker_messages.decode_trackers(packet.payload, count)
        except PacketError as error:
            self._fail(client.address, packet, ErrorCode.BAD_TRACKERS, str(error))
            raise
        answer = client.stream.answer(device_row(message, client.stream))
        self.rows += 1
        if client.stream.skeleton_changed():
            self._send_skeleton(client)
        body = body_message(packet.sequence, answer)
        self._reply(client, Kind.BODY, tracker_messages.encode_body(body))

    def forget_silent(self) -> None:
        """Forget clients that are silent; cheap, to be called often."""
        now = self._clock()
        for client in list(self.clients.values()):
            if now - client.heard > self._config.idle_seconds:
                self.forget(client)

    def forget(self, client: UdpClient) -> None:
        """Let a client go."""
        if self.clients.pop((client.address, client.session), None) is None:
            return
        self._places.free()
        if not self.of(client.address):
            self._shares.remove(client.address, client.address[0])
            while self._inbox.take(client.address) is not None:
                pass  # datagrams of a client that is gone

    def _send_skeleton(self, client: UdpClient) -> None:
        message = tracker_messages.SkeletonMessage(
            client.nonce,
            client.stream.parents,
            client.stream.offsets.astype(np.float32),
        )
        payload = tracker_messages.encode_skeleton(message)
        self._reply(client, Kind.SKELETON, payload)

    def _reply(self, client: UdpClient, kind: Kind, payload: bytes) -> None:
        client.sent += 1
        packet = Packet(kind, client.session, client.sent, payload)
        self._out(packets.encode(packet, self._config.secret), client.address)

    def _fail(
        self, address: Address, packet: Packet, code: ErrorCode, text: str
    ) -> None:
        failure = messages.Failure(code, packet.sequence, text)
        reply = Packet(Kind.ERROR, packet.session, 0, messages.encode_failure(failure))
        self._out(packets.encode(reply, self._config.secret), address)

    def _out(self, data: bytes, address: Address) -> None:
        try:
            self._send(data, address)
        except OSError as error:
            self.unsent += 1
            log.debug("%s:%d: %s", *address, error)

    def close(self) -> None:
        """Let every client go."""
        for client in list(self.clients.values()):
            self.forget(client)


def device_row(message: TrackersMessage, stream: Stream) -> TrackerSample:
    """The devices of a message, in this project's axes."""
    rows = list(stream.header.rows)
    poses = np.zeros((TRACKERS, POSE))
    poses[:, 6] = 1.0
    present = np.zeros(TRACKERS, dtype=np.bool_)
    poses[rows] = message.poses
    present[rows] = message.present
    # One number that is not finite spoils its pose alone, and none other's.
    poses[~np.isfinite(poses).all(axis=1)] = np.nan
    return TrackerSample(
        *poses_to_project(poses, stream.header.axes), present, message.time
    )


def body_message(sequence: int, answer: BodyAnswer) -> tracker_messages.BodyMessage:
    """The message of a body."""
    return tracker_messages.BodyMessage(
        sequence,
        answer.time,
        int(answer.status),
        tuple(int(status) for status in answer.statuses),
        answer.waiting is not None,
        answer.root.astype(np.float32),
        answer.contacts.astype(np.float32),
        answer.rotations.astype(np.float32),
    )
