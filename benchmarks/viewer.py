"""The viewer's speed: scene updates that windows receive, and the time to the first picture.

`python benchmarks/viewer.py` starts `ambulo play` as users do, and opens windows that receive
everything but draw nothing, so that the server is measured and not a renderer in software.
An update is counted where the places of a body's parts arrive.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from _viewer_window import Window, printed_address

SETTLE = 3.0
"""Time from the first body to where updates are counted, [s]."""


@dataclass(frozen=True)
class Row:
    """One measurement."""

    model: str
    bodies: int
    windows: int
    updates: float
    """Scene updates a second, of the window that received the fewest."""
    real_time: float
    """Simulated over real time."""
    kilobytes: float
    """Received a second by one window, [kB]."""
    cores: float
    """Processor time of the viewer over real time."""
    opened: float
    """From the start of the command to an open port, [s]."""
    body: float
    """From the start of the command to the first place of a body in a window, [s]."""


@contextmanager
def playing(model: str, bodies: int) -> Iterator[tuple[str, int, float]]:
    """Run `ambulo play`; give its address, process, and when it was started, [s]."""
    command = [
        sys.executable, "-m", "ambulo.cli", "play", model, "--port", "0", "--bodies",
        str(bodies),
    ]  # fmt: skip
    began = time.perf_counter()
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        address = printed_address(process.stderr.readline())
        assert address is not None
        yield address, process.pid, began
    finally:
        process.terminate()
        process.wait(60)


async def measured(
    address: str, process: int, count: int, seconds: float
) -> tuple[list[Window], float, float]:
    """Open `count` windows and count; return them, the time, and the processor time."""
    windows, stop = [Window(address) for _ in range(count)], asyncio.Event()
    tasks = [asyncio.create_task(window.run(stop)) for window in windows]
    while any(window.first is None for window in windows):
        await asyncio.sleep(0.1)
    await asyncio.sleep(SETTLE)
    for window in windows:
        window.counting = True
    began, worked = time.perf_counter(), processor_time(process)
    await asyncio.sleep(seconds)
    for window in windows:
        window.counting = False
    passed, worked = time.perf_counter() - began, processor_time(process) - worked
    stop.set()
    await asyncio.gather(*tasks)
    return windows, passed, worked


def processor_time(process: int) -> float:
    """Processor time that a process has used (Linux), [s]."""
    text = Path(f"/proc/{process}/stat").read_text(encoding="ascii")
    user, system = text.rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def measure(model: str, bodies: int, windows: int, seconds: float) -> Row:
    """One row."""
    with playing(model, bodies) as (address, process, began):
        opened = time.perf_counter() - began
        found, passed, worked = asyncio.run(
            measured(address, process, windows, seconds)
        )
    times, first = found[0].times, found[0].first
    assert first is not None
    return Row(
        model,
        bodies,
        windows,
        min(window.updates for window in found) / passed,
        (times[-1] - times[0]) / passed if len(times) > 1 else float("nan"),
        found[0].bytes / passed / 1e3,
        worked / passed,
        opened,
        first - began,
    )


def main() -> None:
    """Measure the rows and print them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--json", metavar="FILE")
    args = parser.parse_args()
    cases = [
        ("imitate_walk", 1, 1), ("imitate_walk", 1, 8), ("imitate_walk", 16, 1),
        ("walk_commands", 1, 1), ("muscle_walk", 1, 1), ("vr_navigation", 1, 1),
        ("ik_trackers", 1, 1),
    ]  # fmt: skip
    print(f"load average {os.getloadavg()[0]:.1f} of {os.cpu_count()} processors")
    rows = []
    for case in cases:
        row = measure(*case, args.seconds)
        rows.append(row)
        print(
            f"{row.model:14} {row.bodies:2} bodies, {row.windows} windows: "
            f"{row.updates:5.1f} updates/s, {row.real_time:.2f} of real time, "
            f"{row.kilobytes:5.0f} kB/s a window, {row.cores:.2f} cores, port open after "
            f"{row.opened:.1f} s, body after {row.body:.1f} s",
            flush=True,
        )
    if args.json:
        data = {
            "command": "python benchmarks/viewer.py --json FILE",
            "rows": [asdict(row) for row in rows],
        }
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump(data, file, indent=1)


if __name__ == "__main__":
    main()
