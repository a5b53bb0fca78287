"""A pool of processes that solve poses: one job a frame, never lost, never answered twice.

The caller's process only writes targets to shared memory and reads poses from it. A worker
that ends, or that gives no answer in time, is killed before its job goes to another one:
so no late answer can ever be taken for the right one. BLAS has one thread in each worker.

As every use of `multiprocessing` with fresh interpreters, scripts that make a pool need
`if __name__ == "__main__":`.
"""

from __future__ import annotations

import logging
import multiprocessing
import multiprocessing.connection
import os
import selectors
import struct
import time
import weakref
from collections import deque
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Self

from numpy.typing import NDArray

from ambulo.configs.errors import IKError
from ambulo.ik.network import IKNetwork, IKNetworkHeader
from ambulo.ik.pool_jobs import Job, JobResult, read_result, write_inputs
from ambulo.ik.pose import Pose
from ambulo.ik.published import Context, PublishedNetwork
from ambulo.ik.rig import load_rig
from ambulo.ik.targets import Targets
from ambulo.ik.worker import (
    CACHE,
    CACHED,
    FROM_WORKER,
    READY,
    SOLVE,
    TO_WORKER,
    Plan,
    pack_network,
)
from ambulo.ik.worker_memory import Blob, Layout, SlotMemory
from ambulo.ik.worker_process import Worker, WorkerStats, end

logger = logging.getLogger(__name__)

START_DEADLINE = 600.0
"""A new worker may take this long, for it may have to compile, [s]."""
CACHE_DEADLINE = 120.0
"""Taking a network into use may take this long, [s]."""
SELECTABLE = os.name == "posix"
"""Pipes of Windows cannot be selected."""
ATTEMPTS = 3
"""A job that ends this many workers is answered as failed: it would end them all."""
BARREN = 3
"""As many workers in a row that never got ready: the place is not tried again."""


class NeuralIKPool:
    """Worker processes that solve poses of one rig. Use it as a context manager.

    All characters of a frame go into one job (`solve`); several jobs can be under way
    (`submit`, `result`). Not for several threads at once.
    """

    def __init__(
        self,
        rig: str = "ik23",
        *,
        workers: int = 2,
        capacity: int = 64,
        slots: int = 8,
        steps: int = 4,
        deadline: float = 2.0,
        wait: bool = True,
    ) -> None:
        """Start the workers.

        Args:
            rig: Name or file of the rig.
            workers: How many processes.
            capacity: Characters of a job, at most.
            slots: Jobs that can be under way at once; `submit` waits beyond that.
            steps: Refinement steps from a network's pose.
            deadline: A worker that has not answered a job by then is replaced, [s].
            wait: Return when all workers are ready.
        """
        if min(workers, capacity, slots) < 1 or deadline <= 0.0:
            raise IKError("workers, capacity, slots and deadline must be positive")
        self.rig = load_rig(rig)
        self.deadline = deadline
        self._memory = SlotMemory(Layout(slots, capacity, len(self.rig)))
        self._plan = Plan(rig, self._memory.layout, self._memory.name, steps)
        self._context = multiprocessing.get_context("spawn")
        self._selector = selectors.DefaultSelector()
        self._workers = [Worker(index) for index in range(workers)]
        self._free = deque(range(slots))
        self._waiting: deque[Job] = deque()
        self._done: dict[int, JobResult] = {}
        self._open: set[int] = set()
        self._blobs: dict[str, Blob] = {}
        self._confirmed: dict[int, tuple[bool, str]] = {}
        self._numbers = 0
        self._closed = False
        self._finalizer = weakref.finalize(
            self, _release, self._workers, self._memory, self._blobs, self._selector
        )
        for worker in self._workers:
            self._start(worker)
        if wait:
            self.wait_ready()

    def __enter__(self) -> Self:
        """The pool."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """`close`."""
        self.close()

    def close(self) -> None:
        """End all workers and remove the shared memory; jobs under way are dropped."""
        self._closed = True
        self._finalizer()

    def wait_ready(self, timeout: float = START_DEADLINE) -> None:
        """Return when all workers are ready; `IKError` if they are not in time."""
        self._until(
            lambda: all(w.ready or w.given_up for w in self._workers),
            timeout,
            "workers did not get ready",
        )

    def cache(self, network: IKNetwork | PublishedNetwork) -> int:
        """Give `network` to every worker, present and future; its number of parameters.

        Raises:
            IKError: a worker could not take it, or did not confirm.
        """
        if isinstance(network, PublishedNetwork):
            data, place = pack_network(network.kind, network.tensors()), "published"
        else:
            data, place = pack_network(network.header, network.tensors()), "network"
        return self._broadcast(place, data, network.parameters)

    def cache_tensors(
        self, header: IKNetworkHeader | str, tensors: Mapping[str, NDArray[Any]]
    ) -> int:
        """`cache` of a network given as a header (or a published kind) and its tensors."""
        if isinstance(header, str):
            return self.cache(PublishedNetwork(tensors, header, rig=self.rig))
        return self.cache(IKNetwork(header, tensors, rig=self.rig))

    def submit(
        self,
        targets: Targets,
        base: Pose | None = None,
        context: Context | None = None,
    ) -> int:
        """Hand in a job; its number.

        Args:
            targets: Of all characters of a frame.
            base: Poses to start from, instead of the network's.
            context: What the published network is told; with it that network is used.
        """
        count = len(targets)
        if self._closed:
            raise IKError("the pool is closed")
        if not 1 <= count <= self._memory.layout.capacity:
            raise IKError(
                f"a job has 1 to {self._memory.layout.capacity} characters, got {count}"
            )
        if base is not None and base.rotations.shape[:2] != (count, len(self.rig)):
            raise IKError(
                f"base: expected {count} poses of {len(self.rig)} joints, "
                f"got {base.rotations.shape[:2]}"
            )
        while not self._free:
            self._turn(self.deadline)
        slot = self._free.popleft()
        mode = write_inputs(self._memory, slot, targets, base, context)
        self._numbers += 1
        job = Job(self._numbers, slot, count, mode, time.perf_counter())
        self._open.add(job.number)
        self._waiting.append(job)
        self._hand_out()
        return job.number

    def result(self, job: int, timeout: float | None = None) -> JobResult:
        """The answer to `job`, once; waits for it.

        Raises:
            IKError: no such job, it was asked for before, or not there within `timeout`.
        """
        if job not in self._open:
            raise IKError(f"job {job} was never given, or its answer was taken before")
        limit = START_DEADLINE * ATTEMPTS if timeout is None else timeout
        self._until(lambda: job in self._done, limit, f"no answer to job {job}")
        self._open.discard(job)
        return self._done.pop(job)

    def solve(
        self,
        targets: Targets,
        base: Pose | None = None,
        context: Context | None = None,
    ) -> JobResult:
        """`submit` and `result`: a frame's characters in one job."""
        return self.result(self.submit(targets, base, context))

    @property
    def memory_name(self) -> str:
        """Name of the shared memory of targets and poses."""
        return self._memory.name

    @property
    def has_published(self) -> bool:
        """Whether the workers have one of the published networks."""
        return "published" in self._blobs

    def stats(self) -> tuple[WorkerStats, ...]:
        """What each worker has done so far."""
        return tuple(worker.stats() for worker in self._workers)

    def _broadcast(self, place: str, data: bytes, parameters: int) -> int:
        """Give weights to all workers and wait until each has confirmed."""
        self.wait_ready()
        self._until(
            lambda: not self._waiting and all(not w.job for w in self._workers),
            START_DEADLINE,
            "jobs under way did not end",
        )
        blob, old = Blob(data), self._blobs.get(place)
        # Those that start from now on read it on their own.
        self._blobs[place] = blob
        self._confirmed.clear()
        message = TO_WORKER.pack(CACHE, 0, 0, 0, 0, 0)
        message += struct.pack("<Q", blob.size) + blob.name.encode()
        for worker in self._workers:
            if worker.ready:
                worker.busy_until = time.perf_counter() + CACHE_DEADLINE
                worker.caching = True
                if not worker.send(message):
                    self._replace(worker, "ended")
        self._until(
            lambda: all(
                w.given_up or (w.ready and not w.caching) for w in self._workers
            ),
            START_DEADLINE,
            "workers did not confirm the network",
        )
        bad = [text for good, text in self._confirmed.values() if not good]
        if bad:
            blob.close()
            del self._blobs[place]
            if old is not None:
                self._blobs[place] = old
            raise IKError(f"a worker could not take the network: {bad[0]}")
        if old is not None:
            old.close()
        return parameters

    def _start(self, worker: Worker) -> None:
        blobs = tuple((blob.name, blob.size) for blob in self._blobs.values())
        plan = Plan(
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
        """Wait for an event, at most `timeout` seconds; take answers, find the dead."""
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
        found = multiprocessing.connection.wait(
            [w.connection for w in waiting if w.connection is not None], timeout
        )
        return [w for w in waiting if w.connection in found]

    def _receive(self, worker: Worker) -> None:
        """Take one message of `worker`, or find that it has ended."""
        assert worker.connection is not None
        try:
            message = worker.connection.recv_bytes()
        except (EOFError, OSError):
            self._replace(worker, "ended")
            return
        kind, good, attempt, number, taken = FROM_WORKER.unpack_from(message)
        reason = message[FROM_WORKER.size :].decode(errors="replace")
        worker.busy_until = 0.0
        if kind == READY:
            worker.ready, worker.barren = True, 0
        elif kind == CACHED:
            worker.caching = False
            self._confirmed[worker.index] = (bool(good), reason)
        else:
            job = worker.job
            assert isinstance(job, Job)
            # A worker is killed before its job goes to another: nothing can come late.
            assert (job.number, job.attempts) == (number, attempt)
            worker.finished(job.count, taken)
            self._finish(job, worker.index, reason, taken / 1e3)

    def _finish(self, job: Job, worker: int, reason: str, taken: float) -> None:
        """Copy the answer out of the slot, which is free then."""
        self._done[job.number] = read_result(self._memory, job, worker, reason, taken)
        self._free.append(job.slot)

    def _hand_out(self) -> None:
        """Give waiting jobs to idle workers, in order."""
        while self._waiting:
            idle = next((w for w in self._workers if w.idle), None)
            if idle is None:
                return
            job = self._waiting.popleft()
            job.attempts += 1
            idle.job = job
            idle.busy_until = time.perf_counter() + self.deadline
            message = TO_WORKER.pack(
                SOLVE, job.mode, job.slot, job.count, job.attempts, job.number
            )
            if not idle.send(message):
                self._replace(idle, "ended")

    def _replace(self, worker: Worker, why: str) -> None:
        """Kill `worker` if it lives, take back its job, start another in its place."""
        job = worker.job
        if worker.connection is not None and SELECTABLE:
            self._selector.unregister(worker.connection)
        worker.kill()
        logger.warning(
            "worker %d %s%s", worker.index, why, f" (job {job.number})" if job else ""
        )
        if isinstance(job, Job):
            if job.attempts >= ATTEMPTS:
                self._finish(job, -1, f"{job.attempts} workers {why} at this job", 0.0)
            else:
                self._waiting.appendleft(job)
        if worker.barren >= BARREN:
            worker.given_up = True
            logger.error("worker %d never got ready; not started again", worker.index)
        else:
            self._start(worker)


def _release(
    workers: list[Worker],
    memory: SlotMemory,
    blobs: dict[str, Blob],
    selector: selectors.BaseSelector,
) -> None:
    """Everything that a pool holds, let go; also at the end of the interpreter."""
    selector.close()
    end(workers)
    memory.close()
    for blob in blobs.values():
        blob.close()
    blobs.clear()
