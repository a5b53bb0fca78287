"""The command `ambulo sweep`: many runs of one training, and one report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ambulo.commands.sweeps.flags import StudyFlags, SweepFlags
from ambulo.commands.sweeps.folder import StudyFolder, SweepPlan
from ambulo.commands.sweeps.grid import MAX_RUNS, variants_of
from ambulo.commands.sweeps.kinds import (
    Training,
    check_forwarded,
    find_training,
)
from ambulo.commands.sweeps.processes import opened_host
from ambulo.common.console import announce
from ambulo.common.files import json_text, write_atomic, write_bytes, write_or_print
from ambulo.common.signals import StopRequest
from ambulo.configs.errors import ConfigError
from ambulo.configs.trainings import Score

if TYPE_CHECKING:
    from optuna.trial import Trial

    from ambulo.commands.sweeps.trials import Trials

FAILED = 1
"""Exit code of a sweep with a failed run."""


def sweep(flags: SweepFlags) -> int:
    """Run or continue a sweep; return the exit code."""
    training = find_training(flags.training, flags.program)
    check_forwarded(flags.forwarded, flags.program)
    score = training.kind.score(flags.score)
    plan = planned(training, flags)
    name = flags.name or f"{default_name(training)}_sweep"
    folder = StudyFolder(f"{flags.output}/{name}", SweepPlan)
    with folder.claimed(plan) as merged:
        failed, stopped = run_sweep(folder, merged, score, flags)
        if stopped:
            return interrupted(folder, stopped)
        write_report(folder, merged, score, flags.json)
    return FAILED if failed else 0


def interrupted(folder: StudyFolder[Any], number: int) -> int:
    """Say how a study that the signal `number` stopped continues; return the exit code."""
    announce(f"ambulo: stopped; the same command continues {folder.path}")
    return 128 + number


def reported(folder: StudyFolder[Any], data: Any, target: str | None) -> bool:
    """Write the report of a study as JSON; return whether a table is to be printed too."""
    text = json_text(data)
    write_atomic(folder.report, text)
    write_or_print(target, text)
    return target != "-"


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
    from ambulo.commands.sweeps.trials import Trials

    planned = {run.name: run for run in plan.runs()}
    study = Study(folder, plan, score)
    finished = sum(t.state == TrialState.COMPLETE for t in study.runs().values())
    if finished:
        announce(f"{finished} of {len(planned)} runs are finished already")
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
    if any("iqm" in data for data in report["variants"]):
        write_bytes(folder.picture, sweep_picture(report))
    if reported(folder, report, target):
        print_report(report)
        print(f"report   {folder.report}\npicture  {folder.picture}")
