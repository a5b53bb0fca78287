"""How a training scales over workers: measured here on one and two, simulated beyond.

Measures, for one task on this machine, roll-outs, updates, calls of Ray workers and the
all-reduce of gradients; simulates `ambulo train --engine ray` with these times
(`_cluster_model.py`) for up to 1,024 workers, one a machine, on networks of 1 to
100 Gbit/s, where each worker has the preset's environments and its samples of a gradient
step; and checks the simulation against real runs with one and two workers here. The two
need two free cores.

    python benchmarks/scaling.py --task vr --json docs/results/scaling_vr.json
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from _cluster_model import Costs, Network, all_reduce, iteration, saturation
from _harness import Options, exit_code, judge, machine, print_rows, write
from stable_baselines3.common.callbacks import BaseCallback, CallbackList

from ambulo.configs.presets.locomotion import preset as locomotion_preset
from ambulo.configs.presets.vr import preset as vr_preset
from ambulo.policies.learner import learn_until
from ambulo.train.locomotion.training import LocomotionTraining, read_parts
from ambulo.train.shared.cluster import Cluster, joined
from ambulo.train.shared.fleet import Fleet
from ambulo.train.shared.gradient_exchange import GradientGroup, free_port
from ambulo.train.shared.rl_task import RLTask
from ambulo.train.shared.rollout_worker import copy_of
from ambulo.train.shared.run_folders import LocomotionRunFolder, NavigationRunFolder
from ambulo.train.vr.training import NavigationTraining

WORKERS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
GIGABITS = (1.0, 10.0, 25.0, 100.0)
LATENCY = 50e-6
"""Of a message between machines of one data centre, [s]; assumed, not measured."""
WARM = 2
"""Iterations that are not counted."""


def task_of(name: str, folder: Path, workers: int) -> RLTask[Any]:
    """A task with the preset's environments and samples for each of `workers` (0: none).

    Args:
        name: `vr` (full_training) or `walk` (stand, pushes on a simulated body).
        folder: for its files.
        workers: of a cluster; 0 has the environments in this process.
    """
    factor = max(workers, 1)
    if name == "vr":
        config = vr_preset("full_training")
        config = config.override("environment", levels_per_family=20)
        config = _larger(config, factor)
        return NavigationTraining(
            config, NavigationRunFolder(folder), remote=workers > 0
        )
    walk = _larger(locomotion_preset("stand"), factor)
    run = LocomotionRunFolder(folder)
    return LocomotionTraining(
        walk, run, read_parts(walk, run, None), remote=workers > 0
    )


def _larger(config: Any, factor: int) -> Any:
    envs = factor * config.environment.num_environments
    config = config.override("environment", num_environments=envs)
    return config.override("ppo", batch_size=factor * config.ppo.batch_size)


class _Clock(BaseCallback):
    """Times at which roll-outs begin and end."""

    def __init__(self) -> None:
        super().__init__()
        self.starts: list[float] = []
        self.ends: list[float] = []

    def _on_step(self) -> bool:
        return True

    def _on_rollout_start(self) -> None:
        self.starts.append(time.perf_counter())

    def _on_rollout_end(self) -> None:
        self.ends.append(time.perf_counter())


def run(
    task: RLTask[Any], callbacks: Sequence[BaseCallback], count: int
) -> list[float]:
    """Times of `count` iterations, [s]."""
    clock, learner = _Clock(), task.learner
    total = (count + WARM + 1) * learner.n_steps * learner.n_envs
    learn_until(learner, total, CallbackList([*callbacks, clock]), log_interval=None)
    return clock


def iterations_of(clock: _Clock) -> list[float]:
    """Times of iterations, [s]."""
    times: list[float] = np.diff(clock.starts)[WARM:].tolist()
    return times


def costs_of(name: str, folder: Path, count: int) -> tuple[Costs, list[float]]:
    """Measured costs of a task, and times of whole iterations without workers, [s]."""
    task = task_of(name, folder, 0)
    learner = task.learner
    clock = run(task, task.environment_callbacks(), count)
    starts, ends = np.array(clock.starts), np.array(clock.ends)
    collects = (ends - starts[: len(ends)])[WARM:-1]
    updates = (starts[1:] - ends[: len(starts) - 1])[WARM:]
    copy = copy_of(learner)
    samples = learner.n_steps * learner.n_envs
    per_epoch = samples // min(learner.batch_size, samples)
    task.close()
    call, reduce = cluster_times(copy.policy)
    gradients = sum(p.numel() * 4 for p in learner.policy.parameters())
    costs = Costs(
        collects,
        float(np.median(updates)),
        updates / np.median(updates),
        learner.n_epochs * per_epoch,
        samples,
        sum(t.numel() * t.element_size() for t in copy.policy.values()),
        gradients,
        call,
        reduce,
    )
    return costs, iterations_of(clock)


class _Echo:
    """A worker that joins groups."""

    def nothing(self, policy: Any) -> None:
        """Take a policy."""

    def reduce(self, rank: int, address: str, numbers: int, count: int) -> float:
        """Mean time of an average of `numbers` gradients, [s]."""
        group = GradientGroup(rank, 2, address)
        parameter = torch.zeros(numbers, requires_grad=True)
        parameter.grad = torch.ones(numbers)
        for _ in range(5):
            group.average([parameter])
        begin = time.perf_counter()
        for _ in range(count):
            group.average([parameter])
        seconds = (time.perf_counter() - begin) / count
        group.close()
        return seconds


def cluster_times(policy: dict[str, torch.Tensor]) -> tuple[float, float]:
    """Of a call with a policy and of an all-reduce, [s]."""
    numbers = sum(t.numel() for t in policy.values())
    with joined(2) as cluster:
        one, other = cluster.spawn(_Echo), cluster.spawn(_Echo)
        calls = []
        for _ in range(20):
            begin = time.perf_counter()
            cluster.result(cluster.call(one, "nothing", cluster.share(policy)))
            calls.append(time.perf_counter() - begin)
        address = f"127.0.0.1:{free_port()}"
        both = [
            cluster.call(worker, "reduce", rank, address, numbers, 50)
            for rank, worker in enumerate((one, other))
        ]
        reduce = max(cluster.result(reference) for reference in both)
    return float(np.median(calls)), reduce


def measured(
    cluster: Cluster,
    name: str,
    folder: Path,
    workers: int,
    count: int,
) -> list[float]:
    """Times of iterations of a real run, [s]."""
    task = task_of(name, folder, workers)
    fleet = Fleet(cluster, task, workers)
    try:
        return iterations_of(run(task, fleet.callbacks(), count))
    finally:
        fleet.close()


def main(argv: Sequence[str] | None = None) -> int:
    """Print what was measured and simulated; 1 if the two differ by over 10 %."""
    parser = Options(__doc__, rounds=2)
    parser.add_argument("--task", choices=("vr", "walk"), default="vr")
    parser.add_argument("--rounds", type=int, default=20, help="iterations of each run")
    args = parser.read(argv)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        costs, alone = costs_of(args.task, folder, args.rounds)
        real: dict[str, list[float]] = {"no worker": alone}
        with joined(2) as cluster:
            for workers in (1, 2):
                real[str(workers)] = measured(
                    cluster, args.task, folder, workers, args.rounds
                )
    medians = {key: float(np.median(times)) for key, times in real.items()}
    found: dict[str, Any] = {
        "machine": machine(),
        "collect_s": float(np.median(costs.collect)),
        "update_s": costs.update,
        "gradient_steps": costs.gradient_steps,
        "samples": costs.samples,
        "policy_mb": costs.policy_bytes / 1e6,
        "call_ms": 1e3 * costs.call,
        "all_reduce_ms": 1e3 * costs.reduce,
        "iteration_s": medians,
    }
    for key, value in found.items():
        print(f"{key:>16}: {value}")
    rows, differences = {}, {}
    for key, seconds in medians.items():
        workers = int(key) if key.isdigit() else 1
        speed = workers * costs.samples / seconds
        row: list[object] = [speed, speed / (costs.samples / medians["no worker"])]
        if key.isdigit():
            said = iteration(costs, workers, None)
            differences[key] = said / seconds - 1.0
            row += [workers * costs.samples / said, differences[key]]
        rows[key] = row
    columns = ("steps/s", "x no worker", "simulated", "difference")
    print_rows(f"{args.task}: here", columns, rows)
    found["here"] = rows
    found["beyond"] = beyond(costs, args.task)
    write(found, args)
    missed = judge(
        [(f"simulation, {k}", abs(d), "<=", 0.1) for k, d in differences.items()]
    )
    return exit_code(missed, args)


def beyond(costs: Costs, name: str) -> dict[str, Any]:
    """Print and return simulated speeds by network, [steps/s]."""
    found: dict[str, Any] = {}
    rows: dict[str, list[object]] = {}
    for gigabits in GIGABITS:
        network = Network(gigabits * 1e9 / 8.0, LATENCY)
        speeds = {n: n * costs.samples / iteration(costs, n, network) for n in WORKERS}
        end = saturation(speeds)
        shown = [f"{speeds[n]:,.0f}" for n in (1, 8, 64, 512, 1024)]
        share = all_reduce(costs, end, network) * costs.gradient_steps
        rows[f"{gigabits:g} Gbit/s"] = [*shown, end, share]
        found[f"{gigabits:g} Gbit/s"] = {
            "steps_per_second": speeds,
            "saturates_at": end,
        }
    columns = ("1", "8", "64", "512", "1024", "saturates at", "all-reduce [s]")
    print_rows(f"{name}: steps/s by workers", columns, rows)
    return found


if __name__ == "__main__":
    raise SystemExit(main())
