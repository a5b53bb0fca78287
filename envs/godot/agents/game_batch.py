"""All agents of one kind of a game as a task batch: what trainings and vector envs step."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Floats, Ints
from ambulo.configs.batch import BatchStep
from ambulo.configs.errors import AmbuloError
from ambulo.envs.godot.agents.game import (
    GO_ON,
    IF_DONE,
    MAX_SEED,
    NOW,
    Game,
    GameStep,
)
from ambulo.envs.godot.agents.spec import Rows
from ambulo.envs.godot.agents.wire import Restarts, restarts
from ambulo.envs.state_arrays import StateArrays


@dataclass(frozen=True)
class GameEpisodes(StateArrays):
    """Totals of the running episodes; a game has no ways, so two are zero."""

    steps: Ints
    reward: Floats
    path: Floats
    start_distance: Floats


class _Generators(list[np.random.Generator]):
    """Generators of which some have been replaced since it was last looked."""

    def __init__(self, items: Iterable[np.random.Generator]) -> None:
        super().__init__(items)
        self.replaced = np.zeros(len(self), np.bool_)
        self.changed = False

    def __setitem__(self, at: SupportsIndex | slice, value: Any) -> None:
        if self[at] is not value:
            self.replaced[at] = self.changed = True
        super().__setitem__(at, value)


class GameBatch:
    """N agents of one kind over all engines of a game; see `TaskBatch`.

    The engine begins the next episode of an agent in the step that ends the last, with a
    seed that was sent with it: `reset` of such agents only shows what they see. Agents of
    other kinds in the scene stand idle (zeros as actions). `info` has `is_success`,
    `reward/<term>` and what else the agents' `get_info` gives, once one has given it, and
    `bridge_fault`.
    """

    def __init__(self, game: Game, kind: str | None = None) -> None:
        """A batch of the agents of `kind` (None: the only one) in `game`, which it closes.

        Raises:
            ConfigError: there is no such kind.
        """
        self.game = game
        self._index = game.kind_index(kind)
        self.kind = game.spec.kinds[self._index]
        self._own = game.rows(self._index)
        """Where its agents are among all of the game."""
        self._allocate(game.count(self._index), self.kind.observation_size)

    def _allocate(self, num_envs: int, size: int) -> None:
        """Make room for `num_envs` agents whose observations have `size` numbers."""
        self.num_envs = num_envs
        self.obs = np.zeros((num_envs, size), np.float32)
        self.episode = GameEpisodes.zeros(self.num_envs)
        self._rngs = _Generators(map(np.random.default_rng, range(self.num_envs)))
        self._restarts = restarts(IF_DONE, np.zeros(self.num_envs, np.int32))
        """Mode in the next step, and seed of the episode that each agent begins next, or where
        `_begun` has begun."""
        self._unseeded = np.ones(self.num_envs, np.bool_)
        self._begun = np.zeros(self.num_envs, np.bool_)
        """Whether an episode has begun that `reset` has not shown yet."""
        self._started = np.zeros(self.num_envs, np.bool_)
        self._has_started = False
        self._next_obs = self.obs.copy()
        self._info: dict[str, NDArray[Any]] = {}

    @property
    def rngs(self) -> list[np.random.Generator]:
        """One generator for each agent; an assigned one is used from then on."""
        return self._rngs

    def seed(self, seeds: Sequence[int | None]) -> None:
        """Seed the generator of each agent whose seed is not None."""
        for row, value in enumerate(seeds):
            if value is not None:
                self._rngs[row] = np.random.default_rng(value)

    def reset(self, envs: Ints) -> NDArray[np.float32]:
        """Begin new episodes of the agents `envs` (k,); return all observations.

        Raises:
            BridgeError: an engine that stays broken, or an agent that breaks a rule.
        """
        envs = np.asarray(envs, np.int64)
        asked = np.zeros(self.num_envs, np.bool_)
        asked[envs] = True
        anew = asked & (~self._begun | self._rngs.replaced)
        if anew.any():
            self._begin(anew)
        self.obs[asked] = self._next_obs[asked]
        self._begun = self._begun & ~asked
        self._unseeded[asked] = self._rngs.changed = True
        self._started[asked] = True
        self._has_started = bool(self._started.all())
        self.episode.clear(envs)
        return self.obs

    def step(self, actions: NDArray[np.generic]) -> BatchStep:
        """Advance every agent by one step; see `AgentKind.flatten` for the rows of actions.

        Raises:
            ActionError: another shape, a number that is not finite, no such choice.
            AmbuloError: an agent that was never reset.
            BridgeError, ObservationError, RewardError: see `Game.step`.
        """
        if not self._has_started:
            raise AmbuloError("no episode has begun: call reset before step")
        rows = self._checked(actions)
        if self._rngs.changed:
            self._draw(~self._begun)
            self._restarts[:, 0] = np.where(self._begun, NOW, IF_DONE)
        everyone = self._everyone(self._restarts, IF_DONE)
        step = self.game.step(everyone, self._by_kind(rows))
        self._put(self.obs, step.final)
        self._begun, reward = self._of_own(step.begun), self._of_own(step.reward)
        if step.eventful:
            self._put(self._next_obs, step.obs)
            self._rngs.changed = True
        episode = self.episode
        np.add(episode.steps, 1, out=episode.steps)
        np.add(episode.reward, reward, out=episode.reward)
        ends = self._of_own(step.terminated), self._of_own(step.truncated)
        self._info = {"bridge_fault": self._of_own(step.fault), **self._infos(step)}
        return self.obs, reward, *ends, self._info

    def episode_info(self) -> dict[str, NDArray[Any]]:
        """Return nothing: a step's info tells all."""
        return {}

    def start_info(self) -> dict[str, NDArray[Any]]:
        """Return the info of a reset, (N,) each."""
        if not self._info:
            return {"bridge_fault": np.zeros(self.num_envs, np.bool_)}
        return {name: np.zeros_like(values) for name, values in self._info.items()}

    def close(self) -> None:
        """End the engines."""
        self.game.close()

    def _begin(self, rows: NDArray[np.bool_]) -> None:
        """Have the engines begin episodes of `rows` (N,)."""
        self._unseeded |= rows
        self._draw(rows)
        modes = np.where(rows, NOW, GO_ON)
        others = NOW if rows.all() else GO_ON
        own = restarts(modes, self._restarts[:, 1])
        step = self.game.reset(self._everyone(own, others))
        self._put(self._next_obs, step.obs)
        self._begun = self._begun | (self._of_own(step.begun) & ~rows)

    def _draw(self, rows: NDArray[np.bool_]) -> None:
        """Draw seeds of the next episodes of those of `rows` (N,) that have none."""
        wanted = rows & (self._unseeded | self._rngs.replaced)
        for row in np.flatnonzero(wanted):
            self._restarts[row, 1] = self._rngs[row].integers(MAX_SEED)
        self._unseeded[wanted] = False
        self._rngs.replaced[wanted] = False
        self._rngs.changed = bool((self._unseeded | self._rngs.replaced).any())

    def _everyone(self, own: Restarts, others: int) -> Restarts:
        """Restarts of all agents of the game; those of other kinds have the mode `others`."""
        return np.concatenate([
            own if index == self._index
            else restarts(others, np.resize(own[:, 1], self.game.count(index)))
            for index in range(len(self.game.spec.kinds))
        ])  # fmt: skip

    def _of_own(self, values: NDArray[Any]) -> NDArray[Any]:
        """The values of this batch's agents among those of all."""
        return values[self._own]

    def _by_kind(self, rows: Rows) -> list[Rows]:
        """The actions of each kind of the game: `rows`, and zeros of the others."""
        return [
            rows if index == self._index
            else np.zeros((self.game.count(index), kind.action_size), np.float32)
            for index, kind in enumerate(self.game.spec.kinds)
        ]  # fmt: skip

    def _put(self, target: Rows, parts: Sequence[Rows]) -> None:
        """Write the observations of each kind to those of this batch."""
        target[...] = parts[self._index]

    def _infos(self, step: GameStep) -> dict[str, NDArray[Any]]:
        """The infos of a step, (N,) each."""
        return step.infos[self._index]

    def _checked(self, actions: NDArray[np.generic]) -> NDArray[np.float32]:
        """The rows that the game takes."""
        return self.kind.checked(actions, self.num_envs)
