"""How a training scales over Ray workers of this machine, which need a free core each.

Each worker has the preset's environments, and its samples of a gradient step.

    python benchmarks/scaling.py --task vr       # or walk
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from _harness import run
from stable_baselines3.common.callbacks import BaseCallback, CallbackList

from ambulo.configs.presets import LOCOMOTION_PRESETS, VR_PRESETS
from ambulo.policies.learner import learn_until
from ambulo.train.locomotion.training import LocomotionTraining, read_parts
from ambulo.train.shared.cluster import joined
from ambulo.train.shared.fleet import Fleet
from ambulo.train.shared.rl_task import RLTask
from ambulo.train.shared.run_folders import LocomotionRunFolder, NavigationRunFolder
from ambulo.train.vr.training import NavigationTraining

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
        config = VR_PRESETS.load("full_training")
        config = config.override("environment", levels_per_family=20)
        config = _larger(config, factor)
        return NavigationTraining(
            config, NavigationRunFolder(folder), remote=workers > 0
        )
    walk = _larger(LOCOMOTION_PRESETS.load("stand"), factor)
    run = LocomotionRunFolder(folder)
    return LocomotionTraining(
        walk, run, read_parts(walk, run, None), remote=workers > 0
    )


def _larger(config: Any, factor: int) -> Any:
    envs = factor * config.environment.num_environments
    config = config.override("environment", num_environments=envs)
    return config.override("ppo", batch_size=factor * config.ppo.batch_size)


class _Clock(BaseCallback):
    """Times at which roll-outs begin."""

    def __init__(self) -> None:
        super().__init__()
        self.starts: list[float] = []

    def _on_step(self) -> bool:
        return True

    def _on_rollout_start(self) -> None:
        self.starts.append(time.perf_counter())


def clocked(
    task: RLTask[Any], callbacks: Sequence[BaseCallback], count: int
) -> list[float]:
    """Times of `count` iterations, [s]."""
    clock, learner = _Clock(), task.learner
    total = (count + WARM + 1) * learner.n_steps * learner.n_envs
    learn_until(learner, total, CallbackList([*callbacks, clock]), log_interval=None)
    times: list[float] = np.diff(clock.starts)[WARM:].tolist()
    return times


def measure(
    task: str = "vr", workers: tuple[int, ...] = (1, 2), rounds: int = 20
) -> dict[str, Any]:
    """Steps a second without workers and with some."""
    with tempfile.TemporaryDirectory() as name:
        alone = task_of(task, Path(name), 0)
        samples = alone.learner.n_steps * alone.learner.n_envs
        times = {"none": clocked(alone, alone.environment_callbacks(), rounds)}
        alone.close()
        with joined(max(workers)) as cluster:
            for count in workers:
                remote = task_of(task, Path(name), count)
                fleet = Fleet(cluster, remote, count)
                try:
                    times[str(count)] = clocked(
                        remote, fleet.environment_callbacks(), rounds
                    )
                finally:
                    fleet.close()
    rates = {
        name: (int(name) if name.isdigit() else 1) * samples / float(np.median(taken))
        for name, taken in times.items()
    }
    rows = {n: {"steps_per_s": r, "ratio": r / rates["none"]} for n, r in rates.items()}
    return {"task": task, "rows": rows}


if __name__ == "__main__":
    run(measure, {"rounds": 2, "workers": [1]})
