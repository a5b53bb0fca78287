"""Streaming of motion windows beside holding everything in memory: speed and memory.

    python benchmarks/motion_streaming.py --data DIR

For each case the clips are prepared once, as shards for `StreamingMotionDataset` and as
one array for `MotionWindows`. Then processes of their own go through whole epochs, in
turn; the best of each kind counts, in processor time. Growth of memory is the highest resident
size of such a process (`VmHWM`) over its size after the imports; so this runs on Linux.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from _harness import CMU, run

from ambulo.motion.datasets.activities import ACTIVITIES
from ambulo.motion.datasets.shards import ShardWriter, read_index
from ambulo.motion.datasets.states import N_STATE, States
from ambulo.motion.datasets.streaming import StreamingMotionDataset
from ambulo.motion.datasets.windows import MotionWindows, WindowedDataset

WINDOW, BATCH = 35, 256
ROOM = int(4e6) // (4 * N_STATE)
"""Frames of a shard, as `make_shards` chooses them for 4 MB."""
CASES: tuple[dict[str, Any], ...] = (
    {"name": "25 fps", "fps": 25.0, "repeat": 1, "buffer_mb": 64.0},
    {"name": "120 fps", "fps": 120.0, "repeat": 1, "buffer_mb": 64.0},
    {"name": "120 fps, mirror", "fps": 120.0, "repeat": 1, "buffer_mb": 64.0},
    {"name": "120 fps, buffer 16 MB", "fps": 120.0, "repeat": 1, "buffer_mb": 16.0},
    {"name": "120 fps, data x 10", "fps": 120.0, "repeat": 10, "buffer_mb": 64.0},
)


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


def child(kind: str, place: str, options: str) -> dict[str, float]:
    """In a fresh process: make shards of all clips, or go through an epoch; what it took."""
    if kind == "prepare":
        import ambulo.motion.datasets.prepare  # noqa: F401, its imports are no growth
        from ambulo.motion.datasets.clips import scan_clips
        from ambulo.motion.datasets.shards import make_shards

        before, begin = resident_mb("VmRSS"), time.perf_counter()
        clips, errors = scan_clips([place], check=False)
        for fps in (25.0, 120.0):
            shards = Path(options) / str(fps)
            make_shards(clips, shards, fps=fps, errors=errors, cached=False)
        grown = resident_mb("VmHWM") - before
        seconds = time.perf_counter() - begin
        return {"clips": len(clips), "seconds": seconds, "growth_mb": grown}
    before = resident_mb("VmRSS")
    data = dataset(kind, Path(place), json.loads(options))
    next(iter(data))  # the first batch pays for what is made once
    data.set_epoch(0)
    begin = time.process_time()
    total = sum(float(batch.states[0, 0, 0]) for batch in data)
    assert np.isfinite(total)
    return {
        "windows_per_s": len(data) / (time.process_time() - begin),
        "growth_mb": resident_mb("VmHWM") - before,
        "windows": len(data),
    }


def fresh(*arguments: object) -> dict[str, float]:
    """Output of `child` in a process of its own."""
    command = [sys.executable, __file__, "--child", *map(str, arguments)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        command, env=environment, check=True, stdout=subprocess.PIPE, text=True
    )
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


def row_of(case: dict[str, Any], folder: Path, rounds: int) -> dict[str, float]:
    """The best of several processes of each kind, in turn."""
    shards, many = folder / str(case["fps"]), case["repeat"] > 1
    if many:
        shards = repeated(shards, folder / "repeated", case["repeat"])
    settings = {"buffer_mb": case["buffer_mb"], "mirror": "mirror" in case["name"]}
    found: dict[str, list[dict[str, float]]] = {"memory": [], "streaming": []}
    for _ in range(1 if many else rounds):
        for kind, results in found.items():
            results.append(fresh(kind, shards, json.dumps(settings)))
    best = {
        f"{kind}_{name}": max(result[name] for result in results)
        for kind, results in found.items()
        for name in ("windows_per_s", "growth_mb")
    }
    frames = int(read_index(shards).shard_frames.sum())
    ratio = best["streaming_windows_per_s"] / best["memory_windows_per_s"]
    return {"data_mb": frames * 4 * N_STATE / 1e6, **best, "speed_ratio": ratio}


def measure(data: Path = CMU / "bvh_mb", rounds: int = 5) -> dict[str, Any]:
    """A row for each case."""
    with tempfile.TemporaryDirectory() as name:
        made = fresh("prepare", data.absolute(), name)
        rows = {case["name"]: row_of(case, Path(name), rounds) for case in CASES}
    return {"preparation": made, "rows": rows}


if __name__ == "__main__":
    if "--child" in sys.argv:
        print(json.dumps(child(*sys.argv[2:])))
    else:
        run(
            measure, {"rounds": 1},
            [
                ("preparation.growth_mb", "<=", 300.0),
                ("rows.*.streaming_growth_mb", "<=", 300.0),
                ("rows.*.speed_ratio", ">=", 0.8),
            ],
            needs="/proc",
        )  # fmt: skip
