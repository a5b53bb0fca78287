"""Walking distances over seams between floors, which carry the body that walks over them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ambulo.configs.errors import LevelError
from ambulo.envs.vr.contract import WorldSpec
from ambulo.envs.vr.levels.geodesic import (
    EVALUATION_RESOLUTION,
    FINE_RESOLUTION,
    RESOLUTION,
    path_length,
)
from ambulo.envs.vr.levels.layers import LayeredGrid
from ambulo.envs.vr.levels.level_io import parse_level
from ambulo.envs.vr.world.compiled_world import CompiledWorld

MIDDLES = (0.0, 0.05, 0.125, 0.33)
"""Where seams lie in cells of all sizes, [m]."""


def tiles(gap: float, step: float = 0.0, middle: float = 0.0) -> dict[str, Any]:
    """Two slabs with `gap` [m] between them at x = `middle`, the eastern `step` higher."""
    west, east = middle - gap / 2, middle + gap / 2
    return {
        "name": "tiles", "bounds": [-6, -6, 6, 6], "heights": True, "ground": False,
        "boxes": [
            {"center": [(west - 6) / 2, 0, -0.1], "half_size": [(west + 6) / 2, 5, 0.1]},
            {"center": [(east + 6) / 2, 0, step - 0.1],
             "half_size": [(6 - east) / 2, 5, 0.1]},
        ],
        "start": {"position": [-4, 0, 0], "yaw": 0},
        "goal": [4, 0, step],
    }  # fmt: skip


def lift(gap: float) -> dict[str, Any]:
    """A floor of 3 m, and a lift that stops `gap` [m] beside it, in a shaft without ground."""
    plate = [1 - gap, 0]
    return {
        "name": "lift", "bounds": [-6, -3, 6, 3], "heights": True, "ground": False,
        "boxes": [
            {"center": [4, 0, 2.9], "half_size": [2, 3, 0.1]},
            {"center": [-3 - gap, 0, -0.1], "half_size": [3 - gap, 3, 0.1]},
        ],
        "movers": [
            {
                "kind": "lift", "half_size": [1, 1, 0.1],
                "path": [[0, *plate, -0.1, 0], [3, *plate, -0.1, 0],
                         [7, *plate, 2.9, 0], [10, *plate, 2.9, 0]],
            }
        ],
        "start": {"position": [-4, 0, 0], "yaw": 0},
        "goal": [5, 0, 3.0],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("gap", "step", "middle"),
    [
        (gap, step, MIDDLES[(i + k) % len(MIDDLES)])
        for i, gap in enumerate((0.0, 0.01, 0.02, 0.04, 0.05))
        for k, step in enumerate((0.0, 0.2, -0.2))
    ],
)
def test_a_seam_lengthens_no_way(gap: float, step: float, middle: float) -> None:
    level = parse_level(tiles(gap, step, middle), "x")
    start, goal = np.array([-4.0, 0.0, 0.0]), np.array([4.0, 0.0, step])
    for resolution in (RESOLUTION, EVALUATION_RESOLUTION, FINE_RESOLUTION):
        grid = LayeredGrid.of(level, resolution)
        there = grid.distance(grid.field(goal), start)
        back = grid.distance(grid.field(start), goal)
        assert [there, back] == pytest.approx([8.0, 8.0], abs=0.1)


@pytest.mark.parametrize("middle", MIDDLES)
def test_a_wider_gap_is_no_seam(middle: float) -> None:
    with pytest.raises(LevelError, match="goal: no way for the body"):
        parse_level(tiles(0.06, 0.0, middle), "x")


def test_a_seam_is_no_edge() -> None:
    whole = LayeredGrid.of(parse_level(tiles(0.0), "x"), FINE_RESOLUTION)
    parted = LayeredGrid.of(parse_level(tiles(0.04), "x"), FINE_RESOLUTION)
    assert np.array_equal(parted.free, whole.free)
    assert np.array_equal(parted.links, whole.links)
    assert np.array_equal(parted.narrowed(0.3).free, whole.narrowed(0.3).free)


@pytest.mark.parametrize(
    ("gap", "turn", "carries"),
    [(0.04, 0.0, True), (0.05, 0.3, True), (0.07, 0.0, False)],
)
def test_the_world_carries_where_distances_do(
    gap: float, turn: float, carries: bool
) -> None:
    level = parse_level(tiles(gap), "x", solvable=False)
    goal = np.array([3.0, 0.0, 0.0])
    grid = LayeredGrid.of(level)
    field = grid.field(goal)
    x = -1.0 - 0.001 * np.arange(24)  # ticks are 2 cm long: some of them end in the gap
    envs = np.arange(len(x))
    for place in x:
        assert grid.reaches(field, np.array([place, 0.0, 0.0])) == carries
    world = CompiledWorld(len(x), WorldSpec())
    world.set_levels([0], [level])
    poses = np.column_stack([x, 0 * x, np.full_like(x, turn), 0 * x])
    world.reset(envs, np.zeros_like(envs), poses)
    for _ in range(15):
        state = world.step(np.tile([0.0, 1.0, 0.0], (len(x), 1)))
    assert (state.position[:, 2] < -0.3).any() != carries


@pytest.mark.parametrize("gap", [0.0, 0.02])
def test_a_lift_stops_beside_a_seam(gap: float) -> None:
    level = parse_level(lift(gap), "x")
    start, goal = np.array([-4.0, 0.0, 0.0]), np.array([5.0, 0.0, 3.0])
    assert path_length(level, start, goal) == pytest.approx(9.0, abs=0.6)


def test_a_lift_too_far_from_its_floor_leads_nowhere() -> None:
    with pytest.raises(LevelError, match="goal: no way for the body"):
        parse_level(lift(0.06), "x")
