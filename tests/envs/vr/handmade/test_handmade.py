from __future__ import annotations

import math

import numpy as np
import pytest

from ambulo.envs.vr.families import MAX_OBSTACLES
from ambulo.envs.vr.handmade import handmade_levels
from ambulo.envs.vr.levels.geodesic import EVALUATION_RESOLUTION, path_length
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.levels.level_check import level_problem


@pytest.fixture(scope="module")
def levels() -> list[Level]:
    return handmade_levels()


def test_there_are_twelve(levels: list[Level]) -> None:
    names = [level.name for level in levels]
    assert names == sorted(names)
    assert len(set(names)) == 12
    assert {level.family for level in levels} == {"handmade"}


@pytest.mark.parametrize("k", range(12))
def test_levels_can_be_played(levels: list[Level], k: int) -> None:
    level = levels[k]
    assert level_problem(level) is None
    assert level.start is not None
    assert level.goal is not None
    way = path_length(level, level.start[:2], level.goal)
    assert way > max(7.0, 1.01 * math.dist(level.start[:2], level.goal))
    coarse = path_length(level, level.start[:2], level.goal, EVALUATION_RESOLUTION)
    assert np.isfinite(coarse)


@pytest.mark.parametrize("k", range(12))
def test_things_stand_on_the_floor(levels: list[Level], k: int) -> None:
    level = levels[k]
    assert 15 < len(level.boxes) + len(level.cylinders) <= MAX_OBSTACLES
    x0, y0, x1, y1 = level.bounds
    for x, y in [*level.boxes[:, :2], *level.cylinders[:, :2]]:
        assert x0 <= x <= x1
        assert y0 <= y <= y1
    assert (level.boxes[:, 2] - level.boxes[:, 5] > -1e-9).all()
    assert not level.heights
