"""Numbers, points and names of level files, with their limits."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Any, TypeVar

from pydantic import (
    AfterValidator,
    BeforeValidator,
    FailFast,
    Field,
    StrictFloat,
    StrictStr,
    WithJsonSchema,
)

from ambulo.configs.names import LEVEL
from ambulo.envs.vr.levels.surfaces import (
    MAX_TRIANGLES,
)

MAX_COORDINATE = 1e6
"""Largest number in a level, [m] or [rad]."""
MAX_PLACES = 10_000
"""Largest number of starts, goals or waypoints of a level."""
MAX_MOVERS = 200
"""Largest number of movers of a level."""
MAX_PEOPLE = 200
"""Largest number of people of a level."""
MAX_KEYFRAMES = 10_000
"""Largest number of keyframes of one path."""


def _loop(value: object) -> object:
    if isinstance(value, bool):
        return "loop" if value else "once"
    if value != "back_and_forth":
        raise ValueError('expected true, false or "back_and_forth"')
    return value


def _phase(value: object) -> object:
    if value is None or (isinstance(value, str) and value != "random"):
        raise ValueError('expected seconds or "random"')
    return None if value == "random" else value


def _ascending(rows: list[list[float]]) -> list[list[float]]:
    if rows[0][0] != 0:
        raise ValueError("[0]: t must begin at 0")
    for k, (before, after) in enumerate(pairwise(rows)):
        if after[0] <= before[0]:
            raise ValueError(f"[{k + 1}]: t must ascend")
    return rows


def checked_grid(rows: Any) -> Any:
    """Return rows of equal length, not too many, or raise `ValueError`."""
    lists = isinstance(rows, list | tuple) and all(
        isinstance(row, list | tuple) for row in rows
    )
    widths = [len(row) for row in rows] if lists else []
    if 2 * sum(widths) > MAX_TRIANGLES:
        raise ValueError(f"more than {MAX_TRIANGLES} triangles")
    for k, width in enumerate(widths):
        if width != widths[0]:
            raise ValueError(f"[{k}]: expected {widths[0]} numbers, got {width}")
    return rows


def counted(least: int, most: int, description: str | None = None) -> Any:
    """Return a field with `least` to `most` members."""
    return Field(min_length=least, max_length=most, description=description)


T = TypeVar("T")
Rows = Annotated[tuple[T, ...], FailFast()]
"""A list of any length; only its first error is reported."""
Number = Annotated[StrictFloat, Field(ge=-MAX_COORDINATE, le=MAX_COORDINATE)]
Positive = Annotated[StrictFloat, Field(gt=0, le=MAX_COORDINATE)]
Whole = Annotated[StrictFloat, Field(ge=0, le=MAX_COORDINATE, multiple_of=1)]
Length = Annotated[Positive, Field(description="[m]")]
Yaw = Annotated[Number, Field(description="Counter-clockwise, [rad]")]
Pair = tuple[Number, Number]
Triple = Annotated[list[Number], counted(3, 3, "x, y, z, [m]")]
Rectangle = Annotated[list[Number], counted(4, 4)]
HalfSize = Annotated[list[Positive], counted(3, 3, "Along its own x, y, z, [m]")]
Point = Annotated[
    list[Number],
    counted(2, 3, "x, y and, unless 0, z, [m]"),
    AfterValidator(lambda point: [*point, 0.0][:3]),
]
Keyframe = Annotated[list[Number], counted(5, 5, "t [s], x, y, z [m], yaw [rad]")]
WalkerKeyframe = Annotated[
    list[Number],
    counted(3, 4, "t [s], x, y and, unless 0, z [m]"),
    AfterValidator(lambda row: [*row, 0.0][:4]),
]
Keyframes = Annotated[
    Rows[T], Field(min_length=1, max_length=MAX_KEYFRAMES), AfterValidator(_ascending)
]
Name = Annotated[
    StrictStr,
    AfterValidator(LEVEL.checked),
    Field(json_schema_extra={"pattern": f"^{LEVEL.pattern.pattern}$"}),
]
Loop = Annotated[
    str,
    BeforeValidator(_loop),
    WithJsonSchema({"enum": [True, False, "back_and_forth"]}),
]
Phase = Annotated[
    Annotated[Number, Field(ge=0)] | None,
    BeforeValidator(_phase),
    WithJsonSchema({"anyOf": [{"type": "number", "minimum": 0}, {"const": "random"}]}),
]
