"""What the rig server survives: bad datagrams, loss, kill -9, a full disk."""

from __future__ import annotations

import argparse
import json
import random
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from _rig_common import BOTH, RATE, Server, Values, clip_frames, frames_datagram

from ambulo.rig_server import packets, packets_v1
from ambulo.rig_server.client import RigClient
from ambulo.rig_server.frames import floats_of, frame_of
from ambulo.rig_server.layout import LEGS
from ambulo.rig_server.messages import Kind


def faults(args: argparse.Namespace) -> dict[str, Any]:
    """Fuzz, loss, reordering, kill -9, a full disk."""
    stream = [floats_of(LEGS, f) for f in clip_frames(args.data, "02_01")]
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        server = Server(folder, "--models", str(folder / "rigs"))
        result: dict[str, Any] = {"fuzz": fuzz(server, stream)}
        result["fuzz"]["report"] = server.stop()
        server.start()
        result["loss_and_reordering"] = rough_network(server, stream)
        result["killed"] = killed(server, stream)
        server.stop()
        result["full_disk"] = full_disk(folder, stream)
        result["finite_files"] = all_finite(folder / "rigs")
    print(json.dumps(result, default=str))
    return result


def fuzz(server: Server, stream: Values) -> dict[str, Any]:
    """100,000 bad datagrams beside a client that goes on working."""
    rng, sent, answers = random.Random(1), 0, 0
    memory = [server.memory_mb()]
    with (
        RigClient("127.0.0.1", server.port, LEGS.named("steady")) as client,
        RigClient("127.0.0.1", server.port, LEGS.named("fuzzer")) as bad,
    ):
        client.connect(20.0)
        bad.connect(20.0)
        raw = bad._socket
        seen: list[bytes] = []
        for i in range(2000):
            if i in {500, 1000, 1500}:
                memory.append(server.memory_mb())
            client.send(stream[i % len(stream)], BOTH)
            answers += sum(reply.answer is not None for reply in client.replies(0.02))
            for _ in range(50):
                data = bad_datagram(rng, bad.session, stream, seen)
                try:
                    raw.send(data)
                    sent += 1
                except OSError:
                    continue
        time.sleep(1.0)
    memory.append(server.memory_mb())
    return {
        "sent": sent,
        "answers_to_the_steady_client": answers,
        "of_its_frames": 2000,
        "alive": server.process.poll() is None,
        "memory_mb": memory,
    }


def bad_datagram(  # noqa: PLR0911 - eight kinds
    rng: random.Random, session: int, stream: Values, seen: list[bytes]
) -> bytes:
    """One of eight kinds of bad datagram."""
    values = stream[rng.randrange(len(stream))].copy()
    number = rng.randrange(1, 2**31)
    kind = rng.randrange(8)
    if kind == 0:
        return rng.randbytes(rng.randrange(600))
    if kind == 1:
        return rng.randbytes(rng.choice([32_800, 60_000]))
    if kind == 2:  # not finite, or absurd
        values[rng.randrange(63)] = rng.choice([np.nan, np.inf, -np.inf, 1e30])
        return packets_v1.encode_frames(values)
    good = frames_datagram(session, number, values)
    if kind == 3:
        return good[: rng.randrange(len(good))]
    if kind == 4:  # wrong CRC
        place = rng.randrange(len(good))
        return good[:place] + bytes([good[place] ^ 0x55]) + good[place + 1 :]
    if kind == 5:  # another's session
        return frames_datagram(rng.getrandbits(63), number, values)
    if kind == 6:  # replayed
        seen.append(packets.encode(packets.Packet(Kind.PING, session, 1, b"")))
        return seen[0]
    values[3:7] = 0.0
    return frames_datagram(session, number, values)


def rough_network(server: Server, stream: Values) -> dict[str, Any]:
    """A fifth of the frames is lost, the others overtake each other within 8."""
    rng = random.Random(2)
    order = sorted(
        (i + rng.uniform(0.0, 8.0), i) for i in range(1000) if rng.random() > 0.2
    )
    with RigClient("127.0.0.1", server.port, LEGS.named("rough")) as client:
        client.connect(20.0)
        answers, status = 0, None
        for _, i in order:
            values = stream[i % len(stream)]
            client._socket.send(frames_datagram(client.session, i + 10, values))
            for reply in client.replies(0.02):
                answers += reply.answer is not None
                status = reply.status or status
    assert status is not None
    return {
        "frames_that_arrived": len(order),
        "answers": answers,
        "loss_cm2": status.loss,
        "position_mm": 1e3 * status.position_error,
        "converged": status.converged,
    }


def killed(server: Server, stream: Values) -> dict[str, Any]:
    """Kill -9 in the middle of a stream, and a new server on the same folder."""
    from ambulo.commands.rig.replay import Replay, replay_v2, scores_of

    frames = [frame_of(LEGS, values) for values in stream] * 4

    def strike(replay: Replay) -> None:
        if len(replay.delays) > 500 and not struck:
            struck.append(True)
            server.process.kill()
            server.process.wait()
            server.start()

    struck: list[bool] = []
    with RigClient("127.0.0.1", server.port, LEGS.named("killed")) as client:
        client.connect(20.0)
        replay = replay_v2(client, frames, 1.0 / RATE, watch=strike)
        welcome = client.welcome
    assert welcome is not None
    return {
        "reconnected": replay.reconnected,
        "frames_known_after_restart": welcome.frames,
        "answers_at_once_after_restart": welcome.converged,
        "answered": len(replay.predicted),
        "of": len(frames),
        "calf_cm": scores_of(replay).calf_cm,
    }


def full_disk(folder: Path, stream: Values) -> dict[str, Any]:
    """Models on a file system of 64 KiB, where no model has room."""
    small = folder / "small"
    small.mkdir()
    mount = shutil.which("mount")
    done = (
        mount is not None
        and not subprocess.run(
            [mount, "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(small)],
            check=False,
            capture_output=True,
        ).returncode
    )
    if not done:
        return {"skipped": "no right to mount a small file system"}
    (folder / "second").mkdir()
    try:
        server = Server(folder / "second", "--models", str(small))
        with RigClient("127.0.0.1", server.port, LEGS) as client:
            client.connect(20.0)
            answers = 0
            for values in stream * 2:
                client.send(values, BOTH)
                time.sleep(0.004)
                answers += sum(r.answer is not None for r in client.replies(0.02))
        report = server.stop()
        left = [file.name for file in small.iterdir()]
    finally:
        subprocess.run(["umount", str(small)], check=False)
    return {
        "answers": answers,
        "of": 2 * len(stream),
        "refused_by_the_disk": report["save_failures"],
        "files_left_behind": left,
    }


def all_finite(folder: Path) -> bool:
    """Whether every number in every saved model is finite."""
    from safetensors.numpy import load_file

    return all(
        bool(np.isfinite(array).all())
        for file in folder.glob("*.safetensors")
        for array in load_file(file).values()
    )
