"""Control steps per second of one environment and of batches, beside `mj_step` alone.

Each run makes control steps of `human23` (5 physics steps) along the suite's walk on one
thread:

- `env`: `gymnasium.make("ambulo/Imitate-v0")`, small random actions, reset after a fall;
- `batch N`: the batch of N bodies below the vector environment;
- `follow N`: N bodies under stable PD along the reference, without a task.

The `mj_step`s inside are timed in place. Rounds alternate between the runs; rates are per
second of processor time, so that other programs disturb less, and of the best round: what
disturbs only adds time.

    python benchmarks/control_step.py --json docs/results/control_step.json
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from _harness import Options, machine, print_rows, write

os.environ.setdefault("OMP_NUM_THREADS", "1")

import gymnasium
import mujoco
import numpy as np
from _timed import Timed, random_steps

from ambulo.configs.locomotion import LocomotionConfig
from ambulo.envs.locomotion.build import make_batch
from ambulo.envs.reference.linearization import follow, start
from ambulo.envs.simulation.simulation import CharacterSimulation


@dataclass(frozen=True)
class Run:
    """What is measured."""

    bodies: int
    """Control steps that a call of `step` makes."""
    step: Callable[[], None]
    physics: Timed
    """The physics inside."""


def timed(simulation: CharacterSimulation) -> Timed:
    """Let the physics of `simulation` be timed."""
    physics = Timed(simulation._batch)
    simulation._batch = physics  # type: ignore[assignment]
    return physics


def environment() -> Run:
    """One environment, with the wrappers that Gymnasium puts around it."""
    env = gymnasium.make("ambulo/Imitate-v0")
    env.reset(seed=0)
    rng = np.random.default_rng(0)
    shape = env.action_space.shape

    def step() -> None:
        action = rng.uniform(-0.1, 0.1, shape).astype(np.float32)
        _, _, terminated, truncated, _ = env.step(action)
        if terminated or truncated:
            env.reset()

    return Run(1, step, timed(env.unwrapped.batch.simulation))  # type: ignore[attr-defined]


def batch_of(bodies: int) -> Run:
    """A batch of `bodies`."""
    batch = make_batch(LocomotionConfig(), bodies, seed=0)
    return Run(bodies, random_steps(batch), timed(batch.simulation))


def followers(bodies: int) -> Run:
    """Simulations of `bodies` that begin along the walk and start anew after 2 s."""
    batch = make_batch(LocomotionConfig(), 1)
    table = batch.reference.gaits[0].table
    simulation = CharacterSimulation(batch.character, bodies)
    offsets = np.zeros((bodies, simulation.tangent.nv))
    times = np.arange(bodies) / bodies * table.period
    start(simulation, times, *table.at(times))

    def step() -> None:
        if simulation.time[0] > times[0] + 2.0:
            start(simulation, times, *table.at(times))
        follow(simulation, table, offsets)

    return Run(bodies, step, timed(simulation))


def rates(run: Run, seconds: float) -> tuple[float, float]:
    """Control steps per second of processor time, and per second inside `mj_step`."""
    done, inside, begin = 0, run.physics.seconds, time.process_time()
    while time.process_time() - begin < seconds:
        run.step()
        done += run.bodies
    elapsed = time.process_time() - begin
    return done / elapsed, done / (run.physics.seconds - inside)


def main() -> None:
    """Measure, print, and write the JSON file if one is named."""
    parser = Options(__doc__, batches=[2], rounds=1, seconds=0.05)
    parser.add_argument("--batches", type=int, nargs="+", default=[8, 64])
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--seconds", type=float, default=0.1, help="of each round")
    options = parser.read()
    runs = {"env": environment(), "follow 1": followers(1)}
    for bodies in options.batches:
        runs[f"batch {bodies}"] = batch_of(bodies)
        runs[f"follow {bodies}"] = followers(bodies)
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in runs}
    for run in runs.values():
        run.step()  # compiles
    for _ in range(options.rounds):
        for name, run in runs.items():
            found[name].append(rates(run, options.seconds))
    rows: dict[str, list[Any]] = {}
    for name, pairs in found.items():
        whole, alone = (float(value) for value in np.max(pairs, axis=0))
        rows[name] = [round(whole), round(alone), alone / whole]
    columns = ["control steps/s", "mj_step alone", "ratio"]
    print_rows("control steps of human23, best round", columns, rows)
    print(f"load average {os.getloadavg()[0]:.1f}")
    result = {name: dict(zip(columns, row, strict=True)) for name, row in rows.items()}
    write({"runs": result, "mujoco": mujoco.__version__} | machine(), options)


if __name__ == "__main__":
    main()
