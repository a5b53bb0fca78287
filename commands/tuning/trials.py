"""The trials of one process: each is a training that is watched while it runs."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from optuna.exceptions import UpdateFinishedTrialError
from optuna.trial import Trial, TrialState

from ambulo.commands.sweeps.processes import Job, Process, clear_leftover
from ambulo.commands.sweeps.scores import best_epoch, learning_curve
from ambulo.commands.tuning.space import overrides
from ambulo.commands.tuning.study import HEARTBEAT, Study
from ambulo.configs.errors import AmbuloError, ConfigError, RunFolderError

MAX_FAILED = 5
"""Trials in a row that fail before the search is given up."""
MAX_LOST = 3
"""How often a trial is continued whose process was killed."""
_COUNTED = (
    TrialState.COMPLETE, TrialState.PRUNED, TrialState.FAIL, TrialState.RUNNING,
)  # fmt: skip


class TuningError(AmbuloError):
    """A search whose trials all fail."""


@dataclass
class _Running:
    """A trial that this process runs."""

    trial: Trial
    reported: int = 0
    """Evaluations that the study knows."""
    pruned: bool = False
    """Whether it was asked to stop."""
    lost: int = 0
    """How often its process was killed."""
    beat: float = field(default_factory=time.monotonic)
    """When it last gave a sign of life, [s]."""


class Trials:
    """The jobs of a search, made one at a time as there is room."""

    def __init__(self, study: Study, total: int, seed: int) -> None:
        """Run until the study has `total` trials; trial k has the seed `seed + k`."""
        self._study, self._total, self._seed = study, total, seed
        self._training = study.plan.training
        self._score = self._training.kind.score(study.plan.score)
        self._running: dict[str, _Running] = {}
        self._waiting = [self._adopted(trial) for trial in study.unfinished()]
        self._failed = 0

    def __iter__(self) -> Iterator[Job]:
        """Return itself."""
        return self

    def __next__(self) -> Job:
        """Return the next trial as a job.

        Raises:
            StopIteration: there is none now; after a trial that was lost, there may be.
            TuningError: too many trials in a row have failed.
        """
        if self._waiting:
            return self._job(self._waiting.pop())
        while len(self._study.trials(*_COUNTED)) - self._repeated() < self._total:
            if self._failed >= MAX_FAILED:
                break
            trial = self._study.ask()
            try:
                self._training.settings(self._flags(trial))
            except ConfigError as error:
                self._end(trial, f"not possible: {error}", state=TrialState.FAIL)
                continue
            return self._job(_Running(trial))
        if self._failed >= MAX_FAILED:
            raise TuningError(
                f"{MAX_FAILED} trials in a row failed; see {self._study.folder.logs}"
            )
        raise StopIteration

    def watch(self, job: Job, process: Process) -> None:
        """Tell the study of new evaluations; stop the training if they are poor."""
        running = self._running[job.name]
        now = time.monotonic()
        if now - running.beat > HEARTBEAT:
            running.beat = now
            self._study.beat(running.trial)
        if running.pruned:
            return
        try:
            is_poor = self._report(running) and running.trial.should_prune()
        except UpdateFinishedTrialError:  # repeated by another process; `_end` tells
            is_poor = True
        if is_poor:
            running.pruned = True
            process.stop()

    def done(self, job: Job, code: int) -> None:
        """Tell the study how a trial ended."""
        running = self._running.pop(job.name)
        trial = running.trial
        if running.pruned:
            self._end(trial, "pruned", state=TrialState.PRUNED)
        elif code == 0:
            with suppress(UpdateFinishedTrialError):
                self._report(running)
            self._finish(trial)
        elif code < 0 and running.lost < MAX_LOST:
            running.lost += 1
            say(f"trial {trial.number}: its process was killed; it continues")
            self._waiting.append(running)
        else:
            where = self._study.folder.log(trial.number)
            self._end(trial, f"FAILED with exit code {code} (log: {where})",
                      state=TrialState.FAIL)  # fmt: skip

    def _finish(self, trial: Trial) -> None:
        """Tell the study the score of a finished training."""
        try:
            value = self._value(trial)
        except RunFolderError as error:
            self._end(trial, str(error), state=TrialState.FAIL)
            return
        self._end(trial, f"{self._score.label} {value:.4g}", value=value)

    def _value(self, trial: Trial) -> float:
        """Return the score of a trial.

        Reinforcement learning: the mean of the last third of its evaluations, for single
        ones are noisy. Supervised: that of the best epoch.
        """
        run = self._study.folder.run(trial.number)
        if self._training.kind.logged_in == "metrics":
            return best_epoch(run, self._training, self._score)
        _, values = learning_curve(run, self._training, self._score)
        if not len(values):
            raise RunFolderError(f"{run}: has no evaluation with {self._score.name}")
        return float(np.mean(values[-math.ceil(len(values) / 3) :]))

    def _report(self, running: _Running) -> bool:
        """Report new evaluations; return whether there were any."""
        run = self._study.folder.run(running.trial.number)
        _, values = learning_curve(run, self._training, self._score)
        new = values[running.reported :]
        for value in new:
            running.trial.report(float(value), running.reported)
            running.reported += 1
        return len(new) > 0

    def _end(self, trial: Trial, text: str, **result: Any) -> None:
        """Tell the study the result of a trial, and print it."""
        failed = result.get("state") == TrialState.FAIL
        self._failed = self._failed + 1 if failed else 0
        say(f"trial {trial.number}: {text}")
        value, state = result.get("value"), result.get("state")
        try:
            self._study.optuna.tell(trial, value, state)
        except (UpdateFinishedTrialError, ValueError):
            say(f"trial {trial.number}: another process has repeated it meanwhile")

    def _repeated(self) -> int:
        """Number of failed trials that were lost by a process and repeated by another."""
        return sum(
            "failed_trial" in trial.system_attrs for trial in self._study.trials()
        )

    def _adopted(self, trial: Trial) -> _Running:
        """Return a trial that a killed process of this folder has begun."""
        self._study.beat(trial)  # else it is taken to be lost, and repeated
        known = self._study.trials()[trial.number].intermediate_values
        return _Running(trial, reported=len(known))

    def _flags(self, trial: Trial) -> list[str]:
        """Return the flags of the training of a trial."""
        seed = f"training.seed={self._seed + trial.number}"
        given = self._training.arguments(self._study.plan.arguments)
        return [*given, *overrides(trial.params), "--set", seed]

    def _job(self, running: _Running) -> Job:
        """Return the training of a trial, which continues what its folder holds."""
        folder, trial = self._study.folder, running.trial
        run = folder.run(trial.number)

        def arguments() -> list[str]:
            if clear_leftover(run):
                resumed = self._training.resumed(self._study.plan.arguments)
                return ["--resume", str(run), *resumed]
            place = ["--output", str(run.parent), "--run-name", run.name]
            return [*self._flags(trial), *place]

        settings = " ".join(f"{k}={_shown(v)}" for k, v in trial.params.items())
        say(f"trial {trial.number}: {settings}")
        self._running[run.name] = running
        log = folder.log(trial.number)
        return Job(run.name, self._study.plan.folder, "trial", run, log, arguments)


def _shown(value: Any) -> str:
    """Return a value of a setting for a message."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def say(line: str) -> None:
    """Print a line of progress on stderr."""
    print(line, file=sys.stderr, flush=True)
