"""A user's game in several engines: all agents of all kinds, reset and stepped together."""

from __future__ import annotations

import bisect
import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Bools, Floats, Ints
from ambulo.configs.closing import Closing
from ambulo.configs.errors import (
    AmbuloError,
    ConfigError,
    ObservationError,
    RewardError,
    nearest,
)
from ambulo.envs.godot.agents.link import GameLink, GameSettings
from ambulo.envs.godot.agents.spec import GameSpec, Rows
from ambulo.envs.godot.agents.wire import (
    GO_ON,
    IF_DONE,
    NOW,
    TERMINATED,
    TRUNCATED,
    StepReply,
)
from ambulo.envs.godot.errors import BridgeFault
from ambulo.envs.godot.fleet import EngineFleet

MAX_SEED = 2**31 - 1
"""Seeds of episodes are below it."""


@dataclass(frozen=True)
class GameStep:
    """What all N agents have after a step or reset: kind by kind, of each engine by engine.

    Observations are the game's own arrays, overwritten by the next step.
    """

    obs: list[Rows]
    """Now; of the new episode where one has begun, of each kind (N_k, observation_size)."""
    final: list[Rows]
    """Where an episode has ended its last observation, else `obs`, same shapes."""
    reward: Floats
    """Shape (N,), as all that follow."""
    terminated: Bools
    truncated: Bools
    fault: Bools
    """The engine broke down: the agent must be reset."""
    begun: Bools
    """Whether an episode has begun."""
    infos: list[dict[str, NDArray[Any]]]
    """The own infos of each kind by name, (N_k,): `is_success` (bool), numbers."""


class Game(Closing):
    """The scene of a game in `engines` engines.

    Its N agents are those of the first kind in the first engine, in the second, and so on,
    then those of the second kind. A fault of an engine costs its agents their episode; it is
    started again when one of them is reset.
    """

    def __init__(self, settings: GameSettings, engines: int = 1) -> None:
        """Start the engines, or connect to the one that `settings` names.

        Raises:
            BridgeError: no engine, no such scene, a scene without agents, or with such as
                break a rule.
        """
        if settings.url is not None and engines != 1:
            raise ConfigError(f"engines = {engines}: a running game is one")
        self._settings = settings
        self._steps = 0
        numbers = itertools.count()
        self._fleet: EngineFleet[GameLink] = EngineFleet(
            settings,
            lambda folder: [
                GameLink(next(numbers), settings, folder) for _ in range(engines)
            ],
        )
        spec = self._fleet.links[0].spec
        assert spec is not None
        self.spec: GameSpec = spec
        self._arrange()

    @property
    def engines(self) -> int:
        """Number of engines."""
        return len(self._fleet.links)

    @property
    def pids(self) -> list[int]:
        """Process ids of the engines that were started here."""
        return self._fleet.pids

    @property
    def faults(self) -> Counter[str]:
        """Faults so far by kind."""
        return self._fleet.faults

    def grow(self, engines: int) -> None:
        """Start more engines until there are `engines`; all agents must be reset then."""
        first = self.engines
        self._fleet.grow(
            lambda folder: [
                GameLink(number, self._settings, folder)
                for number in range(first, engines)
            ]
        )
        self._arrange()

    def kind_index(self, name: str | None) -> int:
        """Index of the kind `name`; None: the only one.

        Raises:
            ConfigError: there is no such kind, or there are several.
        """
        names = [kind.name for kind in self.spec.kinds]
        if name is None and len(names) == 1:
            return 0
        if name in names:
            return names.index(name)
        if name is None:
            raise ConfigError(
                f"scene {self.spec.scene} has agents of the kinds {', '.join(names)}: "
                "name one with kind=, or use ambulo.envs.godot.agents.parallel"
            )
        raise ConfigError(
            f"kind = {name!r}: scene {self.spec.scene} has {', '.join(names)}"
            f"{nearest(name, names)}"
        )

    def rows(self, kind: int) -> slice:
        """Where the agents of a kind are among all."""
        return slice(self._ends[kind], self._ends[kind + 1])

    def count(self, kind: int) -> int:
        """Agents of a kind over all engines."""
        return self.engines * self.spec.kinds[kind].count

    def reset(self, modes: Ints, seeds: Ints) -> GameStep:
        """Begin episodes with `seeds` (N,) where `modes` (N,) are `NOW`.

        An engine that broke down is started again first, and all of its agents begin.

        Raises:
            BridgeError: an engine that stays broken, or an agent that breaks a rule.
        """
        self._check_open()
        replies = []
        for link, where in zip(self._fleet.links, self._where, strict=True):
            own = modes[where]
            if not (own == NOW).any():
                continue
            while True:
                try:
                    if not link.ready:
                        self._fleet.open(link)
                        link.lost = True
                    if link.lost:
                        own = np.full_like(own, NOW)
                    link.send("/agents/reset", own, seeds[where])
                    replies.append((link, own, link.receive(own)))
                    break
                except BridgeFault as fault:
                    self._fleet.note(link, fault, "while agents were reset")
            link.lost = False
        return self._step(replies)

    def step(self, modes: Ints, seeds: Ints, actions: Sequence[Rows]) -> GameStep:
        """Advance all agents by one step, in all engines at the same time.

        Args:
            modes: `GO_ON`, `IF_DONE` or `NOW`, shape (N,).
            seeds: of the episodes that may begin, shape (N,).
            actions: of each kind, shape (N_k, action_size).

        Raises:
            BridgeError: an engine that stays broken, or an agent that breaks a rule.
            ObservationError, RewardError: a number is not finite.
        """
        self._check_open()
        self._steps += 1
        waiting, replies, lost = [], [], []
        for link, where in zip(self._fleet.links, self._where, strict=True):
            if link.lost:
                continue
            own = modes[where]
            rows = [
                values[self._rows(kind, link)] for kind, values in enumerate(actions)
            ]
            try:
                link.send("/agents/step", own, seeds[where], rows)
                waiting.append((link, own))
            except BridgeFault as fault:
                self._lose(link, fault)
                lost.append(link)
        for link, own in waiting:
            try:
                replies.append((link, own, link.receive(own)))
                link.failures = 0
            except BridgeFault as fault:
                self._lose(link, fault)
                lost.append(link)
        return self._step(replies, lost)

    def close(self) -> None:
        """End the engines that were started here; hang up on others."""
        self._fleet.close()

    def _check_open(self) -> None:
        if self._fleet.closed:
            raise AmbuloError("the game is closed: make a new one")

    def _arrange(self) -> None:
        """Lay out the rows of all agents, and their last observations."""
        kinds = self.spec.kinds
        counts = [self.count(kind) for kind in range(len(kinds))]
        self._ends = [0, *itertools.accumulate(counts)]
        self._last = [
            np.zeros((count, kind.observation_size), np.float32)
            for count, kind in zip(counts, kinds, strict=True)
        ]
        engine = [np.repeat(np.arange(self.engines), kind.count) for kind in kinds]
        self._where: list[Any] = [
            np.flatnonzero(np.concatenate(engine) == number)
            for number in range(self.engines)
        ]
        """Rows of the agents of each engine."""
        if self.engines == 1:
            self._where = [slice(None)]

    def _rows(self, kind: int, link: GameLink) -> slice:
        """Rows of an engine among those of a kind."""
        count, number = self.spec.kinds[kind].count, link.number
        return slice(number * count, (number + 1) * count)

    def _step(
        self,
        replies: Sequence[tuple[GameLink, Ints, StepReply]],
        lost: Sequence[GameLink] = (),
    ) -> GameStep:
        """The step of all from the answers of some engines, each with its agents' modes.

        Nothing has happened to the others, but that the `lost` cut their episodes off.
        """
        count = self._ends[-1]
        terminated, truncated, fault, begun = np.zeros((4, count), np.bool_)
        step = GameStep(
            self._last, list(self._last), np.zeros(count),
            terminated, truncated, fault, begun, [],
        )  # fmt: skip
        for link in lost:
            truncated[self._where[link.number]] = fault[self._where[link.number]] = True
        for link, modes, reply in replies:
            where = self._where[link.number]
            step.reward[where] = reply.reward
            begun[where] = modes == NOW
            if reply.ended is not None:
                terminated[where] = reply.ended == TERMINATED
                truncated[where] = reply.ended == TRUNCATED
                begun[where] |= reply.renewed
            for kind, rows in enumerate(reply.obs):
                step.obs[kind][self._rows(kind, link)] = rows
        for link, _, reply in replies:
            for kind, rows in enumerate(reply.final):
                if step.final[kind] is step.obs[kind]:
                    step.final[kind] = step.obs[kind].copy()
                own = reply.renewed[self.spec.rows[kind]]
                step.final[kind][self._rows(kind, link)][own] = rows
        for kind in range(len(self.spec.kinds)):
            step.infos.append(self._infos(kind, replies))
        if not all(reply.finite for _, _, reply in replies):
            self._check(step)
        return step

    def _infos(
        self, kind: int, replies: Sequence[tuple[GameLink, Ints, StepReply]]
    ) -> dict[str, NDArray[Any]]:
        """The infos of a kind by name; zeros where an engine says nothing."""
        count = self.count(kind)
        infos: dict[str, NDArray[Any]] = {
            name: np.zeros(count, np.bool_ if name == "is_success" else np.float64)
            for link in self._fleet.links
            for name in link.infos[kind]
        }
        for link, _, reply in replies:
            columns = reply.infos[kind].T
            for name, column in zip(link.infos[kind], columns, strict=True):
                infos[name][self._rows(kind, link)] = column
        return infos

    def _lose(self, link: GameLink, fault: BridgeFault) -> None:
        """Have an engine that broke down reset."""
        link.lost = True
        self._fleet.note(link, fault, f"{self.spec.agents} agents lost their episodes")

    def _check(self, step: GameStep) -> None:
        """Refuse the first number that is not finite."""
        if not np.isfinite(step.reward).all():
            row = int(np.flatnonzero(~np.isfinite(step.reward))[0])
            kind = bisect.bisect_right(self._ends, row) - 1
            place = self._place(kind, row - self._ends[kind])
            raise RewardError(f"{place}: the reward is {step.reward[row]}")
        for kind, (obs, final) in enumerate(zip(step.obs, step.final, strict=True)):
            self._check_rows(kind, obs)
            self._check_rows(kind, final)

    def _check_rows(self, index: int, obs: Rows) -> None:
        bad = np.argwhere(~np.isfinite(obs)).tolist()
        for name, columns in self.spec.kinds[index].columns.items():
            if bad and columns.start <= bad[0][1] < columns.stop:
                row, column = bad[0]
                raise ObservationError(
                    f"{self._place(index, row)}: observation '{name}' is "
                    f"{obs[row, column]} at [{column - columns.start}]"
                )

    def _place(self, index: int, row: int) -> str:
        """Where a row is, for messages."""
        kind = self.spec.kinds[index]
        engine, agent = divmod(row, kind.count)
        return (
            f"scene {self.spec.scene}, environment {row} (agent {kind.agents[agent]}, "
            f"engine {engine}), step {self._steps}"
        )


__all__ = ["GO_ON", "IF_DONE", "NOW", "Game", "GameStep"]
