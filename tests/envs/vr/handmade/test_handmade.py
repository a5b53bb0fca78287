from __future__ import annotations

import math

import numpy as np
import pytest

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
