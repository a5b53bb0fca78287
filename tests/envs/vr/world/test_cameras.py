"""Cameras behind players."""

from __future__ import annotations

import numpy as np

from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.world.cameras import CHASE, CLOSE, chase_path, elevations_over_walls
from ambulo.motion.rotations import quat_rotate

BOUNDS = np.array([-9.0, -9.0, 9.0, 9.0])
FPS = 30.0


def walk(x: np.ndarray) -> np.ndarray:
    """Places at `x` on the X axis."""
    return np.column_stack([x, np.zeros_like(x), np.zeros_like(x)])


def test_the_camera_is_behind_and_looks_at_its_target():
    places, headings = np.array([[1.0, 2.0, 0.0]]), np.array([np.pi / 2])
    path = chase_path(places, headings)
    slope = np.radians(CHASE.elevation)
    target = np.array([1.0, 2.0 + CHASE.ahead, CHASE.up])
    back = CHASE.distance * np.array([0.0, -np.cos(slope), -np.sin(slope)])
    np.testing.assert_allclose(path.places[0], target + back, atol=1e-9)
    ahead = quat_rotate(path.turns[0], np.array([1.0, 0.0, 0.0]))
    np.testing.assert_allclose(path.places[0] + CHASE.distance * ahead, target)
    up = quat_rotate(path.turns[0], np.array([0.0, 0.0, 1.0]))
    assert up[2] > 0.0
    assert abs(up[0]) < 1e-9


def test_the_camera_rises_over_a_wall_that_would_hide_the_player():
    wall = Level(
        "wall", BOUNDS, boxes=np.array([[0.0, 0.0, 1.25, 0.05, 4.0, 1.25, 0.0]])
    )
    x = np.linspace(0.6, 8.0, 300)
    elevations = elevations_over_walls(wall, walk(x), np.zeros(300), CLOSE, FPS)
    assert elevations[0] < -60.0
    np.testing.assert_allclose(elevations[x > 6.0], CLOSE.elevation, atol=0.1)
    assert np.abs(np.diff(elevations)).max() < 4.0
    path = chase_path(walk(x), np.zeros(300), CLOSE, elevations)
    seen = walk(x) + np.array([0.0, 0.0, 1.5])
    part = seen[:, 0] / (seen[:, 0] - path.places[:, 0])
    behind = (part > 0.0) & (part < 1.0)
    crossing = seen[:, 2] + part * (path.places[:, 2] - seen[:, 2])
    assert behind.any()
    assert (crossing[behind] > 2.5).all()


def test_nothing_in_the_way_leaves_the_camera_low():
    beside = Level("side", BOUNDS, cylinders=np.array([[0.0, 3.0, 0.5, 2.5]]))
    elevations = elevations_over_walls(
        beside, walk(np.linspace(-4.0, 4.0, 60)), np.zeros(60), CLOSE, FPS
    )
    np.testing.assert_allclose(elevations, CLOSE.elevation)


def test_a_low_chest_does_not_hide_the_player():
    chest = Level("low", BOUNDS, boxes=np.array([[-1.5, 0.0, 0.2, 0.5, 0.5, 0.2, 0.0]]))
    elevations = elevations_over_walls(
        chest, walk(np.zeros(30)), np.zeros(30), CLOSE, FPS
    )
    np.testing.assert_allclose(elevations, CLOSE.elevation)
