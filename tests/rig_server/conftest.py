"""A walk of the legs, made here, as frames and as what the wire carries."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from ambulo.motion.euler import axis_quat
from ambulo.motion.rotations import quat_multiply as product
from ambulo.motion.rotations import quat_rotate as turned
from ambulo.rig_server import messages, packets
from ambulo.rig_server.clients import ServerConfig
from ambulo.rig_server.frames import RigFrame, floats_of, frame_of
from ambulo.rig_server.layout import LEGS, RigLayout
from ambulo.rig_server.messages import Kind, Option
from ambulo.rig_server.packets import Packet
from ambulo.rig_server.server import RigServer

MakeWalk = Callable[..., list[RigFrame]]
FPS, PERIOD = 120.0, 132
Address = tuple[str, int]
BOTH = Option.LEARN | Option.PREDICT


def about(axis: str, angle: float) -> NDArray[np.float64]:
    return axis_quat(axis, np.array(angle))


def one_frame(
    phase: float, x: float, *, thigh: float = 0.42, swing: float = 0.4
) -> RigFrame:
    """The legs at `phase` [rad]: hips swing, knees bend about Y, thighs turn with it."""
    offsets, local = np.zeros((7, 3)), np.zeros((7, 4))
    local[:, 0] = 1.0
    for first, side, shift in ((1, -1.0, 0.0), (4, 1.0, math.pi)):
        at = phase + shift
        offsets[first] = (0.02, 0.1 * side, -0.05)
        offsets[first + 1] = (0.0, 0.0, -thigh)
        offsets[first + 2] = (0.0, 0.0, -0.4)
        twist = product(about("Z", 0.08 * side * math.cos(at)), about("X", 0.04 * side))
        local[first] = product(about("Y", -swing * math.sin(at)), twist)
        local[first + 1] = about("Y", 0.35 + 0.3 * math.sin(at + 1.0))
        local[first + 2] = about("Y", 0.15 * math.sin(at + 2.0))
    root = product(
        about("Z", 0.05 * math.sin(phase)), about("X", 0.03 * math.cos(phase))
    )
    frame = RigFrame(
        np.array([x, 0.1, 0.9 + 0.02 * math.cos(2.0 * phase)]), root, offsets, local,
        np.tile([0.0, 0.0, 1.0], (2, 1)), np.zeros(2), np.zeros((2, 3)), np.zeros(3),
    )  # fmt: skip
    floats = floats_of(LEGS, frame)
    feet = feet_of(frame)
    floats[57:63] = 100.0 * feet.ravel()
    up = frame_of(LEGS, floats).up
    floats[49:57] = np.concatenate([[*up, 1.0], [*up, 1.0]])
    return frame_of(LEGS, floats)


def feet_of(frame: RigFrame) -> NDArray[np.float64]:
    """Where the feet are in the pelvis' frame, step by step from the hip down."""
    feet = []
    for thigh in (1, 4):
        a, b = frame.rotations[thigh], frame.rotations[thigh + 1]
        knee = frame.offsets[thigh] + turned(a, frame.offsets[thigh + 1])
        feet.append(knee + turned(product(a, b), frame.offsets[thigh + 2]))
    return np.array(feet)


@pytest.fixture(scope="session")
def make_walk() -> MakeWalk:
    def make(count: int, **options: float) -> list[RigFrame]:
        return [
            one_frame(2.0 * math.pi * i / PERIOD, 1.2 * i / FPS, **options)
            for i in range(count)
        ]

    return make


@pytest.fixture(scope="session")
def walk(make_walk: MakeWalk) -> list[RigFrame]:
    """Five cycles of 132 frames."""
    return make_walk(5 * PERIOD)


@pytest.fixture(scope="session")
def stream(walk: list[RigFrame]) -> list[NDArray[np.float32]]:
    """The walk as the 63 floats of the wire."""
    return [floats_of(LEGS, frame) for frame in walk]


class Bench:
    """A server, a clock in our hands, and what it sent."""

    def __init__(self, config: ServerConfig) -> None:
        self.now = 100.0
        self.sent: list[tuple[bytes, Address]] = []
        self.server = RigServer(config, self._keep, clock=lambda: self.now)
        self._sequences: dict[int, int] = {}
        self.secret = config.secret

    def _keep(self, data: bytes, address: Address) -> None:
        self.sent.append((data, address))

    def hello(self, address: Address, layout: RigLayout = LEGS, nonce: int = 1) -> int:
        payload = messages.encode_hello(messages.Hello(nonce, layout))
        self.give(Packet(Kind.HELLO, 0, 1, payload), address)
        found = self.last(Kind.WELCOME)
        return found.session

    def give(self, packet: Packet, address: Address) -> None:
        self.server.receive(packets.encode(packet, self.secret), address)

    def frames(
        self,
        session: int,
        address: Address,
        *values: NDArray[np.float32],
        options: Option = BOTH,
        work: bool = True,
    ) -> None:
        number = self._sequences.get(session, 1) + 1
        self._sequences[session] = number
        payload = messages.encode_frames(
            messages.FramesMessage(options, np.array(values))
        )
        self.give(Packet(Kind.FRAMES, session, number, payload), address)
        while work and self.server.work():
            pass

    def streamed(
        self, address: Address, stream: list[NDArray[np.float32]], *, work: bool = True
    ) -> int:
        """Connect a client and send its stream; return its session."""
        session = self.hello(address)
        for values in stream:
            self.frames(session, address, values, work=work)
        return session

    def last(self, kind: Kind) -> Packet:
        for data, _ in reversed(self.sent):
            packet = packets.decode(data, self.secret)
            if packet.kind == kind:
                return packet
        raise AssertionError(f"no {kind.name} was sent")

    def kinds(self) -> list[int]:
        return [packets.decode(data, self.secret).kind for data, _ in self.sent]


@pytest.fixture
def make() -> Iterator[Callable[..., Bench]]:
    benches: list[Bench] = []

    def build(**options: object) -> Bench:
        benches.append(Bench(ServerConfig(**options)))  # type: ignore[arg-type]
        return benches[-1]

    yield build
    for bench in benches:
        bench.server.close()
