"""Floors above one another: which are reached, and how many plans show them."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from ambulo.configs.errors import LevelError
from ambulo.envs.vr.levels.layers import LayeredGrid
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.levels.level_io import load_levels
from ambulo.envs.vr.levels.surfaces import HeightField
from ambulo.envs.vr.survey import causes
from ambulo.envs.vr.survey.storey_plan import storey_level
from ambulo.envs.vr.survey.survey import survey
from ambulo.evaluate.playtest.journeys import draw_journeys, ground_of

TOWER = Path(__file__).parents[2] / "data" / "playtest" / "tower.json"


def box(
    x0: float, y0: float, x1: float, y1: float, z0: float, z1: float
) -> list[float]:
    """A row of `Level.boxes` between two corners."""
    middle = ((x0 + x1) / 2, (y0 + y1) / 2, (z0 + z1) / 2)
    return [*middle, (x1 - x0) / 2, (y1 - y0) / 2, (z1 - z0) / 2, 0.0]


def hall(*boxes: list[float], stairs: bool = False, **more) -> Level:
    """12 x 8 m with walls of 8 m around it; stairs up to a floor of 3 m from x = 8 on."""
    walls = [box(0, 0, 12, 0.1, 0, 8), box(0, 7.9, 12, 8, 0, 8), box(0, 0, 0.1, 8, 0, 8),
             box(11.9, 0, 12, 8, 0, 8)]  # fmt: skip
    steps = [[2.5, 1.0, 0.0, 8.0, 1.0, 3.0, 1.8, 0.0, 18]] if stairs else []
    return Level(
        "hall", np.array([0.0, 0.0, 12.0, 8.0]), boxes=np.array([*walls, *boxes]),
        stairs=np.array(steps).reshape(-1, 9), heights=True, **more,
    )  # fmt: skip


UPPER = box(8, 0.1, 11.9, 7.9, 2.8, 3.0)


@pytest.fixture(scope="module")
def tower():
    return survey(load_levels(TOWER)[0])


@pytest.mark.integration
def test_a_bridge_and_the_room_below_are_both_reached_and_on_plans_of_their_own(tower):
    assert [round(s.height, 2) for s in tower.storeys] == [0.0, 3.0]
    assert tower.storeys[1].title == "floor at 3.0 m"
    low, row, column = tower.cells_at(np.array([[10.5, 5.0, 0.0], [10.5, 5.0, 3.0]]))
    assert low.tolist() == [0, 1]
    assert tower.reachable[low, row, column].all()
    assert np.allclose(tower.storeys[1].z[row[1], column[1]], 3.0)


def test_a_sealed_upper_room_is_found_and_tables_are_only_counted(tower):
    [area] = tower.areas
    assert (area.kind, area.name, area.opening) == ("sealed", "A", None)
    assert area.position == pytest.approx([7.5, 1.5, 3.0], abs=0.3)
    assert area.area == pytest.approx(2.8 * 2.9, rel=0.05)
    assert tower.tops == 1  # the table; above the wardrobe is no room for a body


def test_nobody_starts_or_ends_in_a_hole_or_in_the_sealed_room(tower):
    journeys = draw_journeys(ground_of(tower), 400, 0)
    ends = np.array([[*j.start[:2], j.start[3]] for j in journeys])
    ends = np.vstack([ends, [j.goal for j in journeys]])
    hole = (ends[:, 2] == 0) & (np.abs(ends[:, :2] - [2.6, 3.0]) < [0.6, 1.0]).all(1)
    room = (ends[:, 2] > 2) & (np.abs(ends[:, :2] - [7.5, 1.5]) < 1.5).all(1)
    assert not hole.any()
    assert not room.any()
    low, high = (storey.reachable.sum() for storey in tower.storeys)
    upstairs = (tower.storey_at(ends[:, 2]) == 1).mean()
    assert upstairs == pytest.approx(high / (low + high), abs=0.05)


@pytest.mark.integration
def test_stairs_join_floors_and_without_them_the_upper_one_is_sealed(monkeypatch):
    joined = survey(hall(UPPER, stairs=True))
    assert joined.areas == ()
    assert joined.reachable_area > 100
    radii = []

    def cells(level, resolution, radius, tall):
        radii.append(radius)
        return LayeredGrid.of(level, resolution, radius, tall)

    monkeypatch.setattr(causes, "LayeredGrid", SimpleNamespace(of=cells))
    apart = survey(hall(UPPER, box(8, 0.1, 8.1, 7.9, 3, 4)))
    [area] = apart.areas
    assert (area.kind, round(area.position[2], 2)) == ("sealed", 3.0)
    assert area.opening is None
    # Where the thinnest body cannot enter, those between are not tried.
    assert radii == [causes.RADII[0], causes.RADII[-1]]


@pytest.mark.integration
def test_a_door_upstairs_that_is_too_narrow_is_named_with_its_width_and_place():
    wall = [box(8, 4, 10, 4.1, 3, 6), box(10.4, 4, 11.9, 4.1, 3, 6)]
    [area] = survey(hall(UPPER, *wall, box(8, 4, 8.1, 7.9, 3, 6), stairs=True)).areas
    assert area.kind == "sealed"
    assert area.opening == pytest.approx(0.4, abs=0.06)
    assert area.opening_position == pytest.approx([10.2, 4.05, 3.0], abs=0.3)


def test_an_open_slab_is_a_top_and_no_fault():
    [area] = survey(hall(box(4, 2, 8, 6, 2.8, 3.0))).areas
    assert area.kind == "top"
    assert area.area == pytest.approx(16, rel=0.1)


@pytest.mark.integration
def test_without_a_start_people_are_on_the_lowest_large_floor():
    roof = survey(hall(box(0.1, 0.1, 11.9, 7.9, 2.8, 3.0)))
    assert roof.storeys[0].reachable.any()
    assert roof.storeys[0].height == 0.0
    upstairs = hall(UPPER, start=np.array([10.0, 4.0, 0.0]), start_height=3.0)
    assert survey(upstairs).reachable_area == pytest.approx(3.9 * 7.8, rel=0.05)


@pytest.mark.integration
def test_a_terrain_needs_one_plan_and_three_floors_need_three():
    x, y = np.meshgrid(np.arange(13.0), np.arange(9.0))
    field = HeightField(np.zeros(3), 1.0, 2.0 + np.sin(x / 3) + 0.2 * y)
    hills = Level(
        "hills", np.array([0.0, 0.0, 12.0, 8.0]), heightfields=(field,), heights=True,
        ground=False,
    )  # fmt: skip
    [storey] = survey(hills).storeys
    assert storey.title.startswith("floors from 1.")
    higher = box(8, 0.1, 11.9, 7.9, 5.8, 6.0)
    walls = [box(8, 0.1, 8.1, 7.9, z, z + 1) for z in (3, 6)]
    floors = survey(hall(UPPER, higher, *walls))
    assert [round(s.height, 1) + 0.0 for s in floors.storeys] == [0.0, 3.0, 6.0]


def test_a_plan_shows_what_stands_on_its_storey(tower):
    low, high = storey_level(tower, 0), storey_level(tower, 1)
    assert (low.ground, high.ground) == (True, False)
    assert (len(low.holes), len(high.holes)) == (1, 0)
    tops = [mesh.vertices[0, 2] for mesh in high.meshes]
    assert tops == [3.0, 3.0, 3.0]
    assert low.meshes == ()
    assert len(low.boxes) < len(high.boxes)  # railings are upstairs alone


def test_a_level_with_heights_without_floor_is_refused():
    full = Level("full", np.array([0.0, 0.0, 0.4, 0.4]), heights=True)
    with pytest.raises(LevelError, match="'full': no free floor"):
        survey(full)
