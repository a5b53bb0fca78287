"""A long training whose engines or workers are killed again and again: does anything break?

`--what godot` trains in Godot and kills an engine (SIGKILL) about every `--every` environment
steps; `--what ray` does so with the workers of a Ray cluster on this machine. At the end: the
training stopped as it must, as many processes were killed and replaced as was meant, every
roll-out is in metrics.csv, every checkpoint can be read and is finite, the trainer's memory is
flat, and no process is left. Anything else is exit code 1. Linux.

    python benchmarks/soak.py --what godot --kills 39 --every 5000
    python benchmarks/soak.py --what ray --kills 100 --every 10000
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from _harness import run

from ambulo.common.metrics_file import read_metrics
from ambulo.configs.errors import ModelFileError
from ambulo.configs.presets import VR_PRESETS
from ambulo.policies.agents.navigation import load_navigation

PRESET = "quick_test"
STEADY = 10
"""Kills from which on memory is judged: before, libraries still load."""
LONGEST = 4 * 3600.0
"""The run is given up after this time, [s]."""
CASES: dict[str, tuple[list[str], bytes, str]] = {
    "godot": (
        ["--world", "godot", "--godot-engines", "2"], b"--parent-pid", "lost their episodes",
    ),
    "ray": (
        ["--engine", "ray", "--workers", "2"], b"ray::", "another one takes its place",
    ),
}  # fmt: skip
"""Flags of the training, what the command line of a victim has, and what the trainer logs."""


def command(pid: int) -> bytes:
    """The command line of a process, empty when it is gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def descendants(pid: int) -> set[int]:
    """Children of `pid`, theirs, and so on."""
    above = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            above[int(entry.name)] = int(
                (entry / "stat").read_text().rpartition(")")[2].split()[1]
            )
        except OSError:
            continue
    found, newest = set[int](), {pid}
    while newest:
        newest = {child for child, parent in above.items() if parent in newest}
        found |= newest
    return found


def memory(pid: int) -> float:
    """Resident memory, [MB]."""
    text = Path(f"/proc/{pid}/status").read_text()
    return float(text.split("VmRSS:")[1].split()[0]) / 1024.0


def steps_of(metrics: Path) -> list[int]:
    """Environment steps after each roll-out so far."""
    try:
        return [
            int(line.split(",")[0]) for line in metrics.read_text().splitlines()[1:]
        ]
    except (OSError, ValueError):  # not there yet, or half a line
        return []


def is_whole(file: Path) -> bool:
    """Whether a checkpoint can be read, continued, and is finite."""
    try:
        model = load_navigation(file)
    except ModelFileError:
        return False
    finite = all(bool(w.isfinite().all()) for w in model.weights.values())
    return finite and model.training is not None


def measure(what: str = "godot", kills: int = 39, every: int = 5000) -> dict[str, Any]:
    """Train, kill, stop; what was found."""
    flags, mark, replaced = CASES[what]
    with tempfile.TemporaryDirectory() as name, open(f"{name}/log", "w") as log:
        folder, draw = Path(name), random.Random(0)
        trainer = subprocess.Popen(
            [
                sys.executable, "-m", "ambulo.train.train_vr_navigation", *flags,
                "--preset", PRESET, "--timesteps", "1000000000", "--eval-freq", "0",
                "--save-freq", str(2 * every), "--no-progress",
                "--output", name, "--run-name", "soak",
            ],
            stdout=log, stderr=log,
        )  # fmt: skip
        metrics, seen = folder / "soak" / "metrics.csv", set[int]()
        samples: list[float] = []
        victims: list[int] = []
        due, began = every, time.monotonic()
        while trainer.poll() is None and time.monotonic() - began < LONGEST:
            time.sleep(0.1)
            seen |= (below := descendants(trainer.pid))
            running = [p for p in sorted(below - {*victims}) if mark in command(p)]
            done = max(steps_of(metrics), default=0)
            if done < due or len(running) < 2:
                continue
            samples.append(memory(trainer.pid))
            if len(victims) == kills:
                break
            victims.append(draw.choice(running))
            os.kill(victims[-1], signal.SIGKILL)
            due = done + every
        trainer.send_signal(signal.SIGINT)
        try:
            code = trainer.wait(120.0)
        except subprocess.TimeoutExpired:
            trainer.kill()
            code = trainer.wait()
        time.sleep(5.0)
        text = (folder / "log").read_text()
        if code != 128 + signal.SIGINT:
            print(text[-2000:], file=sys.stderr)
        saved = [is_whole(file) for file in (folder / "soak" / "checkpoints").glob("*")]
        rows = read_metrics(metrics)["timesteps"]
    config = VR_PRESETS.load(PRESET)
    rollout = config.environment.num_environments * config.ppo.n_steps
    quarter = max(1, len(samples) // 4)
    early, late = samples[quarter : 2 * quarter], samples[-quarter:]
    growth = float(np.median(late) / np.median(early) - 1.0) if early else 0.0
    return {
        "stopped": int(code == 128 + signal.SIGINT),
        "kills": len(victims),
        "not_killed": kills - len(victims),
        "not_replaced": max(0, len(victims) - text.count(replaced)),
        "environment_steps": int(rows[-1]),
        "missing_roll_outs": int(rows[-1] / rollout - len(rows)),
        "checkpoints": len(saved),
        "damaged_checkpoints": saved.count(False),
        "memory_mb": samples[-1] if samples else 0.0,
        "memory_growth": growth if len(victims) >= STEADY else 0.0,
        "processes_left": sum(mark in command(pid) for pid in seen),
        "seconds": time.monotonic() - began,
    }


if __name__ == "__main__":
    zero = (
        "not_killed", "not_replaced", "missing_roll_outs", "damaged_checkpoints",
        "processes_left",
    )  # fmt: skip
    run(
        measure, {"kills": 1, "every": 2000},
        [
            ("stopped", ">=", 1), ("checkpoints", ">=", 1), ("memory_growth", "<=", 0.05),
            *((name, "<=", 0) for name in zero),
        ],
        needs="/proc",
    )  # fmt: skip
