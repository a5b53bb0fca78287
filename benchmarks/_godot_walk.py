"""What every side of godot_speed.py does: levels, starts, actions; and our loop of it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Floats, Ints
from ambulo.envs.vr.families import FAMILIES
from ambulo.envs.vr.families.level_sets import split_level
from ambulo.envs.vr.task.bank import LevelBank
from ambulo.envs.vr.task.observation import observe
from ambulo.envs.vr.world.state import WorldState


@dataclass(frozen=True)
class Task:
    """What every side does for one number of agents."""

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

    @property
    def agents(self) -> int:
        return self.actions.shape[1]


@dataclass(frozen=True)
class Sample:
    """One measurement."""

    seconds: float
    episodes: int
    seen: NDArray[np.float32]
    """The observations, shape (T, N, 48)."""


class Walk:
    """Our loop: actions to observations, with new episodes where they end."""

    def __init__(
        self,
        task: Task,
        state: WorldState,
        step: Callable[[Floats], object],
        place: Callable[[Ints, Ints, Floats], object],
    ) -> None:
        self._task, self._state, self._step, self._place = task, state, step, place
        self._agents = np.arange(task.agents)
        self.begin()

    def begin(self) -> None:
        """All agents at the start of their first episode."""
        self.episodes = 0
        self._level = self._agents % len(self._task.starts)
        self._decisions = np.zeros(self._task.agents, np.int64)
        self._place(self._agents, self._level, self._task.starts[self._level])

    def visit_all(self) -> None:
        """Enter every level once, so that the engine holds them all."""
        for level in range(len(self._task.starts)):
            slots = np.full(1, level)
            self._place(np.zeros(1, np.int64), slots, self._task.starts[slots])

    def decide(self, action: Floats, out: NDArray[np.float32]) -> None:
        """One decision of all agents; `out` (N, 48) is what they see then."""
        task, state = self._task, self._state
        self._step(action)
        self._decisions += 1
        over = np.flatnonzero(state.fell | (self._decisions >= task.limit))
        if len(over):
            self.episodes += len(over)
            self._level[over] = (self._level[over] + 1) % len(task.starts)
            self._decisions[over] = 0
            slots = self._level[over]
            self._place(over, slots, task.starts[slots])
        at = self._level
        observe(state, task.goals[at], task.starts[at], "world", out)

    def run(self) -> Sample:
        """Warm up, then measure."""
        task = self._task
        seen = np.zeros((*task.actions.shape[:2], 48), np.float32)
        self.visit_all()
        self.begin()
        for t in range(task.warm_up):
            self.decide(task.actions[t % len(seen)], seen[0])
        self.begin()
        begin = time.perf_counter()
        for t, action in enumerate(task.actions):
            self.decide(action, seen[t])
        return Sample(time.perf_counter() - begin, self.episodes, seen)


def make_task(
    agents: int, decisions: int, limit: int, levels: int, seed: int, warm_up: int
) -> Task:
    """Held-out levels, the families in turn, and smooth sticks that mostly go ahead."""
    rng = np.random.default_rng(seed)
    chosen = [
        split_level(FAMILIES[k % len(FAMILIES)], "heldout", 7000 + k)
        for k in range(levels)
    ]
    bank = LevelBank(chosen, rng)
    drawn = [bank.draw(rng, slot) for slot in range(levels)]
    goals = np.array([bank.goals[start.slot, start.goal] for start in drawn])
    actions = np.zeros((decisions, agents, 3))
    now, ahead = np.zeros((agents, 3)), np.array([0.0, 0.5, 0.0])
    for t in range(decisions):
        now = 0.9 * now + 0.25 * rng.normal(size=(agents, 3))
        actions[t] = np.clip(now + ahead, -1.0, 1.0)
    starts = np.array([start.pose for start in drawn])
    return Task(bank, starts, goals, actions, limit, warm_up)
