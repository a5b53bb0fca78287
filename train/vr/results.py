"""The results of a training: the agent beside baselines on held-out levels."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ambulo.common.console import announce
from ambulo.common.files import write_or_print
from ambulo.common.paths import typed_command
from ambulo.configs.errors import RenderError
from ambulo.configs.vr import NavigationConfig, NavigationEnvironmentConfig
from ambulo.evaluate.shared.result import MetricColumn, ModelEvaluation
from ambulo.evaluate.vr.episodes import LevelSource, described_levels
from ambulo.evaluate.vr.evaluation import evaluate
from ambulo.evaluate.vr.evaluation_report import navigation_evaluation, pictures
from ambulo.evaluate.vr.scores import EpisodeRecords, EvaluationResult, summarise
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
KINDS = {
    "policy": "trained",
    **dict.fromkeys(NAIVE, "naive"),
    "dwa": "planner",
    "planner": "planner",
    "oracle": "upper bound",
}
"""What each of them is, for the table."""
NOTES = (
    "success: levels solved, with its 95 % interval; SPL: success weighted by path length",
    "(1: shortest path in every level); collisions: per level; time: per level, at most",
    "the limit; dwa, planner: classical planners with the senses of the agent; oracle: knows",
    "the whole map.",
)
"""Lines below the table."""
FILMED = ("policy", "straight")
"""Agents in the film."""
FINAL_EPISODES = 60
"""Episodes of the final evaluation unless `--episodes` says otherwise."""
COLUMNS = (
    MetricColumn("success_rate", "success", 0, percent=True),
    MetricColumn("spl", "SPL"),
    MetricColumn("collisions_per_episode", "collisions"),
    MetricColumn("comfort_score", "comfort"),
    MetricColumn("mean_time_s", "time", 1),
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
    model: NavigationModel,
    config: NavigationConfig,
    episodes: int,
    *,
    deterministic: bool,
) -> Comparison:
    """Evaluate `model` and the baselines on held-out levels of the training `config`."""
    subjects = {
        "policy": agent_subject(Agent(model), config, deterministic=deterministic),
        **{name: planner_subject(name, config) for name in BASELINES},
    }
    source = LevelSource(config, split="heldout")
    records = evaluate(subjects, source, episodes)
    scores = {name: summarise(rows) for name, rows in records.items()}
    return Comparison(episodes, records, scores)


def finish(request: Request, run: RLRun[NavigationTraining]) -> None:
    """Compare the best model with the baselines, write the report, print a summary."""
    args, config, folder = request.args, request.config, request.folder
    episodes = args.episodes or FINAL_EPISODES
    announce(
        f"evaluating the agent and {len(BASELINES)} baselines, {episodes} episodes each "
        f"on {described_levels(config)} ...",
        args.progress,
    )
    model = load_navigation(folder.best_model)
    comparison = compare(model, config, episodes, deterministic=args.deterministic)
    facts = _facts(request, comparison, run)
    evaluation = navigation_evaluation(
        comparison.records, comparison.scores, {**facts, "seed": "0"}
    )
    text = write_scores(run, evaluation)
    announce("drawing the report ...", args.progress)
    opened = _report(request, comparison, evaluation, facts)
    write_or_print(args.json, text)
    if args.json == "-":
        return
    world, body = config.environment.world, config.environment.body
    where = "" if world == "compiled" else f" --world {world}"
    where += _scene_flags(config.environment)
    if config.environment.agents > 1:
        where += f" --agents {config.environment.agents}"
    moved = "" if body == "capsule" else f", body {body}"
    program = typed_command("ambulo")
    print_results(
        run,
        evaluation,
        title=f"{comparison.episodes} episodes on {described_levels(config)}, "
        f"world {world}{moved}",
        columns=COLUMNS,
        steps="environment steps",
        files=[
            ("evaluate", f"{program} eval {folder.best_model} --episodes 100{where}"),
            *((name, file.resolve().as_uri()) for name, file in opened),
            ("report", folder.report.resolve().as_uri()),
        ],
        kinds=KINDS,
        notes=(*NOTES, _verdict(comparison.scores)),
    )


def _scene_flags(env: NavigationEnvironmentConfig) -> str:
    """Return the flags that play in the same scene again."""
    if env.scene is None:
        return ""
    project = (
        "" if env.godot_project is None else f" --godot-project {env.godot_project}"
    )
    return f" --scene {env.scene}{project}"


def _verdict(scores: Mapping[str, EvaluationResult]) -> str:
    """Return one sentence: the agent beside the best naive baseline."""
    rates = {name: 100.0 * result.success_rate for name, result in scores.items()}
    naive = [name for name in NAIVE if name in rates]
    if not naive:
        return ""
    best = max(naive, key=rates.__getitem__)
    return (
        f"\nThe trained agent solves {rates['policy']:.0f} %, the best naive baseline "
        f"({best}) {rates[best]:.0f} %."
    )


def _facts(
    request: Request, comparison: Comparison, run: RLRun[NavigationTraining]
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
        "episodes": str(comparison.episodes),
        "world": config.environment.world,
        "body": config.environment.body,
    }
    if config.environment.agents > 1:
        facts["agents"] = str(config.environment.agents)
    return facts


def _report(
    request: Request,
    comparison: Comparison,
    evaluation: ModelEvaluation,
    facts: Mapping[str, str],
) -> list[tuple[str, Path]]:
    """Write `report.html` with pictures and film; return curve and film by name."""
    from ambulo.evaluate.shared.report import write_report
    from ambulo.evaluate.vr.map_film import write_map_film

    folder, config = request.folder, request.config
    film = folder.path / "film.mp4"
    filmed = {n: r for n, r in comparison.records.items() if n in FILMED}
    videos = [film]
    try:
        write_map_film(
            filmed,
            config.environment.goal_radius,
            film,
            f"trained agent (policy) and straight line on {described_levels(config)}",
        )
    except RenderError as error:
        announce(f"no film: {error}")
        videos = []
    records, scores = comparison.records, comparison.scores
    write_report(
        folder.path,
        evaluation,
        pictures(records, scores, config.environment.goal_radius, folder),
        facts,
        title="VR navigation: training",
        videos=videos,
    )
    curve = folder.path / "learning_curve.png"
    return [(n, f) for n, f in (("curve", curve), ("film", film)) if f.is_file()]
