"""What does the navigator cost in Godot, and how often has it the plan of the compiled one?

Decisions of the planner are recorded in levels of some families and replayed in the engine,
with maps and plans on another thread, as a game has them. Times are the shortest of `--repeats`
replays; the targets hold for the mean of a family.

    python benchmarks/godot_navigator.py --json docs/results/godot_navigator.json
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from _harness import Options, exit_code, judge, write

from ambulo.envs.godot.locate import find_engine, find_project

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from fixtures.navigator_replay import record, replay

FAMILIES = ("storeys", "doors", "lifts", "furnished", "rooms")
MILLISECONDS = 1.0
"""Largest mean time of a decision, [ms]."""


def godot(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Run the engine in our project."""
    command = [find_engine(None), "--headless", "--path", find_project(), *arguments]
    return subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, check=False
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print a row per family, and write the JSON; 1 if a target is missed."""
    parser = Options(__doc__, steps=30, repeats=1)
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--repeats", type=int, default=5)
    args = parser.read(argv)
    recordings = [record(family, args.steps) for family in FAMILIES]
    with tempfile.TemporaryDirectory() as folder:
        found = replay(
            godot, recordings, Path(folder), spreads=True, repeats=args.repeats
        )
    result, rows = {}, []
    for family, recording, (numbers, _, _) in zip(
        FAMILIES, recordings, found, strict=True
    ):
        plans = np.isclose(numbers[:, :6], recording.told[:, :6], atol=1e-4).all(axis=1)
        times, between = numbers[:, -2] / 1e3, numbers[:, -1] / 1e3
        result[family] = {
            "same_plans": float(plans.mean()),
            "decision_ms": float(times.mean()),
            "decision_ms_p95": float(np.quantile(times, 0.95)),
            "between_ms": float(between.mean()),
        }
        print(
            f"{family}: map and plan on another thread {between.mean():.2f} ms a decision"
        )
        rows.append((f"{family}: ms a decision", times.mean(), "<=", MILLISECONDS))
    missed = judge(rows)
    write(result, args)
    return exit_code(missed, args)


if __name__ == "__main__":
    raise SystemExit(main())
