"""The command `ambulo tune`: search for good settings of a training with Optuna."""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from optuna.trial import Trial, TrialState
from rich.console import Console
from rich.markup import escape

from ambulo.commands.sweep import (
    add_shared_flags,
    check_shared_flags,
    default_name,
    train,
)
from ambulo.commands.sweeps.folder import StudyFolder, TuningPlan
from ambulo.commands.sweeps.kinds import (
    Training,
    check_forwarded,
    find_training,
    parsed,
)
from ambulo.commands.sweeps.scores import best_epoch, learning_curve
from ambulo.commands.sweeps.space import checked_space, chosen_ranges, overrides
from ambulo.commands.sweeps.study import Study, run_of
from ambulo.commands.sweeps.trials import Trials
from ambulo.common.errors import Parser, front_door
from ambulo.common.files import check_parent, without_nan, write_atomic, write_or_print
from ambulo.common.paths import typed_command
from ambulo.common.tables import new_table, print_table
from ambulo.configs.errors import ConfigError, RunFolderError
from ambulo.configs.trainings import Score

PROGRAM = "ambulo tune"
SHOWN = 10
"""Trials in the table."""


@front_door
def main(argv: Sequence[str] | None = None) -> int:
    """Run or continue a search; return the exit code."""
    args, names, forwarded = parsed(_parser(), list(argv or []))
    training = find_training(names, PROGRAM)
    check_forwarded(forwarded, PROGRAM)
    check_parent(args.json)
    check_shared_flags(args)
    if args.trials < 1:
        raise ConfigError(f"--trials {args.trials}: must be at least 1")
    kind, score = training.kind, training.kind.score(args.score)
    plan = TuningPlan(
        folder=training.folder,
        preset=training.preset,
        arguments=tuple(forwarded),
        score=score.name,
        search=chosen_ranges(args.search, kind.search),
    )
    given = training.arguments(forwarded)
    _check_evaluations(training, given)
    space = checked_space(plan.search, training, given)
    name = args.name or f"{default_name(training)}_tune"
    folder = StudyFolder(f"{args.output}/{name}", TuningPlan)
    with folder.claimed(plan):
        study = Study(
            folder, plan, score, space,
            url=args.storage, name=args.study or name, seed=args.first_seed,
            prune=args.pruning,
        )  # fmt: skip
        stopped = train(trials_of(study, plan, args.trials, args.first_seed), args)
        if stopped:
            print(
                f"ambulo: stopped; the same command continues {folder.path}",
                file=sys.stderr,
            )
            return 128 + stopped
        _report(study, plan, args.json)
    return 0


def _parser() -> Parser:
    """Return the parser of the flags of `ambulo tune` itself."""
    parser = Parser(
        prog=PROGRAM,
        usage=f"{PROGRAM} KIND PRESET [--trials N] [--search KEY=RANGE ...] [FLAG ...]",
        description="Search for good settings of a training. The same command continues "
        "a search; with --storage, several processes and machines share one.",
        epilog="All other flags are those of `ambulo train KIND` and go to every run.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "--trials", type=int, default=50, metavar="N",
        help="trials of the study, those of other processes included (default: 50)",
    )  # fmt: skip
    parser.add_argument(
        "--search", action="append", default=[], metavar="KEY=RANGE",
        help="a setting to search: LOW:HIGH, LOW:HIGH:log or A,B,C (repeatable; "
        "default: configs/trainings)",
    )  # fmt: skip
    parser.add_argument(
        "--storage", metavar="URL",
        help="data base of the study (default: an SQLite file in the folder)",
    )  # fmt: skip
    parser.add_argument("--study", help="its name there (default: that of the folder)")
    parser.add_argument(
        "--pruning", action=argparse.BooleanOptionalAction, default=True,
        help="stop trials whose learning curve is below the median (default: on)",
    )  # fmt: skip
    parser.add_argument(
        "--first-seed", type=int, default=0, metavar="N",
        help="seed of the sampler and of the first trial (default: 0)",
    )  # fmt: skip
    parser.add_argument("--name", help="name of the folder (default: KIND_PRESET_tune)")
    add_shared_flags(parser)
    return parser


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
    text = json.dumps(without_nan(data), indent=1) + "\n"
    write_atomic(folder.report, text)
    write_or_print(target, text)
    if target == "-":
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
    table = new_table(f"{score.label}, {score.better} is better")
    for head in ("trial", score.label, *search):
        table.add_column(escape(head), justify="right")
    for trial in done[:SHOWN]:
        values = [trial["settings"].get(key) for key in search]
        cells = [f"{v:.4g}" if isinstance(v, float) else str(v) for v in values]
        table.add_row(
            str(trial["number"]), f"{trial['value']:.4g}", *map(escape, cells)
        )
    print_table(Console(highlight=False), table)
    counts = Counter(trial["state"] for trial in trials)
    order = ("complete", "pruned", "fail", "running", "waiting")
    parts = ", ".join(f"{counts[state]} {state}" for state in order if counts[state])
    print(f"trials   {parts}")
    for key, value in (data["importance"] or {}).items():
        print(f"importance  {key:<28} {100 * value:.0f} %")
    if data["importance"] is None:
        print("importance  too few different trials")


if __name__ == "__main__":
    sys.exit(main())
