"""The command `ambulo compare`: whether a difference between runs is real."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from itertools import combinations
from pathlib import Path
from typing import Any

from ambulo.commands.sweeps.difference import Group, difference_of
from ambulo.commands.sweeps.flags import CompareFlags
from ambulo.commands.sweeps.folder import StudyFolder, SweepPlan
from ambulo.commands.sweeps.kinds import Training, training_of
from ambulo.commands.sweeps.report import with_interval
from ambulo.commands.sweeps.scores import (
    common_tasks,
    final_scores,
    is_finished,
    matrix_of,
)
from ambulo.commands.sweeps.statistics import bootstrap, interquartile_mean, interval
from ambulo.common.files import json_text, write_or_print
from ambulo.common.paths import resolve_path
from ambulo.common.tables import print_rows
from ambulo.configs.base import load_json
from ambulo.configs.errors import ConfigError, RunFolderError
from ambulo.configs.trainings import Score

PLACES = {
    "seed", "device", "output", "num_threads", "num_workers", "update_threads", "threads",
    "save_freq", "save_every",
}  # fmt: skip
"""Settings of a training that may differ between runs that are compared as seeds."""


def compare(flags: CompareFlags) -> int:
    """Compare runs, sweeps or folders of runs; return the exit code."""
    paths = [resolve_path(folder) for folder in flags.folders]
    real = [path.resolve() for path in paths]
    for number, path in enumerate(paths):
        if real[number] in real[:number]:
            raise ConfigError(f"{path}: named twice")
    training = _training(paths)
    score = training.kind.score(flags.score)
    groups = [group for path in paths for group in _groups(path, training, score)]
    if len(groups) < 2:
        raise ConfigError("one group of runs: name two or more folders to compare")
    rows = [difference_of(x, y, score) for x, y in combinations(groups, 2)]
    data = {"score": score.model_dump(), "comparisons": [asdict(row) for row in rows]}
    write_or_print(flags.json, json_text(data))
    if flags.json != "-":
        _print_groups(groups, score)
        for row in rows:
            print(row.sentence)
    return 0


def _training(paths: Sequence[Path]) -> Training:
    """Return the kind of training of all folders.

    Raises:
        RunFolderError: one holds no run.
        ConfigError: they are of several kinds.
    """
    trainings = {path: training_of(_runs(path)[0]) for path in paths}
    first = next(iter(trainings.values()))
    for path, training in trainings.items():
        if training.folder != first.folder:
            raise ConfigError(
                f"{path}: a training of {training.word}; it has no score in common with "
                f"one of {first.word}"
            )
    return first


def _runs(path: Path) -> list[Path]:
    """Return the run folders in `path`, which may be one itself.

    Raises:
        RunFolderError: there are none.
    """
    if not path.is_dir():
        raise RunFolderError(f"{path}: no such folder")
    if (path / "run.json").is_file():
        return [path]
    runs = sorted(file.parent for file in path.glob("*/run.json"))
    if not runs:
        raise RunFolderError(f"{path}: neither a run nor a folder with runs")
    return runs


def _groups(path: Path, training: Training, score: Score) -> list[Group]:
    """Return the groups of runs in one folder."""
    sweep = StudyFolder(path, SweepPlan)
    if not sweep.exists:
        runs = _runs(path)
        if wrong := next(
            (r for r in runs if training_of(r).folder != training.folder), None
        ):
            raise ConfigError(f"{wrong}: another kind of training than its neighbours")
        _check_seeds(runs, training)
        return [Group(path.name, [final_scores(run, training, score) for run in runs])]
    plan = sweep.plan()
    groups = []
    for variant in plan.variants:
        done = [
            final_scores(sweep.run(planned.name), training, score)
            for planned in plan.runs()
            if planned.variant == variant
            and is_finished(sweep.run(planned.name), training)
        ]
        name = path.name if len(plan.variants) == 1 else f"{path.name}/{variant.label}"
        if done:
            groups.append(Group(name, done))
    return groups


def _check_seeds(runs: Sequence[Path], training: Training) -> None:
    """Refuse runs that differ in more than their seeds, or have one twice.

    Raises:
        ConfigError: there are such runs, or the settings of one cannot be read.
    """
    settings: Any = training.command.presets.config
    first: dict[str, Any] | None = None
    known: dict[int, Path] = {}
    for run in runs:
        groups = load_json(settings, run / "config.json").model_dump()
        seed = groups["training"]["seed"]
        if seed in known:
            raise ConfigError(
                f"{run}: has the seed {seed} of {known[seed]}: the same training again"
            )
        known[seed] = run
        groups["training"] = {
            key: value for key, value in groups["training"].items() if key not in PLACES
        }
        first = groups if first is None else first
        if key := _difference(first, groups):
            raise ConfigError(
                f"{run}: {key} is not that of {runs[0]}: the runs of a folder must "
                "differ in their seeds alone; name them one by one"
            )


def _difference(one: object, other: object) -> str:
    """Return the dotted key of the first value that differs; empty if none does."""
    if not (isinstance(one, dict) and isinstance(other, dict)):
        return ""
    for key, value in one.items():
        theirs = other.get(key)
        if value != theirs:
            return f"{key}.{_difference(value, theirs)}".rstrip(".")
    return ""


def _print_groups(groups: Sequence[Group], score: Score) -> None:
    """Print the scores of each group as a table."""
    tasks = common_tasks([run for group in groups for run in group.runs])
    rows = []
    for group in groups:
        matrix = matrix_of(list(group.runs), tasks)
        many = len(matrix) > 1
        ends = interval(bootstrap(interquartile_mean, matrix)) if many else None
        middle = with_interval(float(interquartile_mean(matrix)), ends)
        rows.append([group.label, str(len(matrix)), middle, f"{matrix.mean():.3f}"])
    title = f"{score.label}, {score.better} is better"
    print_rows(title, ("runs", "seeds", "IQM [95 % interval]", "mean"), rows)
