"""The results of a finished run of reinforcement learning: scores, table, files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Console

from ambulo.common.files import write_or_print
from ambulo.evaluate.shared.result import ModelEvaluation
from ambulo.evaluate.shared.tables import print_tables
from ambulo.train.shared.rl_run import RLRun


def training_facts(run: RLRun[Any]) -> dict[str, Any]:
    """Return what `details.training` of a final evaluation says about a run."""
    return {
        "run": str(run.folder.path),
        "timesteps": run.num_timesteps,
        "seconds": round(run.seconds, 3),
    }


def print_results(
    run: RLRun[Any],
    evaluation: ModelEvaluation,
    json: str | None,
    *,
    steps: str,
    files: Iterable[tuple[str, object]],
    notes: Sequence[str] = (),
) -> None:
    """Print the tables of `ambulo eval`, and where everything is; or the scores as JSON.

    Args:
        run: the finished run.
        evaluation: scores of the policy and of each baseline.
        json: value of `--json`.
        steps: name of the steps of the training.
        files: further lines: a word, and a file or a command.
        notes: lines below the tables.
    """
    write_or_print(json, evaluation.to_json())
    if json == "-":
        return
    console = Console(highlight=False)
    print_tables(evaluation, console)
    for note in notes:
        console.print(note, soft_wrap=True, markup=False)
    folder, done = run.folder, run.num_timesteps
    rows = [
        ("trained", f"{done:,} {steps} in {run.seconds:.1f} s"),
        ("best model", folder.best_model),
        *files,
        ("resume", f"{folder.resume_command} --timesteps {2 * done}"),
    ]
    for name, value in rows:
        console.print(f"{name:<11}{value}", soft_wrap=True, markup=False)
