"""One worker of the pool: reads a job from shared memory, solves it, writes the answer.

Messages are shorter than a pipe's buffer and of fixed size, so that neither side can be
stopped in the middle of one: everything large goes through shared memory.
"""

from __future__ import annotations

import json
import signal
import struct
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection

import numpy as np
from safetensors.numpy import load, save

from ambulo.ik.pool.pipes import SIZE, Ear, send
from ambulo.ik.pool.worker_memory import (
    BASE,
    INPUTS,
    NETWORK,
    OUTPUTS,
    Layout,
    SlotMemory,
    read_blob,
)
from ambulo.ik.pose import Pose
from ambulo.ik.rig import Rig, load_rig
from ambulo.ik.solver.headers import IKNetworkHeader
from ambulo.ik.solver.network import IKNetwork
from ambulo.ik.solver.published import Context
from ambulo.ik.solver.refine import Solution, refine_in_place
from ambulo.ik.solver.solver import NeuralIKSolver
from ambulo.ik.solver.targets import Targets

TO_WORKER = struct.Struct("<BBHHHIQ")
"""Kind, mode, slot, first character, characters, attempt, job; then, of CACHE, the size
and the name of a block."""
FROM_WORKER = struct.Struct("<BBHIQQ")
"""Kind, whether it went well, first character, attempt, job, time of the solve [ns]; then
a reason."""

STOP, SOLVE, CACHE = 0, 1, 2
"""Kinds of messages to a worker."""
READY, SOLVED, CACHED = 10, 11, 12
"""Kinds of messages from a worker."""
FROM_BASE, FROM_NETWORK, FROM_PUBLISHED = 0, 1, 2
"""Modes of SOLVE: where the refinement starts."""

REASON = SIZE - FROM_WORKER.size
"""Longest reason in a message, [byte]."""


@dataclass(frozen=True)
class WorkerPlan:
    """Start-up arguments of a worker."""

    rig: str
    layout: Layout
    memory: str
    steps: int
    blobs: tuple[tuple[str, int], ...] = ()
    """Name and size of the weights already in use."""


def pack_network(network: IKNetwork) -> bytes:
    """A network as bytes: its header, then weights."""
    head = network.header.to_json().encode()
    return struct.pack("<I", len(head)) + head + save(network.tensors())


def unpack_network(data: bytes, rig: Rig) -> IKNetwork:
    """The network of `pack_network`, checked."""
    (length,) = struct.unpack_from("<I", data)
    head = json.loads(data[4 : 4 + length])
    header = IKNetworkHeader.model_validate(head)
    return IKNetwork(header, load(data[4 + length :]), rig=rig)


def run_worker(connection: Connection, plan: WorkerPlan) -> None:
    """Serve jobs until a stop message, or until the pool is gone."""
    # Control-C goes to the whole group of processes; the pool decides what ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    memory = SlotMemory(plan.layout, plan.memory)
    try:
        worker = SlotSolver(plan, memory)
        send(connection, FROM_WORKER.pack(READY, 1, 0, 0, 0, 0))
        ear = Ear(connection)
        while worker.serve(connection, ear.receive()):
            pass
    except (EOFError, BrokenPipeError, ConnectionResetError):
        pass
    finally:
        memory.close()


class SlotSolver:
    """Solves characters of a slot; solver and networks stay between jobs."""

    def __init__(self, plan: WorkerPlan, memory: SlotMemory) -> None:
        self.rig = load_rig(plan.rig)
        self.memory = memory
        self.solver = NeuralIKSolver(self.rig, steps=plan.steps)
        self.published: IKNetwork | None = None
        self.solver.warm_up()
        for name, size in plan.blobs:
            self.use(read_blob(name, size))

    def serve(self, connection: Connection, message: bytes) -> bool:
        """Answer one message; False if it asks to stop."""
        kind, mode, slot, first, count, attempt, job = TO_WORKER.unpack_from(message)
        if kind == STOP:
            return False
        begin = time.perf_counter_ns()
        good, reason = 1, b""
        try:
            if kind == CACHE:
                (size,) = struct.unpack_from("<Q", message, TO_WORKER.size)
                name = message[TO_WORKER.size + 8 :].rstrip(b"\0").decode()
                self.use(read_blob(name, size))
            else:
                self.solve(mode, slot, first, count)
        except Exception as error:  # the pool reports it to the caller
            text = f"{type(error).__name__}: {error}".splitlines()[0]
            good, reason = 0, (text.encode()[:REASON] or b"failed")
        taken = time.perf_counter_ns() - begin
        answer = CACHED if kind == CACHE else SOLVED
        send(
            connection,
            FROM_WORKER.pack(answer, good, first, attempt, job, taken) + reason,
        )
        return True

    def use(self, data: bytes) -> None:
        """Load a network, and compile what it needs."""
        network = unpack_network(data, self.rig)
        if network.is_published:
            self.published = network
        else:
            self.solver = NeuralIKSolver(self.rig, network, steps=self.solver.steps)
            self.solver.warm_up()

    def solve(self, mode: int, slot: int, first: int, count: int) -> None:
        """Solve characters of a slot, from `first` on."""
        rows = self.memory.rows
        # The pool has written arrays that `Targets` had checked.
        targets = Targets.of_checked(*rows(slot, first, count, *INPUTS))
        if mode == FROM_BASE:
            base = Pose(*rows(slot, first, count, *BASE))
            solution = self.solver.solve(targets, base)
        elif mode == FROM_PUBLISHED:
            solution = self._solve_published(targets, slot, first, count)
        else:
            solution = self.solver.solve(targets)
        result = (
            solution.pose.root,
            solution.pose.rotations,
            solution.position_residual,
            solution.rotation_residual,
            solution.reached,
            solution.steps[:, None],
        )
        for place, values in zip(
            rows(slot, first, count, *OUTPUTS), result, strict=True
        ):
            place[...] = values

    def _solve_published(
        self, targets: Targets, slot: int, first: int, count: int
    ) -> Solution:
        if self.published is None:
            raise LookupError("no published network is cached")
        c, shown_input, shown_output = self.memory.rows(
            slot, first, count, "context", *NETWORK
        )
        inputs = self.published.inputs(targets, Context.of_rows(c))
        output = self.published.forward(inputs)
        shown_input[...] = inputs
        shown_output[...] = output
        pose = self.published.poses(output, targets)
        return refine_in_place(
            self.rig,
            targets,
            np.ascontiguousarray(pose.root),
            np.ascontiguousarray(pose.rotations),
            self.solver.steps,
            self.solver.config,
        )
