"""How much `--watch` slows a training down, with no window open and with one.

`python benchmarks/watch_cost.py` starts one training with `--watch`, and changes every few
seconds between three ways: the viewer is stopped (SIGSTOP), it runs without a window, it runs
with a window that receives everything and draws nothing (a browser that draws takes more, where
it runs on the same machine). Speeds are those of the rows of the training's metrics within
each period; ratios are of neighbouring periods, so that a machine that gets slower is fair.
Linux.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import csv
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import websockets
from _viewer_window import Window, printed_address

from ambulo.viz.viewer.window import checked_port

WAYS = ("stopped", "no window", "one window")
LEAST_UPDATES = 5.0
"""Updates of a body a second that a window must have had, or nothing was shown."""


@dataclass
class Period:
    """A span of time, and what the viewer did in it."""

    way: str
    begun: float
    """Monotonic, [s]."""
    ended: float
    updates: int
    """Updates of bodies that the window received."""


async def periods(
    address: str, viewer: int, seconds: float, rounds: int
) -> list[Period]:
    """Change between the ways; return when."""
    found: list[Period] = []
    ways = [way for k in range(rounds) for way in WAYS[k % 3 :] + WAYS[: k % 3]]
    try:
        for way in ways:
            os.kill(viewer, signal.SIGSTOP if way == "stopped" else signal.SIGCONT)
            window, stop = Window(address), asyncio.Event()
            window.counting = True
            begun = time.monotonic()
            if way == "one window":
                with contextlib.suppress(TimeoutError, websockets.WebSocketException):
                    await asyncio.wait_for(window.run(stop), seconds)
            await asyncio.sleep(max(0.0, begun + seconds - time.monotonic()))
            found.append(Period(way, begun, time.monotonic(), window.updates))
            print(f"{way:10} {window.updates} updates", flush=True)
    finally:  # a stopped viewer does not end with the training
        os.kill(viewer, signal.SIGCONT)
    return found


def speeds(metrics: Path, start: float, found: Sequence[Period]) -> np.ndarray:
    """Steps a second in each period, the first second of it left out."""
    with metrics.open(encoding="utf-8") as file:
        rows = [
            (float(r["seconds"]), int(r["timesteps"])) for r in csv.DictReader(file)
        ]
    times, steps = np.array(rows, np.float64).T
    at = [
        np.interp([p.begun + 1.0 - start, p.ended - start], times, steps) for p in found
    ]
    return np.array(
        [
            (b - a) / (p.ended - p.begun - 1.0)
            for (a, b), p in zip(at, found, strict=True)
        ]
    )


def started(metrics: Path, process: subprocess.Popen[bytes]) -> float:
    """Return the monotonic time of a training's second 0, from rows as they appear, [s]."""
    starts: list[float] = []
    size = 0
    while len(starts) < 6:
        if process.poll() is not None:
            raise SystemExit("the training ended")
        time.sleep(0.005)
        if metrics.is_file() and metrics.stat().st_size != size:
            size = metrics.stat().st_size
            now = time.monotonic()
            with metrics.open(encoding="utf-8") as file:
                rows = [r["seconds"] for r in csv.DictReader(file) if r["seconds"]]
            if rows:
                starts.append(now - float(rows[-1]))
    return min(starts)


def viewer_of(training: int) -> int:
    """Return the process of the viewer that a training has started."""
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == training and b"watch" in (folder / "cmdline").read_bytes():
                return int(folder.name)
    raise SystemExit("the training has started no viewer")


def main(argv: Sequence[str] | None = None) -> None:
    """Train, change, print the slowdown of each way."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=8.0, help="of a period")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", metavar="FILE")
    args = parser.parse_args(argv)
    print(f"load average {os.getloadavg()[0]:.1f} of {os.cpu_count()} processors")
    with (
        tempfile.TemporaryDirectory() as folder,
        open(Path(folder, "stderr"), "wb") as printed,
    ):
        port = checked_port(0)
        process = subprocess.Popen(
            [
                sys.executable, "-m", "ambulo.cli", "train", "vr", "--preset", "first_run",
                "--output", folder, "--run-name", "run", "--timesteps", "1000000000",
                "--save-freq", "300000", "--eval-freq", "0", "--watch", str(port),
            ],
            stdout=subprocess.DEVNULL, stderr=printed,
        )  # fmt: skip
        try:
            start = started(Path(folder, "run", "metrics.csv"), process)
            time.sleep(40.0)  # until there is a checkpoint, and the viewer shows it
            viewer = viewer_of(process.pid)
            address = printed_address(Path(folder, "stderr").read_text())
            assert address is not None
            found = asyncio.run(periods(address, viewer, args.seconds, args.rounds))
            speed = speeds(Path(folder, "run", "metrics.csv"), start, found)
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(120)
    report(args.json, found, speed.reshape(args.rounds, 3))


def report(file: str | None, found: Sequence[Period], speed: np.ndarray) -> None:
    """Print and store the slowdown of each way within its round."""
    ways = np.array([p.way for p in found]).reshape(speed.shape)
    by_way = {
        way: np.array([s[w == way][0] for s, w in zip(speed, ways, strict=True)])
        for way in WAYS
    }
    for way, values in by_way.items():
        print(f"{way}: {np.mean(values):.0f} steps/s")
    slower = {}
    for way in WAYS[1:]:
        ratios = by_way["stopped"] / by_way[way] - 1.0
        error = float(
            np.std(ratios, ddof=min(1, len(ratios) - 1)) / np.sqrt(len(ratios))
        )
        slower[way] = {"mean": float(np.mean(ratios)), "standard_error": error}
        print(f"{way}: a step takes {np.mean(ratios):+.1%} more (+- {error:.1%})")
    shown = [p for p in found if p.way == "one window"]
    rate = sum(p.updates for p in shown) / sum(p.ended - p.begun for p in shown)
    print(f"the window received {rate:.1f} updates a second")
    if rate < LEAST_UPDATES:
        print("too few updates: the training leaves the viewer no processor time")
    if file:
        data = {
            "command": "python benchmarks/watch_cost.py --json FILE",
            "slower": slower,
            "updates_per_second": rate,
            "steps_per_second": {way: float(v.mean()) for way, v in by_way.items()},
        }
        Path(file).write_text(json.dumps(data, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
