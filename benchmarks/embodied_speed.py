"""Speed of the bodies of VR navigation: the simulated character, its twin, the capsule.

Each world makes environment steps of N bodies under random sticks in generated levels, on
one thread, with its episodes begun anew at every round; rates are per second of processor
time, of the best round, because what disturbs only adds time. `physics` is the part of the
character's time inside MuJoCo.

    python benchmarks/embodied_speed.py --json docs/results/embodied_speed.json
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from _harness import Options, machine, write
from _timed import Timed

from ambulo.configs.presets.vr import preset
from ambulo.envs.vr.body.body_world import BodyWorld
from ambulo.envs.vr.task.batch import NavigationBatch
from ambulo.envs.vr.task.build import make_batch

BODIES = {"human23": 64, "twin": 256, "capsule": 256}
"""Environments at once of each body."""


def rounds(batch: NavigationBatch, count: int, steps: int) -> list[float]:
    """Processor time of each of `count` rounds of `steps` steps of the world, [s]."""
    rng, everyone = np.random.default_rng(0), np.arange(batch.num_envs)
    sticks, times = np.zeros((batch.num_envs, 3)), []
    for _ in range(count):
        batch.reset(everyone)
        begin = time.process_time()
        for _ in range(steps):
            sticks = 0.9 * sticks + 0.3 * rng.normal(size=sticks.shape)
            batch.world.step(sticks)
        times.append(time.process_time() - begin)
    return times


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print, and write the JSON file if one is named."""
    parser = Options(__doc__, rounds=1, steps=2)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--steps", type=int, default=15, help="of each round")
    args = parser.read(argv)
    config = preset("embodied_quick").override("environment", levels_per_family=8)
    rates: dict[str, float] = {}
    share = 0.0
    for body, count in BODIES.items():
        batch = make_batch(config.override("environment", body=body), count, seed=0)
        rounds(batch, 1, 1)  # compiles
        if isinstance(batch.world, BodyWorld):
            simulation = batch.world.batch.simulation
            physics = Timed(simulation._batch)
            simulation._batch = physics
        times = rounds(batch, args.rounds, args.steps)
        rates[body] = count * args.steps / min(times)
        if isinstance(batch.world, BodyWorld):
            share = physics.seconds / sum(times)
        print(f"{body:8s} {count:4d} at once {rates[body]:10,.0f} decisions/s")
        batch.close()
    print(f"physics: {share:.0%} of the character's time")
    write({"decisions_per_second": rates, "physics": share, "machine": machine()}, args)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
