"""One worker of the pool: reads a job from shared memory, solves it, writes the answer.

Messages are shorter than a pipe's buffer, and at most one is in transit in each direction, so
that neither side can block in the middle of one: large data go through shared memory.
"""

from __future__ import annotations

import os
import pickle
import select
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from ambulo.ik.pool.slots import (
    BASE,
    FROM_BASE,
    FROM_PUBLISHED,
    INPUTS,
    NETWORK,
    OUTPUTS,
    SlotMemory,
    shared_network,
)
from ambulo.ik.pose import Pose
from ambulo.ik.rig import load_rig
from ambulo.ik.solver.network import IKNetwork
from ambulo.ik.solver.published import Context
from ambulo.ik.solver.refine import Solution, refine_in_place
from ambulo.ik.solver.solver import NeuralIKSolver
from ambulo.ik.solver.targets import Targets

POSIX = os.name == "posix"
"""Whether pipes are files: one system call then sends or receives a message."""
SIZE = 1024
"""Longest message, [byte]."""
AWAKE = 5e-4
"""How long to poll for a message, [s]."""
REASON = 200
"""Longest reason of a failure, [characters]."""
Part = tuple[str, int, int, int]
"""Mode, slot, first character and number of characters."""
Message = Part | str
"""Message to a worker: a part to solve, or the name of a network's block.

The worker answers with a reason, empty on success, and the time taken, [ns].
"""


@dataclass(frozen=True)
class WorkerPlan:
    """Start-up arguments of a worker."""

    rig: str
    steps: int
    memory: tuple[int, int, int, str]
    """Slots, capacity, joints and name of the `SlotMemory`."""
    networks: tuple[str, ...] = ()
    """Names of the blocks of the networks already in use."""


def send(pipe: Connection, message: Message | tuple[str, int]) -> None:
    """Send a message; `OSError` if the other side is closed."""
    data = pickle.dumps(message)
    if POSIX:
        os.write(pipe.fileno(), data)
    else:
        pipe.send_bytes(data)


def receive(pipe: Connection) -> Any:
    """Return the next message; `EOFError` or `OSError` if the other side is closed."""
    data = os.read(pipe.fileno(), SIZE) if POSIX else pipe.recv_bytes()
    return pickle.loads(data)


def run_worker(connection: Connection, plan: WorkerPlan) -> None:
    """Serve jobs until the pool is closed."""
    # Control-C reaches the whole process group; the pool alone ends workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    memory = SlotMemory(*plan.memory)
    try:
        solver = SlotSolver(plan, memory)
        send(connection, ("", 0))
        for message in _messages(connection):
            send(connection, solver.answer(message))
    except (EOFError, ConnectionError):
        pass
    finally:
        memory.close()


def _messages(connection: Connection) -> Iterator[Message]:
    """Yield each message; poll for a moment first if the previous one came soon.

    Waking up takes longer than a small solve. Between polls the processor is yielded, so that a
    loaded machine loses nothing.
    """
    poller = select.poll() if POSIX else None
    if poller is not None:
        poller.register(connection.fileno(), select.POLLIN)
    quick = False
    while True:
        begin = time.perf_counter()
        while quick and poller is not None and not poller.poll(0):
            quick = time.perf_counter() < begin + AWAKE
            os.sched_yield()
        message = receive(connection)
        quick = time.perf_counter() - begin < AWAKE
        yield message


class SlotSolver:
    """Solves characters of a slot; solver and networks stay between jobs."""

    def __init__(self, plan: WorkerPlan, memory: SlotMemory) -> None:
        self.rig = load_rig(plan.rig)
        self.memory = memory
        self.solver = NeuralIKSolver(self.rig, steps=plan.steps)
        self.published: IKNetwork | None = None
        self.solver.warm_up()
        for name in plan.networks:
            self.use(shared_network(name, self.rig))

    def answer(self, message: Message) -> tuple[str, int]:
        """Process a message; returns the reason of a failure or "", and the time, [ns]."""
        begin, reason = time.perf_counter_ns(), ""
        try:
            if isinstance(message, str):
                self.use(shared_network(message, self.rig))
            else:
                self.solve(*message)
        except Exception as error:  # the pool reports it to the caller
            reason = f"{type(error).__name__}: {error}".splitlines()[0][:REASON]
        return reason, time.perf_counter_ns() - begin

    def use(self, network: IKNetwork) -> None:
        """Install a network, and compile its code."""
        if network.is_published:
            self.published = network
        else:
            self.solver = NeuralIKSolver(self.rig, network, steps=self.solver.steps)
            self.solver.warm_up()

    def solve(self, mode: str, slot: int, first: int, count: int) -> None:
        """Solve characters of a slot, from `first` on."""
        rows = self.memory.rows
        # The pool has written arrays that `Targets` has checked.
        targets = Targets.of_checked(*rows(slot, first, count, *INPUTS))
        if mode == FROM_PUBLISHED:
            solution = self._solve_published(targets, slot, first, count)
        elif mode == FROM_BASE:
            base = Pose(*rows(slot, first, count, *BASE))
            solution = self.solver.solve(targets, base)
        else:
            solution = self.solver.solve(targets)
        result = (
            solution.pose.root,
            solution.pose.rotations,
            solution.reached,
            solution.position_residual,
            solution.rotation_residual,
            solution.steps,
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
        context, shown_input, shown_output = self.memory.rows(
            slot, first, count, "context", *NETWORK
        )
        inputs = self.published.inputs(targets, Context.of_rows(context))
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
