"""Whether a body fits through a level: wide enough ways, and nothing low above them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ambulo.configs.errors import LevelError
from ambulo.envs.vr.contract import BODY_HEIGHT
from ambulo.envs.vr.levels.geodesic import (
    FINE_RESOLUTION,
    distance_field,
    free_grid,
    reaches,
)
from ambulo.envs.vr.levels.level import Level

_WIDTHS = np.arange(0.56, 2.0, 0.01)
"""Widths of ways that are tried to name the widest, [m]."""
_LOWEST = 0.5
"""Boxes that begin higher hang over the floor, [m]."""


@dataclass(frozen=True)
class BodySize:
    """How much room a body needs."""

    name: str
    """What it is called in messages."""
    width: float = 0.62
    """Width of the narrowest way that it is sent through, arms included, [m]."""
    height: float = BODY_HEIGHT
    """[m]."""


def check_levels(levels: Sequence[Level], size: BodySize) -> None:
    """`LevelError` for the first level with start and goal that `size` does not fit through.

    It names the level and its widest way, or the height of what hangs over it.
    """
    for level in levels:
        if level.start is not None and level.goal is not None:
            _check(level, size)


@lru_cache(maxsize=4096)
def _check(level: Level, size: BodySize) -> None:
    if _passes(level, size.width):
        return
    low = level.boxes[:, 2] - level.boxes[:, 5]
    hanging = low > _LOWEST
    under = dataclasses.replace(level, boxes=level.boxes[~hanging])
    if _passes(under, size.width):
        lowest = float(low[hanging].min())
        raise LevelError(
            f"level {level.name!r}: a ceiling at {lowest:.2f} m hangs over the way from "
            f"start to goal; {size.name} needs {size.height:.2f} m"
        )
    widest = max((w for w in _WIDTHS if _passes(level, float(w))), default=0.0)
    raise LevelError(
        f"level {level.name!r}: the widest way from start to goal has a gap of "
        f"{widest:.2f} m; {size.name} needs {size.width:.2f} m"
    )


def _passes(level: Level, width: float) -> bool:
    """Whether a way of that width, [m], leads from start to goal."""
    grid = free_grid(level, FINE_RESOLUTION, 0.5 * width)
    assert level.start is not None and level.goal is not None
    return reaches(grid, distance_field(grid, level.goal), level.start)
