"""The pool's side of one worker: its process, current part and statistics."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnContext, SpawnProcess

import numpy as np

from ambulo.ik.pool.pipes import send
from ambulo.ik.pool.pool_jobs import JobPart
from ambulo.ik.pool.worker import STOP, TO_WORKER, WorkerPlan, run_worker

THREADS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
"""Environment variables with the number of threads of libraries, read when these are
loaded."""

STOP_SECONDS = 2.0
"""Time limit for a worker to stop by itself, [s]."""
KEPT = 1024
"""Number of solve times kept for the statistics."""


@dataclass(frozen=True)
class WorkerStats:
    """Statistics of a worker and its predecessors in the same slot."""

    index: int
    """Index of its slot in the pool."""
    pid: int
    """Of the process; 0 if there is none."""
    ready: bool
    """Whether it accepts jobs."""
    jobs: int
    """Jobs, and parts of jobs, answered."""
    characters: int
    """Characters in them."""
    restarts: int
    """Number of replacements in this slot."""
    load: float
    """Fraction of the time since the first start spent on solving, 0..1."""
    median_us: float
    """Of the last solve times, [us]; NaN without any."""
    p99_us: float
    """99 % of them were shorter, [us]."""


class Worker:
    """One worker slot of the pool."""

    def __init__(self, index: int) -> None:
        self.index = index
        self.process: SpawnProcess | None = None
        self.connection: Connection | None = None
        self.ready = False
        self.caching = False
        self.given_up = False
        self.barren = 0
        """Workers in a row that ended before they were ready."""
        self.part: JobPart | None = None
        """The part being solved."""
        self.busy_until = 0.0
        """Deadline of its answer; 0: none is expected."""
        self._begin = time.perf_counter()
        self._jobs = self._characters = 0
        self._starts = 0
        self._busy = 0.0
        self._times: deque[float] = deque(maxlen=KEPT)

    @property
    def idle(self) -> bool:
        """Whether it can accept a job."""
        return self.ready and self.part is None and not self.caching

    def start(self, context: SpawnContext, plan: WorkerPlan, deadline: float) -> None:
        """Start a process in this slot."""
        ours, theirs = context.Pipe(duplex=True)
        self.process = context.Process(
            target=run_worker,
            args=(theirs, plan),
            name=f"ambulo-ik-{self.index}",
            daemon=True,
        )
        with _one_thread():
            self.process.start()
        theirs.close()
        self.connection = ours
        self.busy_until = time.perf_counter() + deadline
        self._starts += 1

    def send(self, message: bytes) -> bool:
        """Send a message; return whether that succeeded."""
        assert self.connection is not None
        try:
            send(self.connection, message)
        except OSError:
            return False
        return True

    def finished(self, characters: int, nanoseconds: int) -> None:
        """Note a job that was answered."""
        self.part = None
        self._jobs += 1
        self._characters += characters
        self._busy += nanoseconds / 1e9
        self._times.append(nanoseconds / 1e3)

    def kill(self) -> None:
        """End the process at once, stopped or not, and wait until it is gone."""
        self.barren = 0 if self.ready else self.barren + 1
        self.ready = self.caching = False
        self.part, self.busy_until = None, 0.0
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.process.close()
            self.process = None
        if self.connection is not None:
            self.connection.close()
            self.connection = None

    def stats(self) -> WorkerStats:
        """Return the statistics so far."""
        times = np.array(self._times) if self._times else np.array([np.nan])
        pid = self.process.pid if self.process is not None else 0
        return WorkerStats(
            self.index,
            pid or 0,
            self.ready,
            self._jobs,
            self._characters,
            max(self._starts - 1, 0),
            self._busy / max(time.perf_counter() - self._begin, 1e-9),
            float(np.median(times)),
            float(np.percentile(times, 99)),
        )


def end(workers: Sequence[Worker]) -> None:
    """Ask all workers to stop; kill those that do not."""
    message = TO_WORKER.pack(STOP, 0, 0, 0, 0, 0, 0)
    for worker in workers:
        # One that is still starting would stop only after its compilation.
        if worker.connection is not None and worker.ready:
            worker.send(message)
    limit = time.perf_counter() + STOP_SECONDS
    for worker in workers:
        if worker.process is not None and worker.ready:
            worker.process.join(max(0.0, limit - time.perf_counter()))
        worker.kill()


@contextmanager
def _one_thread() -> Iterator[None]:
    """The environment in which libraries of a child process use one thread."""
    before = {name: os.environ.get(name) for name in THREADS}
    os.environ.update(dict.fromkeys(THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
