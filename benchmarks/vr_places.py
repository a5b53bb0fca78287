"""Shipped agents and planners on levels like those that people make.

Ten episodes of each of the twelve levels drawn by hand (the set `handmade`: the first from
the level's start, the others from starts a little off), and 100 held-out levels of each
family of the set `places`, in the compiled world. Plays what `ambulo eval` plays.

    python benchmarks/vr_places.py --json docs/results/vr_places.json
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from _harness import Options, print_rows, write

from ambulo.envs.vr.families import PLACE_FAMILIES
from ambulo.envs.vr.families.level_sets import HANDMADE
from ambulo.envs.vr.handmade import handmade_levels
from ambulo.evaluate.command import main as evaluate

SETS = {HANDMADE: len(handmade_levels()), "places": len(PLACE_FAMILIES)}
"""Level sets with the number of levels or families that are played in turn."""
NUMBERS = ("success_rate", "spl", "collisions_per_episode")

Scores = dict[str, dict[str, float]]
"""Numbers by level, family or "all"."""


def main(argv: Sequence[str] | None = None) -> int:
    """Evaluate every agent on both sets and print a table for each."""
    parser = Options(__doc__, per_level=1, per_family=1, models=["vr_comfort"])
    parser.add_argument("--models", nargs="+", default=["vr_navigation", "vr_comfort"])
    parser.add_argument("--baselines", default="planner,dwa,oracle")
    parser.add_argument("--per-level", type=int, default=10, help="on handmade levels")
    parser.add_argument("--per-family", type=int, default=100)
    args = parser.read(argv)
    each = {HANDMADE: args.per_level, "places": args.per_family}
    result = {}
    for name, count in SETS.items():
        agents: dict[str, Scores] = {}
        for k, model in enumerate(args.models):
            planners = args.baselines if k == 0 else "none"
            scores = _scores(model, planners, name, count * each[name])
            agents |= {model if a == "policy" else a: s for a, s in scores.items()}
        _print(name, agents)
        result[name] = {"episodes": count * each[name], "agents": agents}
    write(result, args)
    return 0


def _scores(model: str, planners: str, levels: str, episodes: int) -> dict[str, Scores]:
    """What `ambulo eval` says of a model and planners on a level set."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "scores.json"
        code = evaluate(
            [
                model, "--episodes", str(episodes), "--level-set", levels,
                "--baselines", planners, "--json", str(file), "--no-report",
            ]
        )  # fmt: skip
        if code:
            raise SystemExit(code)
        data = json.loads(file.read_text())
    group = data["groups"]["level" if levels == HANDMADE else "family"]
    return {
        agent: {
            "all": _numbers(metrics),
            **{name: _numbers(row[agent]) for name, row in group.items()},
        }
        for agent, metrics in data["agents"].items()
    }


def _numbers(metrics: dict[str, Any]) -> dict[str, float]:
    return {name: metrics[name]["value"] for name in NUMBERS}


def _print(name: str, agents: dict[str, Scores]) -> None:
    """Print success / SPL / collisions of agents by level or family."""
    groups = list(next(iter(agents.values())))
    rows = {
        group: [
            " / ".join(f"{scores[group][n]:.2f}" for n in NUMBERS)
            for scores in agents.values()
        ]
        for group in groups
    }
    print_rows(f"{name}: success / SPL / collisions", agents, rows)


if __name__ == "__main__":
    raise SystemExit(main())
