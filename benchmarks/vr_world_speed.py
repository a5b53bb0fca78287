"""Speed of the VR worlds: MuJoCo's bare cost, the MuJoCo world, the compiled world.

Bare: the `mj_step` calls of a decision and one `mj_multiRay`, called from compiled code
and nothing else, on equal models with the envs at rest where the world has them (so
without the cost of pushing at obstacles, which the worlds pay). One thread; the three
are measured in turn, and the medians are printed.

    python benchmarks/vr_world_speed.py --players 64 --repetitions 15
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
from _harness import Options, in_turn, write

from ambulo.configs.arrays import Floats
from ambulo.envs.vr.contract import WorldSpec
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.world import mujoco_kernels
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
    """Print decisions per second and ratios."""
    parser = Options(__doc__, envs=2, decisions=2, repetitions=1)
    parser.add_argument("--players", type=int, default=64)
    parser.add_argument("--decisions", type=int, default=20)
    parser.add_argument("--repetitions", type=int, default=15)
    args = parser.read(argv)
    envs, decisions = args.players, args.decisions

    spec = WorldSpec()
    world = started(MujocoWorld(envs, spec), envs)
    kernel = started(CompiledWorld(envs, spec), envs)
    rng = np.random.default_rng(0)
    actions = rng.uniform(-1.0, 1.0, (decisions, envs, 3))
    actions[:, :, 1] = np.abs(actions[:, :, 1])
    still = started(MujocoWorld(envs, spec), envs)

    def repeat(step: Callable[[Floats], object]) -> None:
        for batch in actions:
            step(batch)

    runs: dict[str, Callable[[Floats], object]] = {
        "bare mj_step + mj_multiRay": bare_decision(still),
        "MujocoWorld": world.step,
        "CompiledWorld": kernel.step,
    }
    for step in runs.values():
        repeat(step)

    def whole(name: str) -> Callable[[], None]:
        def run() -> None:
            repeat(runs[name])

        return run

    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(args.repetitions):
        rest_at(still, world.state.position)
        for name, taken in in_turn({name: whole(name) for name in runs}, 1).items():
            times[name] += taken
    rates = {
        name: envs * decisions / float(np.median(taken))
        for name, taken in times.items()
    }
    ratios = np.divide(times["bare mj_step + mj_multiRay"], times["MujocoWorld"])
    print(
        f"{envs} envs, {spec.ticks_per_decision} ticks and {spec.num_rays} rays"
        f" a decision, {args.repetitions} repetitions, one thread"
    )
    for name, rate in rates.items():
        print(f"{name:28s} {rate:10,.0f} decisions/s")
    write({"decisions_per_second": rates, "over_bare": float(np.median(ratios))}, args)
    print(f"{'MujocoWorld / bare':28s} {np.median(ratios):10.2f} (median of pairs)")
    return 0


def rest_at(world: MujocoWorld, position: Floats) -> None:
    """Put MuJoCo's state of every env at rest at `position`."""
    for scene, point in zip(world._scenes, position, strict=True):
        assert scene is not None
        scene.data.qpos[:] = point[:2]
        scene.data.qvel[:] = 0.0


def bare_decision(world: MujocoWorld) -> Callable[[Floats], object]:
    """The MuJoCo calls of one decision of every env of `world`, and nothing else."""
    spec = world.spec
    models, datas = (world._addresses[k].copy() for k in (0, 1))
    angle = np.arange(spec.num_rays) * 2.0 * np.pi / spec.num_rays
    directions = np.column_stack([np.cos(angle), np.sin(angle), 0.0 * angle])
    point, distance = np.zeros(3), np.zeros(spec.num_rays)

    def decide(_: Floats) -> None:
        mujoco_kernels.bare_steps(models, datas, spec.ticks_per_decision)
        mujoco_kernels.bare_rays(
            models, datas, point, directions, distance, spec.ray_length
        )

    return decide


if __name__ == "__main__":
    raise SystemExit(main())
