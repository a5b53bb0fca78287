"""The results of a locomotion training: scores beside the built-in controller, curves."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

import numpy as np

from ambulo.common.files import write_bytes
from ambulo.common.metrics_file import read_evaluations, read_metrics
from ambulo.common.paths import typed_command
from ambulo.common.run_folder import RunFolder
from ambulo.configs.locomotion import LocomotionConfig
from ambulo.evaluate.locomotion.metrics import UNITS
from ambulo.evaluate.locomotion.task import References, make_bodies
from ambulo.evaluate.shared.result import (
    AgentMetrics,
    MetricColumn,
    ModelEvaluation,
    metric,
    rate_metric,
    unit_of,
)
from ambulo.policies.agents.locomotion import (
    LocomotionAgent,
    LocomotionModel,
    load_locomotion_agent,
)
from ambulo.train.locomotion.training import LocomotionTraining
from ambulo.train.locomotion.validation import play
from ambulo.train.shared.rl_results import print_results, write_scores
from ambulo.train.shared.rl_run import RLRun
from ambulo.train.shared.run_folders import LocomotionRunFolder
from ambulo.train.shared.run_request import RunRequest

FINAL_EPISODES = 100
"""Episodes of the final evaluation unless `--episodes` says otherwise."""
SEED = 0
"""Seed of the final evaluation's bodies."""
COLUMNS = (
    MetricColumn("survival_rate", "survive", 0, percent=True),
    MetricColumn("survival_s", "time", 1),
    MetricColumn("leg_error_deg", "leg error"),
    MetricColumn("speed", "speed", 3),
    MetricColumn("return_mean", "return", 0),
)
Request = RunRequest[LocomotionConfig, LocomotionModel, LocomotionRunFolder]
CURVES = {
    "survival_rate": "on their feet to the end, in evaluations",
    "rollout/ep_rew_mean": "return of an episode",
    "rollout/ep_len_mean": "length of an episode [control steps]",
    "train/approx_kl": "divergence of an update",
}
"""Titles of the curves: one of the evaluations, then columns of `metrics.csv`."""


def compare(
    agent: LocomotionAgent,
    config: LocomotionConfig,
    references: References,
    episodes: int,
    *,
    deterministic: bool,
) -> dict[str, dict[str, float]]:
    """Return the scores of the policy, and of the built-in controller alone (action 0).

    Without pushes, and with those of the training where it had some.
    """
    training = config.training
    steps = max(1, round(training.eval_seconds * config.environment.control_rate))
    config = config.override("environment", max_episode_steps=steps)
    cases = {"": config.override("environment", push_impulse=(0.0, 0.0))}
    if config.environment.push_impulse[1] > 0.0:
        cases["_pushed"] = config
    scores: dict[str, dict[str, float]] = {}
    still = "built_in" if config.gait.base is None else "base"
    for name, actor in {"policy": agent, still: None}.items():
        for ending, case in cases.items():
            batch = make_bodies(
                case,
                episodes,
                references,
                seed=SEED,
                threads=training.num_threads,
                muscles=agent.muscles,
            )
            scores[name + ending] = play(actor, batch, steps, deterministic)
            batch.close()
    return scores


def finish(request: Request, run: RLRun[LocomotionTraining]) -> None:
    """Compare the best model with the built-in controller, draw curves, print a summary."""
    args, config, folder = request.args, request.config, request.folder
    episodes = args.episodes or FINAL_EPISODES
    agents = compare(
        load_locomotion_agent(folder.best_model),
        config,
        run.task.references,
        episodes,
        deterministic=args.deterministic,
    )
    limit = f"{config.training.eval_seconds:g} s from random phases"
    evaluation = ModelEvaluation(
        model=str(folder.best_model),
        kind="locomotion",
        episodes=episodes,
        seed=SEED,
        command=shlex.join([folder.program, *request.arguments]),
        evaluated=f"{episodes} episodes of {limit}",
        agents={name: agent_metrics(row, episodes) for name, row in agents.items()},
        columns=COLUMNS,
    )
    evaluation = write_scores(run, evaluation)
    picture = folder.path / "learning.png"
    write_bytes(picture, learning_curves(folder))
    base = config.gait.base
    use = (
        "evaluate",
        f"{typed_command('ambulo')} eval {folder.best_model} --episodes 100",
    )
    if base is not None:  # it does not act alone
        use = (
            "compose",
            f"{typed_command('ambulo')} gait compose {base} {folder.path} --out cascade.zip",
        )
    print_results(
        run,
        evaluation,
        args.json,
        steps="control steps",
        files=[("curves", picture), use],
    )


def agent_metrics(scores: Mapping[str, float], episodes: int) -> AgentMetrics:
    """Return the scores of `play` in as many `episodes` in the schema of evaluations."""
    return {
        name: rate_metric(value * episodes, episodes)
        if name == "survival_rate"
        else metric(value, unit_of(name, UNITS))
        for name, value in scores.items()
    }


def learning_curves(folder: RunFolder) -> bytes:
    """Return survival, returns, lengths and divergence over time as a PNG.

    What was not measured, as survival without evaluations, has no panel.
    """
    from ambulo.common.figures import new_figure, png_of

    logged = read_metrics(folder.metrics)
    evaluated = read_evaluations(folder.evaluations)
    curves = {
        "survival_rate": [(r["timesteps"], r["survival_rate"]) for r in evaluated]
    }
    for name in logged.keys() & CURVES.keys():
        rows = np.column_stack([logged["timesteps"], logged[name]])
        curves[name] = rows[np.isfinite(rows[:, 1])].tolist()
    shown = [name for name in CURVES if curves.get(name)]
    rows_of_panels = max(1, -(-len(shown) // 2))
    figure: Any = new_figure((9.0, 2.5 * rows_of_panels))
    for position, name in enumerate(shown, start=1):
        axes = figure.add_subplot(rows_of_panels, min(2, len(shown)), position)
        steps, values = np.transpose(curves[name])
        axes.plot(steps / 1000.0, values, "o-" if name == "survival_rate" else "-")
        axes.set_title(CURVES[name], fontsize=10)
        axes.set_xlabel("thousand control steps")
    figure.tight_layout()
    return png_of(figure)
