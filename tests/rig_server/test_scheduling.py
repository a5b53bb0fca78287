"""The order of a server's work: who is answered when, and what waits or is left out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ambulo.rig_server import messages
from ambulo.rig_server.character import MAX_PENDING, QUEUE, RUNS, LearningTask
from ambulo.rig_server.messages import ErrorCode, Kind, Option
from ambulo.rig_server.packets import Fault, Packet
from ambulo.rig_server.shares import PATIENCE

Stream = list[NDArray[np.float32]]

Address = tuple[str, int]
ENGINE, OTHER = ("127.0.0.1", 4001), ("127.0.0.1", 4002)
MakeBench = Callable[..., Any]
BOTH = Option.LEARN | Option.PREDICT


def test_no_client_starves(make: MakeBench, stream: Stream) -> None:
    bench = make()
    greedy, modest = bench.hello(ENGINE), bench.hello(OTHER, nonce=2)
    for values in stream[:200]:
        bench.frames(greedy, ENGINE, values, work=False)
    bench.frames(modest, OTHER, stream[0], work=False)
    for _ in range(PATIENCE + 3):
        bench.server.work()
    modest_client = bench.server.characters[OTHER, modest]
    greedy_client = bench.server.characters[ENGINE, greedy]
    assert not modest_client.queue
    assert greedy_client.models.learner.progress.frames == PATIENCE + 1
    # Answers come first, but a stretch of them leaves time for one task.
    assert modest_client.models.learner.progress.learned == 0
    assert greedy_client.models.learner.progress.learned == 1
    for _ in range(PATIENCE):
        bench.server.work()
    assert modest_client.models.learner.progress.learned == 1
    while bench.server.work():
        pass
    assert greedy_client.models.learner.progress.learned == 200
    assert greedy_client.models.learner.progress.frames == 200


def test_answers_come_before_learning(make: MakeBench, stream: Stream) -> None:
    """Frames of two clients are all answered before any of them is learned from."""
    bench = make()
    sessions = [bench.hello(ENGINE), bench.hello(OTHER, nonce=2)]
    for values in stream[:3]:
        bench.frames(sessions[0], ENGINE, values, work=False)
        bench.frames(sessions[1], OTHER, values, work=False)
    clients = [
        bench.server.characters[address, session].models.learner.progress
        for address, session in zip((ENGINE, OTHER), sessions, strict=True)
    ]
    told = []
    while bench.server.work():
        told.append(tuple((c.frames, c.learned) for c in clients))
    assert told == [
        *(((1, 0), (0, 0)), ((1, 0), (1, 0)), ((2, 0), (1, 0)), ((2, 0), (2, 0))),
        *(((3, 0), (2, 0)), ((3, 0), (3, 0)), ((3, 1), (3, 0)), ((3, 1), (3, 1))),
        *(((3, 2), (3, 1)), ((3, 2), (3, 2)), ((3, 3), (3, 2)), ((3, 3), (3, 3))),
    ]


def test_lessons_that_wait_are_bounded_and_the_oldest_are_left_out(
    make: MakeBench, stream: Stream
) -> None:
    bench = make()
    session = bench.hello(ENGINE)
    character = bench.server.characters[ENGINE, session]
    for number in range(1, MAX_PENDING + 11):
        character.postpone(LearningTask(number, 0.001))
    assert [task.number for task in character.pending][:2] == [11, 12]
    assert len(character.pending) == MAX_PENDING
    assert character.hurried == 10
    assert character.share == 0.0
    character.pending.clear()
    for values in stream[:10]:
        bench.frames(session, ENGINE, values)
    bench.give(Packet(Kind.STATUS_REQUEST, session, 999, b""), ENGINE)
    status = messages.decode_status(bench.last(Kind.STATUS).payload)
    assert (status.learned, status.share, status.waiting) == (10, 50, 0)


def test_a_late_lesson_is_of_its_own_frame(make: MakeBench, stream: Stream) -> None:
    """Lessons that had to wait name the rows of memory that hold their frames."""
    bench = make()
    session = bench.streamed(ENGINE, stream[:5], work=False)
    for _ in range(5):
        bench.server.work()
    character = bench.server.characters[ENGINE, session]
    assert [task.number for task in character.pending] == [1, 2, 3, 4, 5]
    rows, memory = [], character.models.learner.memory
    whole = memory.batch

    def watched(newest: int, size: int) -> NDArray[np.int64]:
        rows.append(newest)
        return whole(newest, size)

    memory.batch = watched  # type: ignore[method-assign]
    while bench.server.work():
        pass
    assert rows == [0, 1, 2, 3, 4]


def test_free_runs_that_wait_are_bounded(make: MakeBench) -> None:
    bench = make()
    session = bench.hello(ENGINE)
    for number in range(2, RUNS + 4):
        ask = messages.encode_next_request(600)
        bench.give(Packet(Kind.NEXT_REQUEST, session, number, ask), ENGINE)
    assert bench.server.faults[Fault.BUSY] == 2
    failure = messages.decode_failure(bench.last(Kind.ERROR).payload)
    assert (failure.code, failure.sequence) == (ErrorCode.FULL, RUNS + 3)
    pieces = 0
    while bench.server.work():
        pieces += 1
    assert pieces == RUNS
    failure = messages.decode_failure(bench.last(Kind.ERROR).payload)
    assert failure.code == ErrorCode.NOT_READY


def test_queues_are_bounded_and_the_oldest_go(make: MakeBench, stream: Stream) -> None:
    bench = make()
    session = bench.hello(ENGINE)
    for i in range(QUEUE + 50):
        bench.frames(session, ENGINE, stream[i], work=False)
    character = bench.server.characters[ENGINE, session]
    assert len(character.queue) == QUEUE
    assert character.dropped == 50
    assert bench.server.faults[Fault.BUSY] == 50
    assert bench.kinds().count(Kind.ACK) == 50  # what was dropped is acknowledged
