"""A training whose workers are killed again and again: does anything break?

Trains with the installed command and `--engine ray --workers 2`, kills a random worker
(SIGKILL) every `--every` environment steps or when the last one is replaced, whichever is
later, and watches the memory of the process that learns. At the end: every roll-out is in
metrics.csv, every checkpoint can be read, the last weights are finite, memory is flat, and
no process is left. Anything else is named, and the exit code is 1.

    python benchmarks/cluster_soak.py --kills 100 --json soak.json
"""

from __future__ import annotations

import argparse
import os
import random
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
from godot_soak import checkpoints, command, decisions, memory

from ambulo.configs.presets.vr import preset
from ambulo.policies.agents.navigation import load_navigation
from ambulo.train.shared.run_folders import NavigationRunFolder

PRESET, WORKERS = "quick_test", 2
MEMORY_TARGET = 0.05
"""Largest growth of the learner's memory from the second quarter to the last."""
STEADY = 10
"""Kills from which on memory is judged: before, libraries still load."""
LONGEST = 7200.0
"""The run is given up after this time, [s]."""
WORKER = b"ray::RolloutWorker"
"""What Ray writes over the command line of a worker."""


def parents() -> dict[int, int]:
    """The parent of each process."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            found[int(entry.name)] = int(fields[1])
    return found


def descendants(pid: int) -> set[int]:
    """Children of `pid`, theirs, and so on: Ray's processes among them."""
    above, found, newest = parents(), set[int](), {pid}
    while newest:
        newest = {child for child, parent in above.items() if parent in newest}
        found |= newest
    return found


def soak(args: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Train until `--kills` workers were killed, stop, and say what was found."""
    run, seen = folder / "soak", set[int]()
    log = (folder / "trainer.log").open("w")
    trainer = subprocess.Popen(
        [
            sys.executable, "-m", "ambulo.train.train_vr_navigation",
            "--preset", PRESET, "--engine", "ray", "--workers", str(WORKERS),
            "--timesteps", "1000000000",
            "--save-freq", str(20 * args.every), "--eval-freq", "0", "--no-progress",
            "--output", str(folder), "--run-name", run.name,
        ],
        stdout=log,
        stderr=log,
    )  # fmt: skip
    draw = random.Random(0)
    samples: list[float] = []
    kills, killed_at, victims = 0, 0, set[int]()
    began = time.monotonic()
    while trainer.poll() is None and time.monotonic() - began < LONGEST:
        time.sleep(0.2)
        done = decisions(run / "metrics.csv")
        below = descendants(trainer.pid)
        seen |= below
        running = [p for p in sorted(below - victims) if command(p).startswith(WORKER)]
        if done < killed_at + args.every or len(running) < WORKERS:
            continue
        samples.append(memory(trainer.pid))
        if kills == args.kills:
            break
        victim = draw.choice(running)
        os.kill(victim, signal.SIGKILL)
        victims.add(victim)
        kills, killed_at = kills + 1, done
    trainer.send_signal(signal.SIGINT)
    try:
        code = trainer.wait(120.0)
    except subprocess.TimeoutExpired:
        trainer.kill()
        code = trainer.wait()
    log.close()
    time.sleep(5.0)
    saved, damaged = checkpoints(run)
    quarter = max(1, len(samples) // 4)
    early, late = samples[quarter : 2 * quarter], samples[-quarter:]
    text = (folder / "trainer.log").read_text()
    if code != 128 + signal.SIGINT:
        print(text[-2000:], file=sys.stderr)
    rows = (run / "metrics.csv").read_text().splitlines()[1:]
    return {
        "exit_code": code,
        "kills": kills,
        "replaced": text.count("another one takes its place"),
        "environment_steps": decisions(run / "metrics.csv"),
        "roll_outs": len(rows),
        "checkpoints": len(saved),
        "damaged": damaged,
        "finite": _is_finite(run),
        "memory_mb": float(np.median(late)) if late else 0.0,
        "memory_growth": float(np.median(late) / np.median(early) - 1)
        if early and late
        else float("nan"),
        "orphans": sum(b"ray" in command(pid) for pid in seen),
        "seconds": time.monotonic() - began,
    }


def _is_finite(run: Path) -> bool:
    """Whether the weights of the newest checkpoint are."""
    newest = NavigationRunFolder(run).newest_checkpoint()
    if newest is None:
        return False
    return all(
        bool(w.isfinite().all()) for w in load_navigation(newest).weights.values()
    )


def broken(found: Mapping[str, Any], args: argparse.Namespace) -> list[str]:
    """What is not as it must be, a line each."""
    config = preset(PRESET)
    rollout = config.environment.num_environments * config.ppo.n_steps
    checks = {
        f"exit code {found['exit_code']}": found["exit_code"] == 128 + signal.SIGINT,
        f"{found['orphans']} processes are left": found["orphans"] == 0,
        f"{found['kills']} kills, not {args.kills}": found["kills"] == args.kills,
        f"{found['replaced']} workers replaced": found["replaced"] >= args.kills,
        "a roll-out is missing": (
            found["roll_outs"] * rollout == found["environment_steps"]
        ),
        f"damaged checkpoints: {found['damaged']}": not found["damaged"],
        "weights are not finite": found["finite"],
        f"memory grew by {found['memory_growth']:.1%}": (
            found["kills"] < STEADY or found["memory_growth"] < MEMORY_TARGET
        ),
    }
    return [text for text, good in checks.items() if not good]


def main(argv: Sequence[str] | None = None) -> int:
    """Print what was found; 1 if anything broke."""
    parser = Options(__doc__, kills=1, every=4000)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--every", type=int, default=10_000, metavar="STEPS")
    args = parser.read(argv)
    with tempfile.TemporaryDirectory() as folder:
        found = soak(args, Path(folder))
    for name, value in found.items():
        print(f"{name:>18}: {value}")
    write(found, args)
    problems = broken(found, args)
    for problem in problems:
        print(f"BROKEN: {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    raise SystemExit(main())
