"""Whose anatomy it is: a stream of another skeleton gets no model of somebody else."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fixtures.motion import make_walk as make_motion
from fixtures.udp import running

from ambulo.commands import rig_client
from ambulo.motion.formats.files import write_motion
from ambulo.rig_server import messages, packets_v1
from ambulo.rig_server.clients import ServerConfig
from ambulo.rig_server.frames import RigFrame, floats_of
from ambulo.rig_server.layout import LEGS, legs_of
from ambulo.rig_server.messages import ErrorCode, Kind
from ambulo.rig_server.packets import Fault

ONE, TWO = ("127.0.0.1", 4001), ("127.0.0.1", 4002)
MakeBench = Callable[..., Any]
MakeWalk = Callable[..., list[RigFrame]]


def test_a_stream_of_another_skeleton_is_refused_and_told(
    make: MakeBench, make_walk: MakeWalk, tmp_path: Path
) -> None:
    bench = make(models=tmp_path)
    first = bench.streamed(ONE, [floats_of(LEGS, frame) for frame in make_walk(80)])
    bench.server.clients.forget(bench.server.characters[ONE, first])
    longer = [floats_of(LEGS, frame) for frame in make_walk(80, thigh=0.45)]
    second = bench.hello(TWO, nonce=2)
    bench.frames(second, TWO, longer[0])
    failure = messages.decode_failure(bench.last(Kind.ERROR).payload)
    assert failure.code == ErrorCode.BAD_RIG
    for part in ("'legs'", "another skeleton", "calf_r", "3.0 cm", "name of its own"):
        assert part in failure.text
    assert bench.server.faults[Fault.CONTENT] == 1
    models = bench.server.characters[TWO, second].models
    assert models.learner.progress.frames == 80  # nothing was learned from it
    # Under another name it is learned; the first person finds the own model again.
    third = bench.hello(TWO, LEGS.named("tall"), nonce=3)
    bench.frames(third, TWO, *longer[:20])
    tall = bench.server.characters[TWO, third].models.learner.progress
    assert tall.frames == 20
    bench.now += 3.0
    again = bench.hello(ONE, nonce=4)
    bench.frames(again, ONE, floats_of(LEGS, make_walk(1)[0]))
    own = bench.server.characters[ONE, again].models.learner.progress
    assert own.frames == 81


def test_stretch_and_noise_are_no_other_skeleton(
    make: MakeBench, make_walk: MakeWalk, tmp_path: Path
) -> None:
    bench = make(models=tmp_path)
    session = bench.streamed(ONE, [floats_of(LEGS, f) for f in make_walk(20)])
    bench.server.clients.forget(bench.server.characters[ONE, session])
    session = bench.streamed(
        TWO, [floats_of(LEGS, f) for f in make_walk(20, thigh=0.43)]
    )
    progress = bench.server.characters[TWO, session].models.learner.progress
    assert progress.frames == 40


def test_version_1_gets_a_model_of_the_skeleton(
    make: MakeBench, make_walk: MakeWalk, tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    bench = make(models=tmp_path)
    shorter, longer = make_walk(30), make_walk(30, thigh=0.45)
    with caplog.at_level(logging.WARNING):
        for address, walk in ((ONE, shorter), (TWO, longer), (TWO, longer)):
            for frame in walk:
                data = packets_v1.encode_frames(floats_of(LEGS, frame))
                bench.server.receive(data, address)
                while bench.server.work():
                    pass
            bench.now += 3.0
            if address == ONE:
                bench.server.clients.forget(bench.server.characters[ONE, 0])
    assert caplog.text.count("another skeleton") == 1
    character = bench.server.characters[TWO, 0]
    assert character.layout == legs_of(longer[0].offsets)
    assert character.models.learner.progress.frames == 60


def test_names_are_those_of_skeletons(make_walk: MakeWalk) -> None:
    walk = make_walk(40)
    names = {legs_of(frame.offsets).name for frame in walk}
    assert len(names) == 1
    assert names != {legs_of(make_walk(1, thigh=0.43)[0].offsets).name}
    assert all(name.startswith("legs-") for name in names)


@pytest.mark.integration
def test_a_second_person_of_the_command_inherits_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same command for two people, one after the other, on one server."""
    walk = make_motion(150)
    taller = walk.skeleton.replace(offsets=1.15 * walk.skeleton.offsets)
    people = {
        "one.bvh": walk,
        "two.bvh": walk.replace(
            skeleton=taller, root_positions=1.15 * walk.root_positions
        ),
    }
    for name, motion in people.items():
        write_motion(tmp_path / name, motion)
    with running(ServerConfig(models=tmp_path / "rigs")) as udp:
        scores = {}
        for name in people:
            arguments = [
                "--motion", str(tmp_path / name), "--port", str(udp.port),
                "--speed", "0", "--json", str(tmp_path / f"{name}.json"),
            ]  # fmt: skip
            assert rig_client.main(arguments) == 0
            found = json.loads((tmp_path / f"{name}.json").read_text())
            (scores[name],) = found["clips"].values()
        assert all(score["foot_cm"] < 0.1 for score in scores.values())
        assert all(score["first_answer"] >= 50 for score in scores.values())
        assert "knows" not in capsys.readouterr().err
        # Under one name on purpose, the second is refused in one line.
        for name, code in (("one.bvh", 0), ("two.bvh", 2)):
            arguments = [
                "--motion", str(tmp_path / name), "--port", str(udp.port),
                "--speed", "0", "--name", "me",
            ]  # fmt: skip
            assert rig_client.main(arguments) == code
            told = capsys.readouterr().err
            assert ("another skeleton" in told) == (code == 2)
        assert told.count("\n") <= 2
