"""The results of a finished run of reinforcement learning: scores, table, files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ambulo.common.files import write_atomic
from ambulo.evaluate.shared.intervals import wilson_interval
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
    is_rate: bool = False
    """Whether it is a fraction of the episodes, shown with its 95 % Wilson interval."""

    def cell(self, scores: Mapping[str, Any]) -> str:
        """Return the text of one agent with `scores`."""
        value = scores[self.score]
        text = self.template.format(self.scale * value)
        if not self.is_rate:
            return text
        count = scores["episodes"]
        ends = wilson_interval(round(value * count), count)
        low, high = (self.template.format(self.scale * end) for end in ends)
        return f"{text} [{low}, {high}]"


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
    kinds: Mapping[str, str] | None = None,
    notes: Sequence[str] = (),
) -> None:
    """Print the scores as a table, and where everything is.

    Args:
        run: the finished run.
        agents: scores of the policy and of each baseline.
        title: title of the table.
        columns: scores to show.
        steps: name of the steps of the training.
        files: further lines: a word, and a file or a command.
        kinds: word for the second column of the table, by agent; None: no such column.
        notes: lines below the table.
    """
    table = Table(title=escape(title), box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("agent", no_wrap=True)
    if kinds is not None:
        table.add_column("kind", no_wrap=True)
    for column in columns:
        table.add_column(escape(column.heading), justify="right", no_wrap=True)
    for name, scores in agents.items():
        cells = [column.cell(scores) for column in columns]
        if kinds is not None:
            cells.insert(0, kinds.get(name, ""))
        table.add_row(
            name, *map(escape, cells), style="bold" if name == "policy" else ""
        )
    console = Console(highlight=False)
    console.print(table)
    for note in notes:
        console.print(note, soft_wrap=True, markup=False)
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
