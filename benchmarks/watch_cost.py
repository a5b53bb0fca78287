"""How much `--watch` slows a training down, with no window open and with one.

`python benchmarks/watch_cost.py` trains the same navigator again and again: alone, with
`--watch`, and with `--watch` and a window that receives everything and draws nothing (a browser
that draws takes more, where it runs on the same machine). The times are those between the first
and the last row of each training's metrics.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import csv
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import websockets
from _viewer_window import Window

WAYS = ("alone", "watched", "one window")


def train(folder: Path, way: str, steps: int) -> tuple[float, int]:
    """Train once; return the microseconds of a step, and the updates that the window saw."""
    port = free_port()
    command = [
        sys.executable, "-m", "ambulo.cli", "train", "vr", "--preset", "first_run",
        "--output", str(folder), "--run-name", "run", "--timesteps", str(steps),
    ]  # fmt: skip
    if way != "alone":
        command += ["--watch", str(port)]
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    updates = 0
    if way == "one window":
        updates = asyncio.run(look(port, process))
    _, errors = process.communicate()
    if process.returncode:
        raise SystemExit(f"the training failed: {errors[-500:]}")
    with (folder / "run" / "metrics.csv").open(encoding="utf-8") as file:
        rows = [
            (int(r["timesteps"]), float(r["seconds"])) for r in csv.DictReader(file)
        ]
    (first, began), (last, ended) = rows[0], rows[-1]
    return 1e6 * (ended - began) / (last - first), updates


async def look(port: int, process: subprocess.Popen[str]) -> int:
    """Keep a window open while a training runs; return the updates of bodies in it."""
    window, stop = Window(port), asyncio.Event()
    window.counting = True
    while process.poll() is None:
        with contextlib.suppress(OSError, websockets.WebSocketException):
            await window.run(stop)
        await asyncio.sleep(0.2)
    return window.updates


def free_port() -> int:
    """Return a port that nobody has."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        number: int = probe.getsockname()[1]
        return number


def main(argv: Sequence[str] | None = None) -> None:
    """Train, print the slowdown of each way."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=4)
    parser.add_argument("--steps", type=int, default=200_000)
    parser.add_argument("--json", metavar="FILE")
    args = parser.parse_args(argv)
    print(f"load average {os.getloadavg()[0]:.1f} of {os.cpu_count()} processors")
    found: dict[str, list[float]] = {way: [] for way in WAYS}
    for k in range(args.repetitions):
        # Another order each time, so that a machine that gets slower is fair to all.
        for way in WAYS[k % 3 :] + WAYS[: k % 3]:
            with tempfile.TemporaryDirectory() as folder:
                cost, updates = train(Path(folder), way, args.steps)
            found[way].append(cost)
            print(f"{way:10} {cost:7.2f} us a step, {updates} updates", flush=True)
    alone = statistics.median(found["alone"])
    slower = {way: statistics.median(found[way]) / alone - 1.0 for way in WAYS[1:]}
    for way, share in slower.items():
        print(f"{way}: {share:+.1%} of the time of a step (median)")
    if args.json:
        command = f"python benchmarks/watch_cost.py --steps {args.steps}"
        data = {"command": command, "microseconds": found, "slower": slower}
        Path(args.json).write_text(json.dumps(data, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
