"""The results of a training: the agent beside baselines on held-out levels."""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

from ambulo.common.files import write_atomic
from ambulo.common.paths import resolve_path
from ambulo.configs.vr import NavigationConfig
from ambulo.evaluate.vr.episodes import LevelSource, described_levels
from ambulo.evaluate.vr.evaluation import (
    agent_contestant,
    evaluate,
    planner_contestant,
)
from ambulo.evaluate.vr.scores import EpisodeRecords, EvaluationResult, summarise
from ambulo.policies.agents.navigation import Agent, load_agent
from ambulo.train.vr.training_run import TrainingRun

BASELINES = ("random", "straight", "oracle")
"""Planners that play the final evaluation beside the agent."""
FINAL_EPISODES = 60
"""Episodes of the final evaluation unless `--episodes` says otherwise."""


@dataclass(frozen=True)
class Comparison:
    """The final evaluation: agent and baselines on the same held-out episodes."""

    episodes: int
    """Episodes of each contestant."""
    records: dict[str, EpisodeRecords]
    """By contestant; the agent is `policy`."""
    scores: dict[str, EvaluationResult]
    """The same, summed up."""


def compare(
    agent: Agent, config: NavigationConfig, episodes: int, *, deterministic: bool
) -> Comparison:
    """Play `agent` and the baselines on held-out levels of `config`, its training's."""
    contestants = {
        "policy": agent_contestant(agent, config, deterministic=deterministic),
        **{name: planner_contestant(name, config) for name in BASELINES},
    }
    source = LevelSource(config, split="heldout")
    records = evaluate(contestants, source, episodes)
    scores = {name: summarise(found) for name, found in records.items()}
    return Comparison(episodes, records, scores)


def finish(args: argparse.Namespace, run: TrainingRun) -> None:
    """Compare the best model with the baselines, write the report, print a summary."""
    folder, seconds = run.folder, run.seconds
    agent = load_agent(folder.best_model)
    comparison = compare(
        agent,
        run.config,
        args.episodes or FINAL_EPISODES,
        deterministic=args.deterministic,
    )
    data = {
        "model": str(folder.best_model),
        "run": str(folder.path),
        "timesteps": run.learner.num_timesteps,
        "training_seconds": round(seconds, 3),
        "episodes": comparison.episodes,
        "seed": 0,
        "agents": {name: s.to_dict() for name, s in comparison.scores.items()},
    }
    text = json.dumps(data, indent=1) + "\n"
    write_atomic(folder.scores, text)
    pictures = _report(args, comparison, run, seconds)
    if args.json == "-":
        print(text, end="")
        return
    if args.json is not None:
        write_atomic(resolve_path(args.json), text)
    _print_summary(comparison, run, seconds, pictures)


def _print_summary(
    comparison: Comparison, run: TrainingRun, seconds: float, pictures: list[Path]
) -> None:
    """Where everything is, and the scores beside the baselines."""
    console = Console(highlight=False)
    world = run.config.environment.world
    where = "" if world == "kernel" else f" --world {world}"
    table = Table(
        title=f"{comparison.episodes} episodes on {described_levels(run.config)}, "
        f"world {world}",
        box=box.SIMPLE_HEAD,
    )
    table.add_column("agent")
    for heading in ("success", "SPL", "comfort", "collisions", "return", "time [s]"):
        table.add_column(heading, justify="right")
    for name, s in comparison.scores.items():
        table.add_row(
            name,
            f"{s.success_rate:.2f}",
            f"{s.spl:.2f}",
            f"{s.comfort_score:.2f}",
            f"{s.collisions_per_episode:.2f}",
            f"{s.return_mean:.1f}",
            f"{s.mean_time_s:.1f}",
            style="bold" if name == "policy" else "",
        )
    console.print(table)
    folder = run.folder
    steps = run.learner.num_timesteps
    rows = [
        ("trained", f"{steps:,} decisions in {seconds:.1f} s"),
        ("best model", str(folder.best_model)),
        ("report", str(folder.report)),
        *(("picture", str(picture)) for picture in pictures),
        ("evaluate", f"ambulo eval {folder.best_model} --episodes 100{where}"),
        (
            "resume",
            f"train_vr_navigation --resume {folder.path} --timesteps {2 * steps}",
        ),
    ]
    for name, value in rows:
        console.print(f"{name:<11}{value}", soft_wrap=True, markup=False)


def _report(
    args: argparse.Namespace, comparison: Comparison, run: TrainingRun, seconds: float
) -> list[Path]:
    """Write `report.html` and the pictures; the pictures."""
    from ambulo.evaluate.vr.evaluation_report import write_report

    folder, config = run.folder, run.config
    facts = {
        "command": run.command,
        "training": f"{run.learner.num_timesteps:,} decisions, {seconds:.1f} s",
        "seed": str(config.training.seed),
        "model": str(folder.best_model),
        "actions": "mean" if args.deterministic else "sampled",
        "levels": described_levels(config),
        "episodes": str(comparison.episodes),
        "world": config.environment.world,
    }
    write_report(
        folder.path,
        comparison.records,
        comparison.scores,
        facts,
        config.environment.goal_radius,
        folder,
        title="VR navigation: training",
    )
    return sorted(folder.path.glob("*.png"))
