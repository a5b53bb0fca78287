"""Is the Godot world the MuJoCo world? The same levels, poses, actions and agent in both.

Three comparisons in one run, with their targets: rays from equal poses; the same 200
actions in 20 levels, for envs that touch something and envs that do not; and the
shipped agent on the same held-out levels. A target that is missed is exit code 1.

    python benchmarks/godot_parity.py --episodes 300 --json docs/results/godot_parity.json
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from _harness import Options, exit_code, write
from numpy.typing import NDArray

from ambulo.configs.vr import NavigationConfig
from ambulo.envs.vr.families import FAMILIES
from ambulo.envs.vr.families.level_sets import split_level
from ambulo.envs.vr.task.bank import LevelBank
from ambulo.envs.vr.task.build import make_world
from ambulo.envs.vr.world.state import World
from ambulo.evaluate.command import main as evaluate

WORLDS = ("mujoco", "godot")
FORWARD = np.array([0.0, 0.5, 0.0])
TARGETS = {
    "rays: largest difference [m]": 0.01,
    "open loop, free: largest distance [m]": 0.05,
    "open loop, contact: median distance [m]": 0.15,
    "agent: difference of success": 0.02,
    "agent: difference of SPL": 0.02,
}

FEWEST = 3
"""Fewest envs with and without contact, or the open-loop targets mean nothing."""


def make_bank(levels: int, seed: int) -> LevelBank:
    """Held-out levels, the families in turn, with drawn starts and goals."""
    chosen = [
        split_level(FAMILIES[i % len(FAMILIES)], "heldout", 5000 + i)
        for i in range(levels)
    ]
    return LevelBank(chosen, np.random.default_rng(seed))


def place(bank: LevelBank, worlds: Sequence[World], poses: NDArray[np.float64]) -> None:
    """Env i of each world at pose i in level i."""
    envs = np.arange(len(bank))
    for world in worlds:
        world.set_levels(range(len(bank)), bank.levels)
        world.reset(envs, envs, poses)


def wander(rng: np.random.Generator, count: int, steps: int) -> NDArray[np.float64]:
    """Smooth random sticks that mostly walk ahead, shape (steps, count, 3)."""
    actions = np.zeros((steps, count, 3))
    now = np.zeros((count, 3))
    for t in range(steps):
        now = 0.9 * now + 0.25 * rng.normal(size=(count, 3))
        actions[t] = np.clip(now + FORWARD, -1.0, 1.0)
    return actions


def compare_rays(worlds: Sequence[World], bank: LevelBank, seed: int) -> float:
    """Largest difference of a reading over random poses with floor, [m]."""
    rng = np.random.default_rng(seed)
    worst = 0.0
    for _ in range(10):
        bounds = np.array([level.bounds for level in bank.levels])
        share = rng.random((len(bounds), 2))
        poses = np.column_stack(
            [
                bounds[:, :2] + share * (bounds[:, 2:] - bounds[:, :2]),
                rng.uniform(-np.pi, np.pi, len(bounds)),
            ]
        )
        place(bank, worlds, poses)
        a, b = (world.state.rays for world in worlds)
        worst = max(worst, float(np.abs(a - b).max()))
    return worst


def compare_paths(
    worlds: Sequence[World], bank: LevelBank, seed: int, steps: int
) -> dict[str, float]:
    """How far apart equal actions end, for envs with and without contact, [m]."""
    rng = np.random.default_rng(seed)
    count = len(bank)
    starts = [bank.draw(rng, slot) for slot in range(count)]
    poses = np.array([start.pose for start in starts])
    slots = np.array([start.slot for start in starts])
    for world in worlds:
        world.set_levels(range(count), bank.levels)
        world.reset(np.arange(count), slots, poses)
    touched = np.zeros(count, bool)
    fell = np.zeros(count, bool)
    events = np.zeros((2, count))
    for action in wander(rng, count, steps):
        for w, world in enumerate(worlds):
            state = world.step(action)
            touched |= (state.contact_ticks > 0) & ~fell
            events[w] += state.collisions
        fell |= np.logical_or(*(world.state.position[:, 2] < 0 for world in worlds))
    ends = [world.state.position[:, :2] for world in worlds]
    apart = np.hypot(*(ends[0] - ends[1]).T)
    free = ~touched
    return {
        "players": count,
        "steps": steps,
        "free": int(free.sum()),
        "contact": int(touched.sum()),
        "free_largest": float(apart[free].max(initial=0.0)),
        "contact_median": float(np.median(apart[touched])) if touched.any() else 0.0,
        "contact_p90": float(np.quantile(apart[touched], 0.9))
        if touched.any()
        else 0.0,
        "contact_largest": float(apart[touched].max(initial=0.0)),
        "collisions_mujoco": float(events[0].sum()),
        "collisions_godot": float(events[1].sum()),
    }


def play(model: str, world: str, episodes: int, folder: str) -> dict[str, Any]:
    """Scores of the agent in one world."""
    out = Path(folder) / f"{world}.json"
    code = evaluate(
        [
            model, "--episodes", str(episodes), "--level-set", "heldout",
            "--baselines", "none", "--no-report", "--world", world, "--json", str(out),
        ]
    )  # fmt: skip
    if code:
        raise SystemExit(code)
    metrics = json.loads(out.read_text())["agents"]["policy"]
    return {name: row["value"] for name, row in metrics.items()}


def report(measured: Sequence[float], envs: Mapping[str, float]) -> int:
    """Print what was measured beside `TARGETS`, and who walked; how much was missed."""
    missed = 0
    for (name, target), value in zip(TARGETS.items(), measured, strict=True):
        good = value <= target  # never so for NaN
        missed += not good
        print(f"{name:>42}: {value:.4f} (target {target}) {'ok' if good else 'MISSED'}")
    for name, count in envs.items():
        good = count >= FEWEST
        missed += not good
        text = f"open loop, {name}: envs"
        print(f"{text:>42}: {count} (at least {FEWEST}) {'ok' if good else 'MISSED'}")
    return missed


def main(argv: Sequence[str] | None = None) -> int:
    """Compare, print a row per target, and write the JSON; 1 if a target is missed."""
    parser = Options(__doc__, episodes=2, levels=2, steps=20)
    parser.add_argument("--model", default="vr_navigation")
    parser.add_argument("--episodes", type=int, default=300)
    parser.add_argument("--levels", type=int, default=20)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.read(argv)
    bank = make_bank(args.levels, args.seed)
    worlds = [
        make_world(NavigationConfig().override("environment", world=name), args.levels)
        for name in WORLDS
    ]
    try:
        rays = compare_rays(worlds, bank, args.seed)
        paths = compare_paths(worlds, bank, args.seed, args.steps)
    finally:
        for world in worlds:
            world.close()
    with tempfile.TemporaryDirectory() as folder:
        scores = {w: play(args.model, w, args.episodes, folder) for w in WORLDS}
    a, b = (scores[name] for name in WORLDS)
    measured = (
        rays,
        paths["free_largest"],
        paths["contact_median"],
        abs(a["success_rate"] - b["success_rate"]),
        abs(a["spl"] - b["spl"]),
    )
    missed = report(measured, {name: paths[name] for name in ("free", "contact")})
    for name, row in scores.items():
        print(
            f"{name:>8}: success {row['success_rate']:.3f}, SPL {row['spl']:.3f}, "
            f"collisions {row['collisions_per_episode']:.2f}"
        )
    write({"rays": rays, "open_loop": paths, "agent": scores}, args)
    return exit_code(missed, args)


if __name__ == "__main__":
    raise SystemExit(main())
