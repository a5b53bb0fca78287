"""Agents that share levels: their starts, and the change of the level."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Bools, Floats, Ints
from ambulo.configs.errors import ConfigError, LevelError
from ambulo.envs.vr.contract import BODY_HEIGHT, BODY_RADIUS
from ambulo.envs.vr.task.bank import GOALS, LevelBank, Start

Range = tuple[float, float]

APART = 4.0 * BODY_RADIUS
"""Smallest distance between starting agents, [m]: two body diameters between the axes."""
EPISODES = 4
"""Mean episodes per agent in one level, where agents restart one by one."""
_NEAREST = 1.5
"""Smallest distance from a start to its goal if the range requires less, [m]."""
_TRIES = 200


class SharedLevels:
    """N envs of which every `agents` consecutive ones share a level.

    The agents of a level begin together, in a level that the first of them draws. An agent that
    restarts during the others' episodes stays in that level. After `EPISODES` per agent the
    level is over, and running episodes are truncated.
    """

    _arrays: ClassVar = ("begun", "again", "ended")

    def __init__(self, num_envs: int, agents: int) -> None:
        """Create it before any episode.

        Raises:
            ConfigError: `agents` does not divide `num_envs`.
        """
        if num_envs % agents:
            raise ConfigError(
                f"number of envs = {num_envs}: must be a multiple of the {agents} agents "
                "that share a level (environment.agents)"
            )
        self.agents = agents
        self.begun = np.zeros(num_envs // agents, np.bool_)
        """Whether the agents of each level have begun, shape (levels,)."""
        self.again = np.zeros(num_envs // agents, np.int64)
        """Episodes begun after the first of each agent, shape (levels,)."""
        self.ended = np.zeros(num_envs, np.bool_)
        """Mask of the envs between the end of an episode and the next start, shape (N,)."""

    def draw(
        self,
        envs: Ints,
        bank: LevelBank,
        rngs: Sequence[np.random.Generator],
        slots: Ints,
        places: Floats,
        goal_distance: Range | None = None,
    ) -> list[Start]:
        """Starts of `envs` (k,), at least `APART` from the other agents.

        Args:
            envs: Envs that begin.
            bank: Levels.
            rngs: One generator for each of the N envs.
            slots: Level slots of running episodes, shape (N,).
            places: Positions of agents; NaN: in no level, shape (N, 3), [m].
            goal_distance: Range of the straight distance to goals, [m].

        Raises:
            ConfigError: Agents of a level begin their first episodes at different times.
            LevelError: No space for another agent.
        """
        chosen = np.zeros(len(rngs), np.bool_)
        chosen[envs] = True
        taken = places.copy()
        taken[envs] = np.nan
        starts: dict[int, Start] = {}
        for env in sorted(map(int, envs)):  # the first agent of a level draws it
            group = env // self.agents
            first = group * self.agents
            mates = slice(first, first + self.agents)
            whole = chosen[mates].all()
            if not whole and not self.begun[group]:
                raise ConfigError(
                    f"environments {first} to {mates.stop - 1} share a level: their first "
                    "episodes begin together"
                )
            if whole and env == first:
                start = bank.draw(rngs[env], goal_distance=goal_distance)
            else:
                slot = starts[first].slot if whole else int(slots[env])
                start = start_apart(bank, slot, rngs[env], taken[mates], goal_distance)
            starts[env] = start
            taken[env] = [*start.pose[:2], start.height]
        return [starts[int(env)] for env in envs]

    def begin(self, envs: Ints) -> None:
        """Count the new episodes of `envs` (k,)."""
        groups, counts = np.unique(np.asarray(envs) // self.agents, return_counts=True)
        whole = counts == self.agents
        self.begun[groups[whole]] = True
        self.again[groups] = np.where(whole, 0, self.again[groups] + counts)
        self.ended[envs] = False

    def cut_off(self, done: Bools) -> Bools:
        """Mask of the episodes truncated by the end of their level, shape (N,).

        `done` (N,) is the mask of episodes that ended in this step. A level ends when none of
        its agents waits for a restart, so that all of them restart together.
        """
        first = (done & ~self.ended).reshape(-1, self.agents).any(axis=1)
        waits = self.ended.reshape(-1, self.agents).any(axis=1)
        last = first & ~waits & (self.again >= (EPISODES - 1) * self.agents)
        cut = np.repeat(last, self.agents) & ~done
        self.ended |= done | cut
        return cut

    def state_dict(self) -> dict[str, NDArray[np.generic]]:
        """Copies of all arrays that a bit-exact continuation needs."""
        return {name: getattr(self, name).copy() for name in self._arrays}

    def load_state_dict(self, arrays: dict[str, NDArray[np.generic]]) -> None:
        """Continue from `state_dict`."""
        for name in self._arrays:
            getattr(self, name)[...] = arrays[name]


def start_apart(
    bank: LevelBank,
    slot: int,
    rng: np.random.Generator,
    taken: Floats,
    goal_distance: Range | None = None,
) -> Start:
    """A drawn goal of the level in `slot`, and a start `APART` from all of `taken` (k, 3).

    It is one of the level's own starts if one of them is free. Rows of NaN are ignored.

    Raises:
        LevelError: No space for another agent.
    """
    level = bank.levels[slot]
    limits = level.goal_distance or bank.goal_distance
    if goal_distance is not None and slot >= bank.own:
        limits = goal_distance
    yaw = float(rng.uniform(-np.pi, np.pi))
    first = int(rng.integers(GOALS))
    for goal in (first, 1 - first):
        own = bank.own_starts(slot, goal)
        own = own[_free(own[:, [0, 1, 3]], taken)] if len(own) else own
        if len(own):
            x, y, yaw, z = own[rng.integers(len(own))]
            return Start(slot, goal, np.array([x, y, yaw]), float(z))
        grid, cells = bank.reachable(slot, goal)
        target = bank.goals[slot, goal]
        for tried in (rng.choice(cells, min(_TRIES, len(cells))), cells):
            points = grid.points(tried)
            points = points[_free(points, taken)]
            reach = np.hypot(*(points[:, :2] - target[:2]).T)
            fits = points[(reach >= limits[0]) & (reach <= limits[1])]
            if len(fits):
                x, y, z = fits[rng.integers(len(fits))]
                return Start(slot, goal, np.array([x, y, yaw]), float(z))
        points, reach = points[reach >= _NEAREST], reach[reach >= _NEAREST]
        if len(points):  # the range does not fit the level
            miss = np.maximum(limits[0] - reach, reach - limits[1])
            x, y, z = points[np.argmin(miss)]
            return Start(slot, goal, np.array([x, y, yaw]), float(z))
    raise LevelError(
        f"level {level.name!r}: no room for another agent {APART:g} m from the others "
        "(environment.agents)"
    )


def _free(points: Floats, taken: Floats) -> Bools:
    """Whether each of `points` (n, 3) is `APART` from all of `taken` (k, 3), shape (n,)."""
    there = taken[np.isfinite(taken[:, 0])]
    away = points[:, None] - there[None]
    near = np.hypot(away[..., 0], away[..., 1]) < APART
    near &= np.abs(away[..., 2]) < BODY_HEIGHT
    return np.asarray(~near.any(axis=1))
