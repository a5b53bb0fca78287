"""Equal shares of time: by source, then by client, whatever each piece of work costs."""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ambulo.rig_server import inbox, messages, packets
from ambulo.rig_server.inbox import FIRST, MOST, Inbox
from ambulo.rig_server.layout import LEGS
from ambulo.rig_server.messages import Kind
from ambulo.rig_server.packets import Fault, Packet
from ambulo.rig_server.server import STRANGERS
from ambulo.rig_server.shares import LESSONS, PATIENCE, FairShares, Shares

Stream = list[NDArray[np.float32]]

HOST = "10.0.0.1"
MakeBench = Callable[..., Any]


def always(member: object) -> bool:
    return True


def test_equal_costs_take_turns() -> None:
    shares = Shares[str]()
    for name in "abc":
        shares.add(name)
    told = []
    for _ in range(6):
        name = shares.next(always)
        assert name is not None
        told.append(name)
        shares.charge(name, 1.0)
    assert told == list("abcabc")


def test_time_is_shared_not_turns() -> None:
    """A piece of `a` costs 10 of `b`: `b` gets 10 pieces for each of `a`."""
    shares, cost = Shares[str](), {"a": 10.0, "b": 1.0}
    shares.add("a")
    shares.add("b")
    pieces = collections.Counter[str]()
    for _ in range(1100):
        name = shares.next(always)
        assert name is not None
        pieces[name] += 1
        shares.charge(name, cost[name])
    assert pieces == {"a": 100, "b": 1000}


def test_who_rested_comes_next_but_has_saved_nothing() -> None:
    shares = Shares[str]()
    shares.add("busy")
    shares.add("rested")
    for _ in range(1000):
        assert shares.next(lambda name: name == "busy") == "busy"
        shares.charge("busy", 1.0)
    told = []
    for _ in range(6):
        name = shares.next(always)
        assert name is not None
        told.append(name)
        shares.charge(name, 1.0)
    assert told[0] == "rested"
    assert told.count("rested") == 3


def test_many_sockets_of_a_host_share_what_one_host_gets() -> None:
    shares = FairShares[tuple[str, int]]()
    crowd = [("10.0.0.9", port) for port in range(300)]
    for member in [*crowd, (HOST, 1)]:
        shares.add(member, member[0])
    served = collections.Counter[tuple[str, int]]()
    for _ in range(1200):
        member = shares.next(always)
        assert member is not None
        served[member] += 1
        shares.charge(member, member[0], 1.0)
    assert served[HOST, 1] == 600
    assert {served[member] for member in crowd} == {2}


def test_members_that_leave_are_gone() -> None:
    shares = FairShares[tuple[str, int]]()
    shares.add((HOST, 1), HOST)
    shares.add((HOST, 2), HOST)
    shares.remove((HOST, 1), HOST)
    assert shares.next(always) == (HOST, 2)
    shares.remove((HOST, 2), HOST)
    shares.remove((HOST, 2), HOST)
    assert shares.next(always) is None
    shares.charge((HOST, 2), HOST, 1.0)


def test_the_inbox_keeps_the_newest_of_an_address_and_little_of_strangers() -> None:
    box, known, stranger = Inbox(), (HOST, 1), ("10.0.0.9", 1)
    for number in range(MOST + 5):
        box.put(str(number).encode(), known, known=True)
        box.put(str(number).encode(), stranger, known=False)
    assert box.take(known) == b"5"
    assert box.next_stranger() == stranger
    assert box.take(stranger) == str(MOST + 5 - FIRST).encode()
    for port in range(2 * inbox.STRANGERS):
        box.put(b"hello", ("10.0.0.8", port), known=False)
    assert len(box.strangers) == inbox.STRANGERS
    before = box.dropped
    box.put(bytes(inbox.MOST_BYTES), known, known=True)
    assert box.take(known) == bytes(inbox.MOST_BYTES)
    assert box.take(known) is None
    assert box.dropped == before + MOST - 1


class Costly:
    """A clock that work moves on: by what a frame of an address costs."""

    def __init__(self, server: Any, cost: dict[str, float]) -> None:
        self.now, self._cost, self._server = 100.0, cost, server
        self._answer = server._work_on
        server._clock = lambda: self.now
        server._work_on = self.work_on

    def work_on(self, character: Any) -> None:
        self.now += self._cost[character.address[0]]
        self._answer(character)


def test_a_small_client_is_answered_at_its_rate_beside_large_ones(
    make: MakeBench, stream: Stream
) -> None:
    """8 hosts stream without end and cost 20 ms a frame; the small one 0.1 ms, 120 Hz."""
    bench = make(sequences=False)
    hosts = [f"10.0.1.{i}" for i in range(8)]
    sessions = {host: bench.hello((host, 5), nonce=i) for i, host in enumerate(hosts)}
    small = bench.hello((HOST, 5), nonce=99)
    clock = Costly(bench.server, {HOST: 1e-4, **dict.fromkeys(hosts, 0.02)})
    start, sent, number = clock.now, 0, 1
    while clock.now < start + 2.0:
        while sent < 120.0 * (clock.now - start):
            sent += 1
            bench.server.offer(frame(small, sent + 1, stream), (HOST, 5))
        for host in hosts:
            number += 1
            bench.server.offer(frame(sessions[host], number, stream), (host, 5))
        bench.server.work()
    client = bench.server.characters[(HOST, 5), small]
    assert client.received >= 2 * 110
    assert client.received - len(client.queue) >= 2 * 100
    assert client.dropped == 0


def frame(session: int, number: int, stream: Stream) -> bytes:
    values = stream[number % len(stream)][None]
    payload = messages.encode_frames(messages.FramesMessage(messages.Option(3), values))
    return packets.encode(Packet(Kind.FRAMES, session, number, payload))


def test_strangers_share_what_one_source_gets(make: MakeBench, stream: Stream) -> None:
    bench = make(max_clients=1)
    session = bench.hello((HOST, 5))
    hello = packets.encode(
        Packet(Kind.HELLO, 0, 1, messages.encode_hello(messages.Hello(7, LEGS)))
    )
    for number in range(2, 42):
        bench.server.offer(frame(session, number, stream), (HOST, 5))
    for port in range(200):
        bench.server.offer(hello, ("10.0.0.9", port))
    client = bench.server.characters[(HOST, 5), session]
    for _ in range(60):
        bench.server.work()
    assert client.received >= 25
    assert len(bench.server.inbox.strangers) >= 170
    while bench.server.work():
        pass
    assert bench.server.faults[Fault.FULL] == 200
    assert STRANGERS not in bench.server.clients.by_address


def test_learning_waits_until_answers_had_their_time(
    make: MakeBench, stream: Stream
) -> None:
    """A lesson of 30 ms is followed by 270 ms of answers of 1 ms."""
    bench = make(sequences=False)
    session = bench.hello((HOST, 5))
    clock = Costly(bench.server, {HOST: 1e-3})
    client = bench.server.characters[(HOST, 5), session]
    lesson, lessons = client.learn, list[int]()

    def learn() -> None:
        clock.now += 0.03
        lessons.append(client.models.learner.progress.frames)
        lesson()

    client.learn = learn
    for number in range(2, 700):
        bench.server.offer(frame(session, number, stream), (HOST, 5))
        bench.server.work()
    assert lessons[0] == PATIENCE
    waits = np.diff(lessons)
    assert waits.min() >= LESSONS * 0.03 / 1e-3 - 1
    assert len(lessons) >= 2


def test_a_source_that_leaves_and_returns_takes_its_debt_along() -> None:
    shares, spent = FairShares[str](), {"steady": 0.0, "leaving": 0.0}
    cost = {"steady": 0.001, "leaving": 0.05}
    for name in spent:
        shares.add(name, name)
    for _ in range(2000):
        name = shares.next(always)
        assert name is not None
        shares.charge(name, name, cost[name])
        spent[name] += cost[name]
        if name == "leaving":
            shares.remove(name, name)
            shares.add(name, name)
    assert abs(spent["steady"] - spent["leaving"]) <= 0.05
