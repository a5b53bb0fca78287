"""What a locomotion training leaves behind: scores beside the built-in law, and curves."""

from __future__ import annotations

import argparse
import csv
import json
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from ambulo.common.files import write_atomic, write_bytes
from ambulo.common.paths import resolve_path
from ambulo.common.run_folder import RunFolder
from ambulo.evaluate.locomotion.task import make_bodies
from ambulo.policies.agents.locomotion import LocomotionAgent, load_locomotion_agent
from ambulo.train.locomotion.run import LocomotionRun
from ambulo.train.locomotion.validation import play

FINAL_EPISODES = 100
"""Episodes of the final evaluation unless `--episodes` says otherwise."""
SEED = 0
"""Seed of the final evaluation's bodies."""
CURVES = {
    "survival_rate": "on their feet to the end, in evaluations",
    "rollout/ep_return": "return of an episode",
    "rollout/ep_length": "length of an episode [control steps]",
    "train/approx_kl": "divergence of an update",
}
"""What is drawn of a training: of its evaluations, then columns of `metrics.csv`."""


def compare(
    agent: LocomotionAgent, run: LocomotionRun, episodes: int, *, deterministic: bool
) -> dict[str, dict[str, float]]:
    """Scores of the policy, and of an action of 0: what is built in alone.

    Without pushes, and with those of the training where it had some.
    """
    config, training = run.config, run.config.training
    steps = max(1, round(training.eval_seconds * config.environment.control_rate))
    config = config.override("environment", max_episode_steps=steps)
    cases = {"": config.override("environment", push_impulse=(0.0, 0.0))}
    if config.environment.push_impulse[1] > 0.0:
        cases["_pushed"] = config
    found: dict[str, dict[str, float]] = {}
    still = "built_in" if run.config.gait.base is None else "base"
    for name, actor in {"policy": agent, still: None}.items():
        for ending, case in cases.items():
            batch = make_bodies(
                case,
                episodes,
                run.references,
                seed=SEED,
                threads=training.num_threads,
                muscles=agent.muscles,
            )
            found[name + ending] = play(actor, batch, steps, deterministic)
            batch.close()
    return found


def finish(args: argparse.Namespace, run: LocomotionRun) -> None:
    """Compare the best model with what is built in, draw curves, print a summary."""
    folder, seconds = run.folder, run.seconds
    agent = load_locomotion_agent(folder.best_model)
    episodes = args.episodes or FINAL_EPISODES
    agents = compare(agent, run, episodes, deterministic=args.deterministic)
    data = {
        "model": str(folder.best_model),
        "run": str(folder.path),
        "timesteps": run.learner.num_timesteps,
        "training_seconds": round(seconds, 3),
        "episodes": episodes,
        "seed": SEED,
        "agents": agents,
    }
    text = json.dumps(data, indent=1) + "\n"
    write_atomic(folder.scores, text)
    picture = folder.path / "learning.png"
    write_bytes(picture, learning_curves(folder))
    if args.json == "-":
        print(text, end="")
        return
    if args.json is not None:
        write_atomic(resolve_path(args.json), text)
    _print_summary(run, agents, seconds, picture)


def learning_curves(folder: RunFolder) -> bytes:
    """How survival, returns, lengths and divergence went, as a PNG."""
    from ambulo.common.figures import new_figure, png_of

    with folder.metrics.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    figure: Any = new_figure((9.0, 5.0))
    for place, (name, title) in enumerate(CURVES.items(), start=1):
        axes = figure.add_subplot(2, 2, place)
        found = _evaluations(folder) if name == "survival_rate" else rows
        points = [
            (float(row["timesteps"]) / 1000.0, float(row[name]))
            for row in found
            if row.get(name) not in {None, ""}
        ]
        if points:
            marker = "o" if name == "survival_rate" else None
            axes.plot(*zip(*points, strict=True), marker=marker)
        axes.set_title(title, fontsize=10)
        axes.set_xlabel("thousand control steps")
    figure.tight_layout()
    return png_of(figure)


def _evaluations(folder: RunFolder) -> list[dict[str, Any]]:
    """The evaluations while it trained; none where there were none."""
    if not folder.evaluations.is_file():
        return []
    found: list[dict[str, Any]] = json.loads(folder.evaluations.read_text("utf-8"))
    return found


def _print_summary(
    run: LocomotionRun,
    agents: dict[str, dict[str, float]],
    seconds: float,
    picture: Path,
) -> None:
    """Where everything is, and the scores."""
    console = Console(highlight=False)
    training, steps = run.config.training, run.learner.num_timesteps
    table = Table(
        title=f"{training.eval_seconds:g} s from random phases", box=box.SIMPLE_HEAD
    )
    table.add_column("agent")
    for heading in ("survive", "mean s", "leg error deg", "speed m/s", "return"):
        table.add_column(heading, justify="right")
    for name, s in agents.items():
        table.add_row(
            name,
            f"{100 * s['survival_rate']:.0f} %",
            f"{s['survival_s']:.1f}",
            f"{s['leg_error_deg']:.2f}",
            f"{s['speed']:.3f}",
            f"{s['return_mean']:.0f}",
            style="bold" if name == "policy" else "",
        )
    console.print(table)
    folder, base = run.folder, run.config.gait.base
    use = ("evaluate", f"ambulo eval {folder.best_model} --episodes 100")
    if base is not None:  # it does not act alone
        use = ("compose", f"ambulo gait compose {base} {folder.path} --out cascade.zip")
    rows = [
        ("trained", f"{steps:,} control steps in {seconds:.1f} s"),
        ("best model", str(folder.best_model)),
        ("curves", str(picture)),
        use,
        ("resume", f"train_locomotion --resume {folder.path} --timesteps {2 * steps}"),
    ]
    for name, value in rows:
        console.print(f"{name:<11}{value}", soft_wrap=True, markup=False)
