"""Speed of the VR worlds: environment steps a second of each kind of level, world and body.

The same cluttered squares flat, with heights, with people, and in the plain MuJoCo world that
defines the compiled one; then bodies in generated levels. One thread and 16 rays; all take
turns, and the best round counts, in processor time: what disturbs only adds time.

    OMP_NUM_THREADS=1 python benchmarks/vr_speed.py
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from _harness import TimedPhysics, in_turn, run

from ambulo.configs.arrays import Floats
from ambulo.configs.presets import VR_PRESETS
from ambulo.envs.vr.body.body_world import BodyWorld
from ambulo.envs.vr.contract import WorldSpec
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.levels.moving import People
from ambulo.envs.vr.task.build import make_batch
from ambulo.envs.vr.world.compiled_world import CompiledWorld
from ambulo.envs.vr.world.mujoco_world import MujocoWorld
from ambulo.envs.vr.world.state import World

BODIES = {"human23": 64, "twin": 256, "capsule": 256}
"""Environments at once of each body."""


def clutter_level(seed: int, **settings: Any) -> Level:
    """A walled square of 16 m with 30 boxes and 10 cylinders; the middle is free."""
    rng, w, boxes, drums = np.random.default_rng(seed), 8.0, 30, 10
    walls = [
        [0.0, w, 1.5, w, 0.1, 1.5, 0.0], [0.0, -w, 1.5, w, 0.1, 1.5, 0.0],
        [w, 0.0, 1.5, 0.1, w, 1.5, 0.0], [-w, 0.0, 1.5, 0.1, w, 1.5, 0.0],
    ]  # fmt: skip
    angle = rng.uniform(-np.pi, np.pi, boxes + drums)
    far = rng.uniform(1.5, w, boxes + drums)
    x, y = far * np.cos(angle), far * np.sin(angle)
    half, yaw = rng.uniform(0.15, 0.4, (boxes, 2)), rng.uniform(-np.pi, np.pi, boxes)
    high = np.full(boxes, 0.6)
    blocks = np.column_stack([x[:boxes], y[:boxes], high, half, high, yaw])
    radius = rng.uniform(0.15, 0.35, drums)
    cylinders = np.column_stack([x[boxes:], y[boxes:], radius, np.ones(drums)])
    plain = Level(
        name=f"clutter-{seed}",
        bounds=np.array([-w, -w, w, w]),
        boxes=np.vstack([walls, blocks]),
        cylinders=cylinders,
    )
    return replace(plain, **settings)


def started(make: type[World], envs: int, **settings: Any) -> World:
    """A world with each env in a level of its own."""
    world = make(envs, WorldSpec())  # type: ignore[call-arg]
    everyone = np.arange(envs)
    world.set_levels(everyone, [clutter_level(k, **settings) for k in range(envs)])
    world.seed(everyone, everyone)
    world.reset(everyone, everyone, np.zeros((envs, 3)))
    return world


def walk(step: Callable[[Floats], object], sticks: Floats) -> None:
    """Step with each row of sticks (T, N, 3)."""
    for stick in sticks:
        step(stick)


def measure(
    envs: int = 64, people: int = 20, steps: int = 20, plain_envs: int = 8, rounds: int = 15
) -> dict[str, Any]:  # fmt: skip
    """Environment steps per second."""
    rng = np.random.default_rng(0)
    sticks = np.clip(rng.normal([0.0, 0.6, 0.0], 0.4, (steps, 256, 3)), -1.0, 1.0)
    crowd = {"heights": True, "people": People(count=people)}
    worlds = {
        "flat": started(CompiledWorld, envs),
        "heights": started(CompiledWorld, envs, heights=True),
        f"heights, {people} people": started(CompiledWorld, envs, **crowd),
        "flat, MuJoCo": started(MujocoWorld, plain_envs),
    }
    config = VR_PRESETS.load("embodied_quick").override(
        "environment", levels_per_family=8
    )
    for body, count in BODIES.items():
        batch = make_batch(config.override("environment", body=body), count, seed=0)
        batch.reset(np.arange(count))
        worlds[body] = batch.world
    physics = None
    if isinstance(character := worlds["human23"], BodyWorld):
        physics = TimedPhysics(character.batch.simulation)
    sizes = {name: len(world.state.position) for name, world in worlds.items()}
    runs = {
        name: partial(walk, world.step, sticks[:, : sizes[name]])
        for name, world in worlds.items()
    }
    in_turn(runs, 1)  # compiles
    before = physics.seconds if physics else 0.0
    times = in_turn(runs, rounds)
    rows: dict[str, dict[str, float]] = {
        name: {"envs": sizes[name], "steps_per_s": sizes[name] * steps / min(taken)}
        for name, taken in times.items()
    }
    if physics:
        rows["human23"]["physics"] = (physics.seconds - before) / sum(times["human23"])
    for world in worlds.values():
        world.close()
    return {"rows": rows}


if __name__ == "__main__":
    run(measure, {"envs": 2, "people": 3, "steps": 2, "plain_envs": 2, "rounds": 1})
