"""Scores of runs: final ones by task, learning curves, and those of single episodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ambulo.commands.sweeps.kinds import Training
from ambulo.common.metrics_file import read_evaluations, read_metrics
from ambulo.configs.arrays import Floats
from ambulo.configs.base import MAX_FILE, read_json
from ambulo.configs.errors import RunFolderError
from ambulo.configs.trainings import Score
from ambulo.evaluate.shared.result import FORMAT, POLICY

ALL = "all"
"""Name of the only task of a training whose scores are not split by tasks."""


@dataclass(frozen=True)
class RunScores:
    """The scores of one finished run."""

    path: Path
    """Its folder."""
    tasks: Mapping[str, float]
    """Final score by task: by family of levels in VR, else one."""
    episodes: Mapping[str, float]
    """Score by level, where the run has written them."""
    count: int
    """Episodes of the final evaluation; 0 if there was none."""


def learning_curve(
    run: Path, training: Training, score: Score
) -> tuple[Floats, Floats]:
    """Return steps and scores of a run's evaluations, (n,) each, as far as it has come."""
    kind = training.kind
    if kind.logged_in == "evaluations":
        rows = [
            row
            for row in read_evaluations(run / "evaluations.json")
            if isinstance(row.get(score.name), int | float)
        ]
        steps = np.array([row["timesteps"] for row in rows], np.float64)
        return steps, np.array([row[score.name] for row in rows], np.float64)
    columns = read_metrics(run / "metrics.csv")
    values = columns.get(f"validation/{score.name}", np.empty(0))
    known = np.isfinite(values)
    return columns.get("step", np.empty(0))[known], values[known]


def is_finished(run: Path, training: Training) -> bool:
    """Return whether a run has what its last step makes."""
    if training.kind.logged_in == "metrics":
        return bool(training.command.folder(run).final_model.exists())
    return (run / "scores.json").is_file()


def final_scores(run: Path, training: Training, score: Score) -> RunScores:
    """Return the scores of a finished run.

    Reinforcement learning: those of the final evaluation, or where it has no such score the
    best of the evaluations while it trained. Supervised: those of the
    epoch with the best validation, whose network is the best model.

    Raises:
        RunFolderError: the run has not finished, is damaged, or has no such score.
    """
    if training.kind.logged_in == "metrics":
        if not is_finished(run, training):
            raise RunFolderError(_unfinished(run, "final model"))
        return RunScores(run, {ALL: best_epoch(run, training, score)}, {}, 0)
    file = run / "scores.json"
    data = _read_evaluation(file)
    try:
        tasks = _by_group(data, "family", score.name)
        if not tasks:
            value = _value(data["agents"], score.name)
            if value is None:  # as of policies of clips: that of the validations
                values = learning_curve(run, training, score)[1]
                if not len(values):
                    raise RunFolderError(f"{file}: has no score {score.name}")
                value = float(score.sign * np.max(score.sign * values))
            tasks = {ALL: value}
        levels = _by_group(data, "level", score.name)
        return RunScores(run, tasks, levels, int(data.get("episodes") or 0))
    except (AttributeError, KeyError, TypeError, ValueError):
        raise RunFolderError(
            f"{file}: is damaged; --resume {run} evaluates the run again"
        ) from None


def matrix_of(runs: list[RunScores], tasks: list[str]) -> Floats:
    """Return the scores of `runs` in `tasks`, shape (runs, tasks)."""
    return np.array([[run.tasks[task] for task in tasks] for run in runs], np.float64)


def common_tasks(runs: list[RunScores]) -> list[str]:
    """Return the tasks that all runs have, in the order of the first one.

    Raises:
        RunFolderError: there are none.
    """
    tasks = [name for name in runs[0].tasks if all(name in run.tasks for run in runs)]
    if not tasks:
        raise RunFolderError(
            f"{runs[0].path} and others: evaluated on different levels, so that nothing "
            "can be compared"
        )
    return tasks


def _value(agents: Mapping[str, Any], name: str) -> float | None:
    """Return a metric of the policy; None: it has none."""
    result = agents.get(POLICY, {}).get(name, {}).get("value")
    return float(result) if isinstance(result, int | float) else None


def _by_group(data: Mapping[str, Any], variable: str, name: str) -> dict[str, float]:
    """Return a metric of the policy by the values of a variable, where it is known."""
    group = data["groups"].get(variable, {})
    known = {value: _value(agents, name) for value, agents in group.items()}
    return {value: number for value, number in known.items() if number is not None}


def _read_evaluation(file: Path) -> dict[str, Any]:
    """Return the evaluation in a `scores.json`."""
    if not file.exists():
        raise RunFolderError(_unfinished(file.parent, file.name))
    data = read_json(file, 64 * MAX_FILE, error_class=RunFolderError)
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise RunFolderError(
            f"{file}: not an evaluation; --resume {file.parent} evaluates the run again"
        )
    return data


def _unfinished(run: Path, missing: str) -> str:
    """Return the message for a run without what its last step makes."""
    return (
        f"{run}: has no {missing}: the run is not finished; continue it with --resume"
    )


def best_epoch(run: Path, training: Training, score: Score) -> float:
    """Return the score of the epoch with the best validation so far."""
    columns = read_metrics(run / "metrics.csv")
    values = columns.get(f"validation/{score.name}", np.empty(0))
    judged = values
    if score.selected_by is not None:
        judged = columns.get(f"validation/{score.selected_by}", values)
    sign = score.sign if score.selected_by is None else -1.0
    known = np.flatnonzero(np.isfinite(judged) & np.isfinite(values))
    if not len(known):
        raise RunFolderError(
            f"{run / 'metrics.csv'}: has no column validation/{score.name} with numbers"
        )
    return float(values[known[np.argmax(sign * judged[known])]])
