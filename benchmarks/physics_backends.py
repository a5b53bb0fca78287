"""MuJoCo and MuJoCo Warp beside each other: speed, traffic and difference.

    python benchmarks/physics_backends.py --bodies 1 64 1024

Each row plays the same `--steps` control steps of the same bodies (actions of 0) on both
back ends in turn. "decisions/s" are control steps of all bodies per second, "physics %" is
the share of the physics in that time, "sent KiB" and "fetched KiB" what travels between main
memory and device for one body and control step, and "difference" the largest difference of a
position between the back ends after `--compare` steps, [m] or [rad]. The device is told
above the table: without CUDA it is Warp's own CPU device, whose speed says nothing about a GPU.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from _harness import Options, machine, print_rows, write

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


def measured(name: str, count: int, args: argparse.Namespace) -> dict[str, Any]:
    """What the module promises, for one task and number of bodies."""
    both = {b: bodies(TASKS[name], b, count) for b in ("cpu", "warp")}
    for batch in both.values():
        play(batch, args.compare)
    states = [batch.simulation.qpos for batch in both.values()]
    row: dict[str, Any] = {"difference": float(np.abs(states[0] - states[1]).max())}
    times = {backend: [play(b, args.steps)] for backend, b in both.items()}
    for _ in range(args.rounds - 1):
        for backend, batch in both.items():
            times[backend].append(play(batch, args.steps))
    for backend, rounds in times.items():
        total, spent = np.median(rounds, axis=0)
        row[backend] = count * args.steps / total
        row[f"{backend} physics"] = spent / total
    row["sent_KiB"], row["fetched_KiB"] = traffic(both["warp"].simulation)
    return row


def main() -> int:
    """Measure and print; 0."""
    options = Options(__doc__, bodies=[1, 2], steps=2, compare=2, rounds=1)
    options.add_argument("--bodies", type=int, nargs="+", default=[1, 64, 1024])
    options.add_argument("--steps", type=int, default=10)
    options.add_argument("--compare", type=int, default=5, metavar="STEPS")
    options.add_argument("--rounds", type=int, default=3)
    args = options.read()
    probe: Any = bodies(TASKS["human23, torque"], "warp", 1).simulation._batch
    device, rows, result = probe.device, {}, {}
    for name in TASKS:
        for count in args.bodies:
            row = measured(name, count, args)
            result[f"{name}, {count}"] = row
            rows[f"{name}, {count}"] = [
                row["cpu"], row["warp"], row["warp"] / row["cpu"],
                100 * row["cpu physics"], 100 * row["warp physics"],
                row["sent_KiB"], row["fetched_KiB"], row["difference"],
            ]  # fmt: skip
    print_rows(
        f"MuJoCo on {machine()['cores']} cores, MuJoCo Warp on {device}",
        [
            "cpu decisions/s", "warp decisions/s", "ratio", "cpu physics %",
            "warp physics %", "sent KiB", "fetched KiB", "difference",
        ],
        rows,
    )  # fmt: skip
    write({"machine": machine(), "device": device, "rows": result}, args)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
