"""The results of a training: the agent beside baselines on held-out levels."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path

from ambulo.common.files import write_or_print
from ambulo.configs.vr import NavigationConfig
from ambulo.evaluate.vr.episodes import LevelSource, described_levels
from ambulo.evaluate.vr.evaluation import (
    agent_contestant,
    evaluate,
    planner_contestant,
)
from ambulo.evaluate.vr.scores import EpisodeRecords, EvaluationResult, summarise
from ambulo.policies.agents.navigation import Agent, NavigationModel, load_agent
from ambulo.train.shared.rl_results import Column, print_results, write_scores
from ambulo.train.shared.rl_run import RLRun
from ambulo.train.shared.run_command import RunRequest
from ambulo.train.vr.run_folder import NavigationRunFolder
from ambulo.train.vr.training import NavigationTraining

BASELINES = ("random", "straight", "oracle")
"""Planners that are evaluated beside the agent at the end."""
FINAL_EPISODES = 60
"""Episodes of the final evaluation unless `--episodes` says otherwise."""
COLUMNS = (
    Column("success", "success_rate"),
    Column("SPL", "spl"),
    Column("comfort", "comfort_score"),
    Column("collisions", "collisions_per_episode"),
    Column("return", "return_mean", "{:.1f}"),
    Column("time [s]", "mean_time_s", "{:.1f}"),
)
Request = RunRequest[NavigationConfig, NavigationModel, NavigationRunFolder]


@dataclass(frozen=True)
class Comparison:
    """The final evaluation: agent and baselines on the same held-out episodes."""

    episodes: int
    """Episodes of each agent."""
    records: dict[str, EpisodeRecords]
    """Records of each agent; the trained one is `policy`."""
    scores: dict[str, EvaluationResult]
    """Mean scores of each."""


def compare(
    agent: Agent, config: NavigationConfig, episodes: int, *, deterministic: bool
) -> Comparison:
    """Evaluate `agent` and the baselines on held-out levels of the training `config`."""
    contestants = {
        "policy": agent_contestant(agent, config, deterministic=deterministic),
        **{name: planner_contestant(name, config) for name in BASELINES},
    }
    source = LevelSource(config, split="heldout")
    records = evaluate(contestants, source, episodes)
    scores = {name: summarise(rows) for name, rows in records.items()}
    return Comparison(episodes, records, scores)


def finish(request: Request, run: RLRun[NavigationTraining]) -> None:
    """Compare the best model with the baselines, write the report, print a summary."""
    args, config, folder = request.args, request.config, request.folder
    comparison = compare(
        load_agent(folder.best_model),
        config,
        args.episodes or FINAL_EPISODES,
        deterministic=args.deterministic,
    )
    agents = {name: scores.to_dict() for name, scores in comparison.scores.items()}
    text = write_scores(run, agents, episodes=comparison.episodes, seed=0)
    pictures = _report(request, comparison, run)
    write_or_print(args.json, text)
    if args.json == "-":
        return
    world = config.environment.world
    where = "" if world == "kernel" else f" --world {world}"
    print_results(
        run,
        agents,
        title=f"{comparison.episodes} episodes on {described_levels(config)}, "
        f"world {world}",
        columns=COLUMNS,
        steps="environment steps",
        files=[
            ("report", folder.report),
            *(("picture", picture) for picture in pictures),
            ("evaluate", f"ambulo eval {folder.best_model} --episodes 100{where}"),
        ],
    )


def _report(
    request: Request, comparison: Comparison, run: RLRun[NavigationTraining]
) -> list[Path]:
    """Write `report.html` and the pictures; return the pictures."""
    from ambulo.evaluate.vr.evaluation_report import write_report

    folder, config = request.folder, request.config
    facts = {
        "command": shlex.join([folder.program, *request.arguments]),
        "training": f"{run.num_timesteps:,} environment steps, {run.seconds:.1f} s",
        "seed": str(config.training.seed),
        "model": str(folder.best_model),
        "actions": "mean" if request.args.deterministic else "sampled",
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
