from __future__ import annotations

import numpy as np
import pytest

from ambulo.envs.vr.levels.geodesic import path_length, tour_length
from ambulo.envs.vr.levels.level import Level

BOUNDS = np.array([-10.0, -10.0, 10.0, 10.0])
FLOOR = Level("floor", BOUNDS)


def test_one_stop_is_the_way_there() -> None:
    level = Level("wall", BOUNDS, boxes=np.array([[0, 0, 1.0, 0.1, 5, 1, 0.0]]))
    start, goal = np.array([-4.0, 1.0]), np.array([4.0, -1.0])
    length = tour_length(level, start, goal[None], 1.0)
    assert length == path_length(level, start, goal)
    assert length > 10.0


@pytest.mark.parametrize(
    ("stops", "expected"),
    [
        ([[0, 0], [6, 0]], 11.0),  # straight through the first disc
        ([[0, 0], [-5, 0]], 8.0),  # turns back at the edge of the disc
        ([[0, 1], [6, 0]], 11.0),  # the way touches the disc on the left anyhow
        ([[0, 0], [0, 5]], 8.70),  # around a corner, cut by the disc
        ([[0, 0], [5, 0], [0, 0]], 13.0),  # to the far one and back
    ],
)
def test_a_tour_comes_near_each_stop_and_ends_in_the_last(stops, expected) -> None:
    start = np.array([-5.0, 0.0])
    length = tour_length(FLOOR, start, np.array(stops, np.float64), 1.0)
    assert length == pytest.approx(expected, abs=0.12)


def test_a_stop_that_cannot_be_reached_is_endlessly_far() -> None:
    level = Level("wall", BOUNDS, boxes=np.array([[0, 0, 1.0, 0.1, 10, 1, 0.0]]))
    stops = np.array([[5.0, 0], [-5.0, 0]])
    assert np.isinf(tour_length(level, np.array([-4.0, 0]), stops, 1.0))
