"""A long training in Godot whose engine is killed again and again: does anything break?

Trains with the installed command, kills an engine (SIGKILL) about every `--every`
decisions, and watches the trainer's memory. At the end: the training has finished, engines
were killed as often as was meant and the trainer noticed it, exactly the checkpoints of
every `SAVE_FREQ` decisions are there and can be read, memory is flat, and no process is
left. Anything else is named, and the exit code is 1.

    python benchmarks/godot_soak.py --timesteps 200000 --every 5000 --json soak.json
"""

from __future__ import annotations

import argparse
import csv
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from _harness import Options, write

from ambulo.configs.errors import ModelFileError
from ambulo.configs.presets.vr import preset
from ambulo.policies.agents.navigation import load_navigation
from ambulo.train.shared.run_folders import NavigationRunFolder

MEMORY_TARGET = 0.05
"""Largest growth of the trainer's memory from the second quarter to the last."""
STEADY = 20_000
"""Decisions from which on memory is judged: before, libraries still load."""
PRESET = "quick_test"
SAVE_FREQ = 10_000
"""Decisions between checkpoints."""
LONGEST = 3600.0
"""The run is given up after this time, [s]."""


def children(pid: int) -> list[int]:
    """Living child processes."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[1]) == pid and fields[0] != "Z":
                found.append(int(entry.name))
    return found


def engines(pid: int) -> list[int]:
    """Engines among the children of the trainer."""
    return [child for child in children(pid) if b"--parent-pid" in command(child)]


def command(pid: int) -> bytes:
    """The command line of a process, empty when it is gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def memory(pid: int) -> float:
    """Resident memory, [MB]."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(x.split()[1]) / 1024 for x in lines if x.startswith("VmRSS")), 0.0)


def decisions(metrics: Path) -> int:
    """Decisions made so far, by the run's metrics."""
    try:
        lines = metrics.read_text().splitlines()
        return int(lines[-1].split(",")[0]) if len(lines) > 1 else 0
    except (OSError, ValueError):
        return 0


def soak(args: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Train, kill, watch; what was found."""
    run = folder / "soak"
    log = (folder / "trainer.log").open("w")
    trainer = subprocess.Popen(
        [
            sys.executable, "-m", "ambulo.train.train_vr_navigation",
            "--preset", PRESET, "--world", "godot",
            "--timesteps", str(args.timesteps), "--num-envs", str(args.num_envs),
            "--godot-engines", str(args.engines), "--save-freq", str(SAVE_FREQ),
            "--eval-freq", "0", "--episodes", "2", "--no-progress",
            "--output", str(folder), "--run-name", run.name,
        ],
        stdout=log,
        stderr=log,
    )  # fmt: skip
    seen: set[int] = set()
    samples: list[tuple[int, float]] = []
    kills = 0
    began = time.monotonic()
    while trainer.poll() is None and time.monotonic() - began < LONGEST:
        time.sleep(0.05)
        running = engines(trainer.pid)
        seen.update(running)
        done = decisions(run / "metrics.csv")
        if done:
            samples.append((done, memory(trainer.pid)))
        if done >= (kills + 1) * args.every and done < args.timesteps and running:
            os.kill(running[kills % len(running)], signal.SIGKILL)
            kills += 1
    if trainer.poll() is None:
        trainer.kill()
    code = trainer.wait()
    log.close()
    time.sleep(2.0)
    left = [pid for pid in seen if b"--parent-pid" in command(pid)]
    saved, damaged = checkpoints(run)
    total = max((done for done, _ in samples), default=0)
    early = [mb for done, mb in samples if 0.25 * total <= done < 0.5 * total]
    late = [mb for done, mb in samples if done >= 0.75 * total]
    growth = float(np.median(late) / np.median(early) - 1) if early and late else np.nan
    text = (folder / "trainer.log").read_text()
    if code:
        print(text[-2000:], file=sys.stderr)
    return {
        "exit_code": code,
        "decisions": total,
        "kills": kills,
        "faults_logged": text.count("lost their episodes"),
        "engines_started": len(seen),
        "checkpoints": saved,
        "damaged": damaged,
        "memory_mb": float(np.median(late)) if late else 0.0,
        "memory_growth": growth,
        "orphans": len(left),
        "seconds": time.monotonic() - began,
        "success_last": last_success(run / "metrics.csv"),
    }


def checkpoints(run: Path) -> tuple[list[int], list[str]]:
    """Decisions of each checkpoint that can be read, ascending; names of all others."""
    saved, damaged = [], []
    for file in (run / "checkpoints").glob("*"):
        try:
            model = load_navigation(file)
        except ModelFileError:
            model = None
        steps = 0 if model is None else model.metadata.num_timesteps
        whole = model is not None and model.training is not None
        if whole and file == NavigationRunFolder(run).checkpoint(steps):
            saved.append(steps)
        else:
            damaged.append(file.name)
    return sorted(saved), sorted(damaged)


def expected_checkpoints(timesteps: int, rollout: int) -> list[int]:
    """When a training saves: after the roll-out that crosses each `SAVE_FREQ`, and last."""
    end = -(-timesteps // rollout) * rollout
    marks = range(SAVE_FREQ, end + 1, SAVE_FREQ)
    return sorted({-(-mark // rollout) * rollout for mark in marks} | {end})


def broken(
    found: Mapping[str, Any], timesteps: int, every: int, rollout: int
) -> list[str]:
    """What is not as it must be, a line each."""
    wanted = expected_checkpoints(timesteps, rollout)
    kills = timesteps / every - 2
    checks = {
        f"exit code {found['exit_code']}": found["exit_code"] == 0,
        f"{found['orphans']} engines are left": found["orphans"] == 0,
        f"{found['kills']} kills, not {kills:g} or more": found["kills"] >= kills,
        "the trainer logged no fault": found["faults_logged"] > 0,
        f"checkpoints are {found['checkpoints']}, not {wanted}": (
            found["checkpoints"] == wanted
        ),
        f"damaged checkpoints: {found['damaged']}": not found["damaged"],
        f"memory grew by {found['memory_growth']:.1%}": (
            found["decisions"] < STEADY or found["memory_growth"] < MEMORY_TARGET
        ),
    }
    return [text for text, good in checks.items() if not good]


def last_success(metrics: Path) -> float:
    """Mean success of the last ten roll-outs."""
    if not metrics.exists():
        return float("nan")
    with metrics.open() as stream:
        rows = [row["rollout/success_rate"] for row in csv.DictReader(stream)]
    known = [float(value) for value in rows[-10:] if value]
    return float(np.mean(known)) if known else float("nan")


def main(argv: Sequence[str] | None = None) -> int:
    """Print what was found; 1 if anything broke."""
    parser = Options(__doc__, timesteps=2000, every=1000, num_envs=2, engines=1)
    parser.add_argument("--timesteps", type=int, default=200_000)
    parser.add_argument("--every", type=int, default=5_000)
    parser.add_argument("--num-envs", type=int, default=16)
    parser.add_argument("--engines", type=int, default=2)
    args = parser.read(argv)
    with tempfile.TemporaryDirectory() as folder:
        found = soak(args, Path(folder))
    for name, value in found.items():
        print(f"{name:>18}: {value}")
    write(found, args)
    rollout = args.num_envs * preset(PRESET).ppo.n_steps
    problems = broken(found, args.timesteps, args.every, rollout)
    for problem in problems:
        print(f"BROKEN: {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    raise SystemExit(main())
