"""The results of a finished run of reinforcement learning: scores, table, files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from ambulo.common.files import write_atomic
from ambulo.train.shared.rl_run import RLRun


@dataclass(frozen=True)
class Column:
    """A column of the table of scores."""

    heading: str
    """Its title, with the unit."""
    score: str
    """The score that it shows."""
    template: str = "{:.2f}"
    """Format of a number."""
    scale: float = 1.0
    """Factor on the score."""


def write_scores(
    run: RLRun[Any],
    agents: Mapping[str, Mapping[str, Any]],
    *,
    episodes: int,
    seed: int,
) -> str:
    """Write the scores of the final evaluation to the run folder; return the JSON text.

    Args:
        run: the finished run.
        agents: scores of the policy and of each baseline.
        episodes: number of episodes of each agent.
        seed: seed of the evaluation.
    """
    data = {
        "model": str(run.folder.best_model),
        "run": str(run.folder.path),
        "timesteps": run.num_timesteps,
        "training_seconds": round(run.seconds, 3),
        "episodes": episodes,
        "seed": seed,
        "agents": dict(agents),
    }
    text = json.dumps(data, indent=1) + "\n"
    write_atomic(run.folder.scores, text)
    return text


def print_results(
    run: RLRun[Any],
    agents: Mapping[str, Mapping[str, Any]],
    *,
    title: str,
    columns: Sequence[Column],
    steps: str,
    files: Iterable[tuple[str, object]],
) -> None:
    """Print the scores as a table, and where everything is.

    Args:
        run: the finished run.
        agents: scores of the policy and of each baseline.
        title: title of the table.
        columns: scores to show.
        steps: name of the steps of the training.
        files: further lines: a word, and a file or a command.
    """
    table = Table(title=title, box=box.SIMPLE_HEAD)
    table.add_column("agent")
    for column in columns:
        table.add_column(column.heading, justify="right")
    for name, scores in agents.items():
        cells = [c.template.format(c.scale * scores[c.score]) for c in columns]
        table.add_row(name, *cells, style="bold" if name == "policy" else "")
    console = Console(highlight=False)
    console.print(table)
    folder, done = run.folder, run.num_timesteps
    resume = f"{folder.program} --resume {folder.path} --timesteps {2 * done}"
    rows = [
        ("trained", f"{done:,} {steps} in {run.seconds:.1f} s"),
        ("best model", folder.best_model),
        *files,
        ("resume", resume),
    ]
    for name, value in rows:
        console.print(f"{name:<11}{value}", soft_wrap=True, markup=False)
