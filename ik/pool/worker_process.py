"""The pool's handle of one worker: its process, its present task, and statistics."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess

import numpy as np

from ambulo.ik.pool.slots import JobPart
from ambulo.ik.pool.worker import Message, WorkerPlan, receive, run_worker, send

START_DEADLINE = 600.0
"""Time limit for a new worker to become ready, [s]; it may have to compile."""
KEPT = 1024
"""Number of solve times kept for the statistics."""
STARTING, CACHING = "starting", "caching"
"""Tasks of a worker other than solving parts of jobs."""
THREADS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
"""Environment variables with the number of threads of libraries, read when they are loaded."""


@dataclass(frozen=True)
class WorkerStats:
    """Statistics of a worker and its predecessors with the same index."""

    index: int
    """Its index in the pool."""
    pid: int
    """Process id; 0 without a process."""
    ready: bool
    """Whether it accepts jobs."""
    jobs: int
    """Jobs, and parts of jobs, answered."""
    characters: int
    """Characters in them."""
    restarts: int
    """Number of replacements of the worker."""
    load: float
    """Fraction of the time since the first start spent on solving, 0..1."""
    median_us: float
    """Median of the last solve times, [us]; NaN without any."""
    p99_us: float
    """99 % of them were shorter, [us]."""


class Worker:
    """The pool's handle of one worker: its process, its present task, and statistics."""

    def __init__(self, index: int) -> None:
        self.index = index
        self.process: SpawnProcess | None = None
        self.pipe: Connection | None = None
        self.task: JobPart | str | None = None
        """The part that it solves, `STARTING` or `CACHING`; None: it is idle."""
        self.until = np.inf
        """Deadline of its answer."""
        self.given_up = False
        self.barren = 0
        """Workers in a row that ended before they were ready."""
        self._begin = time.perf_counter()
        self._jobs = self._characters = self._starts = 0
        self._busy = 0.0
        self._times: deque[float] = deque(maxlen=KEPT)

    @property
    def idle(self) -> bool:
        """Whether it can accept a job."""
        return self.pipe is not None and self.task is None

    @property
    def ready(self) -> bool:
        """Whether it has started."""
        return self.pipe is not None and self.task is not STARTING

    def start(self, plan: WorkerPlan) -> None:
        """Start a process for this index."""
        context = get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(
            target=run_worker,
            args=(theirs, plan),
            name=f"ambulo-ik-{self.index}",
            daemon=True,
        )
        with _one_thread():
            self.process.start()
        theirs.close()
        self.task, self.until = STARTING, time.perf_counter() + START_DEADLINE
        self._starts += 1

    def give(self, task: JobPart | str, message: Message, seconds: float) -> bool:
        """Send a message; return whether that succeeded."""
        assert self.pipe is not None
        self.task, self.until = task, time.perf_counter() + seconds
        try:
            send(self.pipe, message)
        except OSError:
            return False
        return True

    def receive(self) -> tuple[JobPart | str | None, str, float]:
        """Return its finished task, the reason of a failure, and the time taken, [us]."""
        assert self.pipe is not None
        reason, nanoseconds = receive(self.pipe)
        task, taken = self.task, nanoseconds / 1e3
        if isinstance(task, JobPart):
            self._jobs += 1
            self._characters += task.count
            self._busy += taken / 1e6
            self._times.append(taken)
        self.task, self.until, self.barren = None, np.inf, 0
        return task, reason, taken

    def kill(self) -> None:
        """End the process at once, stopped or not, and wait until it is gone."""
        self.barren += self.task is STARTING
        self.task, self.until = None, np.inf
        if self.process is not None and self.pipe is not None:
            self.process.kill()
            self.process.join()
            self.process.close()
            self.pipe.close()
        self.process = self.pipe = None

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


@contextmanager
def _one_thread() -> Iterator[None]:
    """Set the environment so that libraries of a child process use one thread."""
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
