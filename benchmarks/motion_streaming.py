"""Streaming of motion windows beside holding everything in memory: speed and memory.

python benchmarks/motion_streaming.py --data DIR [DIR ...]

For each case the clips are prepared once, as shards for `StreamingMotionDataset` and as
one array for `MotionWindows`. Then processes of their own go through whole epochs, in
turn; the best of each kind counts. `cpu_ratio` compares their CPU time instead of the
clock's, for a machine that does other work too. Growth of memory is the highest resident
size of such a process (`VmHWM`) over its size after the imports; so this runs on Linux.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from _harness import Options, exit_code, write

from ambulo.motion.datasets.activities import ACTIVITIES
from ambulo.motion.datasets.shards import ShardWriter, read_index
from ambulo.motion.datasets.states import N_STATE, States
from ambulo.motion.datasets.streaming import StreamingMotionDataset
from ambulo.motion.datasets.windows import MotionWindows, WindowedDataset

WINDOW, BATCH = 35, 256
LEAST_RATIO = 0.8
MOST_MB = 300.0
ROOM = int(4e6) // (4 * N_STATE)
"""Frames of a shard, as `make_shards` chooses them for 4 MB."""
CASES: tuple[dict[str, Any], ...] = (
    {"name": "25 fps", "fps": 25.0, "repeat": 1, "buffer_mb": 64.0},
    {"name": "120 fps", "fps": 120.0, "repeat": 1, "buffer_mb": 64.0},
    {"name": "120 fps, mirror", "fps": 120.0, "repeat": 1, "buffer_mb": 64.0},
    {"name": "120 fps, buffer 16 MB", "fps": 120.0, "repeat": 1, "buffer_mb": 16.0},
    {"name": "120 fps, data x 10", "fps": 120.0, "repeat": 10, "buffer_mb": 64.0},
)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure all cases, print a table, write the JSON; 1 if a target is missed."""
    parser = Options(__doc__, rounds=1)
    parser.add_mocap("cmu/bvh_mb", nargs="+")
    parser.add_argument("--rounds", type=int, default=5, help="processes of each kind")
    parser.add_argument("--child", nargs=4, help=argparse.SUPPRESS)
    args = parser.read(argv)
    if args.child:
        return child(*args.child)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        preparation = prepare(args.data, Path(folder))
        print(f"preparation of all clips: {preparation}")
        for case in CASES:
            rows.append(measure(case, Path(folder), args.rounds))
            print(json.dumps(rows[-1]), flush=True)
    result = {
        "command": "python benchmarks/motion_streaming.py --data "
        + " ".join(Path(place).name for place in args.data),
        "window": WINDOW,
        "batch_size": BATCH,
        "cores": os.cpu_count(),
        "targets": {"speed_ratio": LEAST_RATIO, "growth_mb": MOST_MB},
        "preparation": preparation,
        "cases": rows,
    }
    write(result, args)
    missed = [
        row["name"]
        for row in rows
        if row["speed_ratio"] < LEAST_RATIO or row["streaming_growth_mb"] > MOST_MB
    ]
    if preparation["growth_mb"] > MOST_MB:
        missed.append("preparation")
    print(f"missed: {', '.join(missed)}" if missed else "all targets reached")
    return exit_code(missed, args)


def prepare(places: Sequence[str], folder: Path) -> dict[str, float]:
    """Make shards of all clips at both rates, the first ones without any cache."""
    from ambulo.motion.datasets.clips import scan_clips
    from ambulo.motion.datasets.shards import make_shards

    environment = {**os.environ, "AMBULO_MOTION_CACHE": str(folder / "cache")}
    listed = json.dumps([str(Path(place).absolute()) for place in places])
    done = run(["prepare", listed, str(folder / "25.0"), "25"], environment)
    clips, errors = scan_clips(list(places), check=False)
    make_shards(clips, folder / "120.0", fps=120.0, errors=errors, cached=False)
    return done


def measure(case: dict[str, Any], folder: Path, rounds: int) -> dict[str, Any]:
    """One row of the table: the best of several processes of each kind, in turn."""
    shards = folder / str(case["fps"])
    if case["repeat"] > 1:
        shards = repeated(shards, folder / "repeated", case["repeat"])
    settings = {"buffer_mb": case["buffer_mb"], "mirror": "mirror" in case["name"]}
    options = json.dumps(settings)
    found: dict[str, list[dict[str, float]]] = {"memory": [], "streaming": []}
    epochs = "1" if case["repeat"] > 1 else "2"
    for _ in range(rounds if case["repeat"] == 1 else 1):
        for kind, results in found.items():
            results.append(run([kind, str(shards), options, epochs], dict(os.environ)))
    fast, slow = (
        {name: max(result[name] for result in results) for name in results[0]}
        for results in (found["memory"], found["streaming"])
    )
    frames = int(read_index(shards).shard_frames.sum())
    return {
        "name": case["name"],
        "windows": int(slow["windows"]),
        "data_mb": round(frames * 4 * N_STATE / 1e6, 1),
        "buffer_mb": case["buffer_mb"],
        "memory_per_s": round(fast["per_s"]),
        "streaming_per_s": round(slow["per_s"]),
        "speed_ratio": round(slow["per_s"] / fast["per_s"], 3),
        "cpu_ratio": round(slow["per_cpu_s"] / fast["per_cpu_s"], 3),
        "memory_growth_mb": round(fast["growth_mb"], 1),
        "streaming_growth_mb": round(slow["growth_mb"], 1),
    }


def run(arguments: Sequence[str], environment: dict[str, str]) -> dict[str, float]:
    """What a fresh process measures."""
    command = [sys.executable, __file__, "--child", *arguments]
    environment = {**environment, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        command, env=environment, check=True, capture_output=True, text=True
    )
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


def child(kind: str, place: str, options: str, number: str) -> int:
    """In a fresh process: prepare, or go through epochs; print what it took."""
    if kind == "prepare":
        print(json.dumps(prepared(json.loads(place), Path(options), float(number))))
        return 0
    before = resident_mb("VmRSS")
    data = dataset(kind, Path(place), json.loads(options))
    next(iter(data))  # the first batch pays for what is made once
    data.set_epoch(0)
    seconds, cpu = [], []
    for _ in range(int(number)):
        begin, begin_cpu = time.perf_counter(), time.process_time()
        total = sum(float(batch.states[0, 0, 0]) for batch in data)
        seconds.append(time.perf_counter() - begin)
        cpu.append(time.process_time() - begin_cpu)
        assert np.isfinite(total)
    result = {
        "per_s": len(data) / min(seconds),
        "per_cpu_s": len(data) / min(cpu),
        "growth_mb": resident_mb("VmHWM") - before,
        "windows": len(data),
    }
    print(json.dumps(result))
    return 0


def prepared(places: list[str], folder: Path, fps: float) -> dict[str, float]:
    """From files to shards, nothing cached: clips, seconds and growth of memory."""
    import ambulo.motion.datasets.prepare  # noqa: F401, its imports are no growth
    from ambulo.motion.datasets.clips import scan_clips
    from ambulo.motion.datasets.shards import make_shards

    before = resident_mb("VmRSS")
    begin = time.perf_counter()
    clips, errors = scan_clips(places, check=False)
    index = make_shards(clips, folder, fps=fps, errors=errors, cached=False)
    return {
        "clips": len(clips),
        "errors": len(errors),
        "frames": int(index.shard_frames.sum()),
        "seconds": round(time.perf_counter() - begin, 1),
        "growth_mb": round(resident_mb("VmHWM") - before, 1),
    }


def dataset(kind: str, folder: Path, options: dict[str, Any]) -> WindowedDataset:
    """The data set to measure, both on the same windows."""
    buffer_mb = options.pop("buffer_mb")
    if kind == "streaming":
        return StreamingMotionDataset(
            folder, window=WINDOW, batch_size=BATCH, buffer_mb=buffer_mb, **options
        )
    clips, labels = zip(*pieces(folder), strict=True)
    return MotionWindows(clips, labels, window=WINDOW, batch_size=BATCH, **options)


def pieces(folder: Path) -> Iterator[tuple[States, str]]:
    """The states and the label of each stored piece; those of long clips overlap."""
    index = read_index(folder)
    for piece, shard in enumerate(index.shard.tolist()):
        start, total = int(index.start[piece]), int(index.clip_frames[piece])
        stop = min(int(index.next_start[piece]) + WINDOW - 1, total)
        rows = np.fromfile(index.path_of(shard), dtype="<f4").reshape(-1, N_STATE)
        first = int(index.offset[piece])
        label = ACTIVITIES[int(index.activity[piece])]
        yield rows[first : first + stop - start].copy(), label


def repeated(source: Path, folder: Path, times: int) -> Path:
    """Shards with the clips of `source` so many times."""
    writer = ShardWriter(folder, 120.0, WINDOW, ROOM, f"repeated{times}_0000")
    for _ in range(times):
        for states, label in pieces(source):
            writer.add(states, label)
    writer.close()
    return folder


def resident_mb(field: str) -> float:
    """A size of this process from /proc, [MB]."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    line = next(line for line in status.splitlines() if line.startswith(field))
    return int(line.split()[1]) * 1024 / 1e6


if __name__ == "__main__":
    raise SystemExit(main())
