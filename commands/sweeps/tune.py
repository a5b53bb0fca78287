"""The command `ambulo tune`: search for good settings of a training with Optuna."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from optuna.trial import Trial, TrialState

from ambulo.commands.sweeps.flags import TuneFlags
from ambulo.commands.sweeps.folder import StudyFolder, TuningPlan
from ambulo.commands.sweeps.kinds import (
    Training,
    check_forwarded,
    find_training,
)
from ambulo.commands.sweeps.scores import best_epoch, learning_curve
from ambulo.commands.sweeps.space import checked_space, chosen_ranges, overrides
from ambulo.commands.sweeps.study import Study, run_of
from ambulo.commands.sweeps.sweep import default_name, interrupted, reported, train
from ambulo.commands.sweeps.trials import Trials, shown_value
from ambulo.common.files import write_atomic
from ambulo.common.paths import typed_command
from ambulo.common.tables import print_rows
from ambulo.configs.errors import ConfigError, RunFolderError
from ambulo.configs.trainings import Score

SHOWN = 10
"""Trials in the table."""


def tune(flags: TuneFlags) -> int:
    """Run or continue a search; return the exit code."""
    training = find_training(flags.training, flags.program)
    check_forwarded(flags.forwarded, flags.program)
    kind, score = training.kind, training.kind.score(flags.score)
    plan = TuningPlan(
        folder=training.folder,
        preset=training.preset,
        arguments=flags.forwarded,
        score=score.name,
        search=chosen_ranges(flags.search, kind.search),
    )
    given = training.arguments(flags.forwarded)
    _check_evaluations(training, given)
    space = checked_space(plan.search, training, given)
    name = flags.name or f"{default_name(training)}_tune"
    folder = StudyFolder(f"{flags.output}/{name}", TuningPlan)
    with folder.claimed(plan):
        study = Study(
            folder, plan, score, space,
            url=flags.storage, name=flags.study or name, seed=flags.first_seed,
            prune=flags.pruning,
        )  # fmt: skip
        stopped = train(trials_of(study, plan, flags.trials, flags.first_seed), flags)
        if stopped:
            return interrupted(folder, stopped)
        _report(study, plan, flags.json)
    return 0


def _check_evaluations(training: Training, given: Sequence[str]) -> None:
    """Refuse a training that writes no learning curve.

    Raises:
        ConfigError: its evaluations are switched off.
    """
    settings = training.settings(given).model_dump()["training"]
    if training.kind.logged_in == "evaluations" and not settings["eval_freq"]:
        raise ConfigError("training.eval_freq = 0: a search needs evaluations")


def trials_of(study: Study, plan: TuningPlan, total: int, seed: int) -> Trials:
    """Return the trials of a search until it has `total`; trial k has the seed `seed + k`."""
    training = plan.training

    def flags(trial: Trial) -> list[str]:
        own = seed + int(run_of(trial).rpartition("_")[2])
        return [*overrides(trial.params), "--set", f"training.seed={own}"]

    def value(run: Path) -> float:
        return final_value(run, training, study.score)

    return Trials(study, training, plan.arguments, total, flags, value, "trial")


def final_value(run: Path, training: Training, score: Score) -> float:
    """Return the score of a finished trial.

    Reinforcement learning: the mean of the last third of its evaluations, for single ones
    are noisy. Supervised: that of the best epoch.

    Raises:
        RunFolderError: there is none.
    """
    if training.kind.logged_in == "metrics":
        return best_epoch(run, training, score)
    _, values = learning_curve(run, training, score)
    if not len(values):
        raise RunFolderError(f"{run}: has no evaluation with {score.name}")
    return float(np.mean(values[-math.ceil(len(values) / 3) :]))


def _report(study: Study, plan: TuningPlan, target: str | None) -> None:
    """Write the best settings and the report, and print them."""
    folder, best, training = study.folder, study.best(), plan.training
    if best is not None:
        given = training.arguments(plan.arguments)
        config = training.settings([*given, *overrides(best.params)])
        write_atomic(folder.best, config.to_json())
    data = report_of(study, plan)
    if not reported(folder, data, target):
        return
    _print(study.score, data)
    print(f"report   {folder.report}")
    if best is None:
        print("no trial has finished: there are no best settings")
        return
    print(f"best     {folder.best}")
    print(
        f"train    {typed_command('ambulo')} train {training.word} --config {folder.best}"
    )


def report_of(study: Study, plan: TuningPlan) -> dict[str, Any]:
    """Return all trials, the best one and the importance of settings, for JSON."""
    best = study.best()
    return {
        "training": plan.training.word,
        "preset": plan.preset,
        "score": plan.score,
        "search": dict(plan.search),
        "best": None if best is None else best.number,
        "importance": study.importance(),
        "trials": [
            {
                "number": trial.number,
                "state": trial.state.name.lower(),
                "value": trial.value if trial.state == TrialState.COMPLETE else None,
                "settings": trial.params,
                "curve": list(trial.intermediate_values.values()),
                "seconds": trial.duration.total_seconds() if trial.duration else None,
            }
            for trial in study.trials()
        ],
    }


def _print(score: Score, data: dict[str, Any]) -> None:
    """Print the best trials, how all ended, and the importance of settings."""
    trials, search = data["trials"], data["search"]
    done = [trial for trial in trials if trial["value"] is not None]
    done.sort(key=lambda trial: -score.sign * trial["value"])
    rows = [
        [
            str(trial["number"]), f"{trial['value']:.4g}",
            *(shown_value(trial["settings"].get(key)) for key in search),
        ]
        for trial in done[:SHOWN]
    ]  # fmt: skip
    title = f"{score.label}, {score.better} is better"
    print_rows(title, ("trial", score.label, *search), rows, left=0)
    counts = Counter(trial["state"] for trial in trials)
    order = ("complete", "pruned", "fail", "running", "waiting")
    parts = ", ".join(f"{counts[state]} {state}" for state in order if counts[state])
    print(f"trials   {parts}")
    for key, value in (data["importance"] or {}).items():
        print(f"importance  {key:<28} {100 * value:.0f} %")
    if data["importance"] is None:
        print("importance  too few different trials")
