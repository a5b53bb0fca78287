"""Parts of a floor that cannot be reached: which, how large, where, and why."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ambulo.configs.errors import LevelError
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.levels.level_io import load_levels
from ambulo.envs.vr.survey.survey import survey

LEVELS = Path(__file__).parents[3] / "data" / "playtest"


def wall(x0: float, y0: float, x1: float, y1: float) -> list[float]:
    return [
        (x0 + x1) / 2, (y0 + y1) / 2, 1.3, (x1 - x0) / 2, (y1 - y0) / 2, 1.3, 0.0,
    ]  # fmt: skip


def two_rooms(door: float, *, start: tuple[float, float] | None = None) -> Level:
    """6 x 4 m, and a room of 2 x 4 m behind a wall with a door of this width."""
    low, high = 2.0 - door / 2, 2.0 + door / 2
    boxes = [wall(5.9, 0, 6.1, low), wall(5.9, high, 6.1, 4)] if door else [
        wall(5.9, 0, 6.1, 4)
    ]  # fmt: skip
    return Level(
        "rooms",
        np.array([0.0, 0.0, 8.0, 4.0]),
        boxes=np.array(boxes),
        start=None if start is None else np.array([*start, 0.0]),
    )


@pytest.mark.integration
def test_a_sealed_bathroom_is_found_with_area_place_and_the_door_that_is_too_narrow():
    [level] = load_levels(LEVELS / "apartment_sealed_bathroom.json")
    floor = survey(level)
    [area] = floor.sealed()
    assert area.area == pytest.approx(4.4, abs=0.3)
    assert 7.6 < area.position[0] < 12
    assert 3.4 < area.position[1] < 5.1
    assert area.opening == pytest.approx(0.4, abs=0.06)
    assert area.opening_position[:2] == pytest.approx([7.6, 4.2], abs=0.3)
    assert floor.reachable_area == pytest.approx(66, abs=2)


@pytest.mark.parametrize("name", ["apartment", "cafe"])
def test_other_hand_drawn_levels_have_no_sealed_area(name):
    [level] = load_levels(LEVELS / f"{name}.json")
    assert survey(level).areas == ()


@pytest.mark.parametrize(
    ("door", "kind"), [(0.0, "sealed"), (0.4, "sealed"), (0.54, "tight"), (0.7, None)]
)
def test_the_kind_depends_on_the_door(door, kind):
    areas = survey(two_rooms(door)).areas
    assert [area.kind for area in areas] == ([] if kind is None else [kind])
    if kind is not None:
        assert (areas[0].opening is None) == (door == 0.0)
        assert areas[0].area == pytest.approx(1.9 * 4, rel=0.08)


def test_people_are_where_the_level_starts():
    floor = survey(two_rooms(0.0, start=(7.0, 2.0)))
    [area] = floor.sealed()
    assert area.position[0] < 5.9
    assert area.area == pytest.approx(5.9 * 4, rel=0.05)


def test_slivers_are_counted_and_gaps_are_no_faults():
    """A cupboard of 0.65 x 0.65 m, a corner of 2.3 x 0.7 m, and the room behind the wall."""
    level = two_rooms(0.0)
    boxes = [
        *level.boxes, wall(6.1, 0.65, 8, 0.7), wall(6.75, 0.0, 6.8, 0.65),
        wall(0.0, 0.7, 2.3, 0.8), wall(2.3, 0.0, 2.4, 0.8), wall(6.8, 0.0, 8, 0.65),
    ]  # fmt: skip
    floor = survey(Level("more", level.bounds, boxes=np.array(boxes)), min_area=0.5)
    assert [area.kind for area in floor.areas] == ["sealed", "gap"]
    assert floor.areas[1].area == pytest.approx(1.5, abs=0.15)
    assert floor.slivers == 1
    assert floor.sliver_area == pytest.approx(0.42, abs=0.1)


def test_floor_beyond_the_walls_is_outside():
    walls = [
        wall(2, 2, 10, 2.1),
        wall(2, 7.9, 10, 8),
        wall(2, 2, 2.1, 8),
        wall(9.9, 2, 10, 8),
    ]
    level = Level(
        "house", np.array([0.0, 0.0, 12.0, 10.0]), boxes=np.array(walls),
        start=np.array([5.0, 5.0, 0.0]),
    )  # fmt: skip
    assert [area.kind for area in survey(level).areas] == ["outside"]


def test_levels_without_floor_are_refused():
    full = Level(
        "full", np.array([0.0, 0.0, 2.0, 2.0]), boxes=np.array([wall(0, 0, 2, 2)])
    )
    with pytest.raises(LevelError, match="'full': no free floor"):
        survey(full)
