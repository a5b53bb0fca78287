"""The live rig server: what it learns, what a frame costs, and what it survives.

Learning: walks are streamed once, frame by frame, as a game engine would send them; every
frame is predicted before it is learned from. Then other walks of the same person are
answered without learning. Beside it: the anatomy alone (bone lengths, mean pose and hinges
of the same stream, chains closed on the targets, no network).

Speed: eight clients at 120 Hz, each with its own model, on one core. `speed` measures it in
CPU time (frames arrive when the work's CPU time has reached their moment), so that
other jobs of the machine do not count; `speed_udp` in real time over sockets, with a server
process on core 0. Faults: the same server under fuzzed datagrams, loss, reordering,
kill -9 and a full disk.

    python benchmarks/rig_server.py --cmu DIR --json docs/results/rig_server.json
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ambulo.ik.rig_server import messages, packets, packets_v1
from ambulo.ik.rig_server.client import RigClient
from ambulo.ik.rig_server.frames import RigFrame, floats_of, frame_of
from ambulo.ik.rig_server.layout import LEGS
from ambulo.ik.rig_server.messages import Kind, Option
from ambulo.ik.rig_server.replay import leg_frames
from ambulo.ik.rig_server.sequence import SequenceTrainee
from ambulo.ik.rig_server.server import RigServer
from ambulo.ik.rig_server.server_config import ServerConfig
from ambulo.ik.rig_server.solver import RigSolver
from ambulo.ik.rig_server.trainee import RigTrainee
from ambulo.ik.rig_server.udp import warm_up
from ambulo.motion.files import read_motion
from ambulo.motion.rotations import quat_multiply, quat_to_rotvec
from ambulo.train.shared.files import without_nan, write_atomic

Values = list[NDArray[np.float32]]

PAIRS = (
    ("02_01", ("02_02",)),
    ("02_02", ("02_01",)),
    ("07_01", ("07_03", "07_06", "07_10")),
    ("07_07", ("07_01", "07_10")),
    ("07_01+07_07", ("07_03", "07_06", "07_10")),
)
"""Clips that are streamed once, and clips that are answered then."""
CLIENTS, RATE = 8, 120.0
BOTH = Option.LEARN | Option.PREDICT


def main(argv: Sequence[str] | None = None) -> int:
    """Run the chosen parts; their numbers as text, and as JSON if asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--cmu", type=Path, required=True, help="folder of NN/NN_TT.amc"
    )
    parser.add_argument("--parts", default="learning,free,speed,speed_udp,faults")
    parser.add_argument("--seconds", type=float, default=30.0, help="of the speed part")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args(argv)
    parts = {
        "learning": learning,
        "free": free_runs,
        "speed": speed,
        "speed_udp": speed_udp,
        "faults": faults,
    }
    found: dict[str, Any] = {
        "machine": f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    }
    for name in args.parts.split(","):
        found[name] = parts[name](args)
    if args.json:
        old = json.loads(args.json.read_text()) if args.json.is_file() else {}
        write_atomic(args.json, json.dumps(without_nan(old | found), indent=1) + "\n")
    return 0


def clip_frames(folder: Path, names: str) -> list[RigFrame]:
    """The frames of clips such as "07_01+07_07", through the wire's float32."""
    frames: list[RigFrame] = []
    for name in names.split("+"):
        motion = read_motion(folder / name[:2] / f"{name}.amc")
        frames += [frame_of(LEGS, floats_of(LEGS, f)) for f in leg_frames(motion)]
    return frames


def learning(args: argparse.Namespace) -> list[dict[str, Any]]:
    """One pass over each walk, then others of the same person."""
    rows = []
    for taught, tested in PAIRS:
        trainee = RigTrainee(LEGS)
        solver = RigSolver(trainee)
        scores, smooth, cpu = [], [], []
        for frame in clip_frames(args.cmu, taught):
            start = time.process_time()
            scores.append(vars(trainee.observe(frame)))
            solver.update()
            solver.solve(frame)
            trainee.learn()
            cpu.append(time.process_time() - start)
            smooth.append(dict(trainee.progress.means))
        row: dict[str, Any] = {
            "taught": taught,
            "frames": len(scores),
            "answers_from_frame": solver.started_at,
            "answer_loss_below_1e-3_cm2_from": from_when(smooth, "loss", 1e-3),
            "network_loss_below_1e-3_m2_from": from_when(smooth, "network_loss", 10.0),
            "largest_answer_loss_cm2": max(s["loss"] for s in scores[60:]),
            "last_100_network_loss_cm2": mean(scores[-100:], "network_loss"),
            "prequential_calf_cm": 100 * mean(scores[60:], "middle_error"),
            "prequential_calf_deg": float(
                np.degrees(mean(scores[60:], "middle_angle"))
            ),
            "cpu_ms": 1e3 * float(np.median(cpu)),
        }
        print(json.dumps(row))
        row["tested"] = [answered(trainee, args.cmu, clip) for clip in tested]
        rows.append(row)
    return rows


def from_when(smooth: list[dict[str, float]], name: str, limit: float) -> int:
    """The frame from which a smoothed error stays below `limit`; -1 if it does not."""
    above = [i for i, means in enumerate(smooth) if not means[name] < limit]
    start = above[-1] + 1 if above else 0
    return start if start < len(smooth) else -1


def mean(scores: list[dict[str, float]], name: str) -> float:
    """Mean of one field."""
    return float(np.mean([score[name] for score in scores]))


def answered(trainee: RigTrainee, folder: Path, clip: str) -> dict[str, Any]:
    """Errors on a clip that is not learned from; with and without the network."""
    row: dict[str, Any] = {"clip": clip}
    smooth = trainee.model.network.smooth
    kept = smooth.copy()
    for name in ("", "anatomy_alone_"):
        if name:
            smooth[:] = 0.0
        distance, angle, thigh = [], [], []
        for frame in clip_frames(folder, clip):
            found = trainee.predict(frame, trainee.effectors_of(frame)).rotations
            positions, turned = trainee.model.positions(found)
            wanted, wanted_turned = trainee.model.positions(frame.rotations)
            distance.append(np.linalg.norm(positions - wanted, axis=1))
            cosine = np.abs(np.sum(turned * wanted_turned, axis=1))
            angle.append(np.degrees(2.0 * np.arccos(np.minimum(cosine, 1.0))))
            back = found[1] * np.array([1.0, -1.0, -1.0, -1.0])
            turn = quat_to_rotvec(quat_multiply(back, frame.rotations[1]))
            thigh.append(np.degrees(turn))
        calves, feet = [2, 5], [3, 6]
        far, wide = 100.0 * np.array(distance), np.array(angle)
        row |= {
            f"{name}calf_cm": float(far[:, calves].mean()),
            f"{name}calf_p95_cm": float(np.percentile(far[:, calves], 95)),
            f"{name}calf_deg": float(wide[:, calves].mean()),
            f"{name}foot_cm": float(far[:, feet].mean()),
            f"{name}foot_deg": float(wide[:, feet].mean()),
            # A constant part of the error: what the clip has otherwise than the others.
            f"{name}right_thigh_bias_deg": float(
                np.linalg.norm(np.mean(thigh, axis=0))
            ),
        }
    smooth[:] = kept
    print("  ", json.dumps(row))
    return row


def free_runs(args: argparse.Namespace) -> list[dict[str, Any]]:
    """Ten seconds of walk without input, after some passes over a walk."""
    rows = []
    for clip, passes in (("02_01", 3), ("02_02", 3), ("07_01", 3), ("07_07", 3)):
        frames, model = clip_frames(args.cmu, clip), SequenceTrainee(LEGS)
        for frame in frames * passes:
            model.add(frame)
            model.learn()
        track = model.run(1200)
        assert model.space is not None
        knee, real = track.local[200:, 1], np.array([f.rotations[2] for f in frames])
        way = np.array([f.root_position for f in frames])
        row = {
            "clip": clip,
            "passes": passes,
            "period_s": period(knee),
            "real_period_s": period(real),
            "speed_m_s": pace(track.positions),
            "real_speed_m_s": pace(way),
            "knee_spread": float(np.std(knee, axis=0).max()),
            "real_knee_spread": float(np.std(real, axis=0).max()),
            "height_range_m": float(np.ptp(track.positions[:, 2])),
            "real_height_range_m": float(np.ptp(way[:, 2])),
        }
        print(json.dumps(row))
        rows.append(row)
    return rows


def period(turns: NDArray[np.float64]) -> float:
    """Time after which a movement repeats, [s]: the first good lag from 0.5 to 2 s."""
    values = turns - turns.mean(axis=0)
    lags = np.arange(60, min(240, len(values) // 2))
    gains = [np.sum(values[:-lag] * values[lag:]) / (len(values) - lag) for lag in lags]
    peaks = [
        i
        for i in range(1, len(gains) - 1)
        if gains[i - 1] <= gains[i] >= gains[i + 1] and gains[i] > 0.8 * max(gains)
    ]
    return float(lags[peaks[0] if peaks else int(np.argmax(gains))] / RATE)


def pace(positions: NDArray[np.float64]) -> float:
    """Mean speed over the ground, [m/s]."""
    steps = np.linalg.norm(np.diff(positions[:, :2], axis=0), axis=1)
    return float(steps.mean() * RATE)


class Server:
    """An `ambulo rig-server` process."""

    def __init__(self, folder: Path, *flags: str, core: int | None = None) -> None:
        self.folder, self.flags, self.core = folder, flags, core
        self.log = folder / "log.txt"
        self.port = 0
        self.start()

    def start(self) -> None:
        """Start it, on the port it had."""
        command = [
            sys.executable, "-m", "ambulo.cli", "rig-server", "--plain",
            "--port", str(self.port), "--report", str(self.folder / "report.json"),
            "--save-every", "1", *self.flags,
        ]  # fmt: skip
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                command,
                stderr=log,
            )
        if self.core is not None:
            os.sched_setaffinity(self.process.pid, {self.core})
        end = time.monotonic() + 180.0
        while "listening" not in (text := self.log.read_text()):
            if time.monotonic() > end or self.process.poll() is not None:
                raise RuntimeError(f"the server did not start: {text}")
            time.sleep(0.1)
        self.port = int(text.split("listening on ")[1].split()[0].rpartition(":")[2])

    def memory_mb(self) -> float:
        """Resident memory."""
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        return float(text.split("VmRSS:")[1].split()[0]) / 1024.0

    def cpu_seconds(self) -> float:
        """CPU time so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2]
        user, system = fields.split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def stop(self) -> dict[str, Any]:
        """End it; its report."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60.0)
        report: dict[str, Any] = json.loads((self.folder / "report.json").read_text())
        return report


NAMES = ("02_01", "02_02", "07_01", "07_03", "07_06", "07_07", "07_08", "07_10")


def speed(args: argparse.Namespace) -> dict[str, Any]:
    """The same in CPU time: what a core of its own would do."""
    warm_up()
    streams = [[floats_of(LEGS, f) for f in clip_frames(args.cmu, n)] for n in NAMES]
    sent: list[tuple[bytes, tuple[str, int]]] = []
    idle = [0.0]

    def clock() -> float:
        return time.process_time() + idle[0]

    server = RigServer(
        ServerConfig(), lambda data, to: sent.append((data, to)), clock=clock
    )
    sessions = []
    for i in range(CLIENTS):
        hello = messages.encode_hello(messages.Hello(i + 1, LEGS.named(f"engine {i}")))
        address = ("client", i)
        server.receive(packets.encode(packets.Packet(Kind.HELLO, 0, 1, hello)), address)
        sessions.append(packets.decode(sent.pop()[0]).session)
    start, count, answers = clock(), int(args.seconds * RATE), [0] * CLIENTS
    datagrams = [
        [
            packets.encode(
                packets.Packet(
                    Kind.FRAMES, session, n + 2,
                    messages.encode_frames(
                        messages.Frames(BOTH, stream[n % len(stream)][None])
                    ),
                )
            )
            for n in range(count)
        ]
        for session, stream in zip(sessions, streams, strict=True)
    ]  # fmt: skip
    # Clients are not in step: each begins a part of a frame after the one before.
    arrivals = [(n + i / CLIENTS) / RATE for n in range(count) for i in range(CLIENTS)]
    start, busy, at = clock(), 0.0, 0
    while at < len(arrivals) or any(c.queue for c in server.characters.values()):
        now = clock() - start
        if at < len(arrivals) and not any(c.queue for c in server.characters.values()):
            idle[0] += max(0.0, arrivals[at] - now)
        begin = time.process_time()
        while at < len(arrivals) and arrivals[at] <= clock() - start:
            n, i = divmod(at, CLIENTS)
            server.receive(datagrams[i][n], ("client", i))
            at += 1
        server.work()
        busy += time.process_time() - begin
        for data, (_, i) in sent:
            answers[i] += packets.decode(data).kind == Kind.PREDICTION
        sent.clear()
    clients = list(server.characters.values())
    work = 1e3 * np.concatenate([list(c.work) for c in clients])
    waits = 1e3 * np.concatenate([list(c.waits) for c in clients])
    row = {
        "clients": CLIENTS,
        "rate_hz": RATE,
        "frames_each": count,
        "load_of_machine": os.getloadavg()[0],
        "cpu_ms_per_frame": 1e3 * busy / (count * CLIENTS),
        "share_of_a_core": busy / (count / RATE),
        "work_ms_median_wall": float(np.median(work)),
        "answer_ms_median": float(np.median(waits)),
        "answer_ms_p99": float(np.percentile(waits, 99)),
        "answers_fewest": min(answers),
        "answers_most": max(answers),
        "learned_fewest": min(c.models.trainee.progress.learned for c in clients),
        "not_learned_in_a_hurry": sum(c.hurried for c in clients),
        "dropped": sum(c.dropped for c in clients),
    }
    server.close()
    print(json.dumps(row))
    return row


def speed_udp(args: argparse.Namespace) -> dict[str, Any]:
    """Eight clients at 120 Hz over the loopback, a server on one core, in real time."""
    streams = [[floats_of(LEGS, f) for f in clip_frames(args.cmu, n)] for n in NAMES]
    with tempfile.TemporaryDirectory() as folder:
        server = Server(Path(folder), "--models", f"{folder}/rigs", core=0)
        clients = [
            RigClient("127.0.0.1", server.port, LEGS.named(f"engine {i}"))
            for i in range(CLIENTS)
        ]
        for client in clients:
            client.connect(20.0)
        answers, sent = [0] * CLIENTS, 0
        delays: list[float] = []
        times: list[dict[int, float]] = [{} for _ in clients]
        start, cpu = time.monotonic(), server.cpu_seconds()
        while (now := time.monotonic()) - start < args.seconds:
            if now >= start + sent / RATE:
                for client, stream, known in zip(clients, streams, times, strict=True):
                    known[client.send(stream[sent % len(stream)], BOTH)] = now
                sent += 1
            else:
                time.sleep(min(0.001, start + sent / RATE - now))
            for i, client in enumerate(clients):
                for reply in client.replies():
                    if reply.answer is not None:
                        answers[i] += 1
                        delays.append(
                            time.monotonic() - times[i].pop(reply.answer.sequence)
                        )
        cpu = server.cpu_seconds() - cpu
        report = server.stop()
        for client in clients:
            client.__exit__()
    rows = report["clients"]
    row = {
        "clients": CLIENTS,
        "rate_hz": sent / args.seconds,
        "frames_each": sent,
        "load_of_machine": os.getloadavg()[0],
        "work_ms_median": float(np.median([r["work_ms"] for r in rows])),
        "work_ms_p99": float(np.median([r["work_p99_ms"] for r in rows])),
        "cpu_ms_per_frame": 1e3 * cpu / (sent * CLIENTS),
        "cpu_share_of_core": cpu / args.seconds,
        "answer_ms_median": 1e3 * float(np.median(delays)),
        "answer_ms_p99": 1e3 * float(np.percentile(delays, 99)),
        "answers_fewest": min(answers),
        "answers_most": max(answers),
        "learned_fewest": min(r["learned"] for r in rows),
        "not_learned_in_a_hurry": sum(r["hurried"] for r in rows),
        "dropped": sum(r["dropped"] for r in rows),
    }
    print(json.dumps(row))
    return row


def faults(args: argparse.Namespace) -> dict[str, Any]:
    """Fuzz, loss, reordering, kill -9, a full disk."""
    stream = [floats_of(LEGS, f) for f in clip_frames(args.cmu, "02_01")]
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
    payload = messages.encode_frames(messages.Frames(BOTH, values[None]))
    good = packets.encode(packets.Packet(Kind.FRAMES, session, number, payload))
    if kind == 3:
        return good[: rng.randrange(len(good))]
    if kind == 4:  # wrong CRC
        place = rng.randrange(len(good))
        return good[:place] + bytes([good[place] ^ 0x55]) + good[place + 1 :]
    if kind == 5:  # another's session
        other = packets.Packet(Kind.FRAMES, rng.getrandbits(63), number, payload)
        return packets.encode(other)
    if kind == 6:  # replayed
        seen.append(packets.encode(packets.Packet(Kind.PING, session, 1, b"")))
        return seen[0]
    values[3:7] = 0.0
    broken = messages.encode_frames(messages.Frames(BOTH, values[None]))
    return packets.encode(packets.Packet(Kind.FRAMES, session, number, broken))


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
            payload = messages.encode_frames(
                messages.Frames(BOTH, stream[i % len(stream)][None])
            )
            packet = packets.Packet(Kind.FRAMES, client.session, i + 10, payload)
            client._socket.send(packets.encode(packet))
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
    from ambulo.train.ik.rig_replay import Replay, replay_v2, scores_of

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


if __name__ == "__main__":
    sys.exit(main())
