import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ambulo.envs.vr.levels.level import Level
from ambulo.viz.viewer.obstacles import (
    Obstacle,
    level_way,
    moved_obstacle,
    obstacle_at,
    stands_on,
)
from ambulo.viz.viewer.stage import Drag

LEVEL = Level(
    "test",
    np.array([0.0, 0.0, 10.0, 10.0]),
    boxes=np.array(
        [[2.0, 2.0, 0.5, 1.0, 0.2, 0.5, np.pi / 2], [2.0, 2.0, 1.5, 1.0, 0.2, 0.5, 0.0]]
    ),
    cylinders=np.array([[7.0, 3.0, 0.5, 2.0, 0.0]]),
)
UPPER, COLUMN = Obstacle("boxes", 1), Obstacle("cylinders", 0)


def test_a_shape_names_its_obstacle() -> None:
    assert obstacle_at(LEVEL, "boxes", np.array([2.0, 2.0, 1.5])) == UPPER
    assert obstacle_at(LEVEL, "cylinders", np.array([7.0, 3.0, 1.0])) == COLUMN
    assert (
        obstacle_at(LEVEL, "boxes", np.array([0.0, 5.0, 1.0])) is None
    )  # not of the level
    assert obstacle_at(LEVEL, "mesh_0", np.array([2.0, 2.0, 1.5])) is None
    empty = Level("empty", LEVEL.bounds)
    assert obstacle_at(empty, "boxes", np.zeros(3)) is None


def test_one_obstacle_moves() -> None:
    way = np.array([3.0, -1.0])
    moved = moved_obstacle(LEVEL, UPPER, way)
    np.testing.assert_allclose(moved.boxes[1, :3], [5.0, 1.0, 1.5])
    np.testing.assert_array_equal(moved.boxes[0], LEVEL.boxes[0])
    np.testing.assert_array_equal(moved.cylinders, LEVEL.cylinders)
    moved = moved_obstacle(LEVEL, COLUMN, way)
    np.testing.assert_allclose(moved.cylinders[0], [10.0, 2.0, 0.5, 2.0, 0.0])
    np.testing.assert_array_equal(moved.boxes, LEVEL.boxes)
    assert LEVEL.cylinders[0, 0] == 7.0


@given(
    eye=arrays(np.float64, 3, elements=st.floats(-20.0, 20.0)),
    way=arrays(np.float64, 2, elements=st.floats(-5.0, 5.0)),
    share=st.floats(0.2, 0.9),
)
def test_way_on_the_floor_is_that_of_the_pointers_ray(
    eye: np.ndarray, way: np.ndarray, share: float
) -> None:
    """Wherever on its ray the pointer is."""
    start = np.array([1.0, 2.0, 0.5])
    eye[2] = start[2] + 2.0 + abs(eye[2])
    pointer = np.array([*(start[:2] + way), start[2]])
    drag = Drag("level/1/boxes", 0, start, eye + share * (pointer - eye), eye)
    np.testing.assert_allclose(level_way(drag), way, atol=1e-9)


def test_a_ray_that_misses_the_floor_moves_nothing() -> None:
    start, eye = np.array([1.0, 2.0, 0.5]), np.array([1.0, -2.0, 2.0])
    for end in (np.array([1.0, 2.0, 2.0]), np.array([1.0, 2.0, 4.0])):
        drag = Drag("level/1/boxes", 0, start, end, eye)
        np.testing.assert_array_equal(level_way(drag), [0.0, 0.0])


def test_overlap_with_the_body() -> None:
    lower = Obstacle("boxes", 0)  # turned by 90 degrees: long in y
    assert stands_on(LEVEL, lower, np.array([2.0, 3.1, 0.0]))
    assert not stands_on(LEVEL, lower, np.array([3.1, 2.0, 0.0]))
    assert not stands_on(LEVEL, lower, np.array([2.42, 3.22, 0.0]))  # off its corner
    assert stands_on(LEVEL, COLUMN, np.array([7.7, 3.0, 0.0]))
    assert not stands_on(LEVEL, COLUMN, np.array([7.8, 3.0, 0.0]))
