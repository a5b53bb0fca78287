"""Do three worlds agree? Rays, equal actions and the same agents, in flat levels and others.

* `rays`: largest difference of readings from equal random poses, flat held-out levels, [m];
* `free`, `contact`: how far the same 200 actions end from the compiled world's in flat levels,
  for envs that touch nothing (largest) and that touch something (median), [m];
* `still`, `moving`: fraction of random walks of 20 s that end within 5 cm in levels with ramps,
  stairs, terrains and meshes, and with doors, carts, lifts and people beside;
* `scores`: the shipped agent and the planner in the same levels in each world.

    python benchmarks/world_parity.py
    python benchmarks/world_parity.py --sets heldout --episodes 300
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import Any

import numpy as np
from _harness import run

from ambulo.common.find_model import find_model
from ambulo.configs.arrays import Floats
from ambulo.configs.vr import NavigationConfig
from ambulo.envs.vr.families import FAMILIES
from ambulo.envs.vr.families.level_sets import split_level
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.levels.sample_levels import sample_level
from ambulo.envs.vr.task.bank import LevelBank
from ambulo.envs.vr.task.build import make_world
from ambulo.envs.vr.world.state import World
from ambulo.evaluate.vr.episodes import LevelSource
from ambulo.evaluate.vr.evaluation import evaluate
from ambulo.evaluate.vr.subjects import agent_subject, planner_subject
from ambulo.policies.agents.navigation import load_agent

CLOSE = 0.05
"""Walks that end nearer than this to each other are alike, [m]."""
HELD_OUT = "heldout"


def open_world(name: str, levels: Sequence[Level], rays: int = 16) -> World:
    """A world with env i in level i."""
    config = NavigationConfig().override("environment", world=name)
    config = config.override("observations", num_ray_sensors=rays)
    world = make_world(config, len(levels))
    everyone = np.arange(len(levels))
    world.set_levels(everyone, levels)
    world.seed(everyone, everyone)
    return world


def walk(world: World, poses: Floats, steps: int) -> tuple[Floats, Floats]:
    """Ends (N, 3) [m] of a random walk that mostly goes ahead, and who touched something."""
    rng, everyone = np.random.default_rng(0), np.arange(len(poses))
    world.reset(everyone, everyone, poses)
    touched, stick = np.zeros(len(poses), np.bool_), np.zeros((len(poses), 3))
    for _ in range(steps):
        stick = 0.9 * stick + 0.25 * rng.normal(size=stick.shape)
        state = world.step(np.clip(stick + np.array([0.0, 0.5, 0.0]), -1.0, 1.0))
        touched |= state.contact_ticks > 0
    return world.state.position.copy(), touched


def readings(world: World, levels: Sequence[Level], draws: int = 10) -> Floats:
    """Rays from random poses, shape (draws, N, R), [m]."""
    rng, everyone = np.random.default_rng(1), np.arange(len(levels))
    bounds = np.array([level.bounds for level in levels])
    out = []
    for _ in range(draws):
        spots = rng.uniform(bounds[:, :2], bounds[:, 2:])
        yaws = rng.uniform(-np.pi, np.pi, len(levels))
        world.reset(everyone, everyone, np.column_stack([spots, yaws]))
        out.append(world.state.rays.copy())
    return np.array(out)


def scores(model: str, world: str, levels: str, episodes: int) -> dict[str, Any]:
    """Success, SPL and collisions of an agent and the planner in one world."""
    agent = load_agent(find_model(model))
    config = agent.config.override("environment", world=world).at_comfort(0.0)
    plain = NavigationConfig().override("environment", world=world)
    split = HELD_OUT if levels == HELD_OUT else "validation"
    source = LevelSource(config, level_set=levels, split=split)
    subjects = {
        "agent": agent_subject(agent, config),
        "planner": planner_subject("planner", plain),
    }
    return {
        name: {
            "success": float(played.column("success").mean()),
            "SPL": float(played.spl().mean()),
            "collisions": float(played.column("collisions").mean()),
        }
        for name, played in evaluate(subjects, source, episodes, num_envs=8).items()
    }


def measure(
    model: str = "vr_navigation",
    levels: int = 200,
    flat_levels: int = 20,
    steps: int = 200,
    episodes: int = 100,
    worlds: tuple[str, ...] = ("mujoco", "godot"),
    sets: tuple[str, ...] = (HELD_OUT, "places", "crowd", "storeys", "doors", "lifts"),
) -> dict[str, Any]:
    """Every world beside the compiled one."""
    flat = [
        split_level(FAMILIES[i % len(FAMILIES)], HELD_OUT, 5000 + i)
        for i in range(flat_levels)
    ]
    rng = np.random.default_rng(0)
    bank = LevelBank(flat, rng)
    starts = np.array([bank.draw(rng, slot).pose for slot in range(flat_levels)])
    uneven = [sample_level(seed, moving=seed % 2 == 1) for seed in range(levels)]
    turned = np.zeros((levels, 3))
    turned[:, 2] = rng.uniform(-np.pi, np.pi, levels)
    found: dict[str, tuple[Floats, ...]] = {}
    for name in ("compiled", *worlds):
        with closing(open_world(name, flat)) as world:
            rays, (ends, touched) = readings(world, flat), walk(world, starts, steps)
        with closing(open_world(name, uneven, rays=4)) as world:
            found[name] = (rays, ends, touched, walk(world, turned, steps)[0])
    rows = {name: compared(found["compiled"], found[name]) for name in worlds}
    played = {
        s: {w: scores(model, w, s, episodes) for w in ("compiled", *worlds)} for s in sets
    }  # fmt: skip
    gaps = {
        f"{s}, {w}, {who}": {
            k: abs(played[s][w][who][k] - row[k]) for k in ("success", "SPL")
        }
        for s in sets
        for w in worlds
        for who, row in played[s]["compiled"].items()
    }
    return {"rows": rows, "scores": played, "gaps": gaps}


def compared(ours: tuple[Floats, ...], other: tuple[Floats, ...]) -> dict[str, float]:
    """Differences of two worlds, named in the first four lines of the module's docstring."""
    apart = np.linalg.norm(ours[1] - other[1], axis=1)
    touched = ours[2] | other[2]
    alike = np.linalg.norm(ours[3] - other[3], axis=1) <= CLOSE
    return {
        "rays": float(np.abs(ours[0] - other[0]).max()),
        "free": float(apart[~touched].max(initial=0.0)),
        "contact": float(np.median(apart[touched])) if touched.any() else 0.0,
        "touched": int(touched.sum()),
        "still": float(alike[::2].mean()),
        "moving": float(alike[1::2].mean()),
    }


if __name__ == "__main__":
    run(
        measure,
        {"levels": 4, "flat_levels": 2, "steps": 5, "episodes": 2, "sets": ["lifts"]},
        [
            ("rows.*.rays", "<=", 0.01), ("rows.*.free", "<=", 0.05),
            ("rows.*.contact", "<=", 0.15), ("rows.*.still", ">=", 0.95),
            ("rows.*.moving", ">=", 0.95), ("gaps.*.success", "<=", 0.02),
            ("gaps.*.SPL", "<=", 0.02),
        ],
    )  # fmt: skip
