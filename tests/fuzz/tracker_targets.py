"""What is attacked of trackers: recordings, text messages and datagrams of streams."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
from fixtures.motion import make_walk
from fixtures.trackers import small_tensors
from fuzz.corpus import Kind
from fuzz.mutations import bytes_of, text_of_json

from ambulo.commands.trackers.stream import Places, Stream, StreamConfig, answer_text
from ambulo.commands.trackers.udp import UdpBodies
from ambulo.configs.errors import IKError
from ambulo.ik.trackers.network import TrackerNetwork
from ambulo.ik.trackers.record_motion import record_motion
from ambulo.ik.trackers.recording import read_recording, write_recording
from ambulo.ik.trackers.recording_lines import header_line, parse_header, parse_row
from ambulo.ik.trackers.session import track_recording
from ambulo.rig_server import packets, tracker_messages
from ambulo.rig_server.messages import Kind as MessageKind
from ambulo.rig_server.packets import Packet

HEADER = (
    '{"format": "ambulo-trackers", "version": 1, "convention": "openxr", '
    '"trackers": ["Head", "LeftHand"]}'
)
ROW = [0.0, [0.0, 1.6, 0.0, 0.0, 0.0, 0.0, 1.0], None]


def small_network() -> TrackerNetwork:
    """A network that was never trained."""
    return TrackerNetwork(small_tensors(), 0.05)


def recordings(folder: Path) -> list[Kind]:
    """A recording with a checksum, and the same without."""
    network = small_network()
    path, bare = folder / "walk_trackers.txt", folder / "bare_trackers.txt"
    write_recording(path, record_motion(make_walk(12), axes="unreal"))
    head, *rows = path.read_text(encoding="utf-8").splitlines()[:-1]
    header = parse_header(head).replace(checksum=None)
    bare.write_text("\n".join([header_line(header), *rows]) + "\n", encoding="utf-8")

    def read(file: Path) -> None:
        motion = track_recording(network, read_recording(file)).motion
        assert np.isfinite(motion.root_positions).all()

    return [Kind("recording", path, read), Kind("bare recording", bare, read)]


class StreamTarget:
    """Text messages of one live stream: a header, then rows."""

    name = "tracker messages"

    def __init__(self) -> None:
        """Load no more than a network."""
        self._network = small_network()

    def whole(self) -> None:
        """Send two rows."""
        self.run([HEADER.encode(), json.dumps(ROW).encode()])

    def make(self, rng: random.Random) -> list[bytes]:
        """Return a header and five rows, most of them damaged."""
        header = HEADER.encode()
        if rng.random() < 0.5:
            header = text_of_json(rng, json.loads(HEADER))
        return [header, *(text_of_json(rng, [i, *ROW[1:]]) for i in range(5))]

    def run(self, case: list[bytes]) -> None:
        """Send them; rows that are refused change nothing."""
        stream = Stream(self._network, parse_header(case[0]))
        for line in case[1:]:
            try:
                row = parse_row(line, stream.header)
            except IKError:
                continue
            json.loads(answer_text(stream.answer(row)), parse_constant=_fail)


class BodyPacketTarget:
    """Datagrams to the body server; each case is a burst at one server."""

    name = "tracker packets"

    def __init__(self) -> None:
        """Start without a socket."""
        self._sent: list[bytes] = []
        self._bodies = UdpBodies(
            small_network(), StreamConfig(), Places(4),
            lambda data, to: self._sent.append(data),
        )  # fmt: skip
        self._hello = tracker_messages.encode_track(
            tracker_messages.TrackHello(1, HEADER)
        )
        self._bodies.receive(
            packets.encode(Packet(MessageKind.TRACK, 0, 1, self._hello)), ("a", 1)
        )
        self._session = packets.decode(self._sent[-1]).session
        self._number = 1

    def whole(self) -> None:
        """Send a row."""
        self.run([self._packet(MessageKind.TRACKERS, self._row(0.0, np.zeros((2, 7))))])

    def make(self, rng: random.Random) -> list[bytes]:
        """Return ten datagrams: damaged outside, or inside a whole envelope."""
        return [self._datagram(rng) for _ in range(10)]

    def run(self, case: list[bytes]) -> None:
        """Send them; the server works until nothing waits."""
        del self._sent[:]
        for data in case:
            for address in (("a", 1), ("b", 2)):
                self._bodies.offer(data, address)
            while self._bodies.work():
                pass
        if self._bodies.broken:
            raise AssertionError("work on a datagram failed")
        for data in self._sent:
            packet = packets.decode(data)
            if packet.kind == MessageKind.BODY:
                body = tracker_messages.decode_body(packet.payload)
                assert np.isfinite(body.root).all()
                assert np.isfinite(body.rotations).all()

    def _datagram(self, rng: random.Random) -> bytes:
        poses = np.array([ROW[1], ROW[1]], dtype=np.float32)
        for _ in range(rng.randint(0, 4)):
            extreme = rng.choice((0.0, -1.0, 1e5, 1e30, -3e38, np.nan, np.inf))
            poses[rng.randrange(2), rng.randrange(7)] = extreme
        time = rng.choice((rng.random(), 1e9, -1e9, np.nan, np.inf, 1e300))
        row = self._row(time, poses)
        kind = rng.random()
        if kind < 0.5:
            return self._packet(MessageKind.TRACKERS, row)
        if kind < 0.8:
            payload = bytes_of(rng, rng.choice((row, self._hello)))
            return self._packet(rng.choice(list(MessageKind)), payload)
        return bytes_of(rng, self._packet(MessageKind.TRACKERS, row))

    @staticmethod
    def _row(time: float, poses: Any) -> bytes:
        there = np.ones(2, dtype=np.bool_)
        return tracker_messages.encode_trackers(
            tracker_messages.TrackersMessage(time, there, poses)
        )

    def _packet(self, kind: int, payload: bytes) -> bytes:
        self._number += 1
        return packets.encode(Packet(kind, self._session, self._number, payload))


def _fail(name: str) -> float:
    raise AssertionError(f"{name} in an answer")
