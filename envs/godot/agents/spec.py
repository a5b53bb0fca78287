"""Agents of a game: kinds, the parts of their observations and actions, spaces.

`GameSpec.kinds` has one `AgentKind` for each name. A batch has flat rows: observations
(N, `observation_size`) float32 with the parts of `observation` side by side in order
(pictures as numbers from 0 to 255), and actions (N, `action_size`) float32 with the parts of
`action` side by side: numbers in [-1, 1], or the index of a choice.
`AgentKind.split`, `flatten` and `unflatten` go between rows and what the spaces hold.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from ambulo.configs.errors import ActionError
from ambulo.envs.godot.errors import Malformed

Rows = NDArray[np.float32]


@dataclass(frozen=True)
class ObservationPart:
    """A named part of an observation."""

    name: str
    shape: tuple[int, ...]
    picture: bool = False
    """Bytes (height, width, channels) instead of numbers."""
    low: float = -np.inf
    high: float = np.inf

    @property
    def size(self) -> int:
        """Numbers of the part."""
        return prod(self.shape)

    @property
    def space(self) -> spaces.Box:
        """The space of the part."""
        dtype = np.uint8 if self.picture else np.float32
        return spaces.Box(self.low, self.high, self.shape, dtype)


@dataclass(frozen=True)
class ActionPart:
    """A named part of an action: `size` numbers in [-1, 1], or one of `choices`."""

    name: str
    size: int = 1
    choices: int = 0
    """Number of choices; 0: the part is continuous."""

    @property
    def space(self) -> spaces.Box | spaces.Discrete:
        """The space of the part."""
        if self.choices:
            return spaces.Discrete(self.choices)
        return spaces.Box(-1.0, 1.0, (self.size,), np.float32)


@dataclass(frozen=True)
class AgentKind:
    """All agents of one name, which share a policy."""

    name: str
    agents: tuple[str, ...]
    """Paths of its agents in the scene of one engine."""
    observation: tuple[ObservationPart, ...]
    action: tuple[ActionPart, ...]
    scripted: bool = False
    """Whether its scripts act by themselves where a row of actions is NaN."""

    @cached_property
    def count(self) -> int:
        """Agents of this kind in one engine."""
        return len(self.agents)

    @cached_property
    def observation_size(self) -> int:
        """Numbers of an observation, those of pictures included."""
        return sum(part.size for part in self.observation)

    @cached_property
    def numbers(self) -> int:
        """Numbers of an observation without its pictures."""
        return sum(part.size for part in self.observation if not part.picture)

    @cached_property
    def action_size(self) -> int:
        """Numbers of an action."""
        return sum(part.size for part in self.action)

    @cached_property
    def columns(self) -> dict[str, slice]:
        """Where each part of an observation lies in a row."""
        found, at = {}, 0
        for part in self.observation:
            found[part.name] = slice(at, at + part.size)
            at += part.size
        return found

    @cached_property
    def observation_space(self) -> spaces.Space[Any]:
        """A Box for a single part, else a Dict of them."""
        if len(self.observation) == 1:
            return self.observation[0].space
        return spaces.Dict({part.name: part.space for part in self.observation})

    @cached_property
    def action_space(self) -> spaces.Space[Any]:
        """Box if all parts are continuous, Discrete or MultiDiscrete if none is, else Dict."""
        choices = [part.choices for part in self.action]
        if not any(choices):
            return spaces.Box(-1.0, 1.0, (self.action_size,), np.float32)
        if len(choices) == 1:
            return spaces.Discrete(choices[0])
        if all(choices):
            return spaces.MultiDiscrete(choices)
        return spaces.Dict({part.name: part.space for part in self.action})

    def split(self, rows: Rows) -> Any:
        """Observations of `rows` (N, observation_size) as batches of `observation_space`."""
        parts = {}
        for part in self.observation:
            values = rows[:, self.columns[part.name]].reshape(len(rows), *part.shape)
            parts[part.name] = (
                values.astype(np.uint8) if part.picture else values.copy()
            )
        return parts if len(parts) > 1 else next(iter(parts.values()))

    def flatten(self, actions: Any) -> Rows:
        """Rows (N, action_size) of a batch of `action_space`.

        Raises:
            ActionError: a part is missing, or has another shape.
        """
        if not isinstance(self.action_space, spaces.Dict):
            values = np.asarray(actions)
            if values.dtype == object or values.size % self.action_size:
                raise ActionError(
                    f"actions of shape {values.shape}: must be (N, {self.action_size})"
                )
            return values.astype(np.float32).reshape(-1, self.action_size)
        if not isinstance(actions, Mapping) or set(actions) != set(self.action_space):
            names = ", ".join(self.action_space)
            raise ActionError(f"an action must have the parts {names}")
        parts = []
        for part in self.action:
            values = np.asarray(actions[part.name], np.float32)
            if values.size % part.size:
                raise ActionError(
                    f"action '{part.name}': shape {values.shape}, must be (N, {part.size})"
                )
            parts.append(values.reshape(-1, part.size))
        return np.concatenate(parts, axis=1)

    def checked(self, actions: NDArray[Any], count: int) -> Rows:
        """Rows (count, action_size) that the game takes: numbers are clipped to [-1, 1].

        Raises:
            ActionError: another shape, a number that is not finite, no such choice.
        """
        rows = np.asarray(actions)
        shape = (count, self.action_size)
        if rows.shape == shape[:1] and shape[1] == 1:
            rows = rows[:, None]
        if rows.shape != shape or rows.dtype.kind not in "fiub":
            raise ActionError(f"actions: shape {rows.shape}, must be {shape}")
        if not np.isfinite(rows).all():
            raise ActionError("actions must be finite")
        values = rows.astype(np.float32)
        at = 0
        for part in self.action:
            columns = values[:, at : at + part.size]
            if not part.choices:
                np.clip(columns, -1.0, 1.0, out=columns)
            elif ((columns < 0) | (columns >= part.choices) | (columns % 1 != 0)).any():
                raise ActionError(
                    f"action '{part.name}': must be an index from 0 to {part.choices - 1}"
                )
            at += part.size
        return values


@dataclass(frozen=True)
class GameSpec:
    """The agents of a scene, and how it is stepped."""

    scene: str
    kinds: tuple[AgentKind, ...]
    action_repeat: int
    """Physics ticks of a step."""
    speed_up: int
    """Physics ticks of a frame."""
    ticks_per_second: int
    godot_rl: bool
    """Whether agents follow the contract of godot-rl, whose games restart by themselves."""

    @cached_property
    def agents(self) -> int:
        """Agents of one engine."""
        return sum(kind.count for kind in self.kinds)

    @cached_property
    def rows(self) -> tuple[slice, ...]:
        """Where the agents of each kind are among those of one engine."""
        ends = np.cumsum([0, *(kind.count for kind in self.kinds)]).tolist()
        return tuple(slice(a, b) for a, b in itertools.pairwise(ends))

    @property
    def step_seconds(self) -> float:
        """Duration of a step in the game, [s]."""
        return self.action_repeat / self.ticks_per_second

    @classmethod
    def from_answer(cls, answer: Any) -> GameSpec:
        """The spec in the answer of `/agents/spec`.

        Raises:
            Malformed: it is none.
        """
        try:
            return cls(
                scene=str(answer["scene"]),
                kinds=tuple(_kind(row) for row in answer["kinds"]),
                action_repeat=int(answer["action_repeat"]),
                speed_up=int(answer["speed_up"]),
                ticks_per_second=int(answer["ticks_per_second"]),
                godot_rl=answer["contract"] == "godot_rl",
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise Malformed(f"/agents/spec: {error!r:.80}") from None


def info_names(answer: Any) -> list[list[str]]:
    """Names of the infos of each kind in the answer of `/agents/spec`, as Python has them."""
    return [[_INFO.get(name, name) for name in row["info"]] for row in answer["kinds"]]


_INFO = {"success": "is_success"}


def _kind(row: Mapping[str, Any]) -> AgentKind:
    return AgentKind(
        name=str(row["name"]),
        agents=tuple(map(str, row["agents"])),
        observation=tuple(
            ObservationPart(
                str(part["name"]),
                tuple(map(int, part["shape"])),
                part["dtype"] == "uint8",
                -np.inf if part["low"] is None else float(part["low"]),
                np.inf if part["high"] is None else float(part["high"]),
            )
            for part in row["observation"]
        ),
        action=tuple(
            ActionPart(
                str(part["name"]),
                int(part.get("size", 1)),
                int(part.get("discrete", 0)),
            )
            for part in row["action"]
        ),
        scripted=row.get("scripted") is True,
    )
