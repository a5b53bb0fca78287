"""Speed of the compiled world with heights and people, beside flat levels.

The same cluttered squares are stepped flat, with heights, and with heights and a crowd; one
thread, 16 rays. Repetitions of the three go in turn, and medians are printed.

    python benchmarks/vr_crowd_speed.py --envs 64 --people 20 --repetitions 15
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Sequence

import numpy as np
from _harness import Options, in_turn, write
from vr_world_speed import clutter_level

from ambulo.envs.vr.contract import WorldSpec
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.levels.moving import People
from ambulo.envs.vr.world.compiled_world import CompiledWorld

_WARM = 10
"""Steps before the first measurement: people are under way then."""


def crowded(seed: int, people: int | None) -> Level:
    """A cluttered square, with heights and `people` unless that is None."""
    level = clutter_level(seed)
    if people is None:
        return level
    return dataclasses.replace(level, heights=True, people=People(count=people))


def started(envs: int, people: int | None) -> CompiledWorld:
    """A world with each env in a level of its own."""
    world = CompiledWorld(envs, WorldSpec())
    world.set_levels(range(envs), [crowded(seed, people) for seed in range(envs)])
    world.seed(np.arange(envs), np.arange(envs))
    world.reset(np.arange(envs), np.arange(envs), np.zeros((envs, 3)))
    return world


def main(argv: Sequence[str] | None = None) -> int:
    """Print environment steps per second."""
    parser = Options(__doc__, envs=2, people=3, steps=2, repetitions=1)
    parser.add_argument("--envs", type=int, default=64)
    parser.add_argument("--people", type=int, default=20)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--repetitions", type=int, default=15)
    args = parser.read(argv)
    envs, steps = args.envs, args.steps
    worlds = {
        "flat": started(envs, None),
        "heights": started(envs, 0),
        f"heights, {args.people} people": started(envs, args.people),
    }
    rng = np.random.default_rng(0)
    actions = rng.uniform(-1.0, 1.0, (steps, envs, 3))
    actions[:, :, 1] = np.abs(actions[:, :, 1])

    def walk(world: CompiledWorld) -> Callable[[], None]:
        def run() -> None:
            for batch in actions:
                world.step(batch)

        return run

    runs = {name: walk(world) for name, world in worlds.items()}
    for run in runs.values():
        for _ in range(_WARM):
            run()
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(args.repetitions):
        for name, taken in in_turn(runs, 1).items():
            times[name] += taken
    rates = {name: envs * steps / float(np.median(t)) for name, t in times.items()}
    load = os.getloadavg()[0]
    print(
        f"{envs} envs, {WorldSpec().num_rays} rays, {args.repetitions} repetitions, "
        f"one thread; load of the machine {load:.1f}"
    )
    flat = times["flat"]
    for name, rate in rates.items():
        ratio = float(np.median(np.divide(flat, times[name])))
        print(f"{name:22s} {rate:10,.0f} env steps/s, {ratio:.2f} of flat")
    write({"steps_per_second": rates, "load": load}, args)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
