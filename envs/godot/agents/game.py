"""A user's game in several engines: all agents of all kinds, reset and stepped together."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

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
from ambulo.envs.godot.agents.spec import AgentKind, GameSpec, Rows
from ambulo.envs.godot.agents.wire import (
    GO_ON,
    IF_DONE,
    NOW,
    TERMINATED,
    TRUNCATED,
    KindRows,
)
from ambulo.envs.godot.errors import BridgeFault
from ambulo.envs.godot.fleet import EngineFleet

MAX_SEED = 2**31 - 1
"""Seeds of episodes are below it."""


@dataclass(frozen=True)
class KindRequest:
    """What the N agents of one kind shall do."""

    modes: Ints
    """`GO_ON`, `IF_DONE` or `NOW`, shape (N,)."""
    seeds: Ints
    """Of the episodes that may begin, shape (N,)."""
    actions: Rows
    """Shape (N, action_size)."""

    @classmethod
    def idle(cls, kind: AgentKind, mode: int, seeds: Ints) -> Self:
        """Zeros as actions of agents with `seeds` (N,)."""
        count = len(seeds)
        return cls(
            np.full(count, mode), seeds, np.zeros((count, kind.action_size), np.float32)
        )


@dataclass(frozen=True)
class KindStep:
    """What the N agents of one kind have after a step or reset."""

    obs: Rows
    """Now; of the new episode where one has begun, shape (N, observation_size)."""
    final: Rows
    """Where an episode has ended its last observation, else `obs`, same shape."""
    reward: Floats
    terminated: Bools
    truncated: Bools
    fault: Bools
    """The engine broke down: the agent must be reset."""
    begun: Bools
    """Whether an episode has begun."""
    infos: dict[str, NDArray[Any]]
    """The agents' own infos by name: `is_success` (bool), numbers."""


class Game(Closing):
    """The scene of a game in `engines` engines.

    The N agents of a kind are those of the first engine, then those of the second, and so
    on. A fault of an engine costs its agents their episode; it is started again when one of
    them is reset.
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
        self._last = [self._empty(kind) for kind in spec.kinds]

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
        self._last = [self._empty(kind) for kind in self.spec.kinds]

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

    def count(self, kind: int) -> int:
        """Agents of a kind over all engines."""
        return self.engines * self.spec.kinds[kind].count

    def reset(self, requests: Sequence[KindRequest]) -> list[KindStep]:
        """Begin episodes where a mode is `NOW`; one request for each kind.

        An engine that broke down is started again first, and all of its agents begin.

        Raises:
            BridgeError: an engine that stays broken, or an agent that breaks a rule.
        """
        self._check_open()
        steps = [self._kept(index) for index in range(len(requests))]
        for number, link in enumerate(self._fleet.links):
            modes, seeds, _ = self._of_engine(requests, number)
            if not (modes == NOW).any():
                continue
            while True:
                try:
                    if not link.ready:
                        self._fleet.open(link)
                        link.lost = True
                    if link.lost:
                        modes[:] = NOW
                    link.send("/agents/reset", modes, seeds)
                    reply = link.receive(modes)
                    break
                except BridgeFault as fault:
                    self._fleet.note(link, fault, "while agents were reset")
            link.lost = False
            self._write(steps, number, reply.kinds, modes, link)
        return self._checked(steps)

    def step(self, requests: Sequence[KindRequest]) -> list[KindStep]:
        """Advance all agents by one step, in all engines at the same time.

        Raises:
            BridgeError: an engine that stays broken, or an agent that breaks a rule.
            ObservationError, RewardError: a number is not finite.
        """
        self._check_open()
        self._steps += 1
        steps = [self._kept(index) for index in range(len(requests))]
        waiting = []
        for number, link in enumerate(self._fleet.links):
            if link.lost:
                continue
            modes, seeds, actions = self._of_engine(requests, number)
            try:
                link.send("/agents/step", modes, seeds, actions)
                waiting.append((number, link, modes))
            except BridgeFault as fault:
                self._lose(steps, number, link, fault)
        for number, link, modes in waiting:
            try:
                reply = link.receive(modes)
            except BridgeFault as fault:
                self._lose(steps, number, link, fault)
            else:
                link.failures = 0
                self._write(steps, number, reply.kinds, modes, link)
        return self._checked(steps)

    def close(self) -> None:
        """End the engines that were started here; hang up on others."""
        self._fleet.close()

    def _check_open(self) -> None:
        if self._fleet.closed:
            raise AmbuloError("the game is closed: make a new one")

    def _rows(self, kind: int, number: int) -> slice:
        count = self.spec.kinds[kind].count
        return slice(number * count, (number + 1) * count)

    def _of_engine(
        self, requests: Sequence[KindRequest], number: int
    ) -> tuple[Ints, Ints, list[Rows]]:
        """Modes and seeds of all agents of one engine, and actions of each kind."""
        parts = [(r, self._rows(k, number)) for k, r in enumerate(requests)]
        return (
            np.concatenate([request.modes[rows] for request, rows in parts]),
            np.concatenate([request.seeds[rows] for request, rows in parts]),
            [request.actions[rows] for request, rows in parts],
        )

    def _empty(self, kind: AgentKind) -> Rows:
        return np.zeros((self.engines * kind.count, kind.observation_size), np.float32)

    def _kept(self, kind: int) -> KindStep:
        """A step in which nothing happened to a kind."""
        obs, count = self._last[kind], self.count(kind)
        names = dict.fromkeys(
            name for link in self._fleet.links for name in link.infos[kind]
        )
        return KindStep(
            obs=obs,
            final=obs.copy(),
            reward=np.zeros(count),
            terminated=np.zeros(count, np.bool_),
            truncated=np.zeros(count, np.bool_),
            fault=np.zeros(count, np.bool_),
            begun=np.zeros(count, np.bool_),
            infos={name: _info(name, count) for name in names},
        )

    def _write(
        self,
        steps: Sequence[KindStep],
        number: int,
        kinds: Sequence[KindRows],
        modes: Ints,
        link: GameLink,
    ) -> None:
        """Put the rows of one engine into the steps of all."""
        at = 0
        for index, (step, rows) in enumerate(zip(steps, kinds, strict=True)):
            own = self._rows(index, number)
            count = own.stop - own.start
            step.obs[own] = rows.obs
            step.final[own] = rows.obs
            own_modes = modes[at : at + count]
            ended = (rows.ended != 0) & (own_modes == IF_DONE)
            step.final[own][ended] = rows.final
            step.begun[own] = ended | (own_modes == NOW)
            step.reward[own] = rows.reward
            step.terminated[own] = rows.ended == TERMINATED
            step.truncated[own] = rows.ended == TRUNCATED
            for name, column in zip(link.infos[index], rows.infos.T, strict=True):
                if name not in step.infos:
                    step.infos[name] = _info(name, len(step.reward))
                step.infos[name][own] = column
            at += count

    def _lose(
        self, steps: Sequence[KindStep], number: int, link: GameLink, fault: BridgeFault
    ) -> None:
        """Cut the episodes of an engine that broke down in this step."""
        link.lost = True
        for index, step in enumerate(steps):
            own = self._rows(index, number)
            step.truncated[own] = step.fault[own] = True
        self._fleet.note(link, fault, f"{self.spec.agents} agents lost their episodes")

    def _checked(self, steps: list[KindStep]) -> list[KindStep]:
        """Refuse numbers that are not finite."""
        for index, step in enumerate(steps):
            if not np.isfinite(step.reward).all():
                row = int(np.flatnonzero(~np.isfinite(step.reward))[0])
                raise RewardError(
                    f"{self._place(index, row)}: the reward is {step.reward[row]}"
                )
            for obs in (step.obs, step.final):
                if not np.isfinite(obs).all():
                    self._refuse(index, obs)
        return steps

    def _refuse(self, index: int, obs: Rows) -> None:
        row, column = (int(where[0]) for where in np.nonzero(~np.isfinite(obs)))
        kind = self.spec.kinds[index]
        for name, columns in kind.columns.items():
            if columns.start <= column < columns.stop:
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


def _info(name: str, count: int) -> NDArray[Any]:
    return np.zeros(count, np.bool_ if name == "is_success" else np.float64)


__all__ = ["GO_ON", "IF_DONE", "NOW", "Game", "KindRequest", "KindStep"]
