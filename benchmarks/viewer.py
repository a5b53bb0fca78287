"""The viewer's speed, and how much `--watch` slows a training down.

`ambulo play` runs as users start it, with windows that receive everything and draw nothing, so
that the server is measured and not a renderer. An update is counted where the places of a
body's parts arrive. Then trainings alone, with `--watch`, and with a window that is open, in
turn. Linux.

    python benchmarks/viewer.py
"""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
from _harness import imports, run

from ambulo.common.metrics_file import read_metrics

with imports("viewer"):
    import msgspec
    import viser
    import websockets
    import zstandard
    from websockets.typing import Origin, Subprotocol

SETTLE = 3.0
"""Time from the first body to where updates are counted, [s]."""
CASES = (
    ("imitate_walk", 1, 1), ("imitate_walk", 1, 8), ("imitate_walk", 16, 1),
    ("walk_commands", 1, 1), ("muscle_walk", 1, 1), ("vr_navigation", 1, 1),
    ("ik_trackers", 1, 1),
)  # fmt: skip
"""Model, bodies, windows."""
PLACES = b"batched_positions"
"""Property of a layer that every update of a moving body sends."""

CAMERA = {
    "type": "ViewerCameraMessage", "wxyz": (1.0, 0.0, 0.0, 0.0),
    "position": (3.0, 0.0, 1.0), "fov": 0.8, "near": 0.01, "far": 1000.0,
    "image_height": 600, "image_width": 800, "look_at": (0.0, 0.0, 1.0),
    "up_direction": (0.0, 0.0, 1.0),
}  # fmt: skip
"""First message of a window; before it, viser does not count it as one."""


class Window:
    """Receives what a browser would, and counts."""

    def __init__(self, address: str) -> None:
        self._host, _, self._token = address.removeprefix("http://").partition("/")
        self.counting = False
        self.first: float | None = None
        self.updates = self.bytes = 0
        self.times: list[float] = []

    async def run(self, until: asyncio.Event) -> None:
        """Receive until the event."""
        async with websockets.connect(
            f"ws://{self._host}/{self._token}",
            origin=Origin(f"http://{self._host}"),
            subprotocols=[Subprotocol(f"viser-v{viser.__version__}")],
            max_size=None,
            compression=None,
        ) as connection:
            await connection.send(msgspec.msgpack.encode(CAMERA))
            while not until.is_set():
                data = await connection.recv()
                assert isinstance(data, bytes)
                if self.counting:
                    self._count(data)
                elif self.first is None and PLACES in _plain(data):
                    self.first = time.perf_counter()

    def _count(self, data: bytes) -> None:
        self.bytes += len(data)
        plain = _plain(data)
        self.updates += int(PLACES in plain)
        for match in re.finditer(rb"t = ([\d.]+) s", plain):
            self.times.append(float(match[1]))


def printed_address(text: str) -> str | None:
    """Return the address of a viewer that its command has printed; None: not yet."""
    match = re.search(r"http://localhost:\S+", text)
    return None if match is None else match[0].replace("localhost", "127.0.0.1")


def _plain(data: bytes) -> bytes:
    """The messages of viser's window: 8 bytes, the size of the content, and the content."""
    size = int.from_bytes(data[8:16], "little")
    return zstandard.ZstdDecompressor().decompress(data[16 : 16 + size])


def started(*words: str) -> tuple[subprocess.Popen[str], str]:
    """A command, and the address that it prints; all of its output is read."""
    command = [sys.executable, "-m", "ambulo.cli", *words]
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    errors: IO[str] = process.stderr  # type: ignore[assignment]
    for line in errors:
        if (address := printed_address(line)) is not None:
            threading.Thread(target=errors.read, daemon=True).start()
            return process, address
    raise SystemExit(f"{' '.join(words)}: ended without an address")


async def counted(
    address: str, process: int, count: int, seconds: float
) -> tuple[list[Window], float, float]:
    """Windows that were open for some time, the time, and the processor time."""
    windows, stop = [Window(address) for _ in range(count)], asyncio.Event()
    tasks = [asyncio.create_task(window.run(stop)) for window in windows]
    while any(window.first is None for window in windows):
        await asyncio.sleep(0.1)
    await asyncio.sleep(min(SETTLE, seconds))
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
    """Processor time that a process has used, [s]."""
    text = Path(f"/proc/{process}/stat").read_text(encoding="ascii")
    user, system = text.rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def row_of(model: str, bodies: int, windows: int, seconds: float) -> dict[str, float]:
    """Updates and traffic of one case."""
    began = time.perf_counter()
    process, address = started("play", model, "--port", "0", "--bodies", str(bodies))
    opened = time.perf_counter() - began
    try:
        found, passed, worked = asyncio.run(
            counted(address, process.pid, windows, seconds)
        )
    finally:
        process.terminate()
        process.wait(60)
    times = found[0].times
    return {
        "updates_per_s": min(window.updates for window in found) / passed,
        "real_time": (times[-1] - times[0]) / passed
        if len(times) > 1
        else float("nan"),
        "kb_per_s": found[0].bytes / passed / 1e3,
        "cores": worked / passed,
        "port_open_s": opened,
        "first_body_s": (found[0].first or float("nan")) - began,
    }


def training_seconds(way: str, steps: int) -> float:
    """Time that a training takes, alone, with --watch, or with a window, [s]."""
    with tempfile.TemporaryDirectory() as folder:
        words = [
            "train", "vr", "--preset", "first_run", "--output", folder, "--run-name", "run",
            "--timesteps", str(steps), "--eval-freq", "0", "--episodes", "2",
            "--no-progress",
        ]  # fmt: skip
        if way == "alone":
            command = [sys.executable, "-m", "ambulo.cli", *words]
            subprocess.run(command, check=True, capture_output=True)
        else:
            process, address = started(*words, "--watch", "0")
            if way == "with a window":
                window = Window(address)
                # The server closes the connection when the training ends.
                watching = threading.Thread(
                    target=lambda: asyncio.run(window.run(asyncio.Event())), daemon=True
                )
                watching.start()
            process.wait()
        return float(read_metrics(Path(folder, "run", "metrics.csv"))["seconds"][-1])


def measure(
    seconds: float = 10.0, cases: int = len(CASES), steps: int = 400_000, rounds: int = 5
) -> dict[str, Any]:  # fmt: skip
    """The viewer, then the trainings: what a step takes more than alone."""
    rows = {
        f"{model}, bodies {bodies}, windows {windows}": row_of(
            model, bodies, windows, seconds
        )
        for model, bodies, windows in CASES[:cases]
    }
    times: dict[str, list[float]] = {
        n: [] for n in ("alone", "watched", "with a window")
    }
    for _ in range(rounds):
        for way, taken in times.items():
            taken.append(training_seconds(way, steps))
    slower = {
        way: mean_and_error(np.divide(taken, times["alone"]) - 1.0)
        for way, taken in times.items()
        if way != "alone"
    }
    return {"rows": rows, "slower": slower}


def mean_and_error(values: Sequence[float]) -> dict[str, float]:
    """Mean of ratios and its standard error."""
    error = float(np.std(values, ddof=min(1, len(values) - 1)) / np.sqrt(len(values)))
    return {"mean": float(np.mean(values)), "standard_error": error}


if __name__ == "__main__":
    quick = {"seconds": 1.0, "cases": 1, "steps": 8192, "rounds": 1}
    run(measure, quick, needs="/proc")
