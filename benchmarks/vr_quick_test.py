"""What a short training learns: success and seconds, over seeds, beside every baseline.

Runs the command itself, once a seed, and prints the scores that it wrote. The preset
`first_run` (the one of `make train`) must end 25 points of success above every naive
baseline; `quick_test` only checks an installation: in its open field all walk straight.

    python benchmarks/vr_quick_test.py --seeds 3 [--world godot]
    python benchmarks/vr_quick_test.py --preset first_run --episodes 300
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from _harness import Options, exit_code, judge, machine, print_rows, write

from ambulo.train.vr.results import NAIVE

MARGIN = 0.25
"""Least success above every naive baseline after `first_run`."""
MAX_SECONDS = 180.0
"""The whole command of `first_run` after set-up on 2 idle cores, [s]."""


def run(
    preset: str, seed: int, folder: str, episodes: int, world: str, *more: str
) -> dict[str, Any]:
    """Scores of one run, with the seconds and the CPU seconds of the whole command."""
    out = Path(folder) / f"{seed}.json"
    began, used = time.perf_counter(), cpu_seconds()
    subprocess.run(
        [
            sys.executable, "-m", "ambulo.train.train_vr_navigation",
            "--preset", preset, "--seed", str(seed), "--output", folder,
            "--episodes", str(episodes), "--json", str(out), "--no-progress",
            "--world", world, *more,
        ],
        check=True,
        stdout=subprocess.DEVNULL,
    )  # fmt: skip
    found: dict[str, Any] = json.loads(out.read_text())
    return found | {
        "seconds": time.perf_counter() - began,
        "cpu_seconds": cpu_seconds() - used,
    }


def cpu_seconds() -> float:
    """CPU time of all child processes so far, [s]."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def row_of(found: dict[str, Any]) -> dict[str, Any]:
    """What is kept of one run."""
    agents = {}
    for name, scores in found["agents"].items():
        success = scores["success_rate"]
        agents[name] = {
            "success_rate": success["value"],
            "success_ci95": [success["low"], success["high"]],
            "spl": scores["spl"]["value"],
            "by_family": {
                family: agents[name]["success_rate"]["value"]
                for family, agents in found["groups"]["family"].items()
            },
        }
    policy, training = agents["policy"]["success_rate"], found["details"]["training"]
    return {
        "agents": agents,
        "margin": min(policy - agents[name]["success_rate"] for name in NAIVE),
        "timesteps": training["timesteps"],
        "training_seconds": training["seconds"],
        "seconds": found["seconds"],
        "cpu_seconds": found["cpu_seconds"],
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Print a row per seed and the means."""
    parser = Options(__doc__, seeds=1, episodes=2, timesteps=8192)
    parser.add_argument("--preset", default="quick_test")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--episodes", type=int, default=100)
    parser.add_argument("--timesteps", type=int, help="fewer than the preset's")
    parser.add_argument("--world", default="compiled")
    args = parser.read(argv)
    more = ["--timesteps", str(args.timesteps)] if args.timesteps else []
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(args.seeds):
            found = run(args.preset, seed, folder, args.episodes, args.world, *more)
            rows.append(row_of(found))
    agents = list(rows[0]["agents"])
    numbers = {
        str(seed): [
            *(row["agents"][name][key] for name in agents for key in ("success_rate", "spl")),
            *(row[key] for key in ("training_seconds", "seconds", "cpu_seconds")),
        ]
        for seed, row in enumerate(rows)
    }  # fmt: skip
    numbers["mean"] = list(np.mean(list(numbers.values()), axis=0))
    times = ["training [s]", "whole command [s]", "its CPU [s]"]
    shown = {
        name: [
            *(f"{n[2 * k]:.2f} / {n[2 * k + 1]:.2f}" for k in range(len(agents))),
            *(f"{value:.1f}" for value in n[-3:]),
        ]
        for name, n in numbers.items()
    }
    title = (
        f"{args.preset}: success / SPL over {args.episodes} held-out episodes, by seed"
    )
    print_rows(title, [*agents, *times], shown)
    result = {
        "command": " ".join(
            ["python benchmarks/vr_quick_test.py", *(argv or sys.argv[1:])]
        ),
        "preset": args.preset,
        "episodes": args.episodes,
        "machine": machine(),
        "seeds": rows,
    }
    write(result, args)
    if args.preset != "first_run":
        return 0
    worst = min(row["margin"] for row in rows)
    name = "success above the best naive baseline, worst seed"
    missed = judge([
        (name, worst, ">=", MARGIN),
        ("CPU seconds of the whole command", numbers["mean"][-1], "<=", MAX_SECONDS),
    ])  # fmt: skip
    return exit_code(missed, args)


if __name__ == "__main__":
    raise SystemExit(main())
