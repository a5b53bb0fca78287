"""Shapes of levels: what looks like a wall, and the ground without its holes."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.levels.solids import are_walls, floor_rectangles
from ambulo.envs.vr.world.mujoco_scene import render_model
from ambulo.viz.map_plot import WALL, draw_level_map

BOUNDS = np.array([-5.0, -5.0, 5.0, 5.0])


@pytest.mark.parametrize(
    ("size", "wall"),
    [
        ((6.0, 0.2, 2.5), True),
        ((0.8, 0.1, 2.5), True),
        ((26.0, 0.1, 1.2), True),
        ((15.6, 0.7, 1.8), True),
        ((3.4, 0.6, 0.9), False),
        ((3.0, 0.1, 0.45), False),
        ((1.9, 0.6, 2.0), False),
        ((4.4, 1.8, 1.45), False),
    ],
)
def test_walls_are_grey_on_maps_and_in_films_and_furniture_is_not(
    size: tuple[float, float, float], wall: bool
) -> None:
    half = np.array(size) / 2
    boxes = np.array([[0.0, 0.0, half[2], *half, 0.3]])
    assert are_walls(boxes).tolist() == [wall]
    level = Level("one", BOUNDS, boxes=boxes)
    ax = Figure().add_subplot()
    draw_level_map(ax, level)
    shown = [tuple(patch.get_facecolor()[:3]) for patch in ax.patches]
    assert (to_rgb(WALL) in shown) == wall
    model = render_model(level, 32, 32)
    rgba = model.geom_rgba[(model.geom_bodyid == 0) & (model.geom_matid < 0)]
    grey = np.ptp(rgba[:, :3], axis=1) < 0.15
    assert model.geom_type[0] == mujoco.mjtGeom.mjGEOM_BOX
    assert grey.tolist() == [wall]


SIDES = st.floats(-7.0, 7.0).map(lambda x: round(x, 1))


@given(st.lists(st.tuples(SIDES, SIDES, SIDES, SIDES), max_size=12), st.integers(0, 99))
def test_rectangles_cover_the_ground_beside_its_holes_once(
    corners: list[tuple[float, ...]], seed: int
) -> None:
    """Holes may overlap, touch, reach beyond the ground or lie there."""
    holes = np.array(
        [[min(a, c), min(b, d), max(a, c), max(b, d)] for a, b, c, d in corners]
    ).reshape(-1, 4)
    holes = holes[(holes[:, 0] < holes[:, 2]) & (holes[:, 1] < holes[:, 3])]
    found = floor_rectangles(Level("one", BOUNDS, holes=holes))
    assert len(found) <= 5 * len(holes) + 1
    assert (found[:, :2] < found[:, 2:]).all()
    x, y = np.random.default_rng(seed).uniform(-5.0, 5.0, (2, 200, 1))

    def covers(rows: np.ndarray) -> np.ndarray:
        return (
            (rows[:, 0] < x) & (x < rows[:, 2]) & (rows[:, 1] < y) & (y < rows[:, 3])
        ).sum(axis=1)

    np.testing.assert_array_equal(covers(found), covers(holes) == 0)
