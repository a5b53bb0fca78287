"""Trainings in processes of their own, here or on the nodes of a cluster."""

from __future__ import annotations

import os
import platform
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from ambulo.configs.errors import ConfigError
from ambulo.train.shared.cluster import Cluster, joined
from ambulo.train.shared.cluster_guards import LostWorkerError

LOST = -1000
"""Exit code of a run whose machine or worker is gone."""


@dataclass(frozen=True)
class Job:
    """A training that is to run in a process of its own."""

    kind: str
    """Folder of the presets of its training."""
    mode: str
    """`run`, or `trial` for a training without a final evaluation."""
    arguments: list[str]
    """Its flags."""
    log: Path
    """File of its output."""


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


@dataclass(frozen=True)
class Host:
    """Where jobs run."""

    slots: int
    """Number of jobs at the same time."""
    start: Callable[[Job], Process]
    """Starts a job."""


class LocalProcess:
    """A job on this machine; see `child` for how it ends with this process."""

    def __init__(self, job: Job, folder: str | None = None) -> None:
        """Start `job` in the working folder `folder`, or that of this process."""
        command = [sys.executable, "-m", "ambulo.commands.sweeps.child"]
        with job.log.open("ab") as stream:
            self._process = subprocess.Popen(
                [*command, job.kind, job.mode, *job.arguments],
                stdin=subprocess.PIPE,
                stdout=stream,
                stderr=subprocess.STDOUT,
                cwd=folder,
                start_new_session=True,
            )

    def poll(self) -> int | None:
        """Return the exit code; None while it runs."""
        return self._process.poll()

    def stop(self) -> None:
        """Close its standard input."""
        if self._process.stdin is not None:
            self._process.stdin.close()

    def end(self) -> None:
        """Kill it, if it still runs, and the processes of its session that are left."""
        self.stop()
        if hasattr(os, "killpg"):
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
        elif self._process.poll() is None:
            self._process.kill()
        self._process.wait()


class TrainingWorker:
    """A worker of a cluster that runs one training on its machine."""

    def __init__(self) -> None:
        self._process: LocalProcess | None = None

    def start(self, witness: tuple[str, str], job: Job, cwd: str) -> None:
        """Start a job.

        Args:
            witness: a file of the sweep's folder, and its contents.
            job: the training.
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
        folder = cwd if Path(cwd).is_dir() else str(file.parent)
        self._process = LocalProcess(job, folder)

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
        seen = (str(witness), witness.read_text("utf-8"))
        self._call: Any = cluster.call(self._worker, "start", seen, job, os.getcwd())

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
        except LostWorkerError:
            return LOST
        if code is None:  # of `start`, or of a look while it runs
            self._call = self._cluster.call(self._worker, "poll")
        return code

    def stop(self) -> None:
        """Ask the training to save and leave."""
        self._cluster.call(self._worker, "stop")

    def end(self) -> None:
        """End the worker; its training stops as it loses its standard input."""
        self._cluster.end(self._worker)


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
        yield Host(parallel or 1, LocalProcess)
        return
    with joined(parallel or 1, address) as cluster:
        slots = parallel or max(cluster.cpus, 1)
        yield Host(slots, lambda job: RemoteProcess(cluster, witness, job))
