"""Agents of a game: kinds, the parts of their observations and actions, spaces.

`GameSpec.kinds` has one `AgentKind` for each name. A batch has flat rows: observations
(N, `observation_size`) float32 with the parts of `observation` side by side in order
(pictures as numbers from 0 to 255), and actions (N, `action_size`) float32 with the parts of
`action` side by side: numbers in [-1, 1], or the index of a choice.
`AgentKind.split` and `flatten` go between rows and what the spaces hold.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from gymnasium import Space, spaces
from numpy.typing import NDArray

from ambulo.configs.agent_spec import ActionSpec, AgentSpec, ObservationSpec
from ambulo.configs.errors import ActionError
from ambulo.envs.godot.errors import Malformed

Rows = NDArray[np.float32]


@dataclass(frozen=True)
class AgentKind:
    """All agents of one name, which share a policy."""

    spec: AgentSpec
    """Its name, and what it observes and does; numbers are flat, pictures are not."""
    agents: tuple[str, ...]
    """Paths of its agents in the scene of one engine."""
    boxes: tuple[spaces.Box, ...]
    """Space of each part of the observation; pictures are bytes."""
    scripted: bool = False
    """Whether its scripts act by themselves where a row of actions is NaN."""

    @property
    def name(self) -> str:
        """Name of the kind."""
        return self.spec.name

    @cached_property
    def count(self) -> int:
        """Agents of this kind in one engine."""
        return len(self.agents)

    @cached_property
    def observation_size(self) -> int:
        """Numbers of an observation, those of pictures included."""
        return self.spec.observation_size

    @cached_property
    def numbers(self) -> int:
        """Numbers of an observation without its pictures."""
        parts = self.spec.observation
        return sum(part.size for part in parts if not part.is_picture)

    @cached_property
    def action_size(self) -> int:
        """Numbers of an action."""
        return self.spec.action_width

    @cached_property
    def observation_space(self) -> Space[Any]:
        """A Box for a single part, else a Dict of them."""
        if len(self.boxes) == 1:
            return self.boxes[0]
        return spaces.Dict(
            {p.name: s for p, s in zip(self.spec.observation, self.boxes, strict=True)}
        )

    @cached_property
    def action_space(self) -> Space[Any]:
        """Box if all parts are continuous, Discrete or MultiDiscrete if none is, else Dict."""
        parts = self.spec.action
        choices = [part.choices for part in parts if part.choices is not None]
        if not choices:
            return spaces.Box(-1.0, 1.0, (self.action_size,), np.float32)
        if len(choices) < len(parts):
            return spaces.Dict({part.name: _space(part) for part in parts})
        return _space(parts[0]) if len(parts) == 1 else spaces.MultiDiscrete(choices)

    def split(self, rows: Rows) -> Any:
        """Observations of `rows` (N, observation_size) as batches of `observation_space`."""
        parts, columns = {}, self.spec.slices()
        for part, space in zip(self.spec.observation, self.boxes, strict=True):
            values = rows[:, columns[part.name]].reshape(len(rows), *space.shape)
            parts[part.name] = values.astype(space.dtype)
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
        for part in self.spec.action:
            values = np.asarray(actions[part.name], np.float32)
            if values.size % part.width:
                raise ActionError(
                    f"action '{part.name}': shape {values.shape}, must be (N, {part.width})"
                )
            parts.append(values.reshape(-1, part.width))
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
        where = self.spec.action_slices()
        for part in self.spec.action:
            columns = values[:, where[part.name]]
            if part.choices is None:
                np.clip(columns, -1.0, 1.0, out=columns)
            elif ((columns < 0) | (columns >= part.choices) | (columns % 1 != 0)).any():
                raise ActionError(
                    f"action '{part.name}': must be an index from 0 to {part.choices - 1}"
                )
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


def _space(part: ActionSpec) -> spaces.Box | spaces.Discrete:
    """Return the space of a part of an action."""
    if part.choices is not None:
        return spaces.Discrete(part.choices)
    return spaces.Box(-1.0, 1.0, (part.width,), np.float32)


def _kind(row: Mapping[str, Any]) -> AgentKind:
    boxes = tuple(map(_box, row["observation"]))
    parts = zip(row["observation"], boxes, strict=True)
    spec = AgentSpec(
        name=str(row["name"]),
        observation=tuple(_observed(str(part["name"]), box) for part, box in parts),
        action=tuple(_action(part) for part in row["action"]),
    )
    agents = tuple(map(str, row["agents"]))
    return AgentKind(spec, agents, boxes, row.get("scripted") is True)


def _box(part: Mapping[str, Any]) -> spaces.Box:
    """Return the space of a part of an observation."""
    low = -np.inf if part["low"] is None else float(part["low"])
    high = np.inf if part["high"] is None else float(part["high"])
    kind = np.uint8 if part["dtype"] == "uint8" else np.float32
    return spaces.Box(low, high, tuple(map(int, part["shape"])), kind)


def _observed(name: str, box: spaces.Box) -> ObservationSpec:
    """Return a part of an observation as policies have it."""
    if box.dtype == np.uint8:
        return ObservationSpec(name=name, shape=box.shape, high=float(box.high.flat[0]))
    return ObservationSpec(name=name, shape=(prod(box.shape),))


def _action(part: Mapping[str, Any]) -> ActionSpec:
    """Return a part of an action: a choice, or numbers."""
    name, choices = str(part["name"]), int(part.get("discrete", 0))
    if choices:
        return ActionSpec(name=name, choices=choices)
    return ActionSpec(name=name, size=int(part.get("size", 1)))
