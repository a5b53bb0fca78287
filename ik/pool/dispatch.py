"""Dispatch of jobs: parts go to idle workers; answers and dead workers are detected.

A worker that ends or misses its deadline is killed before its part goes to another one, so
that no late answer can be mistaken for the right one. Not thread-safe.
"""

from __future__ import annotations

import logging
import multiprocessing
import multiprocessing.connection
import os
import selectors
import time
from collections import deque
from collections.abc import Callable

from ambulo.configs.cores import usable_cores
from ambulo.configs.errors import IKError
from ambulo.ik.pool.pipes import receive
from ambulo.ik.pool.pool_jobs import JobPart, JobResult, divided, read_result
from ambulo.ik.pool.worker import (
    CACHED,
    FROM_WORKER,
    READY,
    SOLVE,
    TO_WORKER,
    SlotSolver,
    WorkerPlan,
)
from ambulo.ik.pool.worker_memory import Blob, SlotMemory
from ambulo.ik.pool.worker_process import Worker, end

logger = logging.getLogger(__name__)

START_DEADLINE = 600.0
"""Time limit for a new worker to become ready, [s]; it may have to compile."""
SELECTABLE = os.name == "posix"
"""Whether pipes can be waited for with `select` (not on Windows)."""
ATTEMPTS = 3
"""A part fails after it has ended this many workers."""
BARREN = 3
"""A slot is given up after this many consecutive workers that never became ready."""
HERE = -2
"""Index of the caller's own process among the workers of an answer."""


class Dispatcher:
    """The workers of a pool, and the waiting, running and finished parts of jobs."""

    def __init__(
        self,
        plan: WorkerPlan,
        memory: SlotMemory,
        workers: int,
        deadline: float,
        helps: bool,
    ) -> None:
        self.deadline = deadline
        self._plan, self._memory = plan, memory
        self._context = multiprocessing.get_context("spawn")
        self._selector = selectors.DefaultSelector()
        self._workers = [Worker(index) for index in range(workers)]
        self._free = deque(range(plan.layout.slots))
        self._waiting: deque[JobPart] = deque()
        self._done: dict[int, JobResult] = {}
        self._blobs: dict[str, Blob] = {}
        self._confirmed: dict[int, tuple[bool, str]] = {}
        self._closed = False
        self._cores = usable_cores()
        self._own = SlotSolver(plan, memory) if helps else None

    def _start(self, worker: Worker) -> None:
        blobs = tuple((blob.name, blob.size) for blob in self._blobs.values())
        plan = WorkerPlan(
            self._plan.rig,
            self._plan.layout,
            self._plan.memory,
            self._plan.steps,
            blobs,
        )
        worker.start(self._context, plan, START_DEADLINE)
        assert worker.connection is not None
        if SELECTABLE:
            self._selector.register(worker.connection, selectors.EVENT_READ, worker)

    def _until(self, done: Callable[[], bool], timeout: float, what: str) -> None:
        """Serve the workers until `done()`."""
        end_at = time.perf_counter() + timeout
        while not done():
            if self._closed:
                raise IKError("the pool is closed")
            if all(worker.given_up for worker in self._workers):
                raise IKError("no worker can be started; see the log")
            left = end_at - time.perf_counter()
            if left <= 0.0:
                raise IKError(f"{what} within {timeout:g} s")
            self._turn(left)

    def _turn(self, timeout: float) -> None:
        """Wait for events at most `timeout` seconds; receive answers, detect dead workers."""
        now = time.perf_counter()
        ends = [w.busy_until for w in self._workers if w.busy_until]
        limit = max(0.0, min([timeout, *(end_at - now for end_at in ends)]))
        for worker in self._readable(limit):
            self._receive(worker)
        now = time.perf_counter()
        for worker in self._workers:
            if worker.busy_until and now > worker.busy_until:
                self._replace(worker, "gave no answer in time")
        self._hand_out()

    def _readable(self, timeout: float) -> list[Worker]:
        if SELECTABLE:
            return [key.data for key, _ in self._selector.select(timeout)]
        waiting = [w for w in self._workers if w.connection is not None]
        result = multiprocessing.connection.wait(
            [w.connection for w in waiting if w.connection is not None], timeout
        )
        return [w for w in waiting if w.connection in result]

    def _receive(self, worker: Worker) -> None:
        """Take one message of `worker`, or find that it has ended."""
        assert worker.connection is not None
        try:
            message = receive(worker.connection)
        except (EOFError, OSError):
            self._replace(worker, "ended")
            return
        kind, good, first, attempt, number, taken = FROM_WORKER.unpack_from(message)
        reason = message[FROM_WORKER.size :].rstrip(b"\0").decode(errors="replace")
        worker.busy_until = 0.0
        if kind == READY:
            worker.ready, worker.barren = True, 0
        elif kind == CACHED:
            worker.caching = False
            self._confirmed[worker.index] = (bool(good), reason)
        else:
            part = worker.part
            assert part is not None
            # A worker is killed before its part goes to another: nothing can come late.
            assert (part.job.number, part.first, part.attempts) == (
                number,
                first,
                attempt,
            )
            worker.finished(part.count, taken)
            self._finish(part, worker.index, reason, taken / 1e3)

    def _finish(self, part: JobPart, worker: int, reason: str, taken: float) -> None:
        """Record that a part is finished; after the last one the job is answered.

        Only then its slot is free: workers write there until they have answered.
        """
        job = part.job
        job.left -= 1
        job.workers[part.first] = worker
        job.attempts = max(job.attempts, part.attempts)
        job.reason = job.reason or reason
        job.taken_us = max(job.taken_us, taken)
        if not job.left:
            self._done[job.number] = read_result(self._memory, job)
            self._free.append(job.slot)

    def _hand_out(self) -> None:
        """Give waiting parts to idle workers, in order; a single job is divided among them."""
        while self._waiting:
            idle = [worker for worker in self._workers if worker.idle]
            if not idle:
                return
            ways = min(len(idle), self._cores) // len(self._waiting)
            parts = divided(self._waiting.popleft(), ways)
            for worker, part in zip(idle, parts, strict=False):
                self._give(worker, part)

    def _work_here(self, part: JobPart) -> None:
        """Solve a part in this process."""
        assert self._own is not None
        part.attempts += 1
        begin, reason, job = time.perf_counter(), "", part.job
        try:
            self._own.solve(job.mode, job.slot, part.first, part.count)
        except Exception as error:  # reported as a worker reports it
            reason = f"{type(error).__name__}: {error}".splitlines()[0]
        self._finish(part, HERE, reason, 1e6 * (time.perf_counter() - begin))

    def _share_out(self, part: JobPart) -> None:
        """Give parts of a job to idle workers, and do one of them here meanwhile."""
        idle = [worker for worker in self._workers if worker.idle]
        here, *others = divided(part, 1 + min(len(idle), self._cores - 1))
        for worker, other in zip(idle, others, strict=False):
            self._give(worker, other)
        self._work_here(here)

    def _give(self, worker: Worker, part: JobPart) -> None:
        """Send a part to a worker."""
        job = part.job
        part.attempts += 1
        worker.part = part
        worker.busy_until = time.perf_counter() + self.deadline
        message = TO_WORKER.pack(
            SOLVE,
            job.mode,
            job.slot,
            part.first,
            part.count,
            part.attempts,
            job.number,
        )
        if not worker.send(message):
            self._replace(worker, "ended")

    def _replace(self, worker: Worker, why: str) -> None:
        """Kill `worker` if it lives, take back its part, start another in its place."""
        part = worker.part
        if worker.connection is not None and SELECTABLE:
            self._selector.unregister(worker.connection)
        worker.kill()
        logger.warning(
            "worker %d %s%s",
            worker.index,
            why,
            f" (job {part.job.number})" if part else "",
        )
        if part is not None:
            if part.attempts >= ATTEMPTS:
                reason = f"{part.attempts} workers {why} at this job"
                self._finish(part, -1, reason, 0.0)
            else:
                self._waiting.appendleft(part)
        if worker.barren >= BARREN:
            worker.given_up = True
            logger.error("worker %d never got ready; not started again", worker.index)
        else:
            self._start(worker)


def release_all(
    workers: list[Worker],
    memory: SlotMemory,
    blobs: dict[str, Blob],
    selector: selectors.BaseSelector,
) -> None:
    """Release everything that a pool holds; also called at the end of the interpreter."""
    selector.close()
    end(workers)
    memory.close()
    for blob in blobs.values():
        blob.close()
    blobs.clear()
