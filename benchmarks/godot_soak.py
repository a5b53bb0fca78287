"""A long training in Godot whose engine is killed again and again: does anything break?

Trains with the installed command, kills an engine (SIGKILL) about every `--every`
decisions, and watches the trainer's memory. At the end: the training has finished, every
checkpoint that was announced can be read, memory is flat, and no process is left.

    python benchmarks/godot_soak.py --timesteps 200000 --every 5000 --json soak.json
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ambulo.policies.model_file import load_model

MEMORY_TARGET = 0.05
"""Largest growth of the trainer's memory from the second quarter to the last."""
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


def soak(args: argparse.Namespace, folder: Path) -> dict[str, object]:
    """Train, kill, watch; what was found."""
    run = folder / "soak"
    log = (folder / "trainer.log").open("w")
    trainer = subprocess.Popen(
        [
            sys.executable, "-m", "ambulo.train.train_vr_navigation",
            "--preset", "quick_test", "--world", "godot",
            "--timesteps", str(args.timesteps), "--num-envs", str(args.num_envs),
            "--godot-engines", str(args.engines), "--save-freq", "10000",
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
    checkpoints = sorted((run / "checkpoints").glob("*.zip"))
    for file in checkpoints:
        load_model(file)
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
        "checkpoints_read": len(checkpoints),
        "memory_mb": float(np.median(late)) if late else 0.0,
        "memory_growth": growth,
        "orphans": len(left),
        "seconds": time.monotonic() - began,
        "success_last": last_success(run / "metrics.csv"),
    }


def last_success(metrics: Path) -> float:
    """Mean success of the last ten roll-outs."""
    with metrics.open() as stream:
        rows = [row["rollout/success_rate"] for row in csv.DictReader(stream)]
    return float(np.mean([float(value) for value in rows[-10:] if value]))


def main(argv: Sequence[str] | None = None) -> int:
    """Print what was found; 1 if anything broke."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--timesteps", type=int, default=200_000)
    parser.add_argument("--every", type=int, default=5_000)
    parser.add_argument("--num-envs", type=int, default=16)
    parser.add_argument("--engines", type=int, default=2)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        found = soak(args, Path(folder))
    for name, value in found.items():
        print(f"{name:>18}: {value}")
    if args.json is not None:
        args.json.write_text(json.dumps(found, indent=1) + "\n")
    good = (
        found["exit_code"] == 0
        and found["orphans"] == 0
        and float(str(found["memory_growth"])) < MEMORY_TARGET
    )
    return 0 if good else 1


if __name__ == "__main__":
    raise SystemExit(main())
