"""The command `ambulo sweep`: many runs of one training, and one report."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ambulo.commands.sweeps.folder import StudyFolder, SweepPlan
from ambulo.commands.sweeps.grid import MAX_RUNS, variants_of
from ambulo.commands.sweeps.kinds import (
    Training,
    check_forwarded,
    find_training,
    parsed,
)
from ambulo.commands.sweeps.processes import opened_host
from ambulo.common.errors import Parser, front_door
from ambulo.common.files import (
    check_parent,
    without_nan,
    write_atomic,
    write_bytes,
    write_or_print,
)
from ambulo.common.signals import StopRequest
from ambulo.configs.errors import ConfigError
from ambulo.configs.names import RUN
from ambulo.configs.trainings import Score

if TYPE_CHECKING:
    from optuna.trial import Trial

    from ambulo.commands.sweeps.trials import Trials

PROGRAM = "ambulo sweep"
FAILED = 1
"""Exit code of a sweep with a failed run."""


@front_door
def main(argv: Sequence[str] | None = None) -> int:
    """Run or continue a sweep; return the exit code."""
    args, names, forwarded = parsed(sweep_parser(), list(argv or []))
    training = find_training(names, PROGRAM)
    check_forwarded(forwarded, PROGRAM)
    check_parent(args.json)
    score = training.kind.score(args.score)
    plan = planned(training, args, forwarded)
    name = args.name or f"{default_name(training)}_sweep"
    folder = StudyFolder(f"{args.output}/{name}", SweepPlan)
    with folder.claimed(plan) as merged:
        failed, stopped = run_sweep(folder, merged, score, args)
        if stopped:
            print(
                f"ambulo: stopped; the same command continues {folder.path}",
                file=sys.stderr,
            )
            return 128 + stopped
        write_report(folder, merged, score, args.json)
    return FAILED if failed else 0


def sweep_parser() -> Parser:
    """Return the parser of the flags of `ambulo sweep` itself."""
    parser = Parser(
        prog=PROGRAM,
        usage=f"{PROGRAM} KIND PRESET [--seeds N] [--set KEY=A,B ...] [FLAG ...]",
        description="Train every combination of settings with several seeds, side by "
        "side or in turn, and write one report. The same command continues a sweep.",
        epilog="All other flags are those of `ambulo train KIND` and go to every run.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "--seeds", type=int, default=5, metavar="N", help="seeds of each (default: 5)"
    )
    parser.add_argument(
        "--first-seed", type=int, default=0, metavar="N", help="the first (default: 0)"
    )
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=A,B", dest="settings",
        help="a setting with its values; several are combined (repeatable)",
    )  # fmt: skip
    parser.add_argument(
        "--name", help="name of the folder (default: KIND_PRESET_sweep)"
    )
    add_shared_flags(parser)
    return parser


def add_shared_flags(parser: Parser) -> None:
    """Add the flags that sweeps and searches have in common."""
    parser.add_argument(
        "--output", default="runs", metavar="DIR", help="folder for it (default: runs)"
    )
    parser.add_argument(
        "--score", metavar="NAME", help="score to compare (default: that of the kind)"
    )
    parser.add_argument(
        "--parallel", type=int, metavar="N",
        help="runs at the same time (default: 1; on a cluster one for each CPU)",
    )  # fmt: skip
    parser.add_argument(
        "--engine", choices=["local", "ray"], default="local",
        help="where runs are: this machine (default), or the nodes of a Ray cluster",
    )  # fmt: skip
    parser.add_argument(
        "--address", metavar="HOST:PORT",
        help="head node of the cluster (default: RAY_ADDRESS, else this machine)",
    )  # fmt: skip
    parser.add_argument(
        "--json", nargs="?", const="-", metavar="FILE",
        help="the report as JSON, also to FILE or to standard output",
    )  # fmt: skip
    parser.add_argument("--verbose", action="store_true", help="tracebacks of errors")


def check_shared_flags(args: argparse.Namespace) -> None:
    """Refuse values of the shared flags that make no sense.

    Raises:
        ConfigError: there is one.
    """
    if args.parallel is not None and args.parallel < 1:
        raise ConfigError(f"--parallel {args.parallel}: must be at least 1")
    if args.engine == "local" and args.address is not None:
        raise ConfigError("--address needs --engine ray")
    if args.name is not None and not RUN.allows(args.name):
        raise ConfigError(f"--name {args.name!r}: must be {RUN.expected}")


def default_name(training: Training) -> str:
    """Return the name of the folder of a sweep or a search without `_sweep` or `_tune`."""
    return "_".join(filter(None, (training.word, training.preset)))


def planned(
    training: Training, args: argparse.Namespace, forwarded: Sequence[str]
) -> SweepPlan:
    """Return the plan, every setting of it checked.

    Raises:
        ConfigError: a flag or a setting is wrong, or there are too many runs.
    """
    check_shared_flags(args)
    if args.seeds < 1:
        raise ConfigError(f"--seeds {args.seeds}: must be at least 1")
    if args.first_seed < 0:
        raise ConfigError(f"--first-seed {args.first_seed}: must not be negative")
    variants = variants_of(args.settings)
    if len(variants) * args.seeds > MAX_RUNS:
        count = len(variants) * args.seeds
        raise ConfigError(f"{count} runs; a sweep has at most {MAX_RUNS}")
    settings: dict[str, dict[str, Any]] = {}
    labels: dict[str, str] = {}
    for variant in variants:
        overrides = [part for text in variant.overrides for part in ("--set", text)]
        config = training.settings([*training.arguments(forwarded), *overrides])
        settings[variant.folder] = config.model_dump(mode="json")
        same = labels.setdefault(config.to_json(), variant.label)
        if same != variant.label:
            raise ConfigError(
                f"--set: {same} and {variant.label} are the same settings"
            )
    seeds = range(args.first_seed, args.first_seed + args.seeds)
    return SweepPlan(
        folder=training.folder,
        preset=training.preset,
        arguments=tuple(forwarded),
        seeds=tuple(seeds),
        variants=variants,
        settings=settings,
    )


def run_sweep(
    folder: StudyFolder[SweepPlan],
    plan: SweepPlan,
    score: Score,
    args: argparse.Namespace,
) -> tuple[list[str], int]:
    """Train what is not finished; return failed runs, and the signal that stopped it or 0."""
    import numpy as np
    from optuna.trial import TrialState

    from ambulo.commands.sweeps.scores import final_scores
    from ambulo.commands.sweeps.study import Study, run_of
    from ambulo.commands.sweeps.trials import Trials, say

    planned = {run.name: run for run in plan.runs()}
    study = Study(folder, plan, score)
    finished = sum(t.state == TrialState.COMPLETE for t in study.runs().values())
    if finished:
        say(f"{finished} of {len(planned)} runs are finished already")
    study.enqueue(planned)

    def flags(trial: Trial) -> list[str]:
        run = planned[run_of(trial)]
        settings = [*run.variant.overrides, f"training.seed={run.seed}"]
        return [part for text in settings for part in ("--set", text)]

    def value(run: Path) -> float:
        return float(np.mean([*final_scores(run, plan.training, score).tasks.values()]))

    trials = Trials(study, plan.training, plan.arguments, len(planned), flags, value)
    stopped = 0 if finished == len(planned) else train(trials, args)
    states = {name: trial.state for name, trial in study.runs().items()}
    return [n for n in planned if states[n] == TrialState.FAIL], stopped


def train(trials: Trials, args: argparse.Namespace) -> int:
    """Train what is left of a study; return the signal that stopped it, or 0."""
    witness = trials.study.folder.plan_file
    with (
        StopRequest("the checkpoints of the running trainings") as stop,
        opened_host(args.engine, args.parallel, args.address, witness) as host,
    ):
        trials.run(host, stop)
    return stop.signal_number or 0


def write_report(
    folder: StudyFolder[SweepPlan], plan: SweepPlan, score: Score, target: str | None
) -> None:
    """Write and print the report of the finished runs."""
    from ambulo.commands.sweeps.picture import sweep_picture
    from ambulo.commands.sweeps.report import print_report, sweep_report

    report = sweep_report(folder, plan, score)
    text = json.dumps(without_nan(report), indent=1) + "\n"
    write_atomic(folder.report, text)
    if any("iqm" in data for data in report["variants"]):
        write_bytes(folder.picture, sweep_picture(report))
    write_or_print(target, text)
    if target == "-":
        return
    print_report(report)
    print(f"report   {folder.report}\npicture  {folder.picture}")


if __name__ == "__main__":
    sys.exit(main())
