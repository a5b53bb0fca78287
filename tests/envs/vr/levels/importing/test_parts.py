"""Shapes of scenes keep their points, whatever their transforms are."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from fixtures.raw_scenes import (
    IDENTITY,
    box,
    height_map,
    mesh,
    packed,
    raw_data,
    raw_scene,
    to_ours,
    turned,
)
from hypothesis import given
from hypothesis import strategies as st

from ambulo.envs.vr.levels.importing.parts import SceneParts
from ambulo.envs.vr.levels.importing.raw import parse_scene
from ambulo.envs.vr.levels.surfaces import Mesh

CORNERS = np.array([[k & 1, k >> 1 & 1, k >> 2 & 1] for k in range(8)]) - 0.5
angles = st.floats(-math.pi, math.pi)
lengths = st.floats(0.1, 5.0)
places = st.tuples(*[st.floats(-50, 50)] * 3)
signs = st.tuples(*[st.sampled_from([-1.0, 1.0])] * 3)


def parts_of(*items: Any, **more: Any) -> SceneParts:
    return SceneParts.of(raw_scene(*items, **more), mask=1)


def points_of(parts: SceneParts) -> np.ndarray:
    """The corners of the only box or mesh, shape (n, 3)."""
    if parts.meshes:
        return parts.meshes[0].vertices
    x, y, z, a, b, c, yaw = parts.boxes[0]
    local = CORNERS * [2 * a, 2 * b, 2 * c]
    turn = np.array([[np.cos(yaw), -np.sin(yaw)], [np.sin(yaw), np.cos(yaw)]])
    local[:, :2] = local[:, :2] @ turn.T
    return local + np.array([x, y, z])


def volume(found: Mesh) -> float:
    a, b, c = found.corners().transpose(1, 0, 2)
    return float(np.einsum("ij,ij->", a, np.cross(b, c)) / 6)


def assert_same_points(found: np.ndarray, expected: np.ndarray, atol: float) -> None:
    assert len(found) == len(expected)
    away = np.linalg.norm(found[:, None] - expected[None], axis=-1)
    assert away.min(axis=0).max() < atol
    assert away.min(axis=1).max() < atol


@given(angles, angles, angles, st.tuples(lengths, lengths, lengths), places, signs)
def test_boxes_keep_their_corners(yaw, pitch, roll, size, at, sign) -> None:
    basis = turned(yaw, pitch, roll) * np.array(sign)
    parts = parts_of((box(*size), basis, at))
    expected = to_ours(CORNERS * size @ basis.T + at)
    assert_same_points(points_of(parts), expected, 2e-3)
    if parts.meshes:
        assert volume(parts.meshes[0]) == pytest.approx(np.prod(size), rel=1e-3)


@given(
    st.sampled_from([0, 1, 2, 3]), angles, st.tuples(lengths, lengths, lengths), places
)
def test_boxes_that_stand_on_any_side_are_boxes(quarters, yaw, size, at) -> None:
    on_side = turned(0.0, quarters * math.pi / 2) @ turned(0, 0, math.pi / 2)
    basis = turned(yaw) @ on_side * 1.5
    parts = parts_of((box(*size), basis, at))
    assert len(parts.boxes) == 1
    assert abs(parts.boxes[0][6]) <= math.pi / 4 + 1e-9
    expected = to_ours(CORNERS * size @ basis.T + at)
    assert_same_points(points_of(parts), expected, 1e-3)


def test_quarter_turns_leave_no_yaw() -> None:
    for k in range(4):
        parts = parts_of((box(1, 2, 3), turned(k * math.pi / 2)))
        assert parts.boxes[0][6] == 0.0
        ahead, aside = (1.5, 0.5) if k % 2 == 0 else (0.5, 1.5)
        np.testing.assert_allclose(parts.boxes[0][3:6], [ahead, aside, 1.0])


@given(angles, angles, angles, signs, places)
def test_convex_shapes_face_outward(yaw, pitch, roll, sign, at) -> None:
    points = np.array(
        [[0, 0, 0], [1, 0.1, 0], [0.2, 0, 1], [0.3, 1.2, 0.4], [1, 1, 1]], float
    )
    basis = turned(yaw, pitch, roll) * np.array(sign) * 2.0
    parts = parts_of(({"kind": "convex", "points": packed(points)}, basis, at))
    assert_same_points(parts.meshes[0].vertices, to_ours(points @ basis.T + at), 1e-3)
    assert volume(parts.meshes[0]) > 0.5


UP = np.array([[[0, 0, 0], [1, 0, 0], [0, 0, 1]]], float)
"""A triangle that faces up in the engine: clockwise seen from above."""


def normal_z(parts: SceneParts) -> float:
    [found] = parts.meshes
    a, b, c = found.corners()[0]
    return float(np.cross(b - a, c - a)[2])


@pytest.mark.parametrize("sign", [(1, 1, 1), (-1, 1, 1), (1, 1, -1), (-1, 1, -1)])
def test_meshes_face_as_they_do_in_the_engine(sign) -> None:
    basis = IDENTITY * np.array(sign, float)
    assert normal_z(parts_of((mesh(UP), basis))) > 0
    assert normal_z(parts_of((mesh(UP[:, ::-1]), basis))) < 0
    assert normal_z(parts_of((mesh(UP), basis * [1.0, -1.0, 1.0]))) < 0


def test_meshes_with_two_sides_face_up() -> None:
    for faces in (UP, UP[:, ::-1]):
        assert normal_z(parts_of(mesh(faces, two_sided=True))) > 0


def test_corners_are_welded_and_needles_dropped() -> None:
    needle = [[[0, 0, 0], [1, 0, 0], [2, 0, 0]], [[0, 0, 0], [0, 0, 0], [1, 0, 1]]]
    beside = [[[1, 0, 0], [1, 0, 1], [0, 0, 1 + 4e-6]]]
    [found] = parts_of(mesh([*UP, *needle, *beside])).meshes
    assert len(found.triangles) == 2
    assert len(found.vertices) == 4
    assert parts_of(mesh(needle)).not_carried[0]["path"] == "Room/0"


@given(angles, lengths, lengths, st.floats(0.2, 3.0), places)
def test_upright_cylinders_are_cylinders(yaw, radius, height, scale, at) -> None:
    shape = {"kind": "cylinder", "size": [radius, height]}
    basis = turned(yaw, math.pi) * scale
    parts = parts_of((shape, basis, at))
    x, y, z = to_ours(at)
    expected = [x, y, radius * scale, height * scale, z - height * scale / 2]
    np.testing.assert_allclose(parts.cylinders[0], expected, atol=1e-9)
    assert parts.approximated == []


@pytest.mark.parametrize("kind", ["cylinder", "capsule"])
def test_lying_round_shapes_are_meshes(kind) -> None:
    parts = parts_of(({"kind": kind, "size": [0.5, 3.0]}, turned(0, 0, math.pi / 2)))
    [found] = parts.meshes
    low, high = found.vertices.min(axis=0), found.vertices.max(axis=0)
    np.testing.assert_allclose(high - low, [1.0, 3.0, 1.0], atol=0.03)
    assert volume(found) > 0


def test_spheres_are_small_meshes() -> None:
    for radius, most in ((0.3, 80), (1.0, 320)):
        [found] = parts_of({"kind": "sphere", "size": [radius]}).meshes
        assert len(found.triangles) == most
        away = np.linalg.norm(found.vertices, axis=1)
        np.testing.assert_allclose(away, radius, rtol=1e-6)
        assert volume(found) == pytest.approx(4.19 * radius**3, rel=0.15)


def test_uneven_round_shapes_are_as_jolt_has_them() -> None:
    """The figures are those of the engine (4.6, Jolt) for these scales."""
    scale = IDENTITY * [2.0, 3.0, 1.0]
    drum = parts_of(({"kind": "cylinder", "size": [1.0, 2.0]}, scale))
    np.testing.assert_allclose(drum.cylinders[0], [0, 0, 1.5, 6.0, -3.0])
    ball = parts_of(({"kind": "sphere", "size": [1.0]}, IDENTITY * [1.0, 3.0, 1.0]))
    assert ball.meshes[0].vertices[:, 2].max() == pytest.approx(5 / 3)
    assert "uneven scale" in ball.approximated[0]["reason"]


def test_height_maps() -> None:
    heights = np.add.outer(0.1 * np.arange(3), 0.2 * np.arange(4))
    at = (10.0, 1.0, 20.0)
    parts = parts_of((height_map(heights), IDENTITY * [2.0, 3.0, 2.0], at))
    [field] = parts.heightfields
    assert field.cell == 2.0
    assert field.heights.shape == (4, 3)
    # Its first point has the largest x and z of the engine.
    np.testing.assert_allclose(field.origin, to_ours([13.0, 1.0, 22.0]))
    assert field.heights[0, 0] == pytest.approx(3.0 * heights[-1, -1])
    assert field.heights[-1, 0] == pytest.approx(3.0 * heights[-1, 0])
    tilted = parts_of((height_map(heights), turned(0.3) * 2.0, at))
    corners = np.array([[13.0 - 10, 0, 2.0], [-3.0, 0, -2.0]]) @ turned(0.3).T
    [found] = tilted.meshes
    assert len(found.triangles) == 12
    assert np.abs(found.vertices[:, :2]).max() < 25
    for corner, height in zip(corners, (heights[-1, -1], heights[0, 0]), strict=True):
        expected = to_ours(corner + at + [0, 2.0 * height, 0])
        assert np.linalg.norm(found.vertices - expected, axis=1).min() < 1e-5


def test_uneven_terrain_and_terrain_with_holes_are_meshes() -> None:
    heights = np.zeros((3, 3))
    heights[0, 0] = 1.0
    assert len(parts_of(height_map(heights)).meshes[0].triangles) == 8
    heights[0, 0] = np.nan
    [found] = parts_of(height_map(heights)).meshes
    assert len(found.triangles) == 7
    assert (
        np.cross(*np.diff(found.corners(), axis=1).transpose(1, 0, 2))[:, 2] > 0
    ).all()


def test_planes() -> None:
    level = {"kind": "plane", "size": [0, 1, 0, 0.5]}
    parts = parts_of((level, IDENTITY, (0, 2, 0)), (level, turned(0, 0, 1.0)))
    assert [plane.height for plane in parts.planes] == [2.5]
    assert parts.not_carried == [
        {
            "path": "Room/1",
            "class": "plane",
            "reason": "an endless plane that is not a level floor",
        }
    ]


def test_other_layers_are_listed() -> None:
    data = raw_data(box(1, 1, 1), box(1, 1, 1))
    data["items"][1]["layer"] = 6.0
    parts = SceneParts.of(parse_scene(data), mask=1)
    assert len(parts.boxes) == 1
    assert parts.not_carried[0]["reason"] == "on collision layers 2, 3 only"
    assert len(SceneParts.of(parse_scene(data), mask=2).boxes) == 1
