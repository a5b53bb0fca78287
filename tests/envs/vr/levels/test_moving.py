"""What moves in levels: reading, rules, and lifts in walking distances."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from ambulo.configs.errors import LevelError
from ambulo.envs.vr.levels.geodesic import length_of, path_length
from ambulo.envs.vr.levels.layers import LayeredGrid
from ambulo.envs.vr.levels.level_io import level_data, parse_level
from ambulo.envs.vr.levels.moving import fastest, period_of

BASE: dict[str, Any] = {"name": "l", "bounds": [-8, -8, 8, 8], "heights": True}
DOOR = {"kind": "door", "hinge": [0, 0], "width": 1.0, "open": 1.5}
CART = {
    "kind": "cart", "half_size": [0.5, 0.4, 0.5],
    "path": [[0, -3, 0, 0.5, 0], [4, 3, 0, 0.5, 1]], "phase": "random",
}  # fmt: skip
PEOPLE = {
    "count": 3,
    "speed": [1, 1.5],
    "goals": [[-5, 0], [5, 0]],
    "walkers": [
        {"route": [[0, 3], [4, 3], [4, 5]], "speed": 1.2, "loop": True},
        {"path": [[0, 0, 5], [2, 1, 5]], "phase": 1},
    ],
}
TWO_FLOORS: dict[str, Any] = {
    "name": "two",
    "bounds": [-6, -3, 6, 3],
    "heights": True,
    "boxes": [{"center": [4, 0, 2.9], "half_size": [2, 3, 0.1]}],
    "movers": [
        {
            "kind": "lift", "half_size": [1, 1, 0.1],
            "path": [[0, 1, 0, 0.1, 0], [3, 1, 0, 0.1, 0], [7, 1, 0, 2.9, 0],
                     [10, 1, 0, 2.9, 0]],
        }
    ],
    "start": {"position": [-4, 0], "yaw": 0},
    "goal": [5, 0, 3.0],
}  # fmt: skip


def test_what_moves_is_read_and_written() -> None:
    level = parse_level({**BASE, "movers": [DOOR, CART], "people": PEOPLE}, "x")
    again = parse_level(level_data(level), "x")
    assert level_data(again) == level_data(level)
    assert level.moving
    door, cart = level.movers
    assert door.path[0].tolist() == [0, 0.5, 0, 1.05, 0]
    assert door.path[:, 4].max() == pytest.approx(1.5)
    assert period_of(door.path, door.loop) == pytest.approx(8.0)
    assert np.hypot(*door.path[:, 1:3].T) == pytest.approx(0.5)
    assert cart.phase is None
    assert fastest(cart) == pytest.approx(1.5 + math.hypot(0.5, 0.4) / 4)
    people = level.people
    assert people is not None
    assert people.walkers[0].path[:, 0] == pytest.approx(
        np.cumsum([0, 4, 2, math.hypot(4, 2)]) / 1.2
    )


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"heights": False, "movers": [CART]}, 'movers: needs "heights": true'),
        ({"heights": False, "people": {"count": 1}}, 'people: needs "heights": true'),
        ({"movers": [{**CART, "kind": "dor"}]}, 'movers[0].kind = "dor": must'),
        ({"movers": [{**CART, "wings": 2}]}, "unknown key 'movers[0].wings'"),
        ({"movers": [{**CART, "path": []}]}, "movers[0].path = []: list should have"),
        (
            {"movers": [{**CART, "path": [[1, 0, 0, 0, 0]]}]},
            "movers[0].path[0]: t must begin at 0",
        ),
        (
            {"movers": [{**CART, "path": [[0, 0, 0, 0, 0], [0, 1, 0, 0, 0]]}]},
            "movers[0].path[1]: t must ascend",
        ),
        (
            {"movers": [{**CART, "path": [[0, 0, 0, 0, 0], [0.1, 1, 0, 0, 0]]}]},
            "movers[0].path: 10 m/s, at most 4",
        ),
        (
            {"movers": [{**CART, "loop": True}]},
            "movers[0].loop: true, but the path does not end where it begins",
        ),
        ({"movers": [{**CART, "loop": "no"}]}, 'movers[0].loop = "no": expected true'),
        ({"movers": [{**CART, "phase": "x"}]}, 'movers[0].phase = "x": expected sec'),
        (
            {"movers": [{**CART, "kind": "lift"}]},
            "movers[0].path: a lift goes straight",
        ),
        (
            {"movers": [{"kind": "door", "yaw": 1.5, "width": 1.0}]},
            "movers[0].hinge: field required",
        ),
        ({"people": {"walkers": [{"speed": 1}]}}, "people.walkers[0].route: field req"),
        ({"movers": [{**DOOR, "open": 0}]}, "movers[0].open: must not be 0"),
        ({"movers": [{**DOOR, "width": -1}]}, "movers[0].width = -1: must be g"),
        ({"movers": [{**CART, "half_size": [1, 0, 1]}]}, "movers[0].half_size[1] = 0"),
        ({"people": {"count": 1.5}}, "people.count = 1.5: must be a multiple"),
        ({"people": {"count": 1e5}}, "people.count = 100000.0: must"),
        ({"people": {"count": 1, "speed": [2, 1]}}, "people.speed: need 0 < min"),
        ({"people": {"count": 1, "radius": 1}}, "people.radius: must be from 0.1"),
        ({"people": {"goals": [[0, 0]]}}, "people.goals: expected 2 to"),
        (
            {"people": {"walkers": [{"route": [[0, 0], [0, 0]], "speed": 1}]}},
            "people.walkers[0].route[1]: the same place",
        ),
        (
            {"people": {"walkers": [{"path": [[0, 0, 0], [1, 99, 0]]}]}},
            "people.walkers[0].path[1]: out of bounds",
        ),
        (
            {"people": {"walkers": [{"path": [[0, 0, 0], [1, 7, 0]]}]}},
            "people.walkers[0]: faster than 3 m/s",
        ),
    ],
)
def test_bad_moving_things_are_one_line(change: dict[str, Any], error: str) -> None:
    with pytest.raises(LevelError) as caught:
        parse_level({**BASE, **change}, "x")
    assert str(caught.value).startswith(f"x: {error}")
    assert "\n" not in str(caught.value)


def test_lifts_join_floors() -> None:
    level = parse_level(TWO_FLOORS, "x")
    assert level.start is not None
    assert level.goal is not None
    start, goal = np.append(level.start[:2], 0.0), np.append(level.goal, 3.0)
    assert path_length(level, start, goal) == pytest.approx(9.0, abs=0.6)
    grid = LayeredGrid.of(level)
    way = grid.path(grid.field(start), goal, start)
    assert length_of(way) == pytest.approx(9.0, abs=0.6)
    assert way[0, 2] == pytest.approx(3.0)
    assert way[-1, 2] == 0.0


def test_without_its_lift_a_floor_is_out_of_reach() -> None:
    with pytest.raises(LevelError, match="goal: no way"):
        parse_level({**TWO_FLOORS, "movers": []}, "x")
