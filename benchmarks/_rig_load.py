"""How many answers a small client at 120 Hz gets while others load the server.

`load` measures it in CPU time, as `speed` does: what a core of its own would do, whatever
else the machine does. `load_udp` measures it in real time with a server process on one core;
the loads come from sockets of other addresses (127.x.y.z) in a process of their own, and
need cores to themselves. Each load is made of valid datagrams only.
"""

from __future__ import annotations

import argparse
import functools
import heapq
import json
import multiprocessing
import socket
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any

import numpy as np
from _rig_common import BOTH, RATE, Server, Values, clip_frames

from ambulo.rig_server import messages, packets, packets_v1
from ambulo.rig_server.client import RigClient
from ambulo.rig_server.clients import ServerConfig
from ambulo.rig_server.frames import floats_of
from ambulo.rig_server.layout import LEGS, MAX_BONES, RigLayout
from ambulo.rig_server.messages import Kind, Option
from ambulo.rig_server.packets import Packet
from ambulo.rig_server.server import RigServer
from ambulo.rig_server.warm_up import warm_up

SMALL = ("small", 1)
"""Address of the client that counts."""
RECEIVE = 2e-6
"""What it costs to take a datagram off a socket, [s]."""
ENDS = 8
"""Effectors of the large rig."""


@dataclass(frozen=True)
class Load:
    """What the others do."""

    sources: int
    """Sockets."""
    hosts: int
    """Addresses that they have together."""
    rate: float
    """Frames a second of each."""
    layout: RigLayout | None = None
    """Rig of version 2; None: version 1."""
    runs: bool = False
    """Whether they ask for free runs instead."""
    greets: bool = False
    """Whether each frame is a new client."""


def large_rig() -> RigLayout:
    """The largest rig: chains of 30 bones at the root."""
    parents = [-1, *(0 if bone % 30 == 1 else bone - 1 for bone in range(1, MAX_BONES))]
    ends = tuple(bone for bone in range(30, MAX_BONES, 30))[:ENDS]
    names = tuple(f"bone {i}" for i in range(MAX_BONES))
    return RigLayout("large", names, tuple(parents), ends)


LOADS = {
    "none": Load(0, 1, 0.0),
    "300 sockets of one host, version 1": Load(300, 1, 30.0),
    "300 hosts, version 1": Load(300, 300, 30.0),
    "300 hosts, 120 Hz each": Load(300, 300, 120.0),
    "300 hosts, version 2": Load(300, 300, 30.0, LEGS),
    "300 hosts that begin again with every datagram": Load(
        300, 300, 30.0, LEGS, greets=True
    ),
    "8 clients of 256 bones": Load(8, 8, 120.0, large_rig()),
    "8 clients of 256 bones, one host": Load(8, 1, 120.0, large_rig()),
    "31 clients of 256 bones": Load(31, 31, 120.0, large_rig()),
    "31 clients that ask for free runs": Load(31, 31, 60.0, LEGS, runs=True),
    "31 clients of 256 bones that begin again": Load(
        31, 31, 10.0, large_rig(), greets=True
    ),
}


def load(args: argparse.Namespace) -> dict[str, Any]:
    """Answers a second of the small client under each load, in CPU time."""
    warm_up()
    stream = [floats_of(LEGS, frame) for frame in clip_frames(args.data, "02_01")]
    result: dict[str, Any] = {}
    for name, what in LOADS.items():
        if args.only in name:
            result[name] = Simulation(what, stream).measured(args.seconds)
            print(json.dumps({name: result[name]}), flush=True)
    return result


class Simulation:
    """A server without a socket, and clients whose time is the CPU time of its work."""

    def __init__(self, what: Load, stream: Values) -> None:
        """A small client, and nobody else yet."""
        self._what, self._stream = what, stream
        self._sent: list[tuple[bytes, tuple[str, int]]] = []
        self._idle = self._spare = 0.0
        self._server = RigServer(
            ServerConfig(),
            lambda data, to: self._sent.append((data, to)),
            clock=self.clock,
        )
        self._sessions: dict[tuple[str, int], int] = {}
        self._sequence = 1
        self._begun: dict[int, float] = {}
        self._delays: list[float] = []

    def clock(self) -> float:
        """CPU time of the server, and time in which it had nothing to do, [s]."""
        return time.process_time() + self._idle - self._spare

    def measured(self, seconds: float) -> dict[str, Any]:
        """The small client learns alone for 5 s; 1 s after the others began it counts."""
        small = [(0.0, SMALL, 1.0 / RATE)]
        self._play(small, 5.0)
        what = self._what
        others = [
            (
                i / max(1.0, what.rate * what.sources),
                (f"host {i % what.hosts}", 10 + i),
                1.0 / what.rate,
            )
            for i in range(what.sources)
        ]
        self._play([*small, *others], 1.0)
        self._delays.clear()
        sent = self._play([*small, *others], seconds)
        delays = 1e3 * np.array(self._delays or [np.nan])
        self._server.close()
        return {
            "answers_per_second": len(self._delays) / seconds,
            "of_frames_per_second": sent / seconds,
            "answer_ms_median": float(np.median(delays)),
            "answer_ms_p99": float(np.percentile(delays, 99)),
        }

    def _play(
        self, clients: list[tuple[float, tuple[str, int], float]], seconds: float
    ) -> int:
        """Let all clients send for some time; frames of the small one."""
        start, count = self.clock(), 0
        due = [(start + first, address, step, 0) for first, address, step in clients]
        heapq.heapify(due)
        while (now := self.clock()) < start + seconds:
            while due[0][0] <= now:
                at, address, step, number = heapq.heappop(due)
                begin = time.process_time()
                data = self._datagram(address, number)
                count += address == SMALL
                self._spare += time.process_time() - begin
                self._server.offer(data, address)
                self._idle += RECEIVE
                heapq.heappush(due, (at + step, address, step, number + 1))
            if not self._server.work():
                self._idle += max(0.0, due[0][0] - self.clock())
            begin = time.process_time()
            self._read()
            self._spare += time.process_time() - begin
        return count

    def _datagram(self, address: tuple[str, int], number: int) -> bytes:
        """The next datagram of a client: HELLO until it has a session."""
        what = self._what
        if address == SMALL:
            layout, values = LEGS.named("small"), self._stream
        elif what.layout is None:
            return packets_v1.encode_frames(self._stream[number % len(self._stream)])
        else:
            layout = what.layout.named(f"other {address[1]}")
            values = self._stream if what.layout == LEGS else _wriggles(what.layout)
        session = self._sessions.get(address, 0)
        if not session or (address != SMALL and what.greets):
            payload = messages.encode_hello(messages.Hello(number + 1, layout))
            return packets.encode(Packet(Kind.HELLO, 0, 1, payload))
        self._sequence += 1
        if address != SMALL and what.runs and number % 2:
            payload = messages.encode_next_request(200)
            kind = Kind.NEXT_REQUEST
        else:
            row = values[number % len(values)][None]
            payload = messages.encode_frames(messages.FramesMessage(BOTH, row))
            kind = Kind.FRAMES
        if address == SMALL:
            self._begun[self._sequence] = self.clock()
        return packets.encode(Packet(kind, session, self._sequence, payload))

    def _read(self) -> None:
        """Take what the server has sent."""
        for data, address in self._sent:
            packet = packets.decode(data) if data[:4] == packets.MAGIC else None
            if packet is not None and packet.kind == Kind.WELCOME:
                self._sessions[address] = packet.session
            if packet and address == SMALL and packet.kind == Kind.PREDICTION:
                answer = messages.decode_answer(packet.payload, LEGS.output_size)
                begun = self._begun.pop(answer.sequence, None)
                if begun is not None:
                    self._delays.append(self.clock() - begun)
        self._sent.clear()


def load_udp(args: argparse.Namespace) -> dict[str, Any]:
    """Answers a second of the small client under each load, in real time."""
    stream = [floats_of(LEGS, frame) for frame in clip_frames(args.data, "02_01")]
    result: dict[str, Any] = {}
    for name, what in LOADS.items():
        if args.only not in name:
            continue
        with tempfile.TemporaryDirectory() as folder:
            server = Server(Path(folder), "--models", f"{folder}/rigs", core=0)
            try:
                result[name] = measured(server, what, stream, args.seconds)
            finally:
                server.process.kill()
                server.process.wait()
        print(json.dumps({name: result[name]}), flush=True)
    return result


def measured(
    server: Server, what: Load, stream: Values, seconds: float
) -> dict[str, Any]:
    """The small client learns alone for 5 s, then beside the load."""
    with RigClient("127.0.0.1", server.port, LEGS.named("small")) as client:
        client.connect(20.0)
        paced(client, stream, 5.0)
        ready, done = multiprocessing.Event(), multiprocessing.Event()
        others = multiprocessing.Process(
            target=work, args=(what, server.port, stream, ready, done), daemon=True
        )
        others.start()
        ready.wait(120.0)
        paced(client, stream, 1.0)
        answers, delays, sent = paced(client, stream, seconds)
        done.set()
        others.join(30.0)
    return {
        "answers_per_second": answers / seconds,
        "of_frames_per_second": sent / seconds,
        "answer_ms_median": 1e3 * float(np.median(delays)) if delays else None,
        "answer_ms_p99": 1e3 * float(np.percentile(delays, 99)) if delays else None,
    }


def paced(
    client: RigClient, stream: Values, seconds: float
) -> tuple[int, list[float], int]:
    """Stream at 120 Hz; answers, how long each took [s], and frames sent."""
    start, sent, delays = time.monotonic(), 0, list[float]()
    times: dict[int, float] = {}
    while (now := time.monotonic()) - start < seconds:
        if now >= start + sent / RATE:
            times[client.send(stream[sent % len(stream)], BOTH)] = now
            sent += 1
        for reply in client.replies(max(0.0, start + sent / RATE - time.monotonic())):
            if reply.answer is not None:
                begun = times.pop(reply.answer.sequence, None)
                if begun is not None:
                    delays.append(time.monotonic() - begun)
    return len(delays), delays, sent


def work(what: Load, port: int, stream: Values, ready: Event, done: Event) -> None:
    """Be the others until `done`."""
    sockets = [opened(i % what.hosts, port) for i in range(what.sources)]
    makers = [sender(what, i, sockets[i], stream) for i in range(what.sources)]
    ready.set()
    start, sent = time.monotonic(), 0
    total = what.rate * what.sources
    while not done.is_set():
        due = int((time.monotonic() - start) * total)
        for number in range(sent, min(due, sent + 500)):
            source, count = number % what.sources, number // what.sources
            try:
                sockets[source].send(makers[source](count))
                if count % 8 == 0:
                    while sockets[source].recv(65535):
                        pass
            except OSError:
                continue
        sent = max(sent, min(due, sent + 500))
        if sent == due:
            time.sleep(0.001)


def opened(host: int, port: int) -> socket.socket:
    """A socket of the given loopback address that does not wait."""
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    made.bind((f"127.1.{host // 250}.{1 + host % 250}", 0))
    made.connect(("127.0.0.1", port))
    made.setblocking(False)
    return made


def sender(
    what: Load, index: int, where: socket.socket, stream: Values
) -> Callable[[int], bytes]:
    """What gives the next datagram of a socket."""
    if what.layout is None:
        ready = [packets_v1.encode_frames(values) for values in stream]
        return lambda count: ready[count % len(ready)]
    layout = what.layout.named(f"other {index}")
    values = stream if what.layout == LEGS else wriggles(what.layout)

    def hello(nonce: int) -> bytes:
        payload = messages.encode_hello(messages.Hello(nonce, layout))
        return packets.encode(Packet(Kind.HELLO, 0, 1, payload))

    if what.greets:
        return lambda count: hello(count + 1)
    where.send(hello(1))
    where.settimeout(0.5)
    try:
        session = packets.decode(where.recv(65535)).session
    except TimeoutError:
        session = 1
    where.setblocking(False)

    def datagram(count: int) -> bytes:
        if what.runs and count % 2:
            payload = messages.encode_next_request(200)
            return packets.encode(
                Packet(Kind.NEXT_REQUEST, session, count + 2, payload)
            )
        row = values[count % len(values)][None]
        payload = messages.encode_frames(
            messages.FramesMessage(Option.LEARN | Option.PREDICT, row)
        )
        return packets.encode(Packet(Kind.FRAMES, session, count + 2, payload))

    return datagram


@functools.cache
def _wriggles(layout: RigLayout) -> Values:
    return wriggles(layout)


def wriggles(layout: RigLayout) -> Values:
    """Frames of a large rig, every bone turning a little."""
    rng, bones, ends = np.random.default_rng(0), len(layout.bones), ENDS
    frames = []
    for _ in range(40):
        row = np.zeros(layout.frame_size, np.float32)
        turns = 0.05 * rng.normal(size=(bones, 4))
        turns[:, 3] = 1.0
        turns /= np.linalg.norm(turns, axis=1, keepdims=True)
        for bone in range(bones):
            row[7 * bone : 7 * bone + 3] = (0.0, 0.0, -5.0 if bone else 90.0)
            row[7 * bone + 3 : 7 * bone + 7] = turns[bone]
        row[7 * bones : 7 * bones + 4 * ends] = np.tile([0.0, 0.0, 1.0, 1.0], ends)
        row[7 * bones + 4 * ends :] = 10.0 * rng.normal(size=3 * ends)
        frames.append(row)
    return frames
