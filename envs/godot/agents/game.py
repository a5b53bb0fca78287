"""A user's game in several engines: all agents of all kinds, reset and stepped together."""

from __future__ import annotations

import bisect
import itertools
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Bools, Floats
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
    Restarts,
    StepReply,
    restarts,
)
from ambulo.envs.godot.errors import BridgeFault
from ambulo.envs.godot.fleet import EngineFleet

MAX_SEED = 2**31 - 1
"""Seeds of episodes are below it."""


class GameStep(NamedTuple):
    """State of all N agents after a step or reset: kind by kind, of each engine by engine.

    Arrays belong to the game, and must not be changed.
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
    eventful: bool
    """Whether any of the flags is set."""
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

    def reset(self, pairs: Restarts) -> GameStep:
        """Begin episodes where the `restarts` of mode and seed (N, 2) say `NOW`.

        An engine that broke down is started again first, and all of its agents begin.

        Raises:
            BridgeError: an engine that stays broken, or an agent that breaks a rule.
        """
        self._check_open()
        replies: list[StepReply | None] = [None] * self.engines
        for link, own in zip(self._fleet.links, self._of_engines(pairs), strict=True):
            while (own[:, 0] == NOW).any():
                try:
                    if not link.ready:
                        self._fleet.open(link)
                        link.lost = True
                    if link.lost:
                        own = restarts(NOW, own[:, 1])  # noqa: PLW2901
                    link.send("/agents/reset", own)
                    replies[link.number] = link.receive()
                    link.lost = False
                    break
                except BridgeFault as fault:
                    self._fleet.note(link, fault, "while agents were reset")
        return self._step(replies)

    def step(self, pairs: Restarts, actions: Sequence[Rows]) -> GameStep:
        """Advance all agents by one step, in all engines at the same time.

        Args:
            pairs: the `restarts` of mode and seed (N, 2).
            actions: of each kind, shape (N_k, action_size).

        Raises:
            BridgeError: an engine that stays broken, or an agent that breaks a rule.
            ObservationError, RewardError: a number is not finite.
        """
        self._check_open()
        self._steps += 1
        waiting, lost = [], []
        replies: list[StepReply | None] = [None] * self.engines
        for link, own in zip(self._fleet.links, self._of_engines(pairs), strict=True):
            if link.lost:
                continue
            rows = actions
            if self.engines > 1:
                rows = [values[self._rows(k, link)] for k, values in enumerate(actions)]
            try:
                link.send("/agents/step", own, rows)
                waiting.append(link)
            except BridgeFault as fault:
                lost.append(self._lose(link, fault))
        for link in waiting:
            try:
                replies[link.number] = link.receive()
                link.note_step()
            except BridgeFault as fault:
                lost.append(self._lose(link, fault))
        return self._step(replies, lost)

    def picture(self) -> bytes:
        """The frame that the first engine has drawn last, a PNG file.

        Raises:
            BridgeError: it draws nothing (`headless`), or has broken down.
        """
        self._check_open()
        return self._fleet.links[0].picture()

    def close(self) -> None:
        """End the engines that were started here; hang up on others."""
        self._fleet.close()

    def _check_open(self) -> None:
        if self._fleet.closed:
            raise AmbuloError("the game is closed: make a new one")

    def _arrange(self) -> None:
        """Lay out the rows of all agents, none of which has been reset."""
        kinds = self.spec.kinds
        counts = [self.count(kind) for kind in range(len(kinds))]
        self._ends = [0, *itertools.accumulate(counts)]
        engine = [np.repeat(np.arange(self.engines), kind.count) for kind in kinds]
        self._where = [
            np.flatnonzero(np.concatenate(engine) == number)
            for number in range(self.engines)
        ]
        """Rows of the agents of each engine."""
        nothing = [np.zeros((k.count, k.observation_size), np.float32) for k in kinds]
        self._seen = [nothing] * self.engines
        """Observations of each engine's agents, by kind."""
        self._none = np.zeros(self._ends[-1], np.bool_)
        self._none.setflags(write=False)

    def _rows(self, kind: int, link: GameLink) -> slice:
        """Rows of an engine among those of a kind."""
        count = self.spec.kinds[kind].count
        return slice(link.number * count, (link.number + 1) * count)

    def _of_engines(self, values: Restarts) -> list[Restarts]:
        """The rows of all agents by engine."""
        if self.engines == 1:
            return [values]
        return [values[where] for where in self._where]

    def _gathered(self, parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """The values of all agents from those of each engine."""
        if self.engines == 1:
            return parts[0]
        result = np.empty(self._ends[-1], parts[0].dtype)
        for where, part in zip(self._where, parts, strict=True):
            result[where] = part
        return result

    def _still(self, link: GameLink) -> StepReply:
        """State of the agents of an engine that is not stepped."""
        count, kinds = self.spec.agents, self.spec.kinds
        return StepReply(
            self._seen[link.number], np.zeros(count, np.float32), None, [],
            np.full(count, GO_ON, np.int32),
            [np.zeros((k.count, len(n)), np.float32)
             for k, n in zip(kinds, link.infos, strict=True)],
            0, finite=True,
        )  # fmt: skip

    def _step(
        self, answers: Sequence[StepReply | None], lost: Sequence[GameLink] = ()
    ) -> GameStep:
        """The step of all agents; nothing has happened where an engine gave no answer.

        The episodes of the `lost` are cut off.
        """
        links, kinds = self._fleet.links, range(len(self.spec.kinds))
        replies = [
            self._still(link) if reply is None else reply
            for link, reply in zip(links, answers, strict=True)
        ]
        self._seen = [reply.obs for reply in replies]
        obs = [_joined([reply.obs[kind] for reply in replies]) for kind in kinds]
        reward = self._gathered([reply.reward for reply in replies])
        final, fault, terminated, truncated, begun = obs, *[self._none] * 4
        eventful = bool(lost) or any(reply.ended is not None for reply in replies)
        if eventful:
            modes = self._gathered([reply.modes for reply in replies])
            ended = self._gathered(
                [r.modes * 0 if r.ended is None else r.ended for r in replies]
            )
            cut_off = [np.full(self.spec.agents, link in lost) for link in links]
            fault = self._gathered(cut_off)
            renewed = (ended != 0) & (modes == IF_DONE)
            begun = renewed | (modes == NOW)
            terminated, truncated = ended == TERMINATED, (ended == TRUNCATED) | fault
            final = [values.copy() for values in obs]
            for kind, values in enumerate(final):
                parts = [reply.final[kind] for reply in replies if reply.final]
                if parts:
                    values[renewed[self.rows(kind)]] = _joined(parts)
        step = GameStep(
            obs, final, reward.astype(np.float64), terminated, truncated, fault, begun,
            eventful, [self._infos(kind, replies) for kind in kinds],
        )  # fmt: skip
        if not all(reply.finite for reply in replies):
            self._check(step)
        return step

    def _infos(
        self, kind: int, replies: Sequence[StepReply]
    ) -> dict[str, NDArray[Any]]:
        """The infos of a kind by name; zeros where an engine does not say one."""
        count, infos = self.spec.kinds[kind].count, dict[str, NDArray[Any]]()
        names = [link.infos[kind] for link in self._fleet.links]
        for name in dict.fromkeys(itertools.chain(*names)):
            parts = [
                reply.infos[kind][:, own.index(name)]
                if name in own
                else np.zeros(count, np.float32)
                for own, reply in zip(names, replies, strict=True)
            ]
            dtype = np.bool_ if name == "is_success" else np.float64
            infos[name] = _joined(parts).astype(dtype)
        return infos

    def _lose(self, link: GameLink, fault: BridgeFault) -> GameLink:
        """Have an engine that broke down reset; return it."""
        link.lost = True
        self._fleet.note(link, fault, f"{self.spec.agents} agents lost their episodes")
        return link

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
        for name, columns in self.spec.kinds[index].spec.slices().items():
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


def _joined(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """The rows of several engines as one array."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


__all__ = ["GO_ON", "IF_DONE", "NOW", "Game", "GameStep"]
