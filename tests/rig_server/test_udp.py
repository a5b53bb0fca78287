"""Client and server on real sockets, and the two commands."""

from __future__ import annotations

import json
import re
import threading
from pathlib import Path

import numpy as np
import pytest
from fixtures.exits import refusal
from fixtures.udp import running
from numpy.typing import NDArray

from ambulo.commands import rig_client, rig_server
from ambulo.commands.rig.replay import Replay, replay_v2, scores_of
from ambulo.commands.rig.view import lines_of, report_of, table_of
from ambulo.configs.errors import AmbuloError
from ambulo.motion.formats.files import write_motion
from ambulo.motion.motion import Motion
from ambulo.motion.operations import resample
from ambulo.motion.skeleton import Skeleton
from ambulo.rig_server.client import PublishedClient, RigClient, ServerSilentError
from ambulo.rig_server.clients import ServerConfig
from ambulo.rig_server.frames import RigFrame, floats_of, frame_of
from ambulo.rig_server.layout import LEGS
from ambulo.rig_server.messages import Option, most_next
from ambulo.rig_server.replay import leg_frames
from ambulo.rig_server.server import RigServer
from ambulo.rig_server.udp import UdpServer

Stream = list[NDArray[np.float32]]

BOTH = Option.LEARN | Option.PREDICT


def forget_all(server: RigServer) -> None:
    """As a server that was started again."""
    for character in list(server.characters.values()):
        server.clients.drop(character)


@pytest.mark.integration
def test_both_versions_over_the_loopback(stream: Stream) -> None:
    with running() as udp:
        with RigClient("127.0.0.1", udp.port, LEGS, secret=b"") as client:
            assert client.connect().frame_size == 63
            answers = 0
            for values in stream[:90]:
                client.send(values, BOTH)
                for reply in client.replies(5.0):
                    answers += reply.answer is not None
            assert answers >= 25
        with PublishedClient("127.0.0.1", udp.port) as published:
            published.set_up(((0, "pelvis"),))
            got: list[NDArray[np.float32]] = []
            for values in stream[:90]:
                published.send(values)
                got += published.answers(0.01)
            got += published.answers(5.0)
            assert got
            assert got[0].shape == (24,)
        report = report_of(udp.server)
        assert report["faults"] == {}
        assert "answers" in "".join(lines_of(report))
        assert table_of(report).row_count == len(report["clients"])
        json.dumps(report)


def test_hello_again_after_a_silence_goes_on(stream: Stream) -> None:
    with running() as udp, RigClient("127.0.0.1", udp.port, LEGS) as client:
        client.connect()
        client.send(stream[0], BOTH)
        assert any(reply.ack for reply in client.replies(5.0))
        session = client.session
        assert client.connect().frames == 1
        assert client.session == session
        client.send(stream[1], BOTH)
        assert any(reply.ack for reply in client.replies(5.0))


def test_a_server_that_is_not_there() -> None:
    with running() as udp:
        port = udp.port
    with RigClient("127.0.0.1", port, LEGS) as client, pytest.raises(ServerSilentError):
        client.connect(timeout=0.3)


def test_a_port_that_is_taken_or_an_address_of_somebody_else() -> None:
    with running() as udp, pytest.raises(AmbuloError, match="cannot be bound"):
        UdpServer(ServerConfig(), port=udp.port)
    with pytest.raises(AmbuloError, match="cannot be bound"):
        UdpServer(ServerConfig(), bind="192.0.2.1", port=0)


def test_a_replay_survives_a_server_that_forgets(walk: list[RigFrame]) -> None:
    frames = [frame_of(LEGS, floats_of(LEGS, frame)) for frame in walk[:140]]
    forgotten: list[bool] = []
    with running() as udp, RigClient("127.0.0.1", udp.port, LEGS) as client:
        client.connect()

        def forget(replay: Replay) -> None:
            if len(replay.delays) >= 20 and not forgotten:
                forgotten.append(True)
                forget_all(udp.server)

        replay = replay_v2(client, frames, 0.0, watch=forget)
    assert replay.reconnected == 1
    scores = scores_of(replay)
    assert scores.answered >= 20
    assert scores.calf_cm < 2.0
    assert scores.foot_cm < 0.01


NAMES = (
    "Hips", "RightUpLeg", "RightLeg", "RightFoot", "LeftUpLeg", "LeftLeg", "LeftFoot",
)  # fmt: skip
OFFSETS = np.array(
    [
        [0, 0, 0.9],
        *([0, -0.1, -0.05], [0, 0, -0.42], [0, 0, -0.42]),
        *([0, 0.1, -0.05], [0, 0, -0.42], [0, 0, -0.42]),
    ]
)
LEGGED = Skeleton("legs", NAMES, (-1, 0, 1, 2, 0, 4, 5), OFFSETS)


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BVH of 2 s of a walk on two legs, 120 frames a second."""
    time = np.arange(80) / 40.0
    rotations = np.zeros((80, 7, 4))
    rotations[..., 0] = 1.0
    for first, shift in ((1, 0.0), (4, np.pi)):
        phase = 2.0 * np.pi * time + shift
        for joint, angle in (
            (first, -0.4 * np.sin(phase)),
            (first + 1, 0.5 + 0.4 * np.sin(phase + 1.0)),
        ):
            rotations[:, joint, 0], rotations[:, joint, 2] = (
                np.cos(angle / 2),
                np.sin(angle / 2),
            )
    root = np.column_stack(
        [1.2 * time, 0.0 * time, 0.93 + 0.02 * np.cos(4 * np.pi * time)]
    )
    motion = resample(Motion(LEGGED, 40.0, root, rotations), 120.0)
    path = tmp_path_factory.mktemp("clip") / "walk.bvh"
    write_motion(path, motion)
    return path


@pytest.mark.slow
def test_the_client_command_draws_real_beside_predicted(
    clip: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with running() as udp:
        arguments = [
            "--motion", str(clip), "--port", str(udp.port), "--speed", "0",
            "--passes", "2", "--test", str(clip), "--free-run", "30",
            "--picture", str(tmp_path / "a.png"), "--gif", str(tmp_path / "a.gif"),
            "--json", str(tmp_path / "a.json"),
        ]  # fmt: skip
        assert rig_client.main(arguments) == 0
    found = json.loads((tmp_path / "a.json").read_text())
    tested = found["clips"][str(clip)]
    assert tested["answered"] == tested["frames"]
    assert tested["calf_cm"] < 1.0
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "a.gif").read_bytes().startswith(b"GIF8")
    assert "calves" in capsys.readouterr().out


@pytest.mark.integration
def test_the_published_protocol_from_the_command(clip: Path, tmp_path: Path) -> None:
    with running() as udp:
        arguments = [
            "--motion", str(clip), "--port", str(udp.port), "--speed", "0",
            "--protocol", "1", "--name", "me", "--json", str(tmp_path / "a.json"),
        ]  # fmt: skip
        assert rig_client.main(arguments) == 0
    scores = json.loads((tmp_path / "a.json").read_text())["clips"][str(clip)]
    assert scores["answered"] > 60


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (["--protocol", "1", "--test", "x.bvh"], "need --protocol 2"),
        (["--gif", "x.txt"], ".gif or .mp4"),
        (["--picture", "no/such/folder/x.png"], "no such folder"),
        (["--speed", "-1"], "--speed"),
        (["--speed", "nan"], "--speed"),
        (["--free-run", "265"], "at most 264 frames"),
        (["--port", "99999"], "0 to 65535"),
        (["--passes", "0"], "at least 1"),
    ],
)
def test_bad_flags_of_the_client(
    clip: Path, flags: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert told in refusal(
        rig_client.main, ["--motion", str(clip), *flags], capsys, alone=False
    )


def test_free_runs_of_the_guide_fit_into_an_answer() -> None:
    guide = Path(__file__).resolve().parents[2] / "docs" / "rig_server.md"
    counts = re.findall(r"--free-run (\d+)", guide.read_text(encoding="utf-8"))
    assert counts
    assert max(map(int, counts)) <= most_next(LEGS.output_size)


def test_no_server_is_one_line(clip: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with running() as udp:
        port = udp.port
    arguments = ["--motion", str(clip), "--port", str(port), "--timeout", "0.3"]
    assert rig_client.main(arguments) == 2
    error = capsys.readouterr().err
    assert "no rig server answers" in error
    assert error.count("\n") == 1


@pytest.mark.integration
def test_the_server_command_stops_by_itself_and_reports(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = tmp_path / "report.json"
    arguments = [
        "--port", "0", "--models", str(tmp_path / "rigs"), "--seconds", "0.2",
        "--plain", "--report", str(report),
    ]  # fmt: skip
    assert rig_server.main(arguments) == 0
    assert "listening on 127.0.0.1:" in capsys.readouterr().err
    assert json.loads(report.read_text())["datagrams"] == 0


@pytest.mark.integration
def test_the_report_counts_what_closing_saves(
    stream: Stream,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A client that is there when the server stops has its model saved, and counted."""

    def one_frame(udp: UdpServer, *_: object) -> None:
        with RigClient("127.0.0.1", udp.port, LEGS) as client:
            hello = threading.Thread(target=client.connect)
            hello.start()
            while hello.is_alive():
                udp.step()
            client.send(stream[0], BOTH)
            while not udp.server.datagrams > 1 or udp.server.work():
                udp.step()

    monkeypatch.setattr(UdpServer, "run", one_frame)
    report = tmp_path / "report.json"
    arguments = [
        "--port", "0", "--models", str(tmp_path / "rigs"), "--plain", "--report", str(report),
    ]  # fmt: skip
    assert rig_server.main(arguments) == 0
    found = json.loads(report.read_text())
    assert found["clients"][0]["learned"] == 1
    assert found["saved"] == 1
    assert len(list((tmp_path / "rigs").iterdir())) == 1


@pytest.mark.integration
def test_an_open_server_without_a_secret_is_warned_about(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = [
        "--bind",
        "0.0.0.0",
        "--port",
        "0",
        "--forget",
        "--seconds",
        "0.1",
        "--plain",
    ]
    assert rig_server.main(flags) == 0
    assert "no secret is set" in capsys.readouterr().err


def test_a_short_secret_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "key").write_text("abc\n")
    assert rig_server.main(["--secret-file", str(tmp_path / "key")]) == 2
    assert "at least 8 bytes" in capsys.readouterr().err


def test_a_clip_is_mirrored_to_the_left_handed_wire() -> None:
    rotations = np.tile([1.0, 0, 0, 0], (1, 7, 1))
    rotations[0, 0] = (np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5))
    motion = Motion(LEGGED, 30.0, np.array([[0.0, 0.0, 0.9]]), rotations)
    frames = leg_frames(motion)
    # Ours: left = +Y. The wire's: right = +Y, so the right thigh is at +0.1.
    np.testing.assert_allclose(frames[0].offsets[1], [0.0, 0.1, -0.05], atol=1e-9)
    np.testing.assert_allclose(frames[0].offsets[4], [0.0, -0.1, -0.05], atol=1e-9)
    # Our turn of 90 degrees to the left is one of -90 degrees there: Z changes sign.
    np.testing.assert_allclose(
        frames[0].root_rotation, [np.sqrt(0.5), 0.0, 0.0, -np.sqrt(0.5)], atol=1e-9
    )
    np.testing.assert_allclose(frames[0].targets[0], [0.0, 0.1, -0.89], atol=1e-9)
