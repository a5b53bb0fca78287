"""Do three worlds agree on levels with heights and moving things?

The same random walks of 20 s in the same sample levels (ramps, stairs, terrains, meshes, low
and hanging things; every second one with doors, carts, lifts and people), and the same agent
in levels of the families with heights and things that move. The compiled world is what the
others are compared with.

    python benchmarks/vr_heights_parity.py --levels 200 --episodes 100
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from _harness import Options, exit_code, write

from ambulo.configs.arrays import Floats
from ambulo.configs.vr import NavigationConfig
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.levels.sample_levels import sample_level
from ambulo.envs.vr.task.build import make_world
from ambulo.evaluate.command import main as evaluate

WORLDS = ("compiled", "mujoco", "godot")
SETS = ("places", "moving")
CLOSE = 0.05
"""Walks that end nearer than this to each other are alike, [m]."""
ALIKE = 0.95
"""Least share of walks that are alike."""
FORWARD = np.array([0.0, 0.5, 0.0])
SUCCESS = 0.03
"""Largest difference of success."""


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


def score(model: str, world: str, levels: str, episodes: int) -> dict[str, float]:
    """Success and SPL of an agent in one world."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "scores.json"
        code = evaluate(
            [
                model, "--episodes", str(episodes), "--level-set", levels,
                "--baselines", "none", "--no-report", "--world", world,
                "--json", str(out),
            ]
        )  # fmt: skip
        if code:
            raise SystemExit(code)
        metrics = json.loads(out.read_text())["agents"]["policy"]
    return {name: metrics[name]["value"] for name in ("success_rate", "spl")}


def main(argv: Sequence[str] | None = None) -> int:
    """Print a row per comparison with its target; 1 if one is missed."""
    parser = Options(__doc__, levels=4, steps=5, episodes=2)
    parser.add_argument("--model", default="vr_navigation")
    parser.add_argument("--levels", type=int, default=200)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--episodes", type=int, default=100)
    parser.add_argument(
        "--worlds", nargs="+", choices=WORLDS[1:], default=list(WORLDS[1:])
    )
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
    for level_set in SETS:
        scores = {
            name: score(args.model, name, level_set, args.episodes)
            for name in ("compiled", *args.worlds)
        }
        results[level_set] = scores
        for name in args.worlds:
            gap = abs(scores[name]["success_rate"] - scores["compiled"]["success_rate"])
            missed += gap > SUCCESS
            print(
                f"{name:>7}, {level_set}: success {scores[name]['success_rate']:.3f}, "
                f"compiled {scores['compiled']['success_rate']:.3f}, difference {gap:.3f} "
                f"(target {SUCCESS}) {'ok' if gap <= SUCCESS else 'MISSED'}"
            )
    write(results, args)
    return exit_code(missed, args)


if __name__ == "__main__":
    raise SystemExit(main())
