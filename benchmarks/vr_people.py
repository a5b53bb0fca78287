"""Agents and planners among a given number of people, on levels of the family `crowd`.

Held-out levels of the family, each with as many people as asked, in the compiled world. Plays
what `ambulo eval` plays and writes the same JSON.

    python benchmarks/vr_people.py --people 10 --episodes 100 --json docs/results/vr_people.json
"""

from __future__ import annotations

import dataclasses
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path

from _harness import Options, scores_alone, write

from ambulo.envs.vr.families.level_sets import split_level
from ambulo.envs.vr.levels.level_io import save_level
from ambulo.evaluate.command import main as evaluate

TARGETS = {"success_rate": 0.92, "people_collisions_per_episode": 0.1}


def write_levels(folder: Path, people: int, count: int) -> None:
    """Write `count` held-out levels of the family `crowd` with `people` each."""
    for index in range(count):
        level = split_level("crowd", "heldout", index)
        assert level.people is not None, "what the family has"
        crowd = dataclasses.replace(level.people, count=people)
        file = folder / f"{index:04d}.json"
        save_level(dataclasses.replace(level, people=crowd), file)


def main(argv: Sequence[str] | None = None) -> int:
    """Evaluate, then print each number beside its target."""
    parser = Options(__doc__, episodes=2, baselines="straight")
    parser.add_argument("--model", default="vr_navigation")
    parser.add_argument("--people", type=int, default=10)
    parser.add_argument("--episodes", type=int, default=100)
    parser.add_argument("--baselines", default="straight,dwa,planner,oracle")
    args = parser.read(argv)
    with tempfile.TemporaryDirectory() as folder:
        levels, scores = Path(folder) / "levels", Path(folder) / "scores.json"
        levels.mkdir()
        write_levels(levels, args.people, args.episodes)
        code = evaluate(
            [
                args.model, "--episodes", str(args.episodes), "--world", "compiled",
                "--level-file", str(levels), "--baselines", args.baselines,
                "--json", str(scores), "--no-report",
            ]
        )  # fmt: skip
        if code:
            return code
        result = json.loads(scores.read_text())
    policy = result["agents"]["policy"]
    for name, target in TARGETS.items():
        print(f"{name:>30}: {policy[name]['value']:.3f} (target {target})")
    write(scores_alone(result, args.model), args)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
