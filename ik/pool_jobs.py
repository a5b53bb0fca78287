"""What the pool keeps of a job: its inputs in shared memory, its record, its answer."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ambulo.ik.pose import Pose
from ambulo.ik.published import Context
from ambulo.ik.refine import Solution
from ambulo.ik.targets import Targets
from ambulo.ik.worker import FROM_BASE, FROM_NETWORK, FROM_PUBLISHED
from ambulo.ik.worker_memory import BASE, INPUTS, NETWORK, OUTPUTS, SlotMemory

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class JobResult:
    """What came of a job."""

    job: int
    """As `submit` named it."""
    success: bool
    """Whether there is a solution."""
    reason: str
    """Why there is none, else empty."""
    solution: Solution | None
    """Poses and residuals of all characters."""
    network_input: Floats | None
    """Of a published job: what the network was given. Shape (B, 50)."""
    network_output: Floats | None
    """Of a published job: what it answered. Shape (B, 69)."""
    solve_us: float
    """Time inside the worker, [us]."""
    total_us: float
    """Time from `submit` until the answer was here, [us]."""
    worker: int
    """Which worker answered; -1: none."""
    attempts: int
    """How many workers were given the job."""


@dataclass
class Job:
    """A job under way."""

    number: int
    slot: int
    count: int
    mode: int
    given: float
    attempts: int = 0


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
    for place, values in zip(memory.rows(slot, count, *INPUTS), given, strict=True):
        place[...] = values
    if context is not None:
        memory.arrays["context"][slot, :count] = _flat(context)
        return FROM_PUBLISHED
    if base is not None:
        root, rotations = memory.rows(slot, count, *BASE)
        root[...], rotations[...] = base.root, base.rotations
        return FROM_BASE
    return FROM_NETWORK


def read_result(
    memory: SlotMemory, job: Job, worker: int, reason: str, solve_us: float
) -> JobResult:
    """The answer to a job, copied out of its slot; a `reason` means failure."""
    solution = shown = None
    if not reason:
        root, turns, near, aligned, reached, steps = (
            view.copy() for view in memory.rows(job.slot, job.count, *OUTPUTS)
        )
        solution = Solution(
            Pose(root, turns),
            reached > 0.0,
            near,
            aligned,
            steps[:, 0].astype(np.int64),
        )
        if job.mode == FROM_PUBLISHED:
            shown = [view.copy() for view in memory.rows(job.slot, job.count, *NETWORK)]
    return JobResult(
        job.number,
        not reason,
        reason,
        solution,
        None if shown is None else shown[0],
        None if shown is None else shown[1],
        solve_us,
        1e6 * (time.perf_counter() - job.given),
        worker,
        job.attempts,
    )


def _flat(context: Context) -> Floats:
    """The numbers of a context in the order of the shared memory. Shape (B, 14)."""
    count = len(context.phase)
    return np.concatenate(
        [
            context.ground_heights,
            context.ground_normals.reshape(count, 6),
            context.grounded,
            context.contacts,
            context.phase[:, None],
            context.task[:, None],
        ],
        axis=1,
    )
