"""Speed of gait networks: frames a second in training, memory, and time of an answer.

Training: the streaming trainer with the published sizes and as the preset `fast`, beside a
plain re-implementation of the published loop: files read whole, rows gathered one by one
in Python, chunks of 65 536 rows gone through five times in batches of 128, Adam, gradients
clamped. All learn the network of 512 x 3 from the same files, made here unless given.
Memory: growth of a fresh process that streams all data once, and the stated bound.
Answers: frames of one gait in a batch of 60 by NumPy, with and without making the six
numbers of each joint a rotation.
Times are CPU times: the machine may be busy.

    python benchmarks/gait_training_speed.py --json docs/results/gait_training_speed.json
"""

from __future__ import annotations

import argparse
import contextlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from _harness import Options, write
from numpy.typing import NDArray

from ambulo.common.signals import Interrupted
from ambulo.configs.gait import gait_space
from ambulo.configs.gait_net import GaitNetDataConfig
from ambulo.configs.presets.gait import PRESETS
from ambulo.motion.gaits.frames import orthonormal
from ambulo.motion.gaits.gait_sets import GaitStream, open_data
from ambulo.motion.gaits.refining import RefinedWriter
from ambulo.motion.gaits.refining import Sequence as GaitSequence
from ambulo.motion.gaits.shards import FRAMES, PER_CYCLE, find_shards
from ambulo.policies.agents.gait_network import load_gait_network
from ambulo.policies.agents.gait_training import save_gait_net
from ambulo.policies.networks.gait_net import GaitNet
from ambulo.train.gait.training import GaitTask
from ambulo.train.shared.run_folders import GaitRunFolder
from ambulo.train.shared.supervised import SupervisedRun

CHUNK, BATCH, EPOCHS = 65_536, 128, 5
"""Of the published loop."""
SPACE = gait_space("human23")
VARIANTS = {
    "streamed, published sizes": ("published", 0.0),
    "streamed, published sizes, half precision": ("published", 1.0),
    "streamed, fast, float32": ("fast", 0.0),
    "streamed, fast, half precision": ("fast", 1.0),
}
"""Our trainers: preset, and share of the steps in half precision."""


def make_data(folder: Path, count: int) -> None:
    """`count` sequences of random numbers: their values do not matter for speed."""
    rng = np.random.default_rng(0)
    writer = RefinedWriter(folder, SPACE, "rollout", {})
    for start in range(0, count, 256):
        some = min(256, count - start)
        frames = 0.1 * rng.standard_normal((some, FRAMES, 101))
        rows = zip(SPACE.sample(rng, some), frames, strict=True)
        writer.add(
            GaitSequence(row, pose, 27.0, "made", "nobody") for row, pose in rows
        )
    writer.close()


def naive(places: Sequence[str], seconds: float) -> dict[str, float]:
    """The published loop; its loading counts as far as rows were used."""
    torch.manual_seed(0)
    network = GaitNet(SPACE)
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-5)
    weights = torch.ones(101)
    weights[6:9], weights[57:] = 2.0, 0.5
    began = time.process_time()
    rows: list[tuple[NDArray[Any], NDArray[Any]]] = []
    for path in find_shards(list(places)):
        loaded = np.load(path, allow_pickle=False)
        params, motions = loaded["params"], loaded["motions"]
        for row in range(len(params)):
            values = SPACE.normalize(params[row])
            for frame in range(FRAMES):
                angle = 2.0 * np.pi * frame / PER_CYCLE
                phase = [np.sin(angle), np.cos(angle)]
                rows.append((np.concatenate([values, phase]), motions[row][frame]))
        if len(rows) >= CHUNK:
            break
    rows = rows[:CHUNK]
    per_row = (time.process_time() - began) / len(rows)
    done = 0
    began = time.process_time()
    random = np.random.default_rng(0)
    while time.process_time() - began < seconds:
        order = random.permutation(len(rows))
        for start in range(0, len(order) - BATCH + 1, BATCH):
            picked = order[start : start + BATCH]
            inputs = torch.tensor(np.array([rows[k][0] for k in picked])).float()
            true = torch.tensor(np.array([rows[k][1] for k in picked])).float()
            difference = weights * (network.of_inputs(inputs) - true)
            loss = (5.0 * difference.pow(2)).mean()
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            for parameter in network.parameters():
                assert parameter.grad is not None
                parameter.grad.data.clamp_(-0.1, 0.1)
            optimizer.step()
            loss.item()
            done += BATCH
            if time.process_time() - began > seconds:
                break
    learning = (time.process_time() - began) / done
    return {
        "rows_per_second": 1.0 / (learning + per_row / EPOCHS),
        "learning_rows_per_second": 1.0 / learning,
        "loading_rows_per_second": 1.0 / per_row,
    }


class Watch:
    """A display that ends a training after some seconds of CPU time."""

    def __init__(self, seconds: float) -> None:
        self.began, self.seconds = time.process_time(), seconds
        self.signal_number: int | None = None

    def __enter__(self) -> Watch:
        self.began = time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def update(self, *_: object) -> None:
        """Ask for the end when the time is over."""
        if time.process_time() - self.began > self.seconds:
            self.signal_number = 15


def streamed(
    places: Sequence[str], seconds: float, preset: str, half: float
) -> dict[str, float]:
    """Our trainer, its streaming included, without the first look at the files."""
    config = PRESETS.load(preset)
    training = {**config.training.model_dump(), "threads": 1, "half_until": half}
    config = config.replace(
        data=list(places),
        training=training,
        dataset={**config.dataset.model_dump(), "buffer_rows": CHUNK},
    )
    data = open_data(places, config.dataset, 0, None)
    with tempfile.TemporaryDirectory() as folder:
        run = GaitRunFolder.create(folder, "speed", "speed", 0, force=True)
        learner = SupervisedRun(GaitTask(config, data), run)
        position = learner.task.position
        watch = Watch(seconds)
        began = time.process_time()
        with contextlib.suppress(Interrupted):
            learner.train(watch, watch)  # type: ignore[arg-type]
        spent = time.process_time() - began
    return {
        "rows_per_second": position.rows / spent,
        "buffers": float(position.iteration),
        "batch_size": float(config.training.batch_size),
    }


def grown(places: Sequence[str], buffer_rows: int) -> None:
    """In a fresh process: stream everything once; print growth and bound, [MB]."""
    before = peak_mb()
    config = GaitNetDataConfig(buffer_rows=buffer_rows)
    data = open_data(places, config, 0, None)
    with GaitStream(data, config, 0) as stream:
        for number in range(len(stream.plan(0))):
            stream.buffer(0, number)
        print(json.dumps([peak_mb() - before, stream.bound_bytes / 2**20]))


def peak_mb() -> float:
    """Highest resident size of this process so far, [MB] (Linux)."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    line = next(row for row in status.splitlines() if row.startswith("VmHWM"))
    return int(line.split()[1]) / 1024.0


def memory(places: Sequence[str], buffer_rows: int) -> dict[str, float]:
    """Growth of a process and the bound of its buffers, [MB]."""
    command = [sys.executable, __file__, "--grown", str(buffer_rows), "--data", *places]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    growth, bound = json.loads(told)
    size = sum(path.stat().st_size for path in find_shards(list(places))) / 2**20
    return {"data_mb": size, "growth_mb": growth, "buffers_mb": bound}


def inference(repeats: int) -> dict[str, float]:
    """Time of a frame in a batch of 60, [us]; the quickest tenth of the repeats."""
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        save_gait_net(Path(folder) / "a.zip", GaitNet(SPACE))
        network = load_gait_network(Path(folder) / "a.zip")
    params = SPACE.normalize(SPACE.default)
    phase = np.arange(FRAMES) / PER_CYCLE

    def quickest(make: Any) -> float:
        times = []
        for _ in range(repeats):
            began = time.perf_counter()
            make()
            times.append(time.perf_counter() - began)
        return float(1e6 * np.quantile(times, 0.1) / FRAMES)

    return {
        "network_us": quickest(lambda: network(params, phase)),
        "valid_rotations_us": quickest(
            lambda: orthonormal(network(params, phase).astype(np.float64))
        ),
    }


def main(argv: Sequence[str] | None = None) -> None:
    """Measure, print, write JSON if asked."""
    parser = Options(__doc__, sequences=64, seconds=0.2, repeats=5)
    parser.add_argument("--data", nargs="+", help="refined sequences; made if left out")
    parser.add_argument("--sequences", type=int, default=8192, help="that are made")
    parser.add_argument("--seconds", type=float, default=20.0, help="of each training")
    parser.add_argument("--repeats", type=int, default=2000, help="of an answer")
    parser.add_argument("--grown", type=int, help=argparse.SUPPRESS)
    args = parser.read(argv)
    torch.set_num_threads(1)
    if args.grown:
        grown(args.data, args.grown)
        return
    with tempfile.TemporaryDirectory() as folder:
        places = args.data
        if not places:
            make_data(Path(folder) / "data", args.sequences)
            places = [str(Path(folder) / "data")]
        found: dict[str, Any] = {"answers": inference(args.repeats)}
        found["published loop"] = naive(places, args.seconds)
        for name, (preset, half) in VARIANTS.items():
            found[name] = streamed(places, args.seconds, preset, half)
        found["memory"] = memory(places, CHUNK)
    base = found["published loop"]["rows_per_second"]
    for row in (found[name] for name in VARIANTS):
        row["ratio"] = row["rows_per_second"] / base
    for name, row in found.items():
        print(name, {key: round(value, 3) for key, value in row.items()})
    write(found, args)


if __name__ == "__main__":
    main()
