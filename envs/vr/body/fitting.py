"""Check of a body's size against a level: width of passages, height of obstacles overhead."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from ambulo.configs.errors import LevelError
from ambulo.envs.vr.body.ground_floor import ground_floor, open_ground_floor
from ambulo.envs.vr.contract import BODY_HEIGHT
from ambulo.envs.vr.families.level_sets import SEEDS_PER_SPLIT, Split, split_level
from ambulo.envs.vr.levels.geodesic import FINE_RESOLUTION, has_few_cells
from ambulo.envs.vr.levels.layers import LayeredGrid
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.levels.level_io import load_levels

_RESOLUTIONS = (FINE_RESOLUTION, 0.05, 0.02)
"""Cell sizes of the search for a path; the finest resolves a gap to 2 cm, [m]."""
_BISECTIONS = 6
"""Bisections of the width between zero and the body's width."""
SPARE, SPARES = 100_003, 9
"""Index distance of replacement levels, and the number of them to try."""
_LOWEST = 0.5
"""Boxes that begin higher than this hang over the floor, [m]."""


@dataclass(frozen=True)
class BodySize:
    """Space that a body needs."""

    name: str
    """Its name in messages."""
    width: float = 0.62
    """Width of the narrowest passage for it, arms included, [m]."""
    height: float = BODY_HEIGHT
    """Its height, [m]."""


def check_levels(levels: Sequence[Level], size: BodySize) -> None:
    """Raise `LevelError` for the first level that `size` cannot cross from start to goal.

    The message names the level and its widest gap, or the height of the obstacle overhead.
    """
    for level in levels:
        if level.start is not None and level.goal is not None:
            _check(level, size)


def fitting_level(family: str, split: Split, index: int, body: str) -> Level:
    """Generated level `index` of `family`, or a replacement if it is too narrow for `body`.

    The replacement is the same in every run. Capsules fit everywhere. Other bodies get the
    ground floor of a level with heights, with open start and goal.

    Raises:
        LevelError: The family has no ground floor, and the body cannot climb.
    """
    for turn in range(SPARES):
        level = split_level(family, split, (index + turn * SPARE) % SEEDS_PER_SPLIT)
        if body == "capsule":
            break
        level = open_ground_floor(level)
        if _passes(level, BodySize.width):
            break
    return level


def own_levels(file: Path | str, body: str) -> list[Level]:
    """The levels of a file or folder, adapted to `body`.

    Raises:
        LevelError: A level is invalid, or the body cannot walk in it.
    """
    levels = load_levels(file)
    return levels if body == "capsule" else [ground_floor(level) for level in levels]


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
    raise LevelError(
        f"level {level.name!r}: the widest path from start to goal has a gap of "
        f"{_widest(level, size.width):.2f} m; {size.name} needs {size.width:.2f} m"
    )


def _widest(level: Level, most: float) -> float:
    """Width of the widest gap of all paths, below `most`, [m]."""
    low, high = 0.0, most
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if _passes(level, middle) else (low, middle)
    return 0.5 * (low + high)


@lru_cache(maxsize=4096)
def _passes(level: Level, width: float) -> bool:
    """Whether a path of that width, [m], leads from start to goal."""
    start, goal = level.start_place, level.goal_place
    if start is None or goal is None:
        return True
    for resolution in _RESOLUTIONS:
        if resolution < FINE_RESOLUTION and not has_few_cells(level, resolution):
            return False
        grid = LayeredGrid.of(level, resolution, 0.5 * width)
        if grid.reaches(grid.field(goal), start):
            return True
    return False
