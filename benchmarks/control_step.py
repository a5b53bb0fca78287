"""Control steps per second of one environment and of batches, beside `mj_step` alone.

Each run makes control steps of `human23` (5 physics steps) along the suite's walk on one
thread:

- `env`: `gymnasium.make("ambulo/Imitate-v0")`, small random actions, reset after a fall;
- `batch N`: the batch of N bodies below the vector environment;
- `follow N`: N bodies under stable PD along the reference, without a task.

The `mj_step`s inside are timed in place. Rounds alternate between the runs; rates are per
second of processor time, so that other programs disturb less, and of the best round: what
disturbs only adds time.

    python benchmarks/control_step.py
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

from _harness import TimedPhysics, run

os.environ.setdefault("OMP_NUM_THREADS", "1")

import gymnasium
import numpy as np

from ambulo.configs.locomotion import LocomotionConfig
from ambulo.envs.locomotion.build import make_batch
from ambulo.envs.reference.linearization import follow, start
from ambulo.envs.simulation.simulation import CharacterSimulation

Run = tuple[int, Callable[[], None], TimedPhysics]
"""Bodies, a control step of all of them, and the physics inside."""


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

    return 1, step, TimedPhysics(env.unwrapped.batch.simulation)  # type: ignore[attr-defined]


def batch_of(bodies: int) -> Run:
    """A batch of `bodies`."""
    batch = make_batch(LocomotionConfig(), bodies, seed=0)
    batch.reset(np.arange(bodies))
    rng = np.random.default_rng(0)

    def step() -> None:
        actions = rng.uniform(-0.1, 0.1, (bodies, batch.action_size))
        _, _, terminated, truncated, _ = batch.step(actions)
        if (done := terminated | truncated).any():
            batch.reset(np.flatnonzero(done))

    return bodies, step, TimedPhysics(batch.simulation)


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

    return bodies, step, TimedPhysics(simulation)


def measure(
    batches: tuple[int, ...] = (8, 64), rounds: int = 40, seconds: float = 0.1
) -> dict[str, Any]:
    """Control steps a second, those of `mj_step` alone, and their ratio, of the best round."""
    runs = {"env": environment(), "follow 1": followers(1)}
    for count in batches:
        runs |= {f"batch {count}": batch_of(count), f"follow {count}": followers(count)}
    best = {name: np.zeros(2) for name in runs}
    for round_ in range(rounds + 1):
        for name, (count, step, physics) in runs.items():
            done, inside, begin = 0, physics.seconds, time.process_time()
            while not done or time.process_time() - begin < seconds:
                step()
                done += count
            spent = time.process_time() - begin, physics.seconds - inside
            if round_:  # the first one compiles
                best[name] = np.maximum(best[name], np.divide(done, spent))
    rows = {
        name: {"steps_per_s": whole, "mj_step_alone": alone, "ratio": alone / whole}
        for name, (whole, alone) in ((n, v.tolist()) for n, v in best.items())
    }
    return {"rows": rows}


if __name__ == "__main__":
    run(measure, {"batches": [2], "rounds": 1, "seconds": 0.05})
