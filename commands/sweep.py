"""The command `ambulo sweep`: many runs of one training, and one report."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

from ambulo.commands.sweeps.folder import PlannedRun, SweepFolder, SweepPlan
from ambulo.commands.sweeps.grid import MAX_RUNS, variants_of
from ambulo.commands.sweeps.kinds import (
    Training,
    check_forwarded,
    find_training,
    parsed,
)
from ambulo.commands.sweeps.processes import (
    LOST,
    Job,
    clear_leftover,
    opened_host,
    run_jobs,
)
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
    folder = SweepFolder(
        f"{args.output}/{args.name or default_name(training) + '_sweep'}"
    )
    with folder.claimed(plan) as merged:
        failed, stopped = run_sweep(folder, merged, args)
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
    folder: SweepFolder, plan: SweepPlan, args: argparse.Namespace
) -> tuple[list[str], int]:
    """Train what is not finished; return failed runs, and the signal that stopped it or 0."""
    runs = folder.runs(plan)
    left = [run for run in runs if not folder.result(run).is_file()]
    if len(left) < len(runs):
        say(f"{len(runs) - len(left)} of {len(runs)} runs are finished already")
    if not left:
        return [], 0
    failed: list[str] = []
    began: dict[str, tuple[float, int]] = {}
    count = len(runs) - len(left)

    def jobs() -> Iterator[Job]:
        for run in left:
            job = job_of(folder, plan, run)
            printed = job.log.stat().st_size if job.log.exists() else 0
            began[run.name] = time.monotonic(), printed
            say(f"{run.name}: begins")
            yield job

    def done(job: Job, code: int) -> None:
        nonlocal count
        count += 1
        since, printed = began[job.name]
        seconds = time.monotonic() - since
        if code == 0:
            say(f"{job.name}: done in {seconds:.0f} s ({count} of {len(runs)})")
        else:
            failed.append(job.name)
            say(f"{job.name}: {failure(job, code, printed)} ({count} of {len(runs)})")

    with (
        StopRequest("the checkpoints of the running trainings") as stop,
        opened_host(args.engine, args.parallel, args.address, folder.plan_file) as host,
    ):
        run_jobs(jobs(), host, stop, done)
    return failed, stop.signal_number or 0


def job_of(folder: SweepFolder, plan: SweepPlan, run: PlannedRun) -> Job:
    """Return the job of one run, which continues what its folder holds."""
    training, path = plan.training, folder.run(run).absolute()
    result = ["--json", str(folder.result(run).absolute())]

    def arguments() -> list[str]:
        if clear_leftover(path):
            resumed = training.resumed(plan.arguments)
            return ["--resume", str(path), *resumed, *result]
        settings = [*run.variant.overrides, f"training.seed={run.seed}"]
        new = training.arguments(plan.arguments)
        new += [part for text in settings for part in ("--set", text)]
        return [*new, "--output", str(path.parent), "--run-name", run.name, *result]

    return Job(
        run.name, plan.folder, "run", path, folder.log(run).absolute(), arguments
    )


def failure(job: Job, code: int, printed: int = 0) -> str:
    """Return why a run failed, and the last line that it printed.

    Args:
        job: the run.
        code: its exit code; minus the signal that ended it.
        printed: length of its log before it began, [bytes].
    """
    text = job.log.read_bytes()[printed:] if job.log.exists() else b""
    lines = text.decode("utf-8", "replace").split("\n")
    last = next((line.strip() for line in reversed(lines) if line.strip()), "")
    reason = f"FAILED with exit code {code}"
    if code == LOST:
        reason = "FAILED: its machine was lost"
    elif code < 0:
        reason = f"FAILED: killed by signal {-code}"
        with suppress(ValueError):
            reason = f"FAILED: killed by {signal.Signals(-code).name}"
    return f"{reason}{last and ': '}{last[:300]} (log: {job.log})"


def write_report(
    folder: SweepFolder, plan: SweepPlan, score: object, target: str | None
) -> None:
    """Write and print the report of the finished runs."""
    from ambulo.commands.sweeps.picture import sweep_picture
    from ambulo.commands.sweeps.report import print_report, sweep_report
    from ambulo.configs.trainings import Score

    assert isinstance(score, Score)
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


def say(line: str) -> None:
    """Print a line of progress on stderr."""
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
