"""Speed of the VR worlds: the compiled one, and the plain one in MuJoCo that defines it.

One thread; the two are measured in turn, and the medians are printed.

    python benchmarks/vr_world_speed.py --players 64 --repetitions 15
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
from _harness import Options, in_turn, write

from ambulo.envs.vr.contract import WorldSpec
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.world.compiled_world import CompiledWorld
from ambulo.envs.vr.world.mujoco_world import MujocoWorld
from ambulo.envs.vr.world.state import World

W = TypeVar("W", bound=World)

_HALF = 8.0
_BOXES, _CYLINDERS = 30, 10
_CLEAR = 1.5
"""Free radius around the start, [m]."""


def clutter_level(seed: int) -> Level:
    """A walled square with 30 boxes and 10 cylinders; the middle is free."""
    rng = np.random.default_rng(seed)
    w = _HALF
    walls = [
        [0.0, w, 1.5, w, 0.1, 1.5, 0.0],
        [0.0, -w, 1.5, w, 0.1, 1.5, 0.0],
        [w, 0.0, 1.5, 0.1, w, 1.5, 0.0],
        [-w, 0.0, 1.5, 0.1, w, 1.5, 0.0],
    ]
    angle = rng.uniform(-np.pi, np.pi, _BOXES + _CYLINDERS)
    far = rng.uniform(_CLEAR, w, _BOXES + _CYLINDERS)
    x, y = far * np.cos(angle), far * np.sin(angle)
    half = rng.uniform(0.15, 0.4, (_BOXES, 2))
    yaw = rng.uniform(-np.pi, np.pi, _BOXES)
    high = np.full(_BOXES, 0.6)
    boxes = np.column_stack([x[:_BOXES], y[:_BOXES], high, half, high, yaw])
    radius = rng.uniform(0.15, 0.35, _CYLINDERS)
    cylinders = np.column_stack([x[_BOXES:], y[_BOXES:], radius, np.ones(_CYLINDERS)])
    return Level(
        name=f"clutter-{seed}",
        bounds=np.array([-w, -w, w, w]),
        boxes=np.vstack([walls, boxes]),
        cylinders=cylinders,
    )


def started(world: W, envs: int) -> W:
    """`world` with each env in a level of its own."""
    world.set_levels(range(envs), [clutter_level(seed) for seed in range(envs)])
    world.reset(np.arange(envs), np.arange(envs), np.zeros((envs, 3)))
    return world


def main(argv: Sequence[str] | None = None) -> int:
    """Print environment steps per second and their ratio."""
    parser = Options(__doc__, envs=2, decisions=2, repetitions=1)
    parser.add_argument("--players", type=int, default=64)
    parser.add_argument("--decisions", type=int, default=20)
    parser.add_argument("--repetitions", type=int, default=15)
    args = parser.read(argv)
    envs, decisions = args.players, args.decisions

    spec = WorldSpec()
    rng = np.random.default_rng(0)
    actions = rng.uniform(-1.0, 1.0, (decisions, envs, 3))
    actions[:, :, 1] = np.abs(actions[:, :, 1])

    def walks(world: World) -> Callable[[], None]:
        def run() -> None:
            for batch in actions:
                world.step(batch)

        return run

    runs = {
        kind.__name__: walks(started(kind(envs, spec), envs))
        for kind in (CompiledWorld, MujocoWorld)
    }
    for run in runs.values():
        run()
    times = in_turn(runs, args.repetitions)
    rates = {
        name: envs * decisions / float(np.median(taken))
        for name, taken in times.items()
    }
    print(
        f"{envs} envs, {spec.ticks_per_decision} ticks and {spec.num_rays} rays"
        f" a step, {args.repetitions} repetitions, one thread"
    )
    for name, rate in rates.items():
        print(f"{name:12s} {rate:10,.0f} steps/s")
    write({"steps_per_second": rates}, args)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
