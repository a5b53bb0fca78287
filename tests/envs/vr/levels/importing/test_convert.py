"""From raw geometry to checked levels: ground, bounds, places."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from fixtures.raw_scenes import IDENTITY, box, height_map, mesh, raw_scene, turned

from ambulo.configs.errors import LevelError
from ambulo.envs.vr.levels.importing.convert import converted
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.levels.level_io import (
    level_data,
    load_levels,
    parse_level,
    save_level,
)

FLOOR = (box(12, 0.5, 8), IDENTITY, (0, -0.25, 0))
PLANE = {"kind": "plane", "size": [0, 1, 0, 0]}


def level_of(*items: Any, markers: Any = (), **more: Any) -> Level:
    scene = raw_scene(*items, markers=markers, **more)
    level = converted(scene, "room").level
    return parse_level(level_data(level), "again")


def refusal(*items: Any, **more: Any) -> str:
    with pytest.raises(LevelError) as caught:
        level_of(*items, **more)
    return str(caught.value)


def test_a_floor_of_boxes_stays_a_shape() -> None:
    level = level_of(FLOOR, (box(1, 0.7, 1), turned(0.4), (2, 0.35, 1)))
    assert level.heights
    assert not level.ground
    assert level.bounds.tolist() == [-4, -6, 4, 6]
    assert level.boxes.shape == (2, 7)
    assert level.boxes[1, 6] == pytest.approx(0.4)
    assert level.goal_distance == (pytest.approx(2.88, abs=0.01), 30.0)


def test_an_endless_floor_is_the_ground_at_zero_alone() -> None:
    block = (box(20, 1, 16), IDENTITY, (5, 0.5, 0))
    level = level_of(PLANE, block)
    assert level.ground
    assert level.bounds.tolist() == [-13, -20, 13, 10]
    raised = level_of((PLANE, IDENTITY, (0, 0.3, 0)), block)
    assert not raised.ground
    floor = raised.boxes[-1]
    assert floor[2] + floor[5] == pytest.approx(0.3)
    assert level_of(PLANE).bounds.tolist() == [-20, -20, 20, 20]


def test_one_marker_is_fixed_and_several_are_drawn_from() -> None:
    places = [("start", turned(1.0), (4, 1.5, -3)), ("goal", IDENTITY, (-4, 0, 3))]
    level = level_of(FLOOR, markers=places)
    assert level.start is not None
    np.testing.assert_allclose(level.start, [3, -4, 1.0], atol=1e-6)
    assert level.goal is not None
    np.testing.assert_allclose(level.goal, [-3, 4])
    more = [*places, ("start", IDENTITY, (0, 0, 0)), ("waypoint", IDENTITY, (1, 0, 1))]
    level = level_of(FLOOR, markers=more)
    assert level.start is None
    assert level.starts.shape == (2, 4)
    np.testing.assert_allclose(level.waypoints, [[-1, -1, 0]])


def test_places_are_on_the_floor_below_the_marker() -> None:
    deck = (box(4, 0.2, 4), IDENTITY, (3, 2.9, 0))
    places = [("goal", IDENTITY, (3, 4, 0)), ("start", IDENTITY, (3, 1, 0))]
    with pytest.raises(LevelError, match="no way for the body from start to goal"):
        level_of(FLOOR, deck, markers=places)
    level = level_of(FLOOR, deck, markers=places[1:])
    assert level.start_height == 0.0
    ramp = (box(4, 0.2, 8), turned(0, -0.38), (-1, 1.5, 0))
    assert "Room/goal0: no floor" in refusal(
        FLOOR, ramp, markers=[("goal", IDENTITY, (5, 3.2, 3))]
    )


def test_bad_places_name_their_node() -> None:
    rock = (box(1, 1, 1), IDENTITY, (0, 0.5, 0))
    inside = refusal(FLOOR, rock, markers=[("start", IDENTITY, (0.6, 0, 0))])
    assert inside.startswith("res://room.tscn: node Room/start0: inside an obstacle")
    outside = refusal(FLOOR, markers=[("goal", IDENTITY, (7, 0, 0))])
    assert "node Room/goal0: out of the level's bounds" in outside


def test_scenes_without_floor() -> None:
    wall = [[[0, 0, 0], [1, 0, 0], [0, 1, 0]]]
    assert "no floor" in refusal(mesh(wall))
    assert "(3 meshes are only seen)" in refusal(pictures=3)
    assert "nowhere can the body stand" in refusal(box(0.1, 0.1, 0.1))


def test_large_scenes_name_their_largest_node() -> None:
    said = refusal(FLOOR, (box(30000, 1, 1), IDENTITY, (0, 0, 9)))
    assert said.startswith("res://room.tscn: node Room/1: the scene is ")
    assert "AmbuloBounds" in said


def test_an_area_cuts_what_is_far() -> None:
    far = (box(3, 3, 3), IDENTITY, (4000, 0, 0))
    scene = raw_scene(FLOOR, far, markers=[("bounds", IDENTITY, (0, 0, 0))])
    level = converted(scene, "room").level
    assert level.bounds.tolist() == [-4, -6, 4, 6]
    assert len(level.boxes) == 1


def test_sheets_that_face_down_are_noted() -> None:
    down = np.array([[[0, 0, 0], [0, 0, 3], [3, 0, 0]]], float)
    scene = raw_scene(FLOOR, (mesh(down), IDENTITY, (0, 0.5, 0)))
    [note] = converted(scene, "room").report["notes"]
    assert note["path"] == "Room/1"
    assert "faces down only" in note["reason"]


def test_compact_files_hold_the_same_level(tmp_path) -> None:
    level = level_of(FLOOR, (height_map(np.zeros((3, 4))), IDENTITY, (0, 0.1, 0)))
    save_level(level, tmp_path / "a.json", compact=True)
    assert (tmp_path / "a.json").read_text().count("\n") == 1
    [again] = load_levels(tmp_path / "a.json")
    assert level_data(again) == level_data(level)
