from __future__ import annotations

import math

import numpy as np
import pytest

from ambulo.envs.vr.families import generate
from ambulo.envs.vr.families.draft import MAX_WAY
from ambulo.envs.vr.families.level_sets import resolve, split_level
from ambulo.envs.vr.families.places.storeys import RISE, STEEPEST_RAMP
from ambulo.envs.vr.levels.layers import LayeredGrid
from ambulo.envs.vr.levels.level import Level


@pytest.fixture(scope="module")
def levels() -> list[Level]:
    return [generate("storeys", seed) for seed in range(6, 18)]


def test_buildings_can_be_walked_through(levels: list[Level]) -> None:
    for level in levels:
        grid = LayeredGrid.of(level)
        assert level.start is not None
        assert level.goal is not None
        field = grid.field([*level.goal, level.goal_height])
        way = grid.distance(field, [*level.start[:2], level.start_height])
        assert 4.0 < way < MAX_WAY + 1.0


def test_flights_are_as_steep_as_people_build_them(levels: list[Level]) -> None:
    for level in levels:
        flights = np.vstack([level.stairs[:, :8], level.ramps])
        assert 1 <= len(flights) <= 2
        for row in level.stairs:
            assert (row[5] - row[2]) / row[8] <= RISE
        for row in level.ramps:
            run = math.hypot(*(row[3:5] - row[:2]))
            assert math.atan2(row[5] - row[2], run) <= STEEPEST_RAMP
        assert (flights[:, 6] >= 1.0).all()
        heights = {0.0, *flights[:, 5].round(6)}
        for height in (level.start_height, level.goal_height):
            assert min(abs(height - h) for h in heights) < 1e-4
    assert any(len(level.stairs) for level in levels)
    assert any(len(level.ramps) for level in levels)
    assert any(len(level.stairs) + len(level.ramps) == 2 for level in levels)


def test_start_and_goal_are_mostly_on_different_floors(levels: list[Level]) -> None:
    apart = [abs(lv.start_height - lv.goal_height) > 1.0 for lv in levels]
    assert len(apart) / 2 < sum(apart) < len(apart)


@pytest.mark.parametrize("seed", range(3))
def test_every_floor_can_be_reached(seed: int) -> None:
    level = generate("storeys", seed)
    flights = np.vstack([level.stairs[:, :6], level.ramps[:, :6]])
    grid = LayeredGrid.of(level, 0.125)
    foot = flights[0, :3] + (flights[0, :3] - flights[0, 3:]) * [0.1, 0.1, 0.0]
    start = grid.points(np.array([grid.nearest(foot, 0.5)]))[0]
    field = grid.field(start)
    for row in flights:
        along = row[3:5] - row[:2]
        head = [*(row[3:5] + 0.6 * along / math.hypot(*along)), row[5]]
        assert np.isfinite(grid.distance(field, head))


def test_a_set_of_one_family_with_heights() -> None:
    assert resolve(["storeys"], "heldout") == ("storeys",)
    level = split_level("storeys", "heldout", 1)
    assert level.name == "storeys-2000001"
    np.testing.assert_array_equal(level.boxes, generate("storeys", 2_000_001).boxes)
