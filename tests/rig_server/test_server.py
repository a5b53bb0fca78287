"""The server without a socket: what it answers, whom it isolates, what it drops."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ambulo.rig_server import messages, packets, packets_v1
from ambulo.rig_server.frames import RigFrame, floats_of
from ambulo.rig_server.layout import LEGS
from ambulo.rig_server.messages import ErrorCode, Kind, Option, Result
from ambulo.rig_server.packets import Fault, Packet

Stream = list[NDArray[np.float32]]

Address = tuple[str, int]
ENGINE, OTHER = ("127.0.0.1", 4001), ("127.0.0.1", 4002)
MakeBench = Callable[..., Any]
BOTH = Option.LEARN | Option.PREDICT


def test_version_1_answers_97_bytes_once_it_is_good_enough(
    make: MakeBench, stream: Stream
) -> None:
    bench = make()
    bench.server.receive(b"\x00", ENGINE)
    names = ((0, "pelvis"), (1, "thigh_r"))
    bench.server.receive(packets_v1.encode_setup(names), ENGINE)
    assert not bench.sent
    for values in stream[:132]:
        bench.server.receive(packets_v1.encode_frames(values), ENGINE)
        while bench.server.work():
            pass
    assert 60 <= len(bench.sent) <= 90
    assert all(len(data) == 97 and data[0] == 3 for data, _ in bench.sent)
    answer = packets_v1.decode_prediction(bench.sent[-1][0]).reshape(6, 4)
    np.testing.assert_allclose(np.linalg.norm(answer, axis=1), 1.0, atol=1e-5)
    (character,) = bench.server.characters.values()
    assert character.layout.name.startswith("legs-")
    assert bench.server.pings == 1


def test_version_2_acknowledges_every_datagram(make: MakeBench, stream: Stream) -> None:
    bench = make()
    session = bench.hello(ENGINE)
    welcome = messages.decode_welcome(bench.last(Kind.WELCOME).payload)
    assert (welcome.frame_size, welcome.output_size, welcome.frames) == (63, 24, 0)
    for values in stream[:100]:
        bench.frames(session, ENGINE, values)
    told = [k for k in bench.kinds() if k in {Kind.ACK, Kind.PREDICTION}]
    assert len(told) == 100
    assert told[0] == Kind.ACK
    assert told[-1] == Kind.PREDICTION
    assert messages.decode_ack(bench.last(Kind.ACK).payload).result == Result.LEARNED
    answer = messages.decode_answer(bench.last(Kind.PREDICTION).payload, 24)
    assert answer.sequence == 101
    assert answer.reached.all()
    status = messages.decode_status(bench.last(Kind.STATUS).payload)
    assert status.frames == 90
    assert status.converged
    assert 0.0 <= status.loss < 1e-3


def test_frames_for_prediction_alone_teach_nothing(
    make: MakeBench, stream: Stream
) -> None:
    bench = make()
    session = bench.hello(ENGINE)
    bench.frames(session, ENGINE, stream[0], options=Option.PREDICT)
    assert messages.decode_ack(bench.last(Kind.ACK).payload).result == Result.SEEN
    assert bench.server.characters[ENGINE, session].models.learner.progress.frames == 0


def test_a_batch_is_answered_at_once(make: MakeBench, stream: Stream) -> None:
    bench = make()
    session = bench.hello(ENGINE)
    for start in range(0, 100, 10):
        bench.frames(session, ENGINE, *stream[start : start + 10])
    answer = messages.decode_answer(bench.last(Kind.PREDICTION).payload, 24)
    assert answer.values.shape == (10, 24)


def test_clients_are_isolated(
    make: MakeBench, stream: Stream, make_walk: Callable[..., list[RigFrame]]
) -> None:
    """A second character beside the first changes no number of the first's model."""
    weights = []
    for company in (False, True):
        bench = make()
        first = bench.hello(ENGINE)
        second = bench.hello(OTHER, LEGS.named("other"), nonce=2) if company else 0
        long = [floats_of(LEGS, frame) for frame in make_walk(40, thigh=0.6)]
        for mine, theirs in zip(stream[:40], long, strict=True):
            bench.frames(first, ENGINE, mine)
            if company:
                bench.frames(second, OTHER, theirs)
        learner = bench.server.characters[ENGINE, first].models.learner
        weights.append(learner.network.flat.copy())
    np.testing.assert_array_equal(weights[0], weights[1])


def test_faults_are_counted_and_change_nothing(make: MakeBench, stream: Stream) -> None:
    bench = make()
    session = bench.streamed(ENGINE, stream[:30])
    character = bench.server.characters[ENGINE, session]
    before = character.models.learner.network.flat.copy()
    good = packets.encode(
        Packet(
            Kind.FRAMES, session, 40,
            messages.encode_frames(messages.FramesMessage(BOTH, stream[30][None])),
        )
    )  # fmt: skip
    bad = stream[30].copy()
    bad[8] = np.nan
    not_finite = messages.encode_frames(messages.FramesMessage(BOTH, bad[None]))
    damaged = bytearray(good)
    damaged[100] ^= 1
    for data, address in (
        (bytes(damaged), ENGINE),
        (good[:-1], ENGINE),
        (good + b"x", ENGINE),
        (good, OTHER),
        (packets.encode(Packet(Kind.FRAMES, session + 1, 40, b"")), ENGINE),
        (packets.encode(Packet(Kind.FRAMES, session, 41, not_finite)), ENGINE),
        (packets.encode(Packet(Kind.FRAMES, session, 3, not_finite)), ENGINE),
        (packets.encode(Packet(Kind.STATUS, session, 42, b"")), ENGINE),
        (packets.encode(Packet(0x77, session, 43, b"")), ENGINE),
        (b"RIG2" + bytes(60_000), ENGINE),
        (b"\x02" + bytes(60_000), ENGINE),
        (packets_v1.encode_frames(bad), ENGINE),
    ):
        bench.server.receive(data, address)
        assert not bench.server.work()
    np.testing.assert_array_equal(character.models.learner.network.flat, before)
    assert bench.server.faults == {
        Fault.CHECKSUM: 1,
        Fault.LENGTH: 4,
        Fault.SESSION: 2,
        Fault.CONTENT: 2,
        Fault.REPLAYED: 1,
        Fault.TYPE: 2,
    }
    assert messages.decode_ack(bench.last(Kind.ACK).payload).result == Result.REFUSED
    failure = messages.decode_failure(bench.last(Kind.ERROR).payload)
    assert failure.code == ErrorCode.UNKNOWN_SESSION


def test_fuzzed_datagrams(make: MakeBench, stream: Stream) -> None:
    """Random, cut and damaged bytes between good frames: nothing but counts."""
    bench, rng = make(max_clients=4), random.Random(3)
    session = bench.hello(ENGINE)
    hello = messages.encode_hello(messages.Hello(9, LEGS))
    for number, values in enumerate(stream[:150], start=2):
        payload = messages.encode_frames(messages.FramesMessage(BOTH, values[None]))
        good = packets.encode(Packet(Kind.FRAMES, session, number, payload))
        bench.server.receive(good, ENGINE)
        for _ in range(6):
            base = rng.choice([good, packets_v1.encode_frames(values), hello])
            data = bytearray(base)
            for _ in range(rng.randrange(1, 6)):
                data[rng.randrange(len(data))] = rng.randrange(256)
            cut = rng.randrange(len(data)) if rng.random() < 0.3 else len(data)
            address = (ENGINE[0], rng.randrange(4001, 4010))
            bench.server.receive(bytes(data[:cut]), address)
            bench.server.receive(rng.randbytes(rng.randrange(400)), address)
        while bench.server.work():
            pass
    assert len(bench.server.characters) <= 4
    assert bench.server.broken == 0
    assert sum(bench.server.faults.values()) > 1000
    for character in bench.server.characters.values():
        assert np.isfinite(character.models.learner.network.flat).all()
        assert np.isfinite(character.models.learner.network.smooth).all()
    ours = bench.server.characters[ENGINE, session]
    assert ours.models.learner.progress.frames == 150


def test_a_secret_shuts_everybody_else_out(make: MakeBench, stream: Stream) -> None:
    bench = make(secret=b"our shared secret")
    session = bench.hello(ENGINE)
    bench.frames(session, ENGINE, stream[0])
    assert bench.last(Kind.ACK).session == session
    sent = len(bench.sent)
    bench.server.receive(packets_v1.encode_frames(stream[0]), OTHER)
    payload = messages.encode_hello(messages.Hello(2, LEGS))
    bench.server.receive(packets.encode(Packet(Kind.HELLO, 0, 1, payload)), OTHER)
    bench.server.receive(
        packets.encode(Packet(Kind.HELLO, 0, 1, payload), b"not the secret"), OTHER
    )
    assert len(bench.sent) == sent
    assert bench.server.faults == {Fault.SECRET: 3}


def test_hello_again_is_the_same_session(make: MakeBench) -> None:
    bench = make()
    assert bench.hello(ENGINE) == bench.hello(ENGINE)
    assert bench.hello(ENGINE, nonce=2) != bench.hello(ENGINE, nonce=3)


def test_sessions_of_one_address_are_bounded(make: MakeBench) -> None:
    bench = make()
    for nonce in range(1, 30):
        bench.hello(ENGINE, LEGS.named(f"rig {nonce}"), nonce=nonce)
    assert len(bench.server.characters) == 8


def test_a_full_server_says_so(make: MakeBench) -> None:
    bench = make(max_clients=1, idle_seconds=5.0)
    bench.hello(ENGINE)
    payload = messages.encode_hello(messages.Hello(2, LEGS))
    bench.give(Packet(Kind.HELLO, 0, 7, payload), OTHER)
    failure = messages.decode_failure(bench.last(Kind.ERROR).payload)
    assert (failure.code, failure.sequence) == (ErrorCode.FULL, 7)
    assert bench.server.faults[Fault.FULL] == 1
    bench.now += 6.0  # the first has gone silent
    bench.hello(OTHER, nonce=2)
    assert len(bench.server.characters) == 1


def test_a_client_that_comes_back_finds_its_model(
    make: MakeBench, stream: Stream
) -> None:
    """Even without a disk: a silent session's model goes to the same rig's next one."""
    bench = make()
    session = bench.streamed(ENGINE, stream[:20])
    both = bench.hello(OTHER, nonce=2)  # at the same time: a model of its own
    assert bench.server.characters[OTHER, both].models.learner.progress.frames == 0
    bench.now += 3.0
    third = ("127.0.0.1", 4003)
    again = bench.hello(third, nonce=3)
    assert bench.server.characters[third, again].models.learner.progress.frames == 20
    assert (ENGINE, session) not in bench.server.characters


def test_learned_rigs_survive_the_server(
    make: MakeBench, stream: Stream, tmp_path: Path
) -> None:
    bench = make(models=tmp_path)
    session = bench.streamed(ENGINE, stream[:100])
    bench.now += 30.0
    bench.server.sweep()  # time to save
    assert bench.server.clients.saver.flush()
    assert bench.server.clients.saver.written == 1
    # No good-bye: the server is gone, another one starts on the same folder.
    other = make(models=tmp_path)
    session = other.hello(ENGINE)
    welcome = messages.decode_welcome(other.last(Kind.WELCOME).payload)
    assert welcome.frames == 100
    assert welcome.converged
    other.frames(session, ENGINE, stream[100], options=Option.PREDICT)
    other.last(Kind.PREDICTION)


def test_idle_clients_are_forgotten_and_kept_on_disk(
    make: MakeBench, stream: Stream, tmp_path: Path
) -> None:
    bench = make(models=tmp_path, idle_seconds=10.0)
    session = bench.hello(ENGINE)
    bench.frames(session, ENGINE, stream[0])
    bench.now += 11.0
    bench.server.sweep()
    assert not bench.server.characters
    assert bench.server.clients.saver.flush()
    assert len(list(tmp_path.iterdir())) == 1
    bench.frames(session, ENGINE, stream[1])
    failure = messages.decode_failure(bench.last(Kind.ERROR).payload)
    assert failure.code == ErrorCode.UNKNOWN_SESSION


def test_bye_and_ping(make: MakeBench) -> None:
    bench = make()
    session = bench.hello(ENGINE)
    bench.give(Packet(Kind.PING, session, 2, b"abc"), ENGINE)
    assert bench.last(Kind.PONG).payload == b"abc"
    bench.give(Packet(Kind.BYE, session, 3, b""), ENGINE)
    assert not bench.server.characters


def test_a_free_run_over_the_wire(make: MakeBench, stream: Stream) -> None:
    bench = make()
    session = bench.hello(ENGINE)
    ask = messages.encode_next_request(50)
    bench.give(Packet(Kind.NEXT_REQUEST, session, 5000, ask), ENGINE)
    bench.server.work()
    failure = messages.decode_failure(bench.last(Kind.ERROR).payload)
    assert failure.code == ErrorCode.NOT_READY
    bench._sequences[session] = 5001
    for values in stream[:600]:
        bench.frames(session, ENGINE, values)
    bench.give(Packet(Kind.NEXT_REQUEST, session, 9000, ask), ENGINE)
    bench.server.work()
    found = messages.decode_next(bench.last(Kind.NEXT).payload, 24)
    assert found.values.shape == (50, 31)
    # Centimetres, and on from where the stream ended.
    assert np.linalg.norm(found.values[0, :3] - stream[599][:3]) < 3.0
    quats = found.values[:, 3:].reshape(50, 7, 4)
    np.testing.assert_allclose(np.linalg.norm(quats, axis=-1), 1.0, atol=1e-4)


def test_lost_and_reordered_frames_are_learned_all_the_same(
    make: MakeBench, stream: Stream
) -> None:
    bench, rng = make(), random.Random(1)
    session = bench.hello(ENGINE)
    datagrams = [
        packets.encode(
            Packet(
                Kind.FRAMES, session, number,
                messages.encode_frames(messages.FramesMessage(BOTH, values[None])),
            )
        )
        for number, values in enumerate(stream[:400], start=2)
    ]  # fmt: skip
    arriving = sorted(
        (i + rng.uniform(0, 8), data)
        for i, data in enumerate(datagrams)
        if rng.random() > 0.2
    )
    for _, data in arriving:
        bench.server.receive(data, ENGINE)
        while bench.server.work():
            pass
    character = bench.server.characters[ENGINE, session]
    progress = character.models.learner.progress
    assert progress.frames == len(arriving)
    assert progress.mean("middle_error") < 0.01
    assert character.models.gate.started
    assert bench.server.faults[Fault.REPLAYED] == 0
