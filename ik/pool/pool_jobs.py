"""Jobs of the pool: inputs in shared memory, record and answer."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.ik.pool.worker import FROM_BASE, FROM_NETWORK, FROM_PUBLISHED
from ambulo.ik.pool.worker_memory import BASE, INPUTS, NETWORK, OUTPUTS, SlotMemory
from ambulo.ik.pose import Pose
from ambulo.ik.solver.published import Context
from ambulo.ik.solver.refine import Solution
from ambulo.ik.solver.targets import Targets


@dataclass(frozen=True, eq=False)
class JobResult:
    """Result of a job."""

    job: int
    """Number of the job, from `submit`."""
    success: bool
    """Whether there is a solution."""
    reason: str
    """Why there is none, else empty."""
    solution: Solution | None
    """Poses and residuals of all characters."""
    network_input: Floats | None
    """Of a published job: input of the network. Shape (B, 50)."""
    network_output: Floats | None
    """Of a published job: output of the network. Shape (B, 69)."""
    solve_us: float
    """Time inside the worker, the longest of several, [us]."""
    total_us: float
    """Time from `submit` until the answer arrived, [us]."""
    workers: tuple[int, ...]
    """Index of the worker that answered each part; -1: none."""
    attempts: int
    """Number of attempts: workers that were given the job, or its most often repeated part."""

    @property
    def worker(self) -> int:
        """Index of the (first) worker that answered; -1: none."""
        return self.workers[0]


@dataclass
class Job:
    """A running job."""

    number: int
    slot: int
    count: int
    mode: int
    given: float
    left: int = 1
    """Parts without an answer; the slot is reserved until all have one."""
    attempts: int = 0
    reason: str = ""
    taken_us: float = 0.0
    workers: dict[int, int] = field(default_factory=dict)
    """Worker that answered the part, by its first character."""


@dataclass
class JobPart:
    """Some characters of a job, given to one worker."""

    job: Job
    first: int
    count: int
    attempts: int = 0


LEAST = 2
"""Minimum number of characters in a part: a message costs as much as solving one."""


def divided(part: JobPart, ways: int) -> list[JobPart]:
    """Divide `part` into at most `ways` parts of nearly equal size, if it was never sent."""
    ways = max(1, min(ways, part.count // LEAST))
    if ways == 1 or part.attempts:
        return [part]
    ends = [part.count * k // ways for k in range(ways + 1)]
    part.job.left += ways - 1
    return [JobPart(part.job, part.first + a, b - a) for a, b in pairwise(ends)]


def write_inputs(
    memory: SlotMemory,
    slot: int,
    targets: Targets,
    base: Pose | None,
    context: Context | None,
) -> int:
    """Put a job's inputs into its slot; the mode in which it is to be solved."""
    count = len(targets)
    given = (
        targets.positions,
        targets.rotations,
        targets.position_weights,
        targets.rotation_weights,
    )
    for place, values in zip(memory.rows(slot, 0, count, *INPUTS), given, strict=True):
        place[...] = values
    if context is not None:
        memory.arrays["context"][slot, :count] = context.rows()
        return FROM_PUBLISHED
    if base is not None:
        root, rotations = memory.rows(slot, 0, count, *BASE)
        root[...], rotations[...] = base.root, base.rotations
        return FROM_BASE
    return FROM_NETWORK


def read_result(memory: SlotMemory, job: Job) -> JobResult:
    """The answer to a job, copied out of its slot; a reason in it means failure."""
    solution = shown = None
    if not job.reason:
        root, turns, near, aligned, reached, steps = (
            view.copy() for view in memory.rows(job.slot, 0, job.count, *OUTPUTS)
        )
        solution = Solution(
            Pose(root, turns),
            reached > 0.0,
            near,
            aligned,
            steps[:, 0].astype(np.int64),
        )
        if job.mode == FROM_PUBLISHED:
            views = memory.rows(job.slot, 0, job.count, *NETWORK)
            shown = [view.copy() for view in views]
    return JobResult(
        job.number,
        not job.reason,
        job.reason,
        solution,
        None if shown is None else shown[0],
        None if shown is None else shown[1],
        job.taken_us,
        1e6 * (time.perf_counter() - job.given),
        tuple(job.workers[first] for first in sorted(job.workers)),
        job.attempts,
    )
