"""Shared memory of the pool: slots with the inputs and answers of jobs, and networks."""

from __future__ import annotations

import pickle
import time
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from multiprocessing.shared_memory import SharedMemory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Floats
from ambulo.ik.pose import Pose
from ambulo.ik.rig import TARGETS, Rig
from ambulo.ik.solver.network import IKNetwork
from ambulo.ik.solver.published import Context
from ambulo.ik.solver.refine import Solution
from ambulo.ik.solver.targets import Targets

ROWS = len(TARGETS)
INPUTS = ("positions", "rotations", "position_weights", "rotation_weights")
"""Fields of targets."""
BASE = ("base_root", "base_rotations")
"""Fields of starting poses."""
OUTPUTS = (
    "root",
    "turns",
    "reached",
    "position_residual",
    "rotation_residual",
    "steps",
)
"""Fields of a solution."""
NETWORK = ("network_input", "network_output")
"""Inputs and outputs of a published network."""
FROM_BASE, FROM_NETWORK, FROM_PUBLISHED = "base", "network", "published"
"""Modes of a job: where the refinement starts."""
LEAST = 2
"""Minimum number of characters in a part: a message costs as much as solving one."""


def slot_type(capacity: int, joints: int) -> np.dtype[Any]:
    """Return the type of a slot: for each field an array of `capacity` characters."""
    shapes: dict[str, tuple[int, ...]] = {
        "positions": (ROWS, 3),
        "rotations": (ROWS, 4),
        "position_weights": (ROWS,),
        "rotation_weights": (ROWS,),
        "base_root": (3,),
        "base_rotations": (joints, 4),
        "context": (14,),
        "root": (3,),
        "turns": (joints, 4),
        "position_residual": (ROWS,),
        "rotation_residual": (ROWS,),
        "network_input": (50,),
        "network_output": (69,),
        "steps": (),
        "reached": (ROWS,),
    }
    kinds = {"steps": "i8", "reached": "?"}
    return np.dtype(
        [(name, kinds.get(name, "f8"), (capacity, *s)) for name, s in shapes.items()],
        align=True,
    )


class SlotMemory:
    """The block of slots.

    A worker writes only the outputs of the characters of its part; the pool reads them after
    all workers of the job have finished. A slot's inputs do not change until then, so that
    parts can be reassigned.
    """

    def __init__(
        self, slots: int, capacity: int, joints: int, name: str | None = None
    ) -> None:
        """Make the block, or attach to the one called `name`."""
        self.slots, self.capacity = slots, capacity
        kind = slot_type(capacity, joints)
        self._owner = name is None
        self._memory = SharedMemory(
            name, create=name is None, size=slots * kind.itemsize
        )
        self.name = self._memory.name
        self._slots = np.ndarray(slots, kind, self._memory.buf)

    def rows(
        self, slot: int, first: int, count: int, *names: str
    ) -> list[NDArray[Any]]:
        """The named fields of `count` characters of a slot, from `first` on, as views."""
        return [self._slots[name][slot, first : first + count] for name in names]

    def write(
        self, job: Job, targets: Targets, base: Pose | None, context: Context | None
    ) -> None:
        """Put a job's inputs into its slot."""
        names = list(INPUTS)
        values = [
            targets.positions,
            targets.rotations,
            targets.position_weights,
            targets.rotation_weights,
        ]
        if job.mode == FROM_PUBLISHED and context is not None:
            names.append("context")
            values.append(context.rows())
        elif base is not None:
            names += BASE
            values += [base.root, base.rotations]
        for place, given in zip(
            self.rows(job.slot, 0, job.count, *names), values, strict=True
        ):
            place[...] = given

    def read(self, job: Job) -> JobResult:
        """The answer to a job, copied out of its slot; a reason in it means failure."""
        solution: Solution | None = None
        shown: tuple[Floats | None, Floats | None] = None, None
        if not job.reason:
            root, turns, *rest = (
                view.copy() for view in self.rows(job.slot, 0, job.count, *OUTPUTS)
            )
            solution = Solution(Pose(root, turns), *rest)
            if job.mode == FROM_PUBLISHED:
                given, made = self.rows(job.slot, 0, job.count, *NETWORK)
                shown = given.copy(), made.copy()
        return JobResult(
            job.number,
            not job.reason,
            job.reason,
            solution,
            *shown,
            job.taken_us,
            1e6 * (time.perf_counter() - job.given),
            tuple(job.workers[first] for first in sorted(job.workers)),
            job.attempts,
        )

    def close(self) -> None:
        """Close the block; its creator also removes it."""
        del self._slots
        # If a view still exists, the end of the process frees the block.
        with suppress(BufferError):
            self._memory.close()
        if self._owner:
            self._memory.unlink()


def share_network(network: IKNetwork) -> SharedMemory:
    """Put a network into its own block, for `shared_network`."""
    data = pickle.dumps((network.header, network.tensors()))
    memory = SharedMemory(create=True, size=len(data))
    assert memory.buf is not None
    memory.buf[: len(data)] = data
    return memory


def shared_network(name: str, rig: Rig) -> IKNetwork:
    """The checked network in the block called `name`."""
    memory = SharedMemory(name)
    try:
        assert memory.buf is not None
        header, tensors = pickle.loads(memory.buf)
    finally:
        memory.close()
    return IKNetwork(header, tensors, rig=rig)


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
    """Input of the network in a published job. Shape (B, 50)."""
    network_output: Floats | None
    """Output of the network in a published job. Shape (B, 69)."""
    solve_us: float
    """Time inside the worker, the longest of several, [us]."""
    total_us: float
    """Time from `submit` until the answer arrived, [us]."""
    workers: tuple[int, ...]
    """Index of the worker that answered each part; -1: none."""
    attempts: int
    """Number of attempts of the part that was reassigned most often."""

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
    mode: str
    given: float
    left: int = 1
    """Number of parts without an answer; the slot is reserved until all have one."""
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


def divided(part: JobPart, ways: int) -> list[JobPart]:
    """Divide `part` into at most `ways` parts of nearly equal size, if it was never sent."""
    ways = max(1, min(ways, part.count // LEAST))
    if ways == 1 or part.attempts:
        return [part]
    ends = [part.count * k // ways for k in range(ways + 1)]
    part.job.left += ways - 1
    return [JobPart(part.job, part.first + a, b - a) for a, b in pairwise(ends)]
