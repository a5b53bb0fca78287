"""Do three worlds agree on levels with heights and moving things?

The same random walks of 20 s in the same sample levels (ramps, stairs, terrains, meshes, low
and hanging things; every second one with doors, carts, lifts and people), and the same agent
and planner in validation levels of places, crowds, storeys, doors and lifts. The compiled world
is what the others are compared with: its scores are in brackets.

    python benchmarks/vr_heights_parity.py --levels 200 --episodes 100
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from _harness import Options, exit_code, write

from ambulo.common.find_model import find_model
from ambulo.configs.arrays import Floats
from ambulo.configs.vr import NavigationConfig
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.levels.sample_levels import sample_level
from ambulo.envs.vr.task.build import make_world
from ambulo.evaluate.vr.episodes import LevelSource
from ambulo.evaluate.vr.evaluation import evaluate
from ambulo.evaluate.vr.subjects import agent_subject, planner_subject
from ambulo.policies.agents.navigation import load_agent

WORLDS = ("compiled", "mujoco", "godot")
SETS = ("places", "crowd", "storeys", "doors", "lifts")
PLANNER = "planner"
CLOSE = 0.05
"""Walks that end nearer than this to each other are alike, [m]."""
ALIKE = 0.95
"""Least share of walks that are alike."""
FORWARD = np.array([0.0, 0.5, 0.0])
GAPS = {"success": 0.02, "SPL": 0.02}
"""Largest differences of what an agent and the planner reach."""


def walk(world_name: str, levels: Sequence[Level], steps: int) -> tuple[Floats, Floats]:
    """Where random walks end, shape (N, 3) [m], and their collisions (all, people)."""
    count = len(levels)
    config = NavigationConfig().override("environment", world=world_name)
    config = config.override("observations", num_ray_sensors=4)  # not compared
    world = make_world(config, count)
    try:
        world.set_levels(range(count), levels)
        world.seed(np.arange(count), np.arange(count))
        rng = np.random.default_rng(0)
        poses = np.zeros((count, 3))
        poses[:, 2] = rng.uniform(-np.pi, np.pi, count)
        world.reset(np.arange(count), np.arange(count), poses)
        now = np.zeros((count, 3))
        collisions = np.zeros(2)
        for _ in range(steps):
            now = 0.9 * now + 0.25 * rng.normal(size=now.shape)
            state = world.step(np.clip(now + FORWARD, -1.0, 1.0))
            collisions += state.collisions.sum(), state.people_collisions.sum()
        return state.position.copy(), collisions
    finally:
        world.close()


def score(
    model: str, world: str, levels: str, episodes: int
) -> dict[str, dict[str, float]]:
    """Success, SPL and collisions of an agent and the planner in one world."""
    agent = load_agent(find_model(model))
    config = agent.config.override("environment", world=world).at_comfort(0.0)
    planner = planner_subject(
        PLANNER, NavigationConfig().override("environment", world=world)
    )
    source = LevelSource(config, level_set=levels, split="validation")
    subjects = {"agent": agent_subject(agent, config), PLANNER: planner}
    return {
        name: {
            "success": float(played.column("success").mean()),
            "SPL": float(played.spl().mean()),
            "collisions": float(played.column("collisions").mean()),
        }
        for name, played in evaluate(subjects, source, episodes, num_envs=8).items()
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Print a row per comparison with its target; 1 if one is missed."""
    parser = Options(__doc__, levels=4, steps=5, episodes=2, sets=["lifts"])
    parser.add_argument("--model", default="vr_navigation")
    parser.add_argument("--levels", type=int, default=200)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--episodes", type=int, default=100)
    parser.add_argument(
        "--worlds", nargs="+", choices=WORLDS[1:], default=list(WORLDS[1:])
    )
    parser.add_argument("--sets", nargs="+", default=list(SETS))
    args = parser.read(argv)
    levels = [sample_level(seed, moving=seed % 2 == 1) for seed in range(args.levels)]
    ends, collisions = walk("compiled", levels, args.steps)
    results: dict[str, Any] = {"levels": len(levels), "worlds": {}}
    missed = 0
    for name in args.worlds:
        others, touched = walk(name, levels, args.steps)
        apart = np.linalg.norm(others - ends, axis=1)
        shares = {
            "standing still": float((apart[::2] <= CLOSE).mean()),
            "moving": float((apart[1::2] <= CLOSE).mean()),
        }
        for kind, share in shares.items():
            missed += share < ALIKE
            print(
                f"{name:>7}, {kind:>14}: {share:.3f} of walks within {CLOSE} m "
                f"(target {ALIKE}) {'ok' if share >= ALIKE else 'MISSED'}"
            )
        print(
            f"{name:>7}: collisions {touched[0]:.0f}, with people {touched[1]:.0f} "
            f"(compiled: {collisions[0]:.0f}, {collisions[1]:.0f})"
        )
        results["worlds"][name] = shares
    for level_set in args.sets:
        scores = {
            name: score(args.model, name, level_set, args.episodes)
            for name in ("compiled", *args.worlds)
        }
        results[level_set] = scores
        for name in args.worlds:
            for who, expected in scores["compiled"].items():
                found = scores[name][who]
                gaps = {k: abs(found[k] - expected[k]) for k in GAPS}
                good = all(gaps[k] <= most for k, most in GAPS.items())
                missed += not good
                texts = [f"{k} {found[k]:.3f} ({expected[k]:.3f})" for k in found]
                print(
                    f"{name:>7}, {level_set}, {who}: {', '.join(texts)} "
                    f"{'ok' if good else 'MISSED'}"
                )
    write(results, args)
    return exit_code(missed, args)


if __name__ == "__main__":
    raise SystemExit(main())
