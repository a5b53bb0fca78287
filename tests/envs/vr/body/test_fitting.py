"""Levels that a body does not fit through are refused by name."""

from __future__ import annotations

import numpy as np
import pytest

from ambulo.configs.errors import LevelError
from ambulo.envs.vr.body.fitting import BodySize, check_levels, fitting_level
from ambulo.envs.vr.families.level_sets import split_level
from ambulo.envs.vr.levels.level import Level

SIZE = BodySize("body = human23")


def with_door(gap: float, lintel: float | None = None) -> Level:
    """Two rooms and a wall with a door of that width, [m], under a lintel."""
    half = 0.5 * (4.0 - 0.5 * gap)
    boxes = [
        [0.0, side * (0.5 * gap + half), 1.25, 0.1, half, 1.25, 0.0]
        for side in (-1.0, 1.0)
    ]
    if lintel is not None:
        boxes.append([0.0, 0.0, lintel + 0.3, 0.1, 0.5 * gap, 0.3, 0.0])
    return Level(
        "door",
        np.array([-5.0, -4.0, 5.0, 4.0]),
        boxes=np.array(boxes),
        start=np.array([-3.0, 0.05, 0.0]),
        goal=np.array([3.0, 0.05]),
    )


def test_a_wide_door_is_no_obstacle():
    check_levels([with_door(0.9), with_door(0.9, lintel=1.9)], SIZE)


def test_a_narrow_gap_is_named():
    with pytest.raises(
        LevelError, match=r"level 'door': .* gap of 0\.5\d m; body = human23"
    ):
        check_levels([with_door(0.57)], SIZE)


def test_a_low_ceiling_is_named():
    message = r"level 'door': a ceiling at 1\.40 m .* body = human23 needs 1\.75 m"
    with pytest.raises(LevelError, match=message):
        check_levels([with_door(0.9, lintel=1.4)], SIZE)


def test_levels_without_a_way_of_their_own_are_left_to_the_task():
    check_levels([Level("open", np.array([-1.0, -1.0, 1.0, 1.0]))], SIZE)


@pytest.mark.integration
def test_generated_levels_that_are_too_narrow_have_others_in_their_place():
    narrow = split_level("pits", "train", 401)
    assert fitting_level("pits", "train", 401, "capsule").name == narrow.name
    other = fitting_level("pits", "train", 401, "twin")
    assert other.name != narrow.name
    check_levels([other], BodySize("twin"))
    with pytest.raises(LevelError, match=r"gap of 0\.6"):
        check_levels([narrow], BodySize("twin"))
