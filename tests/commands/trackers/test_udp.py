"""Bodies over UDP: sessions, limits and hostile datagrams."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ambulo.commands.trackers.stream import Places, StreamConfig
from ambulo.commands.trackers.udp import UdpBodies
from ambulo.ik.trackers.network import TrackerNetwork
from ambulo.ik.trackers.recording_lines import parse_header, parse_row
from ambulo.ik.trackers.session import BodySession
from ambulo.rig_server import messages, packets
from ambulo.rig_server.messages import ErrorCode, Kind
from ambulo.rig_server.packets import Fault, Packet
from ambulo.rig_server.tracker_messages import (
    BodyMessage,
    SkeletonMessage,
    TrackersMessage,
    TrackHello,
    decode_body,
    decode_skeleton,
    encode_track,
    encode_trackers,
)

HEADER = (
    '{"format": "ambulo-trackers", "version": 1, "convention": "openxr", '
    '"trackers": ["Head", "LeftHand"]}'
)
HERE, THERE = ("10.0.0.1", 1000), ("10.0.0.2", 2000)
HEAD = [0.0, 1.6, 0.0, 0.0, 0.0, 0.0, 1.0]


class Bench:
    """A server without a socket, a clock in our hands, and what it sent."""

    def __init__(self, network: TrackerNetwork, **options: Any) -> None:
        self.now, self.sent = 100.0, []
        config = StreamConfig(**options)
        self.places = Places(config.max_clients)
        self.bodies = UdpBodies(
            network, config, self.places, self._keep, clock=lambda: self.now
        )
        self.secret = config.secret

    def _keep(self, data: bytes, address: tuple[str, int]) -> None:
        self.sent.append((packets.decode(data, self.secret), address))

    def give(self, packet: Packet, address: tuple[str, int] = HERE) -> None:
        self.bodies.offer(packets.encode(packet, self.secret), address)
        while self.bodies.work():
            pass

    def hello(
        self, address: tuple[str, int] = HERE, nonce: int = 7, header: str = HEADER
    ) -> int:
        payload = encode_track(TrackHello(nonce, header))
        self.give(Packet(Kind.TRACK, 0, 1, payload), address)
        return self.last(Kind.SKELETON).session

    def last(self, kind: Kind) -> Packet:
        return next(p for p, _ in reversed(self.sent) if p.kind == kind)

    def row(
        self, session: int, number: int, time: float, address: tuple[str, int] = HERE,
        pose: list[float] = HEAD,
    ) -> BodyMessage:  # fmt: skip
        poses = np.array([pose, [0.0] * 7], np.float32)
        message = TrackersMessage(time, np.array([True, False]), poses)
        self.give(
            Packet(Kind.TRACKERS, session, number, encode_trackers(message)), address
        )
        return decode_body(self.last(Kind.BODY).payload)

    def error(self) -> tuple[ErrorCode, str]:
        failure = messages.decode_failure(self.last(Kind.ERROR).payload)
        return failure.code, failure.text


@pytest.fixture
def make(network: TrackerNetwork) -> Callable[..., Bench]:
    return lambda **options: Bench(network, **options)


def test_a_stream_is_what_python_gives(
    make: Callable[..., Bench], network: TrackerNetwork
) -> None:
    bench = make()
    session = bench.hello()
    skeleton: SkeletonMessage = decode_skeleton(bench.last(Kind.SKELETON).payload)
    assert skeleton.nonce == 7
    header = parse_header(HEADER)
    own = BodySession(network, header)
    np.testing.assert_allclose(skeleton.offsets, own.body.skeleton.offsets, atol=1e-6)
    for i in range(20):
        message = bench.row(session, i + 2, i / 60)
        frame = own.step(parse_row(f"[{i / 60}, {HEAD}, null]", header))
        assert (message.sequence, message.time) == (i + 2, i / 60)
        np.testing.assert_allclose(message.root, frame.root, atol=1e-5)
        np.testing.assert_allclose(message.rotations, frame.rotations, atol=1e-5)
        assert message.statuses == (0, 1)
    assert bench.bodies.rows == 20
    assert not +bench.bodies.faults


def test_sessions(make: Callable[..., Bench]) -> None:
    bench = make()
    session = bench.hello()
    assert bench.hello() == session  # the same nonce and header
    other = bench.hello(nonce=8)
    assert other != session
    bench.row(session, 5, 0.1)
    bench.give(Packet(Kind.TRACKERS, session, 5, b""))  # replayed
    assert bench.bodies.faults[Fault.REPLAYED] == 1
    bench.give(Packet(Kind.PING, session, 6, b"ping"))
    assert bench.last(Kind.PONG).payload == b"ping"
    bench.give(Packet(Kind.PING, session, 7, b"x"), THERE)  # another's session
    assert bench.error() == (ErrorCode.UNKNOWN_SESSION, "")
    bench.give(Packet(Kind.BYE, session, 8, b""))
    bench.give(Packet(Kind.PING, session, 9, b"x"))
    assert bench.bodies.faults[Fault.SESSION] == 2
    bench.give(Packet(Kind.FRAMES, other, 9, b"x"))
    assert bench.bodies.faults[Fault.TYPE] == 1
    assert bench.places.used == 1
    for nonce in range(20, 30):
        bench.hello(nonce=nonce)
    assert bench.places.used == UdpBodies.max_sessions
    bench.now += 61.0
    bench.bodies.forget_silent()
    assert bench.places.used == 0


def test_errors_name_the_rule(make: Callable[..., Bench]) -> None:
    bench = make()
    payload = encode_track(TrackHello(7, HEADER.replace("openxr", "openvr")))
    bench.give(Packet(Kind.TRACK, 0, 1, payload))
    code, text = bench.error()
    assert code == ErrorCode.BAD_TRACKERS
    assert "convention" in text
    bench.give(Packet(Kind.TRACK, 0, 1, b"\0" * 8 + b"\xff"))
    assert "UTF-8" in bench.error()[1]
    session = bench.hello()
    bench.give(Packet(Kind.TRACKERS, session, 2, b"123"))
    assert "another length" in bench.error()[1]
    row = TrackersMessage(np.nan, np.array([True, True]), np.zeros((2, 7), np.float32))
    bench.give(Packet(Kind.TRACKERS, session, 3, encode_trackers(row)))
    assert "not a number of seconds" in bench.error()[1]
    body = bench.row(session, 4, 0.0, pose=[np.nan, *HEAD[1:]])
    assert body.statuses == (3, 1)
    assert np.isfinite(body.rotations).all()


def test_places(make: Callable[..., Bench]) -> None:
    bench = make(max_clients=2)
    first = bench.hello(("10.0.0.1", 1))
    bench.hello(("10.0.0.2", 2))
    payload = encode_track(TrackHello(1, HEADER))
    bench.give(Packet(Kind.TRACK, 0, 1, payload), ("10.0.0.3", 3))
    assert bench.error()[0] == ErrorCode.FULL
    bench.now += 11.0
    bench.row(first, 2, 0.0, ("10.0.0.1", 1))
    bench.hello(("10.0.0.3", 3))  # the second was silent
    assert {address for address, _ in bench.bodies.clients} == {
        ("10.0.0.1", 1),
        ("10.0.0.3", 3),
    }


def test_one_host_cannot_keep_all_places(make: Callable[..., Bench]) -> None:
    bench = make(max_clients=3)
    for port in (1, 2, 3):
        bench.hello(("10.0.0.1", port))
        bench.now += 0.1
    bench.hello(("10.0.0.2", 1))  # the first of the three had to go
    assert {address for address, _ in bench.bodies.clients} == {
        ("10.0.0.1", 2),
        ("10.0.0.1", 3),
        ("10.0.0.2", 1),
    }
    payload = encode_track(TrackHello(9, HEADER))
    bench.give(Packet(Kind.TRACK, 0, 1, payload), ("10.0.0.1", 4))
    assert bench.error()[0] == ErrorCode.FULL


def test_a_flood_leaves_a_turn_to_others(make: Callable[..., Bench]) -> None:
    bench = make()
    mine, theirs = bench.hello(HERE), bench.hello(THERE)
    message = TrackersMessage(
        0.0, np.array([True, False]), np.zeros((2, 7), np.float32)
    )
    for number in range(2, 2000):
        packet = Packet(Kind.TRACKERS, theirs, number, encode_trackers(message))
        bench.bodies.offer(packets.encode(packet), THERE)
    packet = Packet(Kind.TRACKERS, mine, 2, encode_trackers(message))
    bench.bodies.offer(packets.encode(packet), HERE)
    for _ in range(3):
        bench.bodies.work()
    assert any(p.kind == Kind.BODY and address == HERE for p, address in bench.sent)
    while bench.bodies.work():
        pass
    assert bench.bodies.faults[Fault.BUSY] > 1900


def test_a_secret(make: Callable[..., Bench]) -> None:
    bench = make(secret=b"correct horse")
    payload = encode_track(TrackHello(1, HEADER))
    bench.bodies.receive(packets.encode(Packet(Kind.TRACK, 0, 1, payload)), HERE)
    assert bench.bodies.faults[Fault.SECRET] == 1
    assert not bench.sent
    assert bench.hello()


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_hostile_datagrams(network: TrackerNetwork, seed: int) -> None:
    rng = random.Random(seed)
    bench = Bench(network)
    session = bench.hello()
    row = np.array([HEAD, HEAD], np.float32)
    for number in range(2, 42):
        payload = bytearray(
            rng.choice(
                (
                    encode_trackers(TrackersMessage(number, np.ones(2, bool), row)),
                    encode_track(TrackHello(number, HEADER)),
                    rng.randbytes(rng.randrange(200)),
                )
            )
        )
        for _ in range(rng.randrange(4)):
            if payload:
                payload[rng.randrange(len(payload))] = rng.randrange(256)
        kind = rng.choice((Kind.TRACK, Kind.TRACKERS, Kind.PING, rng.randrange(256)))
        packet = Packet(kind, rng.choice((0, session)), number, bytes(payload))
        bench.bodies.receive(packets.encode(packet), HERE)
    assert bench.bodies.broken == 0
    body = bench.row(bench.hello(nonce=99), 2, 0.0)
    assert np.isfinite(body.rotations).all()
