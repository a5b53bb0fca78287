"""Raw geometry: what is refused, and how it is named."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from fixtures.raw_scenes import IDENTITY, box, mesh, raw_data, raw_scene, turned

from ambulo.configs.errors import LevelError
from ambulo.envs.vr.levels.importing.raw import parse_scene, read_scene


@pytest.mark.parametrize(
    ("basis", "rule"),
    [
        (IDENTITY * [1.0, 0.0, 1.0], "node Room/0: its scale is zero"),
        (turned(0.7) * [[3.0], [1.0], [1.0]], "node Room/0: it is sheared"),
        (IDENTITY * math.nan, "node Room/0: transform: not finite"),
        (IDENTITY * 1e9, "node Room/0: transform: not finite, or beyond 1e+06"),
    ],
)
def test_transforms_that_no_level_has(basis, rule) -> None:
    with pytest.raises(LevelError) as caught:
        raw_scene((box(1, 1, 1), basis))
    assert str(caught.value).startswith(rule)


def test_mirrored_transforms_are_fine() -> None:
    assert len(raw_scene((box(1, 1, 1), IDENTITY * [-1.0, 1.0, 1.0])).items) == 1


def test_problems_of_the_exporter_are_told() -> None:
    problem = {"path": "Room/A", "rule": "its transform is not finite"}
    with pytest.raises(LevelError, match="node Room/A: its transform is not finite"):
        raw_scene(problem=problem)


def test_points_that_are_not_finite() -> None:
    with pytest.raises(LevelError, match="node Room/0: a corner of its shape"):
        raw_scene(mesh([[[0, 0, 0], [1, 0, 0], [0, math.inf, 1]]]))


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"format": "glTF"}, 'format = "glTF": must be'),
        ({"version": 2}, "version = 2: must be 1"),
        ({"shapes": [{"kind": "blob"}]}, 'shapes[0].kind = "blob": must be'),
        ({"shapes": [{"kind": "box", "size": [1, 2]}]}, "shapes[0].size: expected 3"),
        ({"shapes": []}, "items[0].shape: there is no shape 0"),
        ({"items": 7}, "items = 7: expected a list"),
        (
            {"shapes": [{"kind": "mesh", "points": {"data": "%", "count": 1}}]},
            "not base64",
        ),
        ({"shapes": [{"kind": "mesh", "points": {"data": "", "count": 3}}]}, "0 bytes"),
        ({"markers": [{"kind": "door"}]}, 'markers[0].kind = "door": must be'),
        ({"shapes": [{"kind": "heightmap", "heights": ""}]}, "must be >= 2"),
    ],
)
def test_files_of_another_kind(tmp_path, change, rule) -> None:
    file = tmp_path / "a.json"
    file.write_text(json.dumps(raw_data(box(1, 1, 1)) | change))
    with pytest.raises(LevelError) as caught:
        read_scene(file)
    assert str(caught.value).startswith(f"{file}: ")
    assert rule in str(caught.value)


def test_files_that_cannot_be_read(tmp_path) -> None:
    with pytest.raises(LevelError, match="no such file"):
        read_scene(tmp_path / "none.json")
    for text, rule in (("{", ""), ('{"a": 1, "a": 2}', "'a': given twice")):
        (tmp_path / "a.json").write_text(text)
        with pytest.raises(LevelError, match=f"not valid JSON: .*{rule}"):
            read_scene(tmp_path / "a.json")


def test_markers_look_along_minus_z() -> None:
    for yaw in (0.0, 0.5, -2.0):
        scene = raw_scene(markers=[("start", turned(yaw), (1, 2, 3))])
        np.testing.assert_allclose(scene.markers[0].place, [-3, -1, 2, yaw], atol=1e-12)


def test_areas() -> None:
    data = raw_data(markers=[("bounds", turned(math.pi / 2), (10, 0, 0))])
    data["markers"][0]["box"] = [-1, 0, -2, 1, 3, 2]
    np.testing.assert_allclose(parse_scene(data).markers[0].box, [-1, -12, 1, -8])


@pytest.mark.integration
def test_too_many_shapes() -> None:
    data = raw_data(box(1, 1, 1))
    data["items"] *= 100_001
    with pytest.raises(LevelError, match=r"items = .*at most 100000"):
        parse_scene(data)
