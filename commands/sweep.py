"""The command `ambulo sweep`: many runs of one training, and one report."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ambulo.commands.sweeps.folder import StudyFolder, SweepPlan
from ambulo.commands.sweeps.grid import MAX_RUNS, variants_of
from ambulo.commands.sweeps.kinds import (
    Training,
    check_forwarded,
    find_training,
)
from ambulo.commands.sweeps.processes import opened_host
from ambulo.common.command_line import Arg, command
from ambulo.common.engine_flags import EngineFlags
from ambulo.common.files import (
    without_nan,
    write_atomic,
    write_bytes,
    write_or_print,
)
from ambulo.common.flag_types import Assignments, Count, JsonFile, NaturalNumber
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


def epilog_of(flags: str, program: str) -> str:
    """Return the end of the help of a command whose runs are trainings."""
    return (
        f"usage: {program} KIND PRESET {flags} [FLAG ...]\n"
        "All other flags are those of `ambulo train KIND` and go to every run."
    )


def _run_name(name: str) -> str | None:
    return None if RUN.allows(name) else f"must be {RUN.expected}"


@dataclass(frozen=True, kw_only=True)
class StudyFlags(EngineFlags):
    """Flags that sweeps and searches have in common."""

    name: Annotated[str | None, _run_name] = None
    """name of the folder (default: KIND_PRESET_sweep or KIND_PRESET_tune)"""
    output: Annotated[str, Arg("DIR")] = "runs"
    """folder for it"""
    score: Annotated[str | None, Arg("NAME")] = None
    """score to compare (default: that of the kind)"""
    parallel: Count | None = None
    """runs at the same time (default: 1; on a cluster one for each CPU)"""
    first_seed: NaturalNumber = 0
    """the first seed"""
    json: JsonFile | None = None
    """the report as JSON, also to FILE or to standard output"""
    rest: tuple[str, ...] = ()
    """KIND, PRESET and flags of every run."""

    @property
    def training(self) -> tuple[str, ...]:
        """The names of the training, which stand before its flags."""
        return tuple(takewhile(lambda text: not text.startswith("-"), self.rest))

    @property
    def forwarded(self) -> tuple[str, ...]:
        """The flags of the training."""
        return self.rest[len(self.training) :]


@dataclass(frozen=True, kw_only=True)
class SweepFlags(StudyFlags):
    """Train every combination of settings with several seeds, and write one report.

    Runs go side by side or in turn. The same command continues a sweep.
    """

    seeds: Count = 5
    """seeds of each combination"""
    settings: Annotated[Assignments, Arg("KEY=A,B", ("--set",), repeated=True)] = ()
    """a setting with its values; several are combined (repeatable)"""


@command(PROGRAM, epilog_of("[--seeds N] [--set KEY=A,B ...]", PROGRAM))
def main(flags: SweepFlags) -> int:
    """Run or continue a sweep; return the exit code."""
    training = find_training(flags.training, PROGRAM)
    check_forwarded(flags.forwarded, PROGRAM)
    score = training.kind.score(flags.score)
    plan = planned(training, flags)
    name = flags.name or f"{default_name(training)}_sweep"
    folder = StudyFolder(f"{flags.output}/{name}", SweepPlan)
    with folder.claimed(plan) as merged:
        failed, stopped = run_sweep(folder, merged, score, flags)
        if stopped:
            print(
                f"ambulo: stopped; the same command continues {folder.path}",
                file=sys.stderr,
            )
            return 128 + stopped
        write_report(folder, merged, score, flags.json)
    return FAILED if failed else 0


def default_name(training: Training) -> str:
    """Return the name of the folder of a sweep or a search without `_sweep` or `_tune`."""
    return "_".join(filter(None, (training.word, training.preset)))


def planned(training: Training, flags: SweepFlags) -> SweepPlan:
    """Return the plan, every setting of it checked.

    Raises:
        ConfigError: a flag or a setting is wrong, or there are too many runs.
    """
    forwarded = flags.forwarded
    variants = variants_of(flags.settings)
    if len(variants) * flags.seeds > MAX_RUNS:
        count = len(variants) * flags.seeds
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
    seeds = range(flags.first_seed, flags.first_seed + flags.seeds)
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
    flags: StudyFlags,
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

    def run_flags(trial: Trial) -> list[str]:
        run = planned[run_of(trial)]
        settings = [*run.variant.overrides, f"training.seed={run.seed}"]
        return [part for text in settings for part in ("--set", text)]

    def value(run: Path) -> float:
        return float(np.mean([*final_scores(run, plan.training, score).tasks.values()]))

    trials = Trials(
        study, plan.training, plan.arguments, len(planned), run_flags, value
    )
    stopped = 0 if finished == len(planned) else train(trials, flags)
    states = {name: trial.state for name, trial in study.runs().items()}
    return [n for n in planned if states[n] == TrialState.FAIL], stopped


def train(trials: Trials, flags: StudyFlags) -> int:
    """Train what is left of a study; return the signal that stopped it, or 0."""
    witness = trials.study.folder.plan_file
    with (
        StopRequest("the checkpoints of the running trainings") as stop,
        opened_host(
            "ray" if flags.on_cluster else "local",
            flags.parallel,
            flags.address,
            witness,
        ) as host,
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
