"""Levels with heights: files, shapes, walking distances."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ambulo.configs.errors import LevelError
from ambulo.envs.vr.levels.layers import CLEARANCE, LayeredGrid
from ambulo.envs.vr.levels.level_io import parse_level
from ambulo.envs.vr.levels.solids import Solids, closed_faces
from ambulo.envs.vr.levels.surfaces import ramp_corners

STOREYS: dict[str, Any] = {
    "name": "storeys",
    "bounds": [-6, -6, 14, 6],
    "heights": True,
    "ramps": [{"from": [2, 0, 0], "to": [6, 0, 2], "width": 2}],
    "boxes": [{"center": [8, 0, 1.9], "half_size": [2, 2, 0.1]}],
    "stairs": [{"from": [13, 0, 0], "to": [10, 0, 2], "width": 1.5, "steps": 12}],
    "cylinders": [{"center": [8, 1.5, 2], "radius": 0.2, "height": 1}],
    "start": {"position": [0, 0], "yaw": 0.0},
    "goal": [8, 0, 2],
}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"heights": False}, 'ramps: needs "heights": true'),
        ({"heights": 1}, "heights = 1: expected true or false"),
        ({"ramps": [{"from": [2, 0, 0], "to": [3, 0, 2], "width": 2}]}, "steeper than 45"),
        ({"ramps": [{"from": [2, 0, 0], "to": [2, 0, 2], "width": 2}]}, "above the other"),
        (
            {"stairs": [{"from": [13, 0, 0], "to": [10, 0, 2], "width": 1, "steps": 4}]},
            "a step is 0.5 m high",
        ),
        ({"goal": [8, 0, 1]}, "goal: no floor within 0.25 m of z = 1"),
        ({"goal": [8, 1.5, 2]}, "goal: inside an obstacle"),
        ({"ramps": [], "stairs": []}, "goal: no way for the body"),
        ({"meshes": [{"vertices": [[0, 0, 0]], "triangles": [[0, 0, 1]]}]}, "0 to 0"),
        ({"heightfields": [{"origin": [0, 0, 0], "cell": 1, "heights": [[1]]}]}, "at least 2"),
    ],
)  # fmt: skip
def test_a_broken_rule_is_named(change: dict[str, Any], message: str) -> None:
    with pytest.raises(LevelError, match=r"^x: ") as caught:
        parse_level({**STOREYS, **change}, "x")
    assert message in str(caught.value)


def test_flat_levels_have_no_places_above_the_floor() -> None:
    flat = {"name": "f", "bounds": [0, 0, 20, 10], "goal": [18, 5, 3]}
    with pytest.raises(LevelError, match=r"goal: no floor .* z = 3 .*needs? \"heights"):
        parse_level(flat, "x")


@pytest.mark.parametrize("resolution", [0.25, 0.125])
def test_ways_lead_over_ramps_and_stairs(resolution: float) -> None:
    level = parse_level(STOREYS, "x")
    grid = LayeredGrid.of(level, resolution, CLEARANCE)
    field = grid.field((8.0, 0.0, 2.0))
    assert grid.distance(field, (0, 0, 0)) == pytest.approx(8.0, abs=0.1)
    assert grid.distance(field, (13.5, 0, 0)) == pytest.approx(5.5, abs=0.1)
    below = grid.distance(field, (8, 0, 0))  # around and up, not through the ceiling
    assert below > 9.0
    path = grid.path(field, (-2, 3, 0))
    length = np.hypot(*np.diff(path[:, :2], axis=0).T).sum()
    assert length == pytest.approx(grid.distance(field, (-2, 3, 0)), rel=0.03)
    assert path[-1, 2] == pytest.approx(2.0, abs=1e-6)


def test_a_curb_is_climbed_and_a_bench_is_not() -> None:
    for height, climbs in ((0.2, True), (0.25, True), (0.26, False), (0.5, False)):
        level = {
            "name": "step", "bounds": [0, 0, 12, 4], "heights": True,
            "boxes": [{"center": [9, 2, height / 2], "half_size": [3, 2, height / 2]}],
        }  # fmt: skip
        grid = LayeredGrid.of(
            parse_level({**level, "goal_distance": [1, 9]}, "x"), 0.25, CLEARANCE
        )
        field = grid.field((10, 2, height))
        assert math.isfinite(grid.distance(field, (1, 2, 0))) == climbs


@settings(max_examples=40, deadline=None)
@given(
    st.floats(-3, 3), st.floats(-3, 3), st.floats(0.2, 1.0), st.floats(-3.1, 3.1),
    st.floats(0.5, 2.0),
)  # fmt: skip
def test_triangles_of_a_ramp_close(
    x: float, y: float, rise: float, yaw: float, width: float
) -> None:
    """The faces of a solid have volume, and their areas add up to nothing."""
    end = [x + 2 * math.cos(yaw), y + 2 * math.sin(yaw)]
    for thickness in (0.0, 0.1):
        corners = ramp_corners(np.array([[x, y, 0, *end, rise, width, thickness]]))
        across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        assert np.allclose(across.sum(axis=0), 0, atol=1e-9)
        assert np.einsum("ni,ni->", corners[:, 0], across) > 0
        up = across[:, 2] / np.linalg.norm(across, axis=1)
        assert (up > math.cos(math.radians(45))).sum() == 2


def test_every_shape_is_found_in_its_bins() -> None:
    rng = np.random.default_rng(0)
    boxes = [
        {
            "center": [*rng.uniform(-20, 20, 2), 1.0],
            "half_size": list(rng.uniform(0.1, 3, 3)),
            "yaw": rng.uniform(-3, 3),
        }
        for _ in range(200)
    ]
    level = parse_level(
        {"name": "b", "bounds": [-30, -30, 30, 30], "heights": True, "boxes": boxes}, "x",
        solvable=False,
    )  # fmt: skip
    solids = Solids.of(level)
    x0, y0, side, nx, _ = solids.grid
    for k, row in enumerate(solids.prisms):
        for u, v in rng.uniform(-1, 1, (20, 2)):
            dx, dy = u * row[2], v * row[3]
            i = int((row[0] + row[4] * dx - row[5] * dy - x0) // side)
            j = int((row[1] + row[5] * dx + row[4] * dy - y0) // side)
            at = int(j * nx + i)
            assert k in solids.items[solids.first[at] : solids.first[at + 1]]


def _cuboid(low: list[float], high: list[float]) -> dict[str, Any]:
    bits = np.array([[k & 1, k >> 1 & 1, k >> 2 & 1] for k in range(8)])
    points = np.where(bits, high, low)
    faces = [
        [0, 2, 1], [1, 2, 3], [4, 5, 6], [5, 7, 6], [0, 1, 4], [1, 5, 4],
        [2, 6, 3], [3, 6, 7], [0, 4, 2], [2, 4, 6], [1, 3, 5], [3, 7, 5],
    ]  # fmt: skip
    return {"vertices": points.tolist(), "triangles": faces}


def test_nobody_stands_inside_of_closed_meshes() -> None:
    """There is room between the ground and the top of a large solid, but it is no room."""
    solid = _cuboid([2, 2, 0], [8, 8, 4])
    lid = {"vertices": solid["vertices"], "triangles": solid["triangles"][2:4]}
    free = {}
    for name, mesh in (("solid", solid), ("lid", lid)):
        data = {
            "name": name,
            "bounds": [0, 0, 10, 10],
            "heights": True,
            "meshes": [mesh],
        }
        grid = LayeredGrid.of(parse_level(data, "x", solvable=False), 0.25, CLEARANCE)
        points = grid.points(np.flatnonzero(grid.free))
        below = points[points[:, 2] < 1.0]
        free[name] = bool((np.abs(below[:, :2] - 5).max(axis=1) < 2.5).any())
        assert (points[:, 2] > 3.9).any()
    assert free == {"solid": False, "lid": True}


def test_open_and_closed_meshes_are_told_apart() -> None:
    cube = np.array(_cuboid([0, 0, 0], [1, 1, 1])["vertices"])
    faces = np.array(_cuboid([0, 0, 0], [1, 1, 1])["triangles"])
    corners = cube[faces]
    assert closed_faces(corners).all()
    assert not closed_faces(corners[1:]).any()
    both = np.concatenate([corners, corners[1:] + 5.0])
    assert closed_faces(both).tolist() == [True] * 12 + [False] * 11
    turned = corners.copy()
    turned[0] = turned[0, ::-1]
    assert not closed_faces(turned).any()
