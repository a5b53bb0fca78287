"""Runs as processes of their own, here or on the nodes of a cluster."""

from __future__ import annotations

import os
import platform
import shutil
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from ambulo.commands.sweeps.child import GRACE
from ambulo.common.folder_lock import FolderLock
from ambulo.common.signals import StopRequest
from ambulo.configs.errors import ConfigError, RunFolderError
from ambulo.train.shared.cluster import Cluster, LostWorkerError, joined

INTERVAL = 0.2
"""Time between looks at the running processes, [s]."""
LOST = -1000
"""Exit code of a run whose machine or worker is gone."""
MAX_LOST = 3
"""How often a run that was lost is started again."""


@dataclass(frozen=True)
class Job:
    """A training that is to run in a process of its own."""

    name: str
    """Its name in messages."""
    kind: str
    """Folder of the presets of its training."""
    mode: str
    """`run`, or `trial` for a training without a final evaluation."""
    run: Path
    """Its run folder."""
    log: Path
    """What it prints."""
    arguments: Callable[[], list[str]]
    """Makes its flags when it starts: they depend on what the run folder holds."""


class Process(Protocol):
    """A running job."""

    def poll(self) -> int | None:
        """Return the exit code; None while it runs."""
        ...

    def stop(self) -> None:
        """Ask it to save a checkpoint and leave."""
        ...

    def end(self) -> None:
        """End it at once, with all its own processes."""
        ...


class Host(Protocol):
    """Where jobs run."""

    slots: int
    """How many run at the same time."""

    def start(self, job: Job) -> Process:
        """Start a job."""
        ...


class LocalProcess:
    """A job on this machine; see `child` for how it ends with this process."""

    def __init__(
        self, kind: str, mode: str, arguments: list[str], log: Path, folder: str
    ) -> None:
        """Start `ambulo train` with `arguments` in the working folder `folder`."""
        command = [sys.executable, "-m", "ambulo.commands.sweeps.child", kind, mode]
        with log.open("ab") as stream:
            self._process = subprocess.Popen(
                [*command, *arguments],
                stdin=subprocess.PIPE,
                stdout=stream,
                stderr=subprocess.STDOUT,
                cwd=folder,
                start_new_session=True,
            )

    def poll(self) -> int | None:
        """Return the exit code; None while it runs."""
        code = self._process.poll()
        if code is not None:
            self._end_group()
        return code

    def stop(self) -> None:
        """Close its standard input."""
        if self._process.stdin is not None:
            self._process.stdin.close()

    def end(self) -> None:
        """Kill it and what it started."""
        self._end_group()
        self._process.wait()

    def _end_group(self) -> None:
        """Kill the processes of its session that are left."""
        self.stop()
        if hasattr(os, "killpg"):
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
        elif self._process.poll() is None:
            self._process.kill()


class LocalHost:
    """This machine."""

    def __init__(self, slots: int) -> None:
        """Run `slots` jobs at the same time."""
        self.slots = slots

    def start(self, job: Job) -> Process:
        """Start a job."""
        return LocalProcess(job.kind, job.mode, job.arguments(), job.log, os.getcwd())


class TrainingWorker:
    """A worker of a cluster that runs one training at a time on its machine."""

    def __init__(self) -> None:
        self._process: LocalProcess | None = None

    def start(
        self, witness: tuple[str, str], job: tuple[str, str, list[str], str], cwd: str
    ) -> None:
        """Start a job.

        Args:
            witness: a file of the sweep's folder, and its contents.
            job: kind, mode, flags and log of the training.
            cwd: working folder, for relative paths among the flags.

        Raises:
            ConfigError: this machine does not see the folder.
        """
        file, text = Path(witness[0]), witness[1]
        if not file.is_file() or file.read_text("utf-8") != text:
            raise ConfigError(
                f"{platform.node()} does not see {file.parent}: all machines of the "
                "cluster need a folder that they share; name one with --output"
            )
        kind, mode, arguments, log = job
        folder = cwd if Path(cwd).is_dir() else str(file.parent)
        self._process = LocalProcess(kind, mode, arguments, Path(log), folder)

    def poll(self) -> int | None:
        """Return the exit code; None while it runs."""
        assert self._process is not None
        return self._process.poll()

    def stop(self) -> None:
        """Ask the training to save and leave."""
        if self._process is not None:
            self._process.stop()


class RemoteProcess:
    """A job on a worker of a cluster."""

    def __init__(self, cluster: Cluster, witness: Path, job: Job) -> None:
        """Start `job` on a new worker, which must see the file `witness`."""
        self._cluster = cluster
        self._worker = cluster.spawn(TrainingWorker)
        given = (job.kind, job.mode, job.arguments(), str(job.log))
        self._call: Any = cluster.call(
            self._worker,
            "start",
            (str(witness), witness.read_text("utf-8")),
            given,
            os.getcwd(),
        )
        self._started = False

    def poll(self) -> int | None:
        """Return the exit code; None while it runs.

        Raises:
            ConfigError: the worker cannot run the job.
            ClusterError: the head node is gone.
        """
        self._cluster.watch()
        if not self._cluster.first([self._call], timeout=0):
            return None
        try:
            code: int | None = self._cluster.result(self._call)
            if not self._started:
                self._started, code = True, None
            if code is None:
                self._call = self._cluster.call(self._worker, "poll")
                return None
        except LostWorkerError:
            return LOST
        self.end()
        return code

    def stop(self) -> None:
        """Ask the training to save and leave."""
        self._cluster.call(self._worker, "stop")

    def end(self) -> None:
        """End the worker; its training stops as it loses its standard input."""
        self._cluster.end(self._worker)


class ClusterHost:
    """The machines of a cluster."""

    def __init__(self, cluster: Cluster, slots: int, witness: Path) -> None:
        """Run `slots` jobs at the same time, on machines that see the file `witness`."""
        self._cluster, self._witness = cluster, witness
        self.slots = slots

    def start(self, job: Job) -> Process:
        """Start a job on a worker of its own."""
        return RemoteProcess(self._cluster, self._witness, job)


@contextmanager
def opened_host(
    engine: str, parallel: int | None, address: str | None, witness: Path
) -> Iterator[Host]:
    """Return where jobs run.

    Args:
        engine: `local` or `ray`.
        parallel: jobs at the same time; None: one here, one for each CPU of a cluster.
        address: of the cluster's head node; see `cluster.joined`.
        witness: a file in the folder that all machines must share.
    """
    if engine == "local":
        yield LocalHost(parallel or 1)
        return
    with joined(parallel or 1, address) as cluster:
        yield ClusterHost(cluster, parallel or max(cluster.cpus, 1), witness)


def run_jobs(
    jobs: Iterable[Job],
    host: Host,
    stop: StopRequest,
    done: Callable[[Job, int], None],
    watch: Callable[[Job, Process], None] | None = None,
) -> None:
    """Run all jobs; at a stop request, or an error, end those that run.

    Args:
        jobs: what to run; drawn one at a time, when there is room. An iterator that had
            none may have more once a running job has ended.
        host: where.
        stop: no new job starts after a request, and running ones save and leave.
        done: called with the exit code of each job that ended by itself.
        watch: called about every `INTERVAL` for each running job.
    """
    rest = iter(jobs)
    running: dict[str, tuple[Job, Process]] = {}
    again: deque[Job] = deque()
    lost: dict[str, int] = {}
    try:
        while stop.signal_number is None:
            while len(running) < host.slots and stop.signal_number is None:
                job = again.popleft() if again else next(rest, None)
                if job is None:
                    break
                wait_until_free(job.run, stop)
                running[job.name] = (job, host.start(job))
            if not running:
                break
            for name, (job, process) in list(running.items()):
                code = process.poll()
                if code is None:
                    if watch is not None:
                        watch(job, process)
                    continue
                del running[name]
                lost[name] = lost.get(name, 0) + 1
                if code == LOST and lost[name] <= MAX_LOST:
                    again.append(job)
                else:
                    done(job, code)
            time.sleep(INTERVAL)
    finally:
        _end([process for _, process in running.values()])


def wait_until_free(run: Path, stop: StopRequest) -> None:
    """Wait while a training whose starter is gone saves its checkpoint in `run`."""
    if not run.is_dir():
        return
    until = time.monotonic() + GRACE
    while stop.signal_number is None:
        try:
            FolderLock(run, "a training").release()
            return
        except RunFolderError:
            if time.monotonic() > until:
                raise
            time.sleep(INTERVAL)


def clear_leftover(run: Path) -> bool:
    """Return whether `run` is a run that can be resumed; remove what cannot."""
    if (run / "run.json").is_file() and (run / "config.json").is_file():
        return True
    if run.exists():
        shutil.rmtree(run)
    return False


def _end(processes: list[Process]) -> None:
    """Let all processes save and leave; end those that take too long."""
    until = time.monotonic() + GRACE
    try:
        for process in processes:
            process.stop()
        while processes and time.monotonic() < until:
            processes = [p for p in processes if p.poll() is None]
            time.sleep(INTERVAL if processes else 0.0)
    finally:
        for process in processes:
            process.end()
