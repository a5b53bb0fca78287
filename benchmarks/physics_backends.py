"""MuJoCo and MuJoCo Warp beside each other: speed, traffic and difference.

    python benchmarks/physics_backends.py --bodies 1 64 1024

Each row plays the same control steps of the same bodies (actions of 0) on both back ends in
turn. `cpu` and `warp` are control steps of all bodies per second, `sent_KiB` and `fetched_KiB`
what travels between main memory and device for one body and control step, and `difference` the
largest difference of a position after `--compare` steps, [m] or [rad]. Without CUDA the device
is Warp's own CPU device, whose speed says nothing about a GPU.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from _harness import run

from ambulo.configs.locomotion import LocomotionConfig
from ambulo.envs.locomotion.batch import LocomotionBatch
from ambulo.envs.locomotion.build import make_batch
from ambulo.envs.simulation.simulation import CharacterSimulation

TASKS: dict[str, dict[str, Any]] = {
    "human23, torque": {"task": "imitate"},
    "myolegs, torque": {"character": "myolegs", "actuation": "torque"},
    "myolegs, muscle": {"character": "myolegs", "actuation": "muscle"},
}


def bodies(settings: dict[str, Any], backend: str, count: int) -> LocomotionBatch:
    """Bodies of a task, reset."""
    environment = {**settings, "backend": backend}
    config = LocomotionConfig.model_validate({"environment": environment})
    batch = make_batch(config, count, seed=1, threads=0)
    assert isinstance(batch, LocomotionBatch)
    batch.reset(np.arange(count))
    return batch


def play(batch: LocomotionBatch, steps: int) -> tuple[float, float]:
    """Seconds of `steps` control steps, and those of the physics in them."""
    physics: Any = batch.simulation._batch
    inner, spent = physics.step, 0.0

    def step(**options: Any) -> None:
        nonlocal spent
        begin = time.perf_counter()
        inner(**options)
        spent += time.perf_counter() - begin

    physics.step = step
    actions = np.zeros((batch.num_envs, batch.action_size))
    begin = time.perf_counter()
    for _ in range(steps):
        over = batch.step(actions)
        ended = np.flatnonzero(over[2] | over[3])
        if len(ended):
            batch.reset(ended)
    total = time.perf_counter() - begin
    physics.step = inner
    return total, spent


def traffic(simulation: CharacterSimulation) -> tuple[float, float]:
    """Single-precision KiB sent and fetched for one body and control step."""
    physics: Any = simulation._batch
    sent = sum(array[0].size for array in physics._fields.values())
    changed = sum(physics._fields[name][0].size for name in ("qpos", "qvel", "act"))
    fetched = changed + sum(array[0].size for array in physics._derived.values())
    scale = 4 * simulation.substeps / 1024
    return scale * sent, scale * fetched


def row_of(
    name: str, count: int, steps: int, compare: int, rounds: int
) -> dict[str, Any]:
    """Times of both back-ends for one task and number of bodies."""
    both = {b: bodies(TASKS[name], b, count) for b in ("cpu", "warp")}
    for batch in both.values():
        play(batch, compare)
    states = [batch.simulation.qpos for batch in both.values()]
    row: dict[str, Any] = {"difference": float(np.abs(states[0] - states[1]).max())}
    times: dict[str, list[tuple[float, float]]] = {backend: [] for backend in both}
    for _ in range(rounds):
        for backend, batch in both.items():
            times[backend].append(play(batch, steps))
    for backend, taken in times.items():
        total, spent = np.median(taken, axis=0)
        row[backend] = count * steps / total
        row[f"{backend} physics"] = spent / total
    row["sent_KiB"], row["fetched_KiB"] = traffic(both["warp"].simulation)
    return row


def measure(
    bodies: tuple[int, ...] = (1, 64, 1024), steps: int = 10, compare: int = 5, rounds: int = 3
) -> dict[str, Any]:  # fmt: skip
    """A row for each task and number of bodies."""
    rows = {
        f"{name}, {count}": row_of(name, count, steps, compare, rounds)
        for name in TASKS
        for count in bodies
    }
    return {"rows": rows}


if __name__ == "__main__":
    run(measure, {"bodies": [1, 2], "steps": 2, "compare": 2, "rounds": 1})
