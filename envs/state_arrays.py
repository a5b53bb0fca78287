"""Arrays over environments that are saved and restored by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Ints

Arrays = dict[str, NDArray[np.generic]]

_TYPES = {"Floats": np.float64, "Ints": np.int64, "Bools": np.bool_}


@dataclass(frozen=True)
class StateArrays:
    """Base of dataclasses whose fields are `Floats`, `Ints` or `Bools`; first axis N."""

    shapes: ClassVar[Mapping[str, tuple[int, ...]]] = {}
    """Axes behind the first of each field that has any."""

    @classmethod
    def zeros(cls, count: int) -> Self:
        """Zero arrays for `count` environments."""
        return cls(
            **{
                field.name: np.zeros(
                    (count, *cls.shapes.get(field.name, ())), _TYPES[str(field.type)]
                )
                for field in fields(cls)
            }
        )

    def arrays(self) -> Arrays:
        """The arrays by name (not copied)."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def clear(self, envs: Ints) -> None:
        """Set the arrays of `envs` (k,) to zero."""
        for array in self.arrays().values():
            array[envs] = 0

    def state_dict(self) -> Arrays:
        """Copies of all arrays."""
        return {name: array.copy() for name, array in self.arrays().items()}

    def load_state_dict(self, arrays: Arrays) -> None:
        """Continue from `state_dict`."""
        for name, array in self.arrays().items():
            array[...] = arrays[name]


class NamedState:
    """Base of classes that save and restore some of their arrays."""

    saved: ClassVar[tuple[str, ...]]
    """Attributes that a bit-exact continuation needs."""

    def state_dict(self) -> Arrays:
        """Copies of the arrays."""
        return {name: getattr(self, name).copy() for name in self.saved}

    def load_state_dict(self, arrays: Arrays) -> None:
        """Continue from `state_dict`."""
        for name in self.saved:
            getattr(self, name)[...] = arrays[name]


def flattened(parts: Mapping[str, Arrays]) -> Arrays:
    """The arrays of all parts, `<part>.<name>`."""
    return {f"{p}.{k}": v for p, arrays in parts.items() for k, v in arrays.items()}


def part_of(arrays: Arrays, part: str) -> Arrays:
    """The arrays `<part>.<name>` by `<name>`."""
    start = f"{part}."
    return {k[len(start) :]: v for k, v in arrays.items() if k.startswith(start)}
