"""How many decisions a second come out of one Godot engine: ours beside godot-rl 0.8.2.

One engine process, 16 rays, 9 physics ticks an action, for one agent and for a batch. Each
measurement starts an engine of its own, and the sides take turns. Both play our world code, so
that only the protocol and the way of stepping differ: ours is binary over a keep-alive socket
and moves agents within the request; godot-rl's `GodotEnv`, from PyPI and in a venv of its own,
speaks JSON over TCP to the scene of `benchmarks/godot_peer` and lets the engine tick.

Made equal: engine program, headless; held-out levels, random actions, starts and goals; an
episode ends with a fall or after `--limit` decisions and goes on in the next level; both loops
end with the 48 published numbers of an agent in a float32 array. godot-rl's best settings are
used: it starts the engine itself with `action_repeat` 9 and `framerate` 10, which is nine ticks
in one engine frame and no real time, and one worker thread.

    python benchmarks/godot_speed.py
"""

from __future__ import annotations

import contextlib
import json
import shutil
import signal
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from _godot_peer import PEER_PACKAGES, PeerGame, peer_project
from _harness import run

from ambulo.configs.arrays import Floats
from ambulo.envs.godot.locate import find_project
from ambulo.envs.godot.world import GodotWorld
from ambulo.envs.vr.contract import WorldSpec
from ambulo.envs.vr.families import FAMILIES
from ambulo.envs.vr.families.level_sets import split_level
from ambulo.envs.vr.levels.level_io import level_data
from ambulo.envs.vr.task.bank import LevelBank
from ambulo.envs.vr.task.observation import observe

SHARED = (
    "world", "contract.gd", "spec.gd", "checks.gd",
    "policy/observation.gd", "policy/memory.gd",
)  # fmt: skip
"""Parts of our add-on that the peer scene uses: level files, observation, world."""


@dataclass(frozen=True)
class Task:
    """Set-up of both sides for one number of agents."""

    bank: LevelBank
    starts: Floats
    """Start of each level: x, y, yaw."""
    goals: Floats
    """Goal of each level: x, y, 0."""
    actions: Floats
    """Shape (T, N, 3)."""
    limit: int
    """Most decisions of an episode."""
    warm_up: int
    """Decisions before the clock starts."""

    @classmethod
    def make(cls, agents: int, decisions: int, limit: int, levels: int) -> Task:
        """Held-out levels, the families in turn, and smooth sticks that mostly go ahead."""
        rng = np.random.default_rng(0)
        chosen = [
            split_level(FAMILIES[k % len(FAMILIES)], "heldout", 7000 + k)
            for k in range(levels)
        ]
        bank = LevelBank(chosen, rng)
        drawn = [bank.draw(rng, slot) for slot in range(levels)]
        goals = np.array([bank.goals[start.slot, start.goal] for start in drawn])
        actions, now = np.zeros((decisions, agents, 3)), np.zeros((agents, 3))
        for action in actions:
            now = 0.9 * now + 0.25 * rng.normal(size=(agents, 3))
            action[:] = np.clip(now + np.array([0.0, 0.5, 0.0]), -1.0, 1.0)
        starts = np.array([start.pose for start in drawn])
        return cls(bank, starts, goals, actions, limit, min(decisions, 200))


Sample = tuple[float, Floats]
"""Seconds, and the observations (T, N, 48)."""


def ours(task: Task) -> Sample:
    """Through the world that training uses."""
    agents = task.actions.shape[1]
    everyone = np.arange(agents)
    seen = np.zeros((*task.actions.shape[:2], 48), np.float32)
    with contextlib.closing(GodotWorld(agents, WorldSpec())) as world:
        world.set_levels(range(len(task.bank)), task.bank.levels)
        for slot in range(len(task.bank)):  # so that the engine holds them all
            world.reset(np.zeros(1, int), np.array([slot]), task.starts[[slot]])
        for actions in (task.actions[: task.warm_up], task.actions):
            at, made = everyone % len(task.starts), np.zeros(agents, int)
            world.reset(everyone, at, task.starts[at])
            begin = time.perf_counter()
            for action, out in zip(actions, seen, strict=False):
                state = world.step(action)
                made += 1
                over = np.flatnonzero(state.fell | (made >= task.limit))
                if len(over):
                    at[over] = (at[over] + 1) % len(task.starts)
                    made[over] = 0
                    world.reset(over, at[over], task.starts[at[over]])
                observe(state, task.goals[at], task.starts[at], "world", out)
        seconds = time.perf_counter() - begin
        if world.faults.total():
            raise RuntimeError(f"the engine had faults: {dict(world.faults)}")
    return seconds, seen


class Peer:
    """godot-rl, and a copy of the scene that it drives."""

    def __init__(self, folder: Path) -> None:
        """Build the scene in `folder`."""
        self._folder = folder
        project = peer_project(folder / "peer")
        for name in SHARED:
            source = find_project() / "addons" / "ambulo_rl" / name
            target = project / "ambulo_rl" / name
            target.parent.mkdir(parents=True, exist_ok=True)
            (shutil.copytree if source.is_dir() else shutil.copy)(source, target)
        self._game = PeerGame(folder, project)

    def __call__(self, task: Task) -> Sample:
        """One measurement; the driver and its engine end with it."""
        setup = {
            "agents": task.actions.shape[1],
            "limit": task.limit,
            "levels": [level_data(level) for level in task.bank.levels],
            "starts": task.starts.tolist(),
            "goals": task.goals.tolist(),
        }
        file = self._folder / "setup.json"
        file.write_text(json.dumps(setup))
        launch = {"action_repeat": 9, "framerate": 10, "setup": str(file)}
        result, seen = self._game.measure(launch, len(task.actions), task.actions)
        return result["seconds"], seen


def measure(
    agents: tuple[int, ...] = (1, 16),
    decisions: int = 3600,
    batches: int = 900,
    limit: int = 100,
    levels: int = 18,
    rounds: int = 5,
) -> dict[str, Any]:
    """Decisions of all agents a second, and how far apart the two walks are, [m]."""
    rows: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory(prefix="ambulo-speed-") as text:
        sides = {"ambulo": ours, PEER_PACKAGES[0]: Peer(Path(text))}
        for count in agents:
            task = Task.make(count, decisions if count == 1 else batches, limit, levels)
            samples: dict[str, list[Sample]] = {name: [] for name in sides}
            for _ in range(rounds):
                for name, side in sides.items():
                    samples[name].append(side(task))
            begin = min(limit, len(task.actions)) - 1  # within the first episode
            true = samples["ambulo"][0][1][:begin, :, :2]
            for name, made in samples.items():
                rates = [task.actions[:, :, 0].size / seconds for seconds, _ in made]
                apart = np.linalg.norm(made[0][1][:begin, :, :2] - true, axis=-1)
                rows[f"{name}, agents: {count}"] = {
                    "median": float(np.median(rates)),
                    "lowest": min(rates),
                    "highest": max(rates),
                    "apart": float(np.median(apart.max(axis=0))),
                }
    return {"rows": rows}


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that all engines end
    small = {"agents": [1], "decisions": 20, "batches": 10, "levels": 2, "rounds": 1}
    run(
        measure, small,
        [
            ("rows.ambulo, agents: 1.median", ">=", 1500.0),
            ("rows.ambulo, agents: 16.median", ">=", 8000.0),
        ],
        needs="/proc",
    )  # fmt: skip
