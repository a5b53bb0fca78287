"""The results of a training: the agent beside baselines on held-out levels."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from ambulo.common.console import announce
from ambulo.common.paths import typed_command
from ambulo.configs.vr import NavigationConfig, NavigationEnvironmentConfig
from ambulo.evaluate.command import publish
from ambulo.evaluate.shared.result import POLICY, AgentMetrics
from ambulo.evaluate.vr.episodes import LevelSource, described_levels
from ambulo.evaluate.vr.evaluation_report import navigation_outcome
from ambulo.evaluate.vr.map_film import write_map_film
from ambulo.evaluate.vr.scores import EpisodeRecords
from ambulo.evaluate.vr.subjects import agent_subject, planner_subject
from ambulo.policies.agents.navigation import (
    Agent,
    NavigationModel,
    load_navigation,
)
from ambulo.train.shared.rl_results import print_results, write_scores
from ambulo.train.shared.rl_run import RLRun
from ambulo.train.shared.run_folders import NavigationRunFolder
from ambulo.train.shared.run_request import RunRequest
from ambulo.train.vr.training import NavigationTraining

NAIVE = ("stand", "random", "straight", "potential")
"""Baselines that neither plan nor remember."""
BASELINES = (*NAIVE, "dwa", "planner", "oracle")
"""Planners in the final evaluation, beside the agent."""
NOTES = (
    "dwa, planner: classical planners with the senses of the agent; oracle: knows the whole "
    "map.",
)
"""Lines below the table."""
FILM, FILMED = "film.mp4", (POLICY, "straight")
"""Film of the run folder, and the agents in it."""
FINAL_EPISODES = 60
"""Episodes of the final evaluation unless `--episodes` says otherwise."""
Request = RunRequest[NavigationConfig, NavigationModel, NavigationRunFolder]


def finish(request: Request, run: RLRun[NavigationTraining]) -> None:
    """Evaluate the best model beside the baselines, write the report, print a summary."""
    args, config, folder = request.args, request.config, request.folder
    episodes, levels = args.episodes or FINAL_EPISODES, described_levels(config)
    announce(
        f"evaluating the agent and {len(BASELINES)} baselines, {episodes} episodes each "
        f"on {levels} ...",
        args.progress,
    )
    agent = Agent(load_navigation(folder.best_model))
    subjects = {
        POLICY: agent_subject(agent, config, deterministic=args.deterministic),
        **{name: planner_subject(name, config) for name in BASELINES},
    }

    def film(records: Mapping[str, EpisodeRecords], path: Path) -> None:
        filmed = {name: r for name, r in records.items() if name in FILMED}
        title = f"trained agent (policy) and straight line on {levels}"
        write_map_film(filmed, config.environment.goal_radius, path, title)

    outcome = navigation_outcome(
        subjects,
        LevelSource(config, split="heldout"),
        episodes,
        _facts(request, run, episodes),
        film,
        run=folder,
        shown=args.progress is not False,
    )
    evaluation = write_scores(run, outcome.evaluation)
    announce("drawing the report ...", args.progress)
    publish(
        replace(outcome, evaluation=evaluation, films=(FILM,)),
        folder.path,
        None,
        Console(stderr=True, quiet=args.progress is False),
        title="VR navigation: training",
    )
    files = {name: folder.path / name for name in ("learning_curve.png", FILM)}
    program = typed_command("ambulo")
    where = _flags(config.environment)
    print_results(
        run,
        evaluation,
        args.json,
        steps="environment steps",
        files=[
            ("evaluate", f"{program} eval {folder.best_model} --episodes 100{where}"),
            *(
                (
                    name.partition(".")[0].replace("learning_", ""),
                    file.resolve().as_uri(),
                )
                for name, file in files.items()
                if file.is_file()
            ),
            ("report", folder.report.resolve().as_uri()),
        ],
        notes=(*NOTES, _verdict(evaluation.agents)),
    )


def _flags(env: NavigationEnvironmentConfig) -> str:
    """Return the flags of `ambulo eval` that play in the same world again."""
    flags = "" if env.world == "compiled" else f" --world {env.world}"
    if env.scene is not None:
        flags += f" --scene {env.scene}"
        if env.godot_project is not None:
            flags += f" --godot-project {env.godot_project}"
    return flags + (f" --agents {env.agents}" if env.agents > 1 else "")


def _verdict(agents: Mapping[str, AgentMetrics]) -> str:
    """Return one sentence: the agent beside the best naive baseline."""
    rates = {
        name: 100.0 * (agents[name]["success_rate"].value or 0.0)
        for name in (POLICY, *NAIVE)
        if name in agents
    }
    own = rates.pop(POLICY)
    if not rates:
        return ""
    best = max(rates, key=rates.__getitem__)
    return (
        f"\nThe trained agent solves {own:.0f} %, the best naive baseline ({best}) "
        f"{rates[best]:.0f} %."
    )


def _facts(
    request: Request, run: RLRun[NavigationTraining], episodes: int
) -> dict[str, str]:
    """Return what the report says about the training and the evaluation."""
    folder, config = request.folder, request.config
    facts = {
        "command": shlex.join([folder.program, *request.arguments]),
        "training": f"{run.num_timesteps:,} environment steps, {run.seconds:.1f} s",
        "seed": str(config.training.seed),
        "model": str(folder.best_model),
        "actions": "mean" if request.args.deterministic else "sampled",
        "levels": described_levels(config),
        "episodes": str(episodes),
        "world": config.environment.world,
        "body": config.environment.body,
    }
    if config.environment.agents > 1:
        facts["agents"] = str(config.environment.agents)
    return facts
