"""The command `ambulo tune`: search for good settings of a training with Optuna."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape

from ambulo.commands.sweep import (
    add_shared_flags,
    check_shared_flags,
    default_name,
)
from ambulo.commands.sweeps.kinds import (
    Training,
    check_forwarded,
    find_training,
    parsed,
)
from ambulo.commands.sweeps.processes import opened_host, run_jobs
from ambulo.commands.tuning.space import checked_space, chosen_ranges, overrides
from ambulo.commands.tuning.study import Study, TuningFolder, TuningPlan
from ambulo.commands.tuning.trials import Trials
from ambulo.common.errors import Parser, front_door
from ambulo.common.files import check_parent, without_nan, write_atomic, write_or_print
from ambulo.common.paths import typed_command
from ambulo.common.signals import StopRequest
from ambulo.common.tables import new_table, print_table
from ambulo.configs.errors import ConfigError

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
    kind = training.kind
    plan = TuningPlan(
        folder=training.folder,
        preset=training.preset,
        arguments=tuple(forwarded),
        score=kind.score(args.score).name,
        search=chosen_ranges(args.search, kind.search),
    )
    given = training.arguments(forwarded)
    _check_evaluations(training, given)
    space = checked_space(plan.search, training, given)
    name = args.name or f"{default_name(training)}_tune"
    folder = TuningFolder(f"{args.output}/{name}")
    with folder.claimed(plan):
        study = Study(
            folder, plan, space,
            url=args.storage, name=args.study or name, seed=args.first_seed,
            prune=args.pruning,
        )  # fmt: skip
        stopped = _run(study, args)
        if stopped:
            print(
                f"ambulo: stopped; the same command continues {folder.path}",
                file=sys.stderr,
            )
            return 128 + stopped
        _report(study, args.json)
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


def _run(study: Study, args: argparse.Namespace) -> int:
    """Run trials until the study has enough; return the signal that stopped it, or 0."""
    with (
        StopRequest("the checkpoints of the running trials") as stop,
        opened_host(
            args.engine, args.parallel, args.address, study.folder.plan_file
        ) as host,
    ):
        trials = Trials(study, args.trials, args.first_seed)
        run_jobs(trials, host, stop, trials.done, trials.watch)
    return stop.signal_number or 0


def _report(study: Study, target: str | None) -> None:
    """Write the best settings and the report, and print them."""
    folder, best = study.folder, study.best()
    training = study.plan.training
    if best is not None:
        given = training.arguments(study.plan.arguments)
        config = training.settings([*given, *overrides(best.params)])
        write_atomic(folder.best, config.to_json())
    data = study.to_data()
    text = json.dumps(without_nan(data), indent=1) + "\n"
    write_atomic(folder.report, text)
    write_or_print(target, text)
    if target == "-":
        return
    _print(study, data)
    print(f"report   {folder.report}")
    if best is None:
        print("no trial has finished: there are no best settings")
        return
    print(f"best     {folder.best}")
    print(
        f"train    {typed_command('ambulo')} train {training.word} --config {folder.best}"
    )


def _print(study: Study, data: dict[str, object]) -> None:
    """Print the best trials, how all ended, and the importance of settings."""
    score = study.plan.training.kind.score(study.plan.score)
    trials = study.trials()
    done = [trial for trial in trials if trial.state.name == "COMPLETE"]
    done.sort(key=lambda trial: -score.sign * (trial.value or 0.0))
    table = new_table(f"{score.label}, {score.better} is better")
    for head in ("trial", score.label, *study.plan.search):
        table.add_column(escape(head), justify="right")
    for trial in done[:SHOWN]:
        values = [trial.params.get(key) for key in study.plan.search]
        cells = [f"{v:.4g}" if isinstance(v, float) else str(v) for v in values]
        table.add_row(
            str(trial.number), f"{trial.value:.4g}", *(escape(cell) for cell in cells)
        )
    print_table(Console(highlight=False), table)
    counts = {state: 0 for state in ("COMPLETE", "PRUNED", "FAIL", "RUNNING")}
    for trial in trials:
        counts[trial.state.name] = counts.get(trial.state.name, 0) + 1
    parts = ", ".join(f"{n} {state.lower()}" for state, n in counts.items() if n)
    print(f"trials   {parts}")
    importance = data["importance"]
    if isinstance(importance, dict):
        for key, value in importance.items():
            print(f"importance  {key:<28} {100 * value:.0f} %")
    else:
        print("importance  too few different trials")


if __name__ == "__main__":
    sys.exit(main())
