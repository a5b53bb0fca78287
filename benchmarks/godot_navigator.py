"""Time of the navigator in Godot, and how often its plan is that of the compiled one.

Decisions of the planner are recorded in levels of some families and replayed in the engine,
with maps and plans on another thread, as a game has them. Times are the shortest of `--repeats`
replays; the target holds for the mean of a family.

    python benchmarks/godot_navigator.py
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from _harness import run

from ambulo.envs.godot.locate import find_engine, find_project

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from fixtures.navigator_replay import record, replay

FAMILIES = ("storeys", "doors", "lifts", "furnished", "rooms")


def godot(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Run the engine in our project."""
    command = [find_engine(None), "--headless", "--path", find_project(), *arguments]
    return subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, check=False
    )


def measure(steps: int = 600, repeats: int = 5) -> dict[str, Any]:
    """A row per family."""
    recordings = [record(family, steps) for family in FAMILIES]
    with tempfile.TemporaryDirectory() as folder:
        found = replay(godot, recordings, Path(folder), spreads=True, repeats=repeats)
    rows = {}
    for family, recording, (numbers, _, _) in zip(
        FAMILIES, recordings, found, strict=True
    ):
        plans = np.isclose(numbers[:, :6], recording.told[:, :6], atol=1e-4).all(axis=1)
        times, between = numbers[:, -2] / 1e3, numbers[:, -1] / 1e3
        rows[family] = {
            "same_plans": float(plans.mean()),
            "decision_ms": float(times.mean()),
            "decision_ms_p95": float(np.quantile(times, 0.95)),
            "other_thread_ms": float(between.mean()),
        }
    return {"rows": rows}


if __name__ == "__main__":
    run(measure, {"steps": 30, "repeats": 1}, [("rows.*.decision_ms", "<=", 1.0)])
