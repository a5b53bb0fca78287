"""The live rig server: what it learns, what a frame costs.

* `learning`: walks are streamed once, frame by frame; every frame is predicted before it is
  learned from. Then other walks of the same person are answered without learning. Beside it:
  the anatomy alone (bone lengths, mean pose and hinges of the same stream, chains closed on the
  targets, no network).
* `free`: ten seconds of walk without input, after some passes over a walk.
* `styles`: with `--manifest`, gaits that are no plain walk, 60 s of one person's kind of gait,
  then another recording of it.
* `speed_udp`: eight clients at 120 Hz, each with its own model, over sockets, with a server
  process on core 0, in real time.

    python benchmarks/rig_server.py --parts learning styles --manifest FILE.csv
"""

from __future__ import annotations

import csv
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the server's command does

import numpy as np
from _harness import CMU, run
from numpy.typing import NDArray

from ambulo.configs.errors import MotionError
from ambulo.motion.formats.files import read_motion
from ambulo.motion.rotations import quat_multiply, quat_to_rotvec
from ambulo.rig_server.client import RigClient
from ambulo.rig_server.frames import RigFrame, floats_of, frame_of
from ambulo.rig_server.layout import LEGS
from ambulo.rig_server.learner import RigLearner
from ambulo.rig_server.messages import Option
from ambulo.rig_server.replay import leg_frames
from ambulo.rig_server.sequence import SequenceLearner

CLIENTS, RATE = 8, 120.0
PAIRS = (
    ("02_01", ("02_02",)),
    ("02_02", ("02_01",)),
    ("07_01", ("07_03", "07_06", "07_10")),
    ("07_07", ("07_01", "07_10")),
    ("07_01+07_07", ("07_03", "07_06", "07_10")),
)
"""Clips that are streamed once, and clips that are answered then."""
NAMES = ("02_01", "02_02", "07_01", "07_03", "07_06", "07_07", "07_08", "07_10")
"""Clips of the clients."""
GAITS = re.compile(
    r"walk|limp|sneak|march|run|creep|hobble|tiptoe|stealth|jaunt|step", re.IGNORECASE
)
TAUGHT, LEAST, TESTED = 60.0, 20.0, 20.0
"""Most and least seconds of a kind of gait that are learned, and most that are answered."""


def frames_of(path: Path) -> list[RigFrame]:
    """The frames of a clip, through the wire's float32."""
    return [frame_of(LEGS, floats_of(LEGS, f)) for f in leg_frames(read_motion(path))]


def clip_frames(folder: Path, names: str) -> list[RigFrame]:
    """The frames of clips such as "07_01+07_07"."""
    paths = [folder / name[:2] / f"{name}.amc" for name in names.split("+")]
    return [frame for path in paths for frame in frames_of(path)]


def taught(frames: Sequence[RigFrame]) -> tuple[RigLearner, list[dict[str, float]]]:
    """A learner after one pass, and what it scored of each frame before."""
    learner, scores = RigLearner(LEGS), []
    for frame in frames:
        scores.append(dict(vars(learner.observe(frame))))
        learner.learn()
    return learner, scores


def both_errors(learner: RigLearner, frames: Sequence[RigFrame]) -> dict[str, float]:
    """Errors of the answers to `frames`, with and without the network."""
    row = errors_of(learner, frames)
    smooth = learner.network.smooth
    kept = smooth.copy()
    smooth[:] = 0.0
    row |= {f"anatomy_alone_{k}": v for k, v in errors_of(learner, frames).items()}
    smooth[:] = kept
    return row


def learning(data: Path) -> dict[str, Any]:
    """One pass over each walk, then others of the same person."""
    rows: dict[str, Any] = {}
    for clip, tested in PAIRS:
        learner, scores = taught(clip_frames(data, clip))
        late = scores[60:]
        rows[f"{clip}, predicted"] = {
            "calf_cm": 100.0 * float(np.mean([s["middle_error"] for s in late])),
            "calf_deg": float(np.rad2deg(np.mean([s["middle_angle"] for s in late]))),
            "largest_loss_cm2": max(s["loss"] for s in late),
        }
        for other in tested:
            answer = both_errors(learner, clip_frames(data, other))
            rows[f"{clip}, then {other}"] = answer
    return rows


def errors_of(learner: RigLearner, frames: Sequence[RigFrame]) -> dict[str, float]:
    """Mean errors of the answers to `frames`, which are not learned from."""
    distance, angle, thigh = [], [], []
    for frame in frames:
        found = learner.predict(frame, learner.effectors_of(frame)).rotations
        positions, turned = learner.positions(found)
        wanted, wanted_turned = learner.positions(frame.rotations)
        distance.append(np.linalg.norm(positions - wanted, axis=1))
        cosine = np.abs(np.sum(turned * wanted_turned, axis=1))
        angle.append(np.degrees(2.0 * np.arccos(np.minimum(cosine, 1.0))))
        back = found[1] * np.array([1.0, -1.0, -1.0, -1.0])
        turn = quat_to_rotvec(quat_multiply(back, frame.rotations[1]))
        thigh.append(np.degrees(turn))
    calves, feet = [2, 5], [3, 6]
    far, wide = 100.0 * np.array(distance), np.array(angle)
    return {
        "calf_cm": float(far[:, calves].mean()),
        "calf_p95_cm": float(np.percentile(far[:, calves], 95)),
        "calf_deg": float(wide[:, calves].mean()),
        "foot_cm": float(far[:, feet].mean()),
        "foot_deg": float(wide[:, feet].mean()),
        # A constant part of the error: what the clip has otherwise than the others.
        "right_thigh_bias_deg": float(np.linalg.norm(np.mean(thigh, axis=0))),
    }


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


def free(data: Path) -> dict[str, Any]:
    """Ten seconds of walk without input, after three passes over a walk."""
    rows = {}
    for clip in ("02_01", "02_02", "07_01", "07_07"):
        frames, model = clip_frames(data, clip), SequenceLearner(LEGS)
        for frame in frames * 3:
            model.add(frame)
            model.learn()
        positions, rotations = model.run(1200)
        knee = rotations[200:, 2]
        true_knee = np.array([f.rotations[2] for f in frames])
        rows[clip] = {
            "period_s": period(knee),
            "true_period_s": period(true_knee),
            "speed_m_s": pace(positions),
            "true_speed_m_s": pace(np.array([f.root_position for f in frames])),
            "knee_spread": float(np.std(knee, axis=0).max()),
            "true_knee_spread": float(np.std(true_knee, axis=0).max()),
        }
    return rows


def styles(manifest: Path) -> dict[str, Any]:
    """Recordings of one person and kind: all but the last are streamed, the last answered.

    `manifest` is a CSV file with the columns file, person, description and fps.
    """
    groups: dict[str, list[dict[str, str]]] = defaultdict(list)
    with manifest.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if GAITS.search(row["description"]):
                groups[f"{row['person']}, {row['description']}"].append(row)
    rows: dict[str, dict[str, float]] = {}
    for kind, files in groups.items():
        try:  # the first frame is a T-pose in many files
            clips = [frames_of(manifest.parent / row["file"])[1:] for row in files]
        except MotionError as error:
            print(f"left out: {error}", file=sys.stderr)
            continue
        rate = float(files[0]["fps"])
        frames = [frame for clip in clips[:-1] for frame in clip][
            : round(TAUGHT * rate)
        ]
        if len(frames) >= LEAST * rate:
            learner, _ = taught(frames)
            rows[kind] = both_errors(learner, clips[-1][: round(TESTED * rate)])
    far = np.array([[row["calf_cm"], row["calf_deg"]] for row in rows.values()])
    near = (far <= [1.0, 4.0]).all(axis=1) if len(far) else np.zeros(0)
    median = np.median(far, axis=0).tolist() if len(far) else []
    return {"rows": rows, "median": median, "within_1_cm_and_4_deg": int(near.sum())}


class Server:
    """An `ambulo rig-server` process on core 0."""

    def __init__(self, folder: Path) -> None:
        """Start it and wait until it listens."""
        self._folder, log = folder, folder / "log.txt"
        command = [
            sys.executable, "-m", "ambulo.cli", "rig-server", "--plain", "--port", "0",
            "--report", str(folder / "report.json"), "--models", str(folder / "rigs"),
        ]  # fmt: skip
        with log.open("w") as file:
            self._process = subprocess.Popen(command, stderr=file)
        os.sched_setaffinity(self._process.pid, {0})
        end = time.monotonic() + 180.0
        while "listening" not in (text := log.read_text()):
            if time.monotonic() > end or self._process.poll() is not None:
                raise RuntimeError(f"the server did not start: {text}")
            time.sleep(0.1)
        self.port = int(text.split("listening on ")[1].split()[0].rpartition(":")[2])

    def cpu_seconds(self) -> float:
        """CPU time so far."""
        stat = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2]
        user, system = stat.split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def stop(self) -> dict[str, Any]:
        """End it; its report."""
        self._process.send_signal(signal.SIGTERM)
        self._process.wait(60.0)
        text = (self._folder / "report.json").read_text()
        report: dict[str, Any] = json.loads(text)
        return report


def speed_udp(data: Path, seconds: float) -> dict[str, Any]:
    """Eight clients at 120 Hz over the loopback, in real time."""
    streams = [[floats_of(LEGS, f) for f in clip_frames(data, n)] for n in NAMES]
    with tempfile.TemporaryDirectory() as folder:
        server = Server(Path(folder))
        clients = [
            RigClient("127.0.0.1", server.port, LEGS.named(f"engine {i}"))
            for i in range(CLIENTS)
        ]
        for client in clients:
            client.connect(20.0)
        sent, delays = 0, list[float]()
        times: list[dict[int, float]] = [{} for _ in clients]
        start, cpu = time.monotonic(), server.cpu_seconds()
        while (now := time.monotonic()) - start < seconds:
            if now >= start + sent / RATE:
                for client, stream, known in zip(clients, streams, times, strict=True):
                    values = stream[sent % len(stream)]
                    known[client.send(values, Option.LEARN | Option.PREDICT)] = now
                sent += 1
            else:
                time.sleep(min(0.001, start + sent / RATE - now))
            for client, known in zip(clients, times, strict=True):
                for reply in client.replies():
                    if reply.answer is not None:
                        begun = known.pop(reply.answer.sequence)
                        delays.append(time.monotonic() - begun)
        cpu = server.cpu_seconds() - cpu
        rows = server.stop()["clients"]
        for client in clients:
            client.__exit__()
    return {
        "rate_hz": sent / seconds,
        "work_ms_median": float(np.median([r["work_ms"] for r in rows])),
        "work_ms_p99": float(np.median([r["work_p99_ms"] for r in rows])),
        "cpu_share_of_core": cpu / seconds,
        "answer_ms_median": 1e3 * float(np.median(delays or [np.nan])),
        "answer_ms_p99": 1e3 * float(np.percentile(delays or [np.nan], 99)),
        "learned_share": sum(r["learned"] for r in rows) / (sent * CLIENTS),
        "dropped": sum(r["dropped"] for r in rows),
    }


def measure(
    data: Path = CMU / "asfamc",
    parts: tuple[str, ...] = ("learning", "free", "speed_udp"),
    seconds: float = 30.0,
    manifest: Path | None = None,
) -> dict[str, Any]:
    """The chosen parts."""
    every = {
        "learning": lambda: learning(data),
        "free": lambda: free(data),
        "styles": lambda: styles(manifest) if manifest else {},
        "speed_udp": lambda: speed_udp(data, seconds),
    }
    return {name: every[name]() for name in parts}


if __name__ == "__main__":
    run(measure, {"parts": ["learning", "speed_udp"], "seconds": 1.0}, needs="/proc")
