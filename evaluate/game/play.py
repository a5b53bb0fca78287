"""Episodes of a game's agents: who acts, and what is measured."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Bools, Floats, Ints
from ambulo.evaluate.game.agents import AgentsBatch, random_actions
from ambulo.policies.agents.game import GameAgent
from ambulo.policies.checked_steps import checked_reset, checked_step

TERM = "reward/"
"""Beginning of the names of reward terms among the infos."""


class Player(Protocol):
    """A policy for all agents of a game."""

    def act(self, batch: AgentsBatch) -> NDArray[np.float32]:
        """Return rows of actions (N, width); NaN: the game's own script acts."""
        ...

    def reset(self, rows: Ints) -> None:
        """Episodes begin in `rows`."""
        ...


class PolicyPlayer:
    """Trained policies."""

    def __init__(self, agent: GameAgent, *, deterministic: bool = True) -> None:
        """Act as `agent`, whose memory is emptied."""
        self._agent, self._deterministic = agent, deterministic
        agent.reset()

    def act(self, batch: AgentsBatch) -> NDArray[np.float32]:
        """See `Player`."""
        return self._agent.act_on_rows(batch.obs, deterministic=self._deterministic)

    def reset(self, rows: Ints) -> None:
        """Forget the episodes of `rows`."""
        self._agent.reset(rows)


class RandomPlayer:
    """Uniformly random actions."""

    def __init__(self, seed: int, width: int) -> None:
        """Draw rows of `width` columns."""
        self._rng, self._width = np.random.default_rng([seed, 11]), width

    def act(self, batch: AgentsBatch) -> NDArray[np.float32]:
        """See `Player`."""
        return random_actions(batch.kinds, batch.kind, self._width, self._rng)

    def reset(self, rows: Ints) -> None:
        """Remember nothing."""


class ScriptedPlayer:
    """The game's own script."""

    def __init__(self, width: int) -> None:
        """Ask with rows of `width` columns."""
        self._width = width

    def act(self, batch: AgentsBatch) -> NDArray[np.float32]:
        """See `Player`."""
        return np.full((batch.num_envs, self._width), np.nan, np.float32)

    def reset(self, rows: Ints) -> None:
        """Remember nothing."""


def usual_opponent(batch: AgentsBatch, seed: int, width: int) -> Player:
    """Return the game's own script, or random actions of `width` columns where it has none."""
    return ScriptedPlayer(width) if batch.has_script else RandomPlayer(seed, width)


@dataclass
class EpisodeTable:
    """Statistics of the finished episodes of one kind of agent."""

    returns: list[float] = field(default_factory=list)
    """Undiscounted sum of rewards."""
    lengths: list[int] = field(default_factory=list)
    """Steps."""
    successes: list[float] = field(default_factory=list)
    """1 or 0; NaN: the game does not say."""
    terms: dict[str, list[float]] = field(default_factory=dict)
    """Sum of each reward term."""

    def rows(self) -> list[dict[str, float]]:
        """Return one row for each episode."""
        return [
            {
                "return": self.returns[k],
                "length": self.lengths[k],
                "success": self.successes[k],
                **{f"{TERM}{name}": values[k] for name, values in self.terms.items()},
            }
            for k in range(len(self.returns))
        ]


def steps_of(
    batch: AgentsBatch, player: Player, opponent: Player, measured: Bools
) -> Iterator[tuple[Mapping[str, NDArray[np.generic]], Ints]]:
    """Yield the infos of each step, and the agents whose episodes ended in it; without end.

    They are reset before the next step.

    Args:
        batch: Seeded agents.
        player: Acts for the agents that are measured.
        opponent: Acts for the others.
        measured: Which those are, (N,).
    """
    ended, others = np.arange(batch.num_envs), ~measured
    while True:
        if len(ended):
            checked_reset(batch, ended)
            for who in (player, opponent):
                who.reset(ended)
        actions = player.act(batch)
        if others.any():
            actions[others] = opponent.act(batch)[others]
        _, _, terminated, truncated, info = checked_step(batch, actions)
        ended = np.flatnonzero(terminated | truncated)
        yield info, ended


def play(
    batch: AgentsBatch,
    player: Player,
    opponent: Player,
    measured: Bools,
    episodes: int,
    progress: Callable[[int], None] = lambda _: None,
) -> dict[str, EpisodeTable]:
    """Return the table of each kind after `episodes` of it, or a few more; see `steps_of`.

    Each agent plays equally many, so that short episodes do not count more. `progress` is
    called with the number of episodes that ended.
    """
    left = np.zeros(batch.num_envs, np.int64)
    for index in range(len(batch.kinds)):
        rows = np.flatnonzero(measured & (batch.kind == index))
        left[rows] = -(-episodes // max(1, len(rows)))
    tables = {kind.name: EpisodeTable() for kind in batch.kinds}
    sums: dict[str, Floats] = {}
    for info, ended in steps_of(batch, player, opponent, measured):
        for name, values in info.items():
            if name.startswith(TERM):
                total = sums.setdefault(name, np.zeros(batch.num_envs))
                total += np.asarray(values, np.float64)
        faults = info.get("bridge_fault")
        for row in ended:
            if left[row] > 0 and not (faults is not None and faults[row]):
                left[row] -= 1
                table = tables[batch.kinds[batch.kind[row]].name]
                _note(table, batch, int(row), info, sums)
                progress(1)
        for total in sums.values():
            total[ended] = 0.0
        if not left.any():
            break
    return tables


def _note(
    table: EpisodeTable,
    batch: AgentsBatch,
    row: int,
    info: Mapping[str, NDArray[np.generic]],
    sums: Mapping[str, Floats],
) -> None:
    """Add the episode that ended in `row`."""
    table.returns.append(float(batch.episode.reward[row]))
    table.lengths.append(int(batch.episode.steps[row]))
    success = float("nan")
    if batch.says_success[batch.kind[row]]:
        success = float(info["is_success"][row])
    table.successes.append(success)
    for name, total in sums.items():
        values = table.terms.setdefault(name.removeprefix(TERM), [])
        values += [0.0] * (len(table.returns) - 1 - len(values))
        values.append(float(total[row]))
