"""Levels with heights as bodies meet them that cannot climb."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ambulo.configs.errors import LevelError
from ambulo.envs.vr.body.fitting import fitting_level
from ambulo.envs.vr.body.ground_floor import ground_floor
from ambulo.envs.vr.families.places.storeys import storeys
from ambulo.envs.vr.levels.layers import LayeredGrid
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.levels.moving import Mover
from ambulo.envs.vr.levels.surfaces import HeightField

BOUNDS = np.array([-6.0, -6.0, 6.0, 6.0])


def level(**parts):
    return Level("house", BOUNDS, heights=True, **parts)


def is_free(made, x, y):
    grid = LayeredGrid.of(made)
    j, i = grid.cell((x, y))
    return bool(grid.free[:, j, i].any())


@given(st.integers(0, 10_000))
@settings(max_examples=12, deadline=None)
def test_what_is_free_has_a_level_floor_and_room_above_it(seed):
    made = None
    rng = np.random.default_rng(seed)
    while made is None:
        made = storeys(rng)
    made = dataclasses.replace(made, start=None, goal=None)
    flat, whole = LayeredGrid.of(ground_floor(made)), LayeredGrid.of(made)
    places = flat.points(np.flatnonzero(flat.free))
    assert len(places) > 100
    for x, y, z in places[:: len(places) // 100]:
        assert z == 0.0
        j, i = whole.cell((x, y))
        floors = whole.height[:, j, i][whole.free[:, j, i]]
        assert np.abs(floors).min() < 0.02


@pytest.mark.parametrize(
    ("parts", "closed", "free"),
    [
        ({"stairs": np.array([[0, 0, 0, 4, 0, 2.72, 1, 0, 16.0]])}, (2, 0), (-1, 0)),
        ({"ramps": np.array([[0, 0, 0, 4, 0, 1, 1, 0.0]])}, (2, 0), (2, 1.5)),
        ({"ramps": np.array([[0, 0, 0, 5.5, 0, 4, 1, 0.1]])}, (2, 0), (4.5, 0)),
        ({"boxes": np.array([[0, 0, 0.05, 1, 1, 0.05, 0.0]])}, (0, 0), (2, 0)),
        ({"boxes": np.array([[0, 0, 2.0, 1, 1, 0.1, 0.0]])}, (6.5, 0), (0, 0)),
    ],
    ids=["stairs", "ramp", "under a plank", "curb", "under a roof"],
)
def test_what_it_cannot_climb_is_in_its_way(parts, closed, free):
    flat = ground_floor(level(**parts))
    assert is_free(flat, *free)
    assert not is_free(flat, *closed)


def test_places_on_the_ground_are_kept():
    starts = np.array([[1, 1, 0, 0], [2, 2, 2.7, 0.0]])
    np.testing.assert_array_equal(ground_floor(level(starts=starts)).starts, starts[:1])


@pytest.mark.parametrize(
    ("parts", "why"),
    [
        ({"goal": np.zeros(2), "goal_height": 2.7}, "its goal is 2.70 m above"),
        ({"start": np.zeros(3), "start_height": -1.0}, "its start is -1.00 m above"),
        ({"ground": False}, "has no ground"),
        (
            {"goals": np.array([[1, 1, 3.0]])},
            "none of its goals is on the ground floor",
        ),
        (
            {"heightfields": (HeightField(np.zeros(3), 1.0, np.eye(4)),)},
            "has meshes or terrains",
        ),
        (
            {"movers": (Mover("lift", np.ones(3), np.zeros((1, 5))),)},
            "has moving things",
        ),
    ],
)
def test_what_no_flat_level_has_is_refused(parts, why):
    with pytest.raises(LevelError, match=f"level 'house': {why}"):
        ground_floor(level(**parts))


def test_families_with_heights_have_levels_for_bodies():
    for index in range(6):
        assert not fitting_level("storeys", "validation", index, "human23").heights
    with pytest.raises(LevelError, match="moving things"):
        fitting_level("lifts", "validation", 0, "twin")
