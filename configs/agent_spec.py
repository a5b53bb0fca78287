"""Observations and actions of agents in a game, by named parts."""

from __future__ import annotations

import math
from typing import Annotated, Self

from pydantic import Field, model_validator

from ambulo.configs.base import Config
from ambulo.configs.types import Count, Width

MAX_NUMBERS = 2**20
"""Largest size of an observation part."""


class ObservationSpec(Config):
    """A named part of an observation."""

    name: Annotated[str, Field(min_length=1, max_length=200)]
    """Unique among the parts."""
    shape: Annotated[tuple[Count, ...], Field(min_length=1, max_length=3)]
    """(n,) for numbers, or (height, width, channels) for an image."""
    high: Annotated[float, Field(gt=0)] = 1.0
    """Largest value of an image, by which its values are divided."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.size > MAX_NUMBERS:
            raise ValueError(f"{self.name}: {self.size} numbers, at most {MAX_NUMBERS}")
        return self

    @property
    def size(self) -> int:
        """Total number of values."""
        return math.prod(self.shape)

    @property
    def is_picture(self) -> bool:
        """Whether the part is an image, for convolutional layers."""
        return len(self.shape) == 3


class ActionSpec(Config):
    """A named part of an action: numbers in [-1, 1], or a choice."""

    name: Annotated[str, Field(min_length=1, max_length=200)]
    """Unique among the parts."""
    size: Width | None = None
    """Number of values; None for a choice."""
    choices: Annotated[int, Field(ge=1, le=4096)] | None = None
    """Number of options, indexed 0 to `choices` - 1; None for numbers."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.size is None) == (self.choices is None):
            raise ValueError(f"{self.name}: needs either size or choices")
        return self

    @property
    def width(self) -> int:
        """Columns in a row of actions: its numbers, or the index of the choice."""
        return self.size or 1

    @property
    def outputs(self) -> int:
        """Network outputs: means of the numbers, or a logit for each option."""
        return self.size or self.choices or 0


class AgentSpec(Config):
    """Observations and actions of agents of one kind, which share a policy."""

    name: Annotated[str, Field(min_length=1, max_length=200)]
    """Unique among the kinds of a game."""
    observation: Annotated[tuple[ObservationSpec, ...], Field(min_length=1)]
    """Its parts, concatenated in a row of numbers."""
    action: Annotated[tuple[ActionSpec, ...], Field(min_length=1)]
    """Its parts, in order."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        for parts in (self.observation, self.action):
            names = [part.name for part in parts]
            if len(set(names)) < len(names):
                raise ValueError(f"{self.name}: two parts of one name: {names}")
        return self

    @property
    def observation_size(self) -> int:
        """Size of an observation."""
        return sum(part.size for part in self.observation)

    @property
    def action_width(self) -> int:
        """Columns of a row of actions."""
        return sum(part.width for part in self.action)

    def slices(self) -> dict[str, slice]:
        """Return where each part of the observation lies in a row."""
        found, at = {}, 0
        for part in self.observation:
            found[part.name] = slice(at, at + part.size)
            at += part.size
        return found

    def action_slices(self) -> dict[str, slice]:
        """Return where each part of the action lies in a row."""
        found, at = {}, 0
        for part in self.action:
            found[part.name] = slice(at, at + part.width)
            at += part.width
        return found
