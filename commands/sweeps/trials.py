"""Training the trials of a study: one thread for each that runs, which watches a process."""

from __future__ import annotations

import shutil
import signal
import time
from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

from optuna.exceptions import UpdateFinishedTrialError
from optuna.trial import Trial, TrialState

from ambulo.commands.sweeps.child import GRACE
from ambulo.commands.sweeps.kinds import Training
from ambulo.commands.sweeps.processes import LOST, Host, Job, Process
from ambulo.commands.sweeps.scores import learning_curve
from ambulo.commands.sweeps.study import HEARTBEAT, Study, run_of
from ambulo.common.console import announce
from ambulo.common.folder_lock import FolderLock
from ambulo.common.signals import StopRequest
from ambulo.configs.errors import AmbuloError, ConfigError, RunFolderError

INTERVAL = 0.2
"""Time between looks at a running process, [s]."""
MAX_FAILED = 5
"""Trials in a row that fail before a search is given up."""
MAX_LOST = 3
"""Largest number of restarts of a run whose process was killed or whose machine was lost."""


class TuningError(AmbuloError):
    """A search whose trials all fail."""


@dataclass
class Trials:
    """The trials of a study that this process trains."""

    study: Study
    training: Training
    """The training of each."""
    arguments: tuple[str, ...]
    """Flags of every run, without the preset."""
    total: int
    """Number of runs of the study."""
    flags: Callable[[Trial], list[str]]
    """Flags that a new run has besides, and no other run."""
    value: Callable[[Path], float]
    """Score of a finished run; raises `RunFolderError` if it has none."""
    mode: str = "run"
    """As of `child.main`."""
    _lock: Any = field(default_factory=Lock)
    """Held by the thread that uses the study."""
    _failed: int = 0
    """Trials in a row that have failed."""
    _over: bool = False
    """Whether an error ended the search."""

    def run(self, host: Host, stop: StopRequest) -> None:
        """Train until all runs are done; at a request to stop, let running ones save.

        Raises:
            TuningError: too many trials in a row have failed.
            ClusterError: the cluster is gone.
        """
        with ThreadPoolExecutor(host.slots) as pool:
            threads = [pool.submit(self._work, host, stop) for _ in range(host.slots)]
            try:
                for thread in wait(threads, return_when=FIRST_EXCEPTION).done:
                    thread.result()
            finally:
                self._over = True

    def _work(self, host: Host, stop: StopRequest) -> None:
        """Train one trial after another."""
        while not self._stopped(stop):
            with self._lock:
                trial = self._next()
            if trial is None:
                return
            self._train(trial, host, stop)

    def _stopped(self, stop: StopRequest) -> bool:
        return self._over or stop.signal_number is not None

    def _next(self) -> Trial | None:
        """Begin a trial whose settings are possible."""
        while True:
            if self._failed >= MAX_FAILED and len(self.study.runs()) < self.total:
                raise TuningError(
                    f"{MAX_FAILED} trials in a row failed; see {self.study.folder.logs}"
                )
            trial = self.study.ask(self.total)
            if trial is None:
                return None
            try:
                self.training.settings(self._new(trial))
                return trial
            except ConfigError as error:
                self._end(trial, f"not possible: {error}", state=TrialState.FAIL)

    def _new(self, trial: Trial) -> list[str]:
        """Return the flags of the training of a trial."""
        return [*self.training.arguments(self.arguments), *self.flags(trial)]

    def _train(self, trial: Trial, host: Host, stop: StopRequest) -> None:
        """Train a trial, and tell the study its result.

        One that is stopped stays as it is: its folder continues it later.
        """
        name = run_of(trial)
        run, log = self.study.folder.run(name), self.study.folder.log(name)
        began, printed = time.monotonic(), log.stat().st_size if log.exists() else 0
        settings = " ".join(f"{k}={shown_value(v)}" for k, v in trial.params.items())
        announce(f"{name}: begins {settings}".rstrip())
        for again in range(MAX_LOST + 1):
            wait_until_free(run, lambda: self._stopped(stop))
            if self._stopped(stop):
                return
            job = Job(self.training.folder, self.mode, self._arguments(trial, run), log)
            code, pruned = self._watched(trial, host.start(job), stop)
            if code >= 0 or pruned or self._stopped(stop) or again == MAX_LOST:
                break
            announce(f"{name}: its process was killed; it continues")
        if code != 0 and not pruned and self._stopped(stop):
            return
        with self._lock:
            if pruned:
                self._end(trial, "pruned", state=TrialState.PRUNED)
            elif code != 0:
                self._end(trial, failure(log, code, printed), state=TrialState.FAIL)
            else:
                self._finish(trial, run, time.monotonic() - began)

    def _arguments(self, trial: Trial, run: Path) -> list[str]:
        """Return all flags of a trial, which continues what its folder holds."""
        if (run / "run.json").is_file() and (run / "config.json").is_file():
            return ["--resume", str(run), *self.training.resumed(self.arguments)]
        if run.exists():  # it ended before its first checkpoint
            shutil.rmtree(run)
        place = ["--output", str(run.parent), "--run-name", run.name]
        return [*self._new(trial), *place]

    def _watched(
        self, trial: Trial, process: Process, stop: StopRequest
    ) -> tuple[int, bool]:
        """Wait for the end of a process; return its exit code and whether it was pruned."""
        beat, pruned = time.monotonic(), False
        asked: float | None = None
        with self._lock:
            known = self.study.trials()[trial.number]
        reported = len(known.intermediate_values)
        try:
            while True:
                code, now = process.poll(), time.monotonic()
                if now - beat > HEARTBEAT:
                    beat = now
                    with self._lock:
                        self.study.beat(trial)
                if not pruned:
                    reported, is_poor = self._report(trial, reported)
                    pruned = is_poor and code is None
                if code is not None:
                    return code, pruned
                if asked is None and (pruned or self._stopped(stop)):
                    asked = now
                    process.stop()
                if asked is not None and now - asked > GRACE:
                    return LOST, pruned
                time.sleep(INTERVAL)
        finally:
            process.end()

    def _report(self, trial: Trial, reported: int) -> tuple[int, bool]:
        """Report evaluations but the first `reported`; return how many there are.

        Also whether the trial should stop: it is poor, or another process has repeated it.
        """
        run = self.study.folder.run(run_of(trial))
        _, values = learning_curve(run, self.training, self.study.score)
        if len(values) <= reported:
            return reported, False
        with self._lock:
            try:
                for step in range(reported, len(values)):
                    trial.report(float(values[step]), step)
                return len(values), trial.should_prune()
            except UpdateFinishedTrialError:
                return len(values), True

    def _finish(self, trial: Trial, run: Path, seconds: float) -> None:
        """Tell the study the score of a finished training."""
        try:
            value = self.value(run)
        except RunFolderError as error:
            self._end(trial, f"FAILED: {error}", state=TrialState.FAIL)
            return
        label = self.study.score.label
        text = f"done in {seconds:.0f} s, {label} {value:.4g}"
        self._end(trial, text, value=value)

    def _end(self, trial: Trial, text: str, **result: Any) -> None:
        """Tell the study the result of a trial, and print it."""
        failed = result.get("state") == TrialState.FAIL
        self._failed = self._failed + 1 if failed else 0
        name = run_of(trial)
        try:
            self.study.optuna.tell(trial, result.get("value"), result.get("state"))
        except (UpdateFinishedTrialError, ValueError):
            announce(f"{name}: another process has repeated it meanwhile")
            return
        states = [known.state for known in self.study.runs().values()]
        ended = sum(state.is_finished() for state in states)
        announce(f"{name}: {text} ({ended} of {self.total})")


def failure(log: Path, code: int, printed: int = 0) -> str:
    """Return why a run failed, and the last line that it printed.

    Args:
        log: what it printed.
        code: its exit code; minus the signal that ended it.
        printed: length of its log before it began, [bytes].
    """
    text = log.read_bytes()[printed:] if log.exists() else b""
    lines = text.decode("utf-8", "replace").split("\n")
    last = next((line.strip() for line in reversed(lines) if line.strip()), "")
    reason = f"FAILED with exit code {code}"
    if code == LOST:
        reason = "FAILED: its machine was lost"
    elif code < 0:
        reason = f"FAILED: killed by signal {-code}"
        with suppress(ValueError):
            reason = f"FAILED: killed by {signal.Signals(-code).name}"
    return f"{reason}{last and ': '}{last[:300]} (log: {log})"


def wait_until_free(run: Path, stopped: Callable[[], bool]) -> None:
    """Wait while a training whose starter is gone saves its checkpoint in `run`."""
    until = time.monotonic() + GRACE
    while run.is_dir() and not stopped():
        try:
            FolderLock(run, "a training").release()
            return
        except RunFolderError:
            if time.monotonic() > until:
                raise
            time.sleep(INTERVAL)


def shown_value(value: Any) -> str:
    """Return a value of a setting for a message."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
