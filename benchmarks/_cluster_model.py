"""How long an iteration of a training takes on a cluster: a simulation.

Every worker's roll-out takes the measured time, with the measured scatter; every message
takes a latency and its bytes at the speed of the network, and those to one machine share
its link; every gradient step of a group waits for the slowest and then for a ring
all-reduce (2 (N - 1) messages of a share of 1 / N; Patarasuk and Yuan, 2009).
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Costs:
    """Measured times of one task on one core."""

    collect: NDArray[np.float64]
    """Times of a roll-out of one worker, [s]. Shape (R,)."""
    update: float
    """An update from one worker's samples, [s]."""
    scatter: NDArray[np.float64]
    """Times of gradient steps over their median. Shape (S,)."""
    gradient_steps: int
    """Gradient steps of an update."""
    samples: int
    """Environment steps of one worker's roll-out."""
    policy_bytes: int
    """Weights and statistics."""
    gradient_bytes: int
    """Gradients."""
    call: float
    """An empty call of a worker and its answer, [s]."""
    reduce: float
    """An all-reduce of the gradients between two workers of this machine, [s]."""


@dataclass(frozen=True)
class Network:
    """The links between machines, one worker a machine."""

    bytes_per_second: float
    latency: float
    """From sending a message to its arrival, [s]."""


HERE = None
"""All workers on the machine of the measurement."""


def iteration(
    costs: Costs, workers: int, network: Network | None, seed: int = 0
) -> float:
    """Mean time of an iteration, [s], in which each worker makes a whole roll-out.

    Args:
        costs: of the task.
        workers: how many.
        network: between them; None: the measured machine.
        seed: of the drawn times.
    """
    rng = np.random.default_rng(seed)
    draws = 200 if workers <= 64 else 40
    collects = rng.choice(costs.collect, (draws, workers))
    slowest = collects.max(axis=1).mean() + _broadcast(costs, 1, network)
    shape = (draws, costs.gradient_steps, min(workers, 256))
    steps = rng.choice(costs.scatter, shape).max(axis=2).mean()
    step = costs.update / costs.gradient_steps * steps
    exchange = all_reduce(costs, workers, network)
    return float(slowest + costs.gradient_steps * (step + exchange))


def all_reduce(costs: Costs, workers: int, network: Network | None) -> float:
    """Time to average the gradients of all workers, [s]."""
    if workers == 1:
        return 0.0
    if network is None:
        return costs.reduce * (workers - 1)
    rounds = 2 * (workers - 1)
    part = costs.gradient_bytes / workers / network.bytes_per_second
    return rounds * (network.latency + part)


def _broadcast(costs: Costs, workers: int, network: Network | None) -> float:
    """Calls of all workers, and the policy to each machine from those that have it."""
    calls = costs.call * (1.0 + 0.1 * (workers - 1))
    if network is None:
        return calls
    hops = np.ceil(np.log2(workers + 1))
    one = network.latency + costs.policy_bytes / network.bytes_per_second
    return float(calls + hops * one)


def saturation(speeds: dict[int, float]) -> int:
    """The number of workers from which on twice as many give less than 10 % more."""
    counts = sorted(speeds)
    for count, double in itertools.pairwise(counts):
        if speeds[double] < 1.1 * speeds[count]:
            return count
    return counts[-1]
