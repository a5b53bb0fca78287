"""The results of a finished run of reinforcement learning: scores, table, files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rich.console import Console
from rich.markup import escape

from ambulo.common.files import write_atomic
from ambulo.common.tables import new_table, print_table
from ambulo.evaluate.shared.result import MetricColumn, ModelEvaluation
from ambulo.train.shared.rl_run import RLRun


def write_scores(run: RLRun[Any], evaluation: ModelEvaluation) -> str:
    """Write the final evaluation to the run folder; return the JSON text.

    Its format is that of `ambulo eval --json`; `details` tell about the training.
    """
    training = {
        "run": str(run.folder.path),
        "timesteps": run.num_timesteps,
        "seconds": round(run.seconds, 3),
    }
    details = {**evaluation.details, "training": training}
    text = replace(evaluation, details=details).to_json()
    write_atomic(run.folder.scores, text)
    return text


def print_results(
    run: RLRun[Any],
    evaluation: ModelEvaluation,
    *,
    title: str,
    columns: Sequence[MetricColumn],
    steps: str,
    files: Iterable[tuple[str, object]],
    kinds: Mapping[str, str] | None = None,
    notes: Sequence[str] = (),
) -> None:
    """Print the scores as a table, and where everything is.

    Args:
        run: the finished run.
        evaluation: scores of the policy and of each baseline.
        title: title of the table.
        columns: scores to show.
        steps: name of the steps of the training.
        files: further lines: a word, and a file or a command.
        kinds: word for the second column of the table, by agent; None: no such column.
        notes: lines below the table.
    """
    table = new_table(title)
    table.add_column("agent", no_wrap=True)
    if kinds is not None:
        table.add_column("kind", no_wrap=True)
    units = next(iter(evaluation.agents.values()))
    for column in columns:
        heading = column.heading(units[column.name].unit)
        table.add_column(escape(heading), justify="right", no_wrap=True)
    for name, scores in evaluation.agents.items():
        cells = [column.text(scores.get(column.name), wide=False) for column in columns]
        if kinds is not None:
            cells.insert(0, kinds.get(name, ""))
        table.add_row(
            name, *map(escape, cells), style="bold" if name == "policy" else ""
        )
    console = Console(highlight=False)
    print_table(console, table)
    for note in notes:
        console.print(note, soft_wrap=True, markup=False)
    folder, done = run.folder, run.num_timesteps
    resume = f"{folder.resume_command} --timesteps {2 * done}"
    rows = [
        ("trained", f"{done:,} {steps} in {run.seconds:.1f} s"),
        ("best model", folder.best_model),
        *files,
        ("resume", resume),
    ]
    for name, value in rows:
        console.print(f"{name:<11}{value}", soft_wrap=True, markup=False)
