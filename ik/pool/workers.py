"""A pool of processes that solve poses: one job per frame, answered exactly once.

The caller's process only writes targets to shared memory and reads poses from it, unless
`helps` is set. The characters of a job are divided among the idle workers. A worker that ends
or misses its deadline is killed before its part is reassigned, so that no late answer can be
mistaken for the right one. BLAS has one thread in each worker.

As with every use of `multiprocessing` with fresh interpreters, scripts that create a pool need
`if __name__ == "__main__":`.
"""

from __future__ import annotations

import logging
import selectors
import time
import weakref
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from multiprocessing import connection
from multiprocessing.shared_memory import SharedMemory
from numbers import Integral
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from ambulo.configs.closing import Closing
from ambulo.configs.cores import usable_cores
from ambulo.configs.errors import IKError
from ambulo.ik.pool.slots import (
    FROM_BASE,
    FROM_NETWORK,
    FROM_PUBLISHED,
    Job,
    JobPart,
    JobResult,
    SlotMemory,
    divided,
    share_network,
)
from ambulo.ik.pool.worker import POSIX, Message, Part, SlotSolver, WorkerPlan
from ambulo.ik.pool.worker_process import CACHING, START_DEADLINE, Worker, WorkerStats
from ambulo.ik.pose import Pose
from ambulo.ik.rig import load_rig
from ambulo.ik.solver.headers import IKNetworkHeader
from ambulo.ik.solver.network import IKNetwork
from ambulo.ik.solver.published import Context
from ambulo.ik.solver.targets import Targets
from ambulo.ik.trackers.network import TrackerNetwork

if TYPE_CHECKING:
    from ambulo.ik.pool.tracked_crowd import TrackedCrowd

logger = logging.getLogger(__name__)

CACHE_DEADLINE = 120.0
"""Time limit for loading a network, [s]."""
ATTEMPTS = 3
"""A part fails after it has crashed this many workers."""
BARREN = 3
"""An index is given up after this many consecutive workers that never became ready."""
HERE = -2
"""Index of the caller's own process among the workers of an answer."""


class NeuralIKPool(Closing):
    """Worker processes that solve poses of one rig. Use it as a context manager.

    All characters of a frame go into one job (`solve`); several jobs can be pending (`submit`,
    `result`). Not thread-safe.
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
        helps: bool = False,
        wait: bool = True,
    ) -> None:
        """Start the workers.

        Args:
            rig: Name or file of the rig.
            workers: Number of processes.
            capacity: Largest number of characters of a job.
            slots: Largest number of pending jobs; `submit` waits beyond that.
            steps: Refinement steps from a network's pose.
            deadline: Time after which a worker without an answer is replaced, [s].
            helps: Solve a part of each frame in this process too, while `solve` would
                only wait for the workers: on two processors one worker and this process
                are faster than two workers.
            wait: Return when all workers are ready.
        """
        whole = all(isinstance(n, Integral) for n in (workers, capacity, slots, steps))
        if not whole or min(workers, capacity, slots) < 1 or steps < 0:
            raise IKError("workers, capacity and slots: whole numbers, at least 1")
        if not deadline > 0.0:
            raise IKError(f"deadline must be above 0 s, got {deadline:g}")
        self.rig = load_rig(rig)
        self.deadline = deadline
        self.tracker_network: TrackerNetwork | None = None
        """Network of the trackers of new players of the job TRACK_BODY."""
        self._memory = SlotMemory(slots, capacity, len(self.rig))
        size = (slots, capacity, len(self.rig), self._memory.name)
        self._plan = WorkerPlan(rig, steps, size)
        self._workers = [Worker(index) for index in range(workers)]
        self._networks: dict[str, SharedMemory] = {}
        self._faults: list[str] = []
        self._free = deque(range(slots))
        self._waiting: deque[JobPart] = deque()
        self._done: dict[int, JobResult] = {}
        self._open: set[int] = set()
        self._numbers = 0
        self._closed = False
        self._cores = usable_cores()
        self._selector = selectors.DefaultSelector()
        self._finalizer = weakref.finalize(
            self, _release, self._workers, self._memory, self._networks, self._selector
        )
        self._own = SlotSolver(self._plan, self._memory) if helps else None
        for worker in self._workers:
            self._start(worker)
        if wait:
            self.wait_ready()

    def close(self) -> None:
        """End all workers and remove the shared memory; pending jobs are dropped."""
        self._closed = True
        self._finalizer()

    def wait_ready(self, timeout: float = START_DEADLINE) -> None:
        """Wait until all workers are ready; `IKError` after `timeout`, [s]."""
        self._until(
            lambda: all(w.ready or w.given_up for w in self._workers),
            timeout,
            "workers did not get ready",
        )

    def cache(self, network: IKNetwork | TrackerNetwork) -> int:
        """Give `network` to every worker, present and future; returns its number of parameters.

        A body tracker's network stays in this process, with the tracked players.

        Raises:
            IKError: A worker failed to install it, or did not confirm.
        """
        if isinstance(network, TrackerNetwork):
            self.tracker_network = network
            return network.parameters
        self.wait_ready()
        self._until(
            lambda: not self._waiting and self._all_idle(),
            START_DEADLINE,
            "jobs under way did not end",
        )
        place = FROM_PUBLISHED if network.is_published else FROM_NETWORK
        old, block = self._networks.get(place), share_network(network)
        # Workers that start later read it by themselves.
        self._networks[place] = block
        self._faults.clear()
        for worker in self._workers:
            if worker.idle:
                self._give(worker, CACHING, block.name, CACHE_DEADLINE)
        self._until(
            self._all_idle, START_DEADLINE, "workers did not confirm the network"
        )
        if self._faults:
            del self._networks[place]
            if old is not None:
                self._networks[place] = old
            old = block
        if old is not None:
            _remove(old)
        if self._faults:
            raise IKError(f"a worker could not take the network: {self._faults[0]}")
        if self._own is not None:
            self._own.use(network)
        return network.parameters

    def cache_tensors(
        self, header: IKNetworkHeader, tensors: Mapping[str, NDArray[Any]]
    ) -> int:
        """`cache` of a network given as a header and its tensors."""
        return self.cache(IKNetwork(header, tensors, rig=self.rig))

    def submit(
        self,
        targets: Targets,
        base: Pose | None = None,
        context: Context | None = None,
    ) -> int:
        """Submit a job; return its number.

        Args:
            targets: Targets of all characters of a frame.
            base: Poses to start from, instead of the network's.
            context: Context of the published network; if given, that network is used.
        """
        part = self._taken_in(targets, base, context)
        self._waiting.append(part)
        self._hand_out()
        return part.job.number

    def result(self, job: int, timeout: float | None = None) -> JobResult:
        """Wait for the answer to `job` and return it, once.

        Raises:
            IKError: The job is unknown, its result was taken already, or `timeout` passed.
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
        """`submit` and `result`: solve all characters of a frame in one job."""
        if self._own is None or self._waiting:
            return self.result(self.submit(targets, base, context))
        part = self._taken_in(targets, base, context)
        idle = [worker for worker in self._workers if worker.idle]
        here, *others = divided(part, 1 + min(len(idle), self._cores - 1))
        for worker, other in zip(idle, others, strict=False):
            self._give(worker, other, _message(other), self.deadline)
        here.attempts += 1
        reason, nanoseconds = self._own.answer(_message(here))
        self._finish(here, HERE, reason, nanoseconds / 1e3)
        return self.result(part.job.number)

    @cached_property
    def crowd(self) -> TrackedCrowd:
        """The players of the job TRACK_BODY, refined by this pool."""
        from ambulo.ik.pool.tracked_crowd import TrackedCrowd

        return TrackedCrowd(self.rig, self.solve)

    @property
    def capacity(self) -> int:
        """Largest number of characters of a job."""
        return self._memory.capacity

    @property
    def memory_name(self) -> str:
        """Name of the shared memory of targets and poses."""
        return self._memory.name

    @property
    def has_published(self) -> bool:
        """Whether the workers have one of the published networks."""
        return FROM_PUBLISHED in self._networks

    def stats(self) -> tuple[WorkerStats, ...]:
        """Statistics of each worker so far."""
        return tuple(worker.stats() for worker in self._workers)

    def _taken_in(
        self, targets: Targets, base: Pose | None, context: Context | None
    ) -> JobPart:
        """Check a job and write it to a slot; return it as one part."""
        count = len(targets)
        if self._closed:
            raise IKError("the pool is closed")
        if not 1 <= count <= self.capacity:
            raise IKError(f"a job has 1 to {self.capacity} characters, got {count}")
        if base is not None and base.rotations.shape[:2] != (count, len(self.rig)):
            raise IKError(
                f"base: expected {count} poses of {len(self.rig)} joints, "
                f"got {base.rotations.shape[:2]}"
            )
        while not self._free:
            self._turn(self.deadline)
        self._numbers += 1
        mode = FROM_NETWORK if base is None else FROM_BASE
        mode = mode if context is None else FROM_PUBLISHED
        now = time.perf_counter()
        job = Job(self._numbers, self._free.popleft(), count, mode, now)
        self._memory.write(job, targets, base, context)
        self._open.add(job.number)
        return JobPart(job, 0, count)

    def _all_idle(self) -> bool:
        return all(worker.idle or worker.given_up for worker in self._workers)

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
        """Wait for events at most `timeout` seconds; receive answers, replace dead workers."""
        first = min(worker.until for worker in self._workers) - time.perf_counter()
        for worker in self._readable(max(0.0, min(timeout, first))):
            try:
                task, reason, taken = worker.receive()
            except (EOFError, OSError):
                self._replace(worker, "ended")
                continue
            if isinstance(task, JobPart):
                self._finish(task, worker.index, reason, taken)
            elif reason:
                self._faults.append(reason)
        now = time.perf_counter()
        for worker in self._workers:
            if now > worker.until:
                self._replace(worker, "gave no answer in time")
        self._hand_out()

    def _readable(self, timeout: float) -> list[Worker]:
        """Workers with a message, or that have ended, within `timeout`, [s]."""
        if POSIX:
            return [key.data for key, _ in self._selector.select(timeout)]
        pipes = {id(w.pipe): w for w in self._workers if w.pipe is not None}
        ready = connection.wait([w.pipe for w in pipes.values() if w.pipe], timeout)
        return [pipes[id(pipe)] for pipe in ready]

    def _start(self, worker: Worker) -> None:
        """Start a process with all installed networks."""
        networks = tuple(block.name for block in self._networks.values())
        worker.start(replace(self._plan, networks=networks))
        if POSIX and worker.pipe is not None:
            self._selector.register(worker.pipe, selectors.EVENT_READ, worker)

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
            self._done[job.number] = self._memory.read(job)
            self._free.append(job.slot)

    def _hand_out(self) -> None:
        """Give waiting parts to idle workers, in order; a single job is divided among them."""
        while self._waiting:
            idle = [worker for worker in self._workers if worker.idle]
            if not idle:
                return
            ways = min(len(idle), self._cores) // len(self._waiting)
            for worker, part in zip(
                idle, divided(self._waiting.popleft(), ways), strict=False
            ):
                self._give(worker, part, _message(part), self.deadline)

    def _give(
        self, worker: Worker, task: JobPart | str, message: Message, seconds: float
    ) -> None:
        """Send a message to a worker."""
        if isinstance(task, JobPart):
            task.attempts += 1
        if not worker.give(task, message, seconds):
            self._replace(worker, "ended")

    def _replace(self, worker: Worker, why: str) -> None:
        """Kill `worker` if it is alive, take back its part, start a replacement."""
        part = worker.task if isinstance(worker.task, JobPart) else None
        if POSIX and worker.pipe is not None:
            self._selector.unregister(worker.pipe)
        worker.kill()
        about = f" (job {part.job.number})" if part else ""
        logger.warning("worker %d %s%s", worker.index, why, about)
        if part is not None and part.attempts < ATTEMPTS:
            self._waiting.appendleft(part)
        elif part is not None:
            reason = f"{part.attempts} workers {why} at this job"
            self._finish(part, -1, reason, 0.0)
        if worker.barren >= BARREN:
            worker.given_up = True
            logger.error("worker %d never got ready; not started again", worker.index)
        else:
            self._start(worker)


def _message(part: JobPart) -> Part:
    return part.job.mode, part.job.slot, part.first, part.count


def _release(
    workers: Sequence[Worker],
    memory: SlotMemory,
    networks: dict[str, SharedMemory],
    selector: selectors.BaseSelector,
) -> None:
    """Release all resources of a pool; also called at the end of the interpreter."""
    selector.close()
    for worker in workers:
        worker.kill()
    memory.close()
    for block in networks.values():
        _remove(block)
    networks.clear()


def _remove(block: SharedMemory) -> None:
    block.close()
    block.unlink()
