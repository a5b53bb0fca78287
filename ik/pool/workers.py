"""A pool of processes that solve poses: one job per frame, answered exactly once.

The caller's process only writes targets to shared memory and reads poses from it, unless
`helps` is set. The characters of a job are shared out among the workers that are idle. A
worker that ends or misses its deadline is killed before its part goes to another one, so
that no late answer can be mistaken for the right one. BLAS has one thread in each worker.

As every use of `multiprocessing` with fresh interpreters, scripts that make a pool need
`if __name__ == "__main__":`.
"""

from __future__ import annotations

import struct
import time
import weakref
from collections.abc import Mapping
from functools import cached_property
from numbers import Integral
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from ambulo.configs.closing import Closing
from ambulo.configs.errors import IKError
from ambulo.ik.pool.dispatch import ATTEMPTS, START_DEADLINE, Dispatcher, release_all
from ambulo.ik.pool.pool_jobs import (
    Job,
    JobPart,
    JobResult,
    write_inputs,
)
from ambulo.ik.pool.worker import (
    CACHE,
    TO_WORKER,
    WorkerPlan,
    pack_network,
)
from ambulo.ik.pool.worker_memory import Blob, Layout, SlotMemory
from ambulo.ik.pool.worker_process import WorkerStats
from ambulo.ik.pose import Pose
from ambulo.ik.rig import load_rig
from ambulo.ik.solver.headers import IKNetworkHeader
from ambulo.ik.solver.network import IKNetwork
from ambulo.ik.solver.published import Context
from ambulo.ik.solver.targets import Targets
from ambulo.ik.trackers.network import TrackerNetwork

if TYPE_CHECKING:
    from ambulo.ik.pool.tracked_crowd import TrackedCrowd

CACHE_DEADLINE = 120.0
"""Time limit for loading a network, [s]."""


class NeuralIKPool(Dispatcher, Closing):
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
        helps: bool = False,
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
        memory = SlotMemory(Layout(slots, capacity, len(self.rig)))
        plan = WorkerPlan(rig, memory.layout, memory.name, steps)
        super().__init__(plan, memory, workers, deadline, helps)
        self.tracker_network: TrackerNetwork | None = None
        """What new players of the job TRACK_BODY are tracked with."""
        self._open: set[int] = set()
        self._numbers = 0
        self._finalizer = weakref.finalize(
            self, release_all, self._workers, self._memory, self._blobs, self._selector
        )
        for worker in self._workers:
            self._start(worker)
        if wait:
            self.wait_ready()

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

    def cache(self, network: IKNetwork | TrackerNetwork) -> int:
        """Give `network` to every worker, present and future; its number of parameters.

        One of body trackers stays in this process, where tracked players are.

        Raises:
            IKError: a worker could not take it, or did not confirm.
        """
        if isinstance(network, TrackerNetwork):
            self.tracker_network = network
            return network.parameters
        data = pack_network(network)
        place = "published" if network.is_published else "network"
        return self._broadcast(place, data, network.parameters)

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
            targets: Of all characters of a frame.
            base: Poses to start from, instead of the network's.
            context: Context of the published network; if given, that network is used.
        """
        part = self._taken_in(targets, base, context)
        self._waiting.append(part)
        self._hand_out()
        return part.job.number

    def _taken_in(
        self, targets: Targets, base: Pose | None, context: Context | None
    ) -> JobPart:
        """Check a job and write it to a slot; return it as one part."""
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
        return JobPart(job, 0, count)

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
        self._share_out(part)
        return self.result(part.job.number)

    @cached_property
    def crowd(self) -> TrackedCrowd:
        """The players of the job TRACK_BODY, refined by this pool."""
        from ambulo.ik.pool.tracked_crowd import TrackedCrowd

        return TrackedCrowd(self.rig, self.solve)

    @property
    def capacity(self) -> int:
        """Characters of a job, at most."""
        return self._memory.layout.capacity

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
            lambda: not self._waiting and all(not w.part for w in self._workers),
            START_DEADLINE,
            "jobs under way did not end",
        )
        blob, old = Blob(data), self._blobs.get(place)
        # Workers that start from now on read it by themselves.
        self._blobs[place] = blob
        self._confirmed.clear()
        message = TO_WORKER.pack(CACHE, 0, 0, 0, 0, 0, 0)
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
        if self._own is not None:
            self._own.use(data)
        return parameters
