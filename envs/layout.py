"""The layout of an observation as data, from which docs, schema and scaling are made."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.errors import ConfigError


@dataclass(frozen=True)
class Part:
    """A named run of numbers in the observation."""

    name: str
    size: int
    unit: str
    meaning: str
    scale: float = 1.0
    """Fixed factor that the policy applies to these numbers."""


@dataclass(frozen=True)
class ObservationLayout:
    """All parts in order; names are the only way to address numbers."""

    parts: tuple[Part, ...]
    privileged: tuple[Part, ...] = ()
    """Extra numbers for the critic, after `parts`; never given to the actor."""

    def __post_init__(self) -> None:
        """Refuse two parts of one name."""
        names = [part.name for part in self.parts + self.privileged]
        for name in names:
            if names.count(name) > 1:
                raise ConfigError(f"observation: two parts are called {name!r}")

    @cached_property
    def size(self) -> int:
        """Size of the actor's observation."""
        return sum(part.size for part in self.parts)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the parts that the actor sees."""
        return tuple(part.name for part in self.parts)

    @property
    def full_size(self) -> int:
        """Size including the privileged parts."""
        return self.size + sum(part.size for part in self.privileged)

    def slices(self) -> dict[str, slice]:
        """Slice of each part, privileged parts included."""
        found, at = {}, 0
        for part in self.parts + self.privileged:
            found[part.name] = slice(at, at + part.size)
            at += part.size
        return found

    def scales(self) -> NDArray[np.float32]:
        """Fixed input scaling of the policy, shape (full_size,)."""
        parts = self.parts + self.privileged
        return np.concatenate(
            [np.full(part.size, part.scale, np.float32) for part in parts]
        )

    def schema(self) -> list[dict[str, Any]]:
        """The layout of the actor's observation as JSON-ready rows."""
        where = self.slices()
        return [
            {
                "name": part.name,
                "start": where[part.name].start,
                "stop": where[part.name].stop,
                "unit": part.unit,
                "meaning": part.meaning,
            }
            for part in self.parts
        ]

    def table(self) -> str:
        """The layout of the actor's observation as a Markdown table."""
        lines = ["| numbers | name | unit | meaning |", "|---|---|---|---|"]
        for row in self.schema():
            first, last = row["start"], row["stop"] - 1
            span = f"{first}" if first == last else f"{first}-{last}"
            lines.append(
                f"| {span} | `{row['name']}` | {row['unit']} | {row['meaning']} |"
            )
        return "\n".join(lines)
