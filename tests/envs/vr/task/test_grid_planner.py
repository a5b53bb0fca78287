"""Paths on a map of what rays hit."""

from __future__ import annotations

import numpy as np
import pytest

from ambulo.envs.vr.task.grid_map_kernels import HIT
from ambulo.envs.vr.task.grid_planner import GridPlanner, PlanSettings


def planner_that_saw(walls, position, goal, margin=1.0):
    """A planner that mapped hits at `walls` (n, 2), [m], before it stands at `position`."""
    planner, one = GridPlanner(1, PlanSettings(margin)), np.zeros(1, np.int64)
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


def test_a_margin_keeps_the_way_clear_where_there_is_room():
    goal, position = np.array([[4.0, 0.1]]), np.array([[0.0, 0.1]])
    wall = [(x, -0.4) for x in np.arange(1.0, 3.0, 0.125)]
    near, clear = (planner_that_saw(wall, position, goal, m) for m in (1.0, 4.0))
    assert near.found[0]
    assert clear.found[0]
    assert near.length[0] < clear.length[0] < 4.5
    assert clear.points[0, 1, 1] > near.points[0, 1, 1]


def seen_through(walls, angles):
    """The planner's length after rays of `angles`, [rad], from x = 0 before two posts.

    The posts stand 1.5 m apart on the straight way; a way around both is 0.9 m longer.
    """
    planner = GridPlanner(1, PlanSettings(walls=walls))
    one, goal, position = (
        np.zeros(1, np.int64),
        np.array([[6.1, 0.1]]),
        np.zeros((1, 2)),
    )
    for post in [(3.1, y) for y in (-0.9, -1.4, 0.85, 1.35)]:
        planner.update(
            one,
            np.array([post]) - [0.5, 0.0],
            goal,
            np.array([[0.5]]),
            np.zeros(1),
            5.0,
        )
    for angle in angles:
        planner.update(one, position, goal, np.array([[5.0]]), np.array([angle]), 5.0)
    for _ in range(3):
        away = np.full(1, np.pi)
        planner.update(one, position, goal, np.array([[5.0]]), away, 5.0)
    return planner.length[0]


def test_gaps_that_no_ray_has_passed_are_avoided():
    assert seen_through(1.0, []) < 6.5
    assert seen_through(4.0, []) > 6.5
    assert seen_through(4.0, np.linspace(-0.2, 0.2, 30)) < 6.5


def test_a_larger_reach_looks_along_the_open():
    goal, position = np.array([[12.1, 3.1]]), np.array([[0.1, 0.1]])
    one, rays = np.zeros(1, np.int64), np.full((1, 1), 5.0)
    for reach, nearest, farthest in ((2.5, 2.0, 3.7), (10.0, 9.0, 12.0)):
        planner = GridPlanner(1, PlanSettings(reach=reach))
        planner.update(one, position, goal, rays, np.zeros(1), 5.0)
        ahead = planner.points[0, 0] - position[0]
        assert nearest < np.hypot(*ahead) < farthest


def stuck_before(gaps, decisions):
    """Lengths of the ways of a body that stays 0.5 m before a wall with `gaps`, in y, [m]."""
    goal, position = np.array([[4.0, 0.1]]), np.array([[1.5, 0.1]])
    wall = [
        (2.1, y)
        for y in np.arange(-3.0, 3.0, 0.125)
        if not any(low < y < high for low, high in gaps)
    ]
    planner, one = planner_that_saw(wall, position, goal), np.zeros(1, np.int64)
    lengths = []
    for _ in range(decisions):
        planner.update(one, position, goal, np.full((1, 1), 5.0), np.zeros(1), 5.0)
        lengths.append(planner.length[0])
    return planner, np.array(lengths)


def test_who_is_stuck_before_a_gap_takes_another_way():
    planner, lengths = stuck_before([(-0.3, 0.5), (1.4, 2.8)], 200)
    assert lengths[0] < 3.0
    assert lengths[-1] > 3.5
    assert planner.found[0]


def test_bumps_are_forgotten_where_they_leave_no_way():
    planner, lengths = stuck_before([], 400)
    assert lengths.max() > lengths[0] + 1.0
    assert lengths[int(lengths.argmax()) :].min() == lengths[0]
    assert planner.found[0]


def test_who_stands_at_the_goal_bumps_into_nothing():
    planner, one = GridPlanner(1), np.zeros(1, np.int64)
    goal, position = np.array([[0.5, 0.1]]), np.array([[0.0, 0.1]])
    for _ in range(100):
        planner.update(one, position, goal, np.full((1, 1), 5.0), np.zeros(1), 5.0)
    assert planner.length[0] == 0.5


def walk_along_a_wall(planner, seed, wall=0.4):
    """Counts of remembered hits, step by step, along a wall at y = `wall` with 16 rays."""
    rng, counts = np.random.default_rng(seed), []
    one, goal = np.zeros(1, np.int64), np.array([[30.0, 0.1]])
    for step in range(800):
        position = np.array([[0.1 * step % 8.0, rng.uniform(-0.2, 0.2)]])
        yaw = rng.uniform(-np.pi, np.pi, 1)
        rise = np.sin(yaw[0] + np.arange(16) * np.pi / 8)
        with np.errstate(divide="ignore"):
            rays = np.where(rise > 0.0, (wall - position[0, 1]) / rise, 5.0)
        planner.update(one, position, goal, np.minimum(rays, 5.0)[None], yaw, 5.0)
        counts.append(int((planner.state_dict()["map"] & HIT > 0).sum()))
    return np.array(counts)


@pytest.mark.parametrize("seed", range(3))
def test_a_wall_is_forgotten_when_it_has_gone_and_not_before(seed):
    """Rays that graze a wall pass near its hits and go on; that is no reason to forget."""
    planner = GridPlanner(1, PlanSettings(walls=2.0))
    stands = walk_along_a_wall(planner, seed)
    assert stands[-1] > 50
    assert np.diff(stands).min() >= 0
    gone = walk_along_a_wall(planner, seed + 3, wall=100.0)
    assert gone[-1] < 0.1 * stands[-1]
