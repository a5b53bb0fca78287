"""Bodies over UDP: version 2 of the rig protocol, one datagram of one client at a time."""

from __future__ import annotations

import collections
import secrets
import time
from collections.abc import Callable

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
from ambulo.rig_server import tracker_messages
from ambulo.rig_server.messages import ErrorCode, Kind
from ambulo.rig_server.packets import Address, Fault, Packet, PacketError
from ambulo.rig_server.sessions import (
    STRANGERS,
    Session,
    SessionServer,
    most_silent,
)
from ambulo.rig_server.shares import FairShares
from ambulo.rig_server.tracker_messages import TrackersMessage, TrackHello

PATIENCE = 10.0
"""Silence after which a client must leave its place to another one, [s]."""


class UdpClient(Session):
    """A session of an address, with its header and its body."""

    def __init__(
        self, address: Address, hello: TrackHello, stream: Stream, now: float
    ) -> None:
        """A client of a TRACK that arrived `now`, [s]."""
        super().__init__(address, secrets.randbits(63) + 1, hello.nonce)
        self.text, self.stream, self.heard = hello.header, stream, now


class UdpBodies(SessionServer[UdpClient]):
    """All UDP clients of a server of bodies."""

    hello = Kind.TRACK
    max_sessions = 4

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
            clock: Monotonic clock, [s].
        """
        self.clients: dict[tuple[Address, int], UdpClient] = {}
        """Clients by address and session."""
        super().__init__(config.secret, send, clock, self.clients, FairShares())
        self._handlers[Kind.TRACKERS] = self._row
        self.rows = 0
        """Rows answered."""
        self._network, self._config, self._places = network, config, places

    def work(self) -> bool:
        """Read a datagram and answer it; False if none waits."""
        address = self._shares.next(self.waits)
        if address is None:
            return False
        datagram = self.take(address)
        if datagram is not None:
            start = time.perf_counter()
            self.receive(*datagram)
            spent = time.perf_counter() - start
            self._shares.charge(address, address[0] or STRANGERS, spent)
        return True

    def begin(self, packet: Packet, address: Address) -> None:
        """Begin a session, or repeat its beginning."""
        try:
            hello = tracker_messages.decode_track(packet.payload)
            header = parse_header(hello.header)
        except (PacketError, IKError) as error:
            self.fail(address, packet, ErrorCode.BAD_TRACKERS, str(error))
            raise PacketError(Fault.CONTENT, str(error)) from None
        for client in self.of(address):
            if (client.nonce, client.text) == (hello.nonce, hello.header):
                client.heard = self._clock()
                self._send_skeleton(client)
                return
        self.make_room(address)
        stream = Stream(self._network, header, self._clock)
        try:
            self._take_place(address[0])
        except StreamsFullError as error:
            self.fail(address, packet, ErrorCode.FULL, str(error))
            raise PacketError(Fault.FULL, str(error)) from None
        client = UdpClient(address, hello, stream, self._clock())
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
            oldest = most_silent(self.clients.values())
            patience = min(PATIENCE, self._config.idle_seconds)
            counts = collections.Counter(at[0] for at, _ in self.clients)
            largest, most = counts.most_common(1)[0]
            if self._clock() - oldest.heard > patience:
                self.forget(oldest)
            elif most > counts[source] + 1:
                crowd = [c for c in self.clients.values() if c.address[0] == largest]
                self.forget(most_silent(crowd))
        self._places.take()

    def _row(self, client: UdpClient, packet: Packet) -> None:
        """Answer a row of trackers."""
        header = client.stream.header
        count = len(header.trackers)
        try:
            message = tracker_messages.decode_trackers(packet.payload, count)
        except PacketError as error:
            self.fail(client.address, packet, ErrorCode.BAD_TRACKERS, str(error))
            raise
        answer = client.stream.answer(device_row(message, client.stream))
        self.rows += 1
        if client.stream.skeleton_changed():
            self._send_skeleton(client)
        body = body_message(packet.sequence, answer)
        self.reply(client, Kind.BODY, tracker_messages.encode_body(body))

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
            while self.inbox.take(client.address) is not None:
                pass  # datagrams of a client that is gone

    def _send_skeleton(self, client: UdpClient) -> None:
        message = tracker_messages.SkeletonMessage(
            client.nonce,
            client.stream.parents,
            client.stream.offsets.astype(np.float32),
        )
        payload = tracker_messages.encode_skeleton(message)
        self.reply(client, Kind.SKELETON, payload)

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
