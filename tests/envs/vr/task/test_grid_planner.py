"""Paths on a map of what rays hit."""

from __future__ import annotations

import numpy as np

from ambulo.envs.vr.task.grid_planner import GridPlanner


def planner_that_saw(walls, position, goal):
    """A planner that mapped hits at `walls` (n, 2), [m], before it stands at `position`."""
    planner, one = GridPlanner(1), np.zeros(1, np.int64)
    for wall in np.asarray(walls, np.float64):
        reading = np.array([[0.5]])
        planner.update(one, wall[None] - [0.5, 0.0], goal, reading, np.zeros(1), 5.0)
    for _ in range(3):  # the plan is renewed every third decision
        planner.update(one, position, goal, np.full((1, 1), 5.0), np.zeros(1), 5.0)
    return planner


def test_a_wall_beside_the_goal_is_walked_around():
    goal, position = np.array([[3.0, 0.1]]), np.array([[0.0, 0.1]])
    wall = [(2.6, y) for y in np.arange(-2.0, 2.0, 0.125)]
    planner = planner_that_saw(wall, position, goal)
    assert planner.found[0]
    assert planner.length[0] > 4.5


def test_free_space_beside_a_wall_near_the_goal_is_open():
    goal, position = np.array([[3.0, 0.1]]), np.array([[0.0, 0.1]])
    planner = planner_that_saw([(3.3, y) for y in (-0.2, 0.1, 0.4)], position, goal)
    assert planner.found[0]
    assert abs(planner.length[0] - 3.0) < 0.3
