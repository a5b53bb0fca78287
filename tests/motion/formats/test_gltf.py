"""Rest poses of glTF files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from fixtures.gltf_files import Z_UP_TO_Y_UP, glb, gltf_of
from fixtures.people import PEOPLE, person

from ambulo.configs.errors import MotionFileError
from ambulo.motion.formats.files import read_motion, units_of
from ambulo.motion.formats.gltf import read_gltf
from ambulo.motion.landmarks import rest_points
from ambulo.motion.roles import role_map


@pytest.mark.parametrize("binary", [True, False])
def test_a_gltf_file_has_the_roles_of_its_skin(binary: bool, tmp_path: Path) -> None:
    rig = PEOPLE["vroid"]().turned(Z_UP_TO_Y_UP)
    document = gltf_of(rig)
    path = tmp_path / "rig.glb"
    path.write_bytes(glb(document) if binary else json.dumps(document).encode())
    skeleton = read_motion(path, units=100.0).skeleton
    found = role_map(skeleton)
    assert not found.refusal
    for role, nodes in rig.truth.items():
        assert skeleton.joints[found.joints[role]] in {rig.names[n] for n in nodes}
    # Z up, facing +X: ahead is the rig's Z, left its X, up its Y.
    points = rest_points(skeleton)[[skeleton.index(name) for name in rig.names]]
    np.testing.assert_allclose(points, np.array(rig.places)[:, [2, 0, 1]], atol=1e-9)


def test_the_unit_is_that_of_a_human(tmp_path: Path) -> None:
    for factor, unit in ((1.0, "m"), (100.0, "cm"), (1000.0, "mm")):
        rig = PEOPLE["smpl"]().turned(Z_UP_TO_Y_UP, 100.0 * factor)
        (tmp_path / "rig.glb").write_bytes(glb(gltf_of(rig)))
        assert units_of(tmp_path / "rig.glb") == unit
        points = rest_points(read_motion(tmp_path / "rig.glb").skeleton)
        assert np.ptp(points[:, 2]) == pytest.approx(1.56, abs=0.01)


def test_rotated_and_scaled_nodes_keep_the_places_of_joints(tmp_path: Path) -> None:
    half = np.sqrt(0.5)
    nodes = [
        {"rotation": [0, 0, half, half], "scale": [2, 2, 2], "children": [1]},
        {"name": "a", "translation": [1, 0, 0], "rotation": [half, 0, 0, half],
         "children": [2]},
        {"name": "a", "translation": [0, 0, 3]},
    ]  # fmt: skip
    (tmp_path / "rig.gltf").write_text(
        json.dumps({"nodes": nodes, "skins": [{"joints": [1, 2]}]})
    )
    skeleton = read_gltf(tmp_path / "rig.gltf", "m").skeleton
    assert skeleton.joints == ("a", "a.2")
    # By hand: (1, 0, 0) turned about Z and doubled is (0, 2, 0); (0, 0, 3) turned about X is
    # (0, -3, 0), turned about Z and doubled (6, 0, 0). The file's Y is our Z, its X our Y.
    np.testing.assert_allclose(rest_points(skeleton), [[0, 0, 2], [0, 6, 2]], atol=1e-9)


def test_loose_joints_hang_on_a_root_at_the_origin(tmp_path: Path) -> None:
    nodes = [{"name": "x", "translation": [1, 0, 0]}, {"name": "y"}]
    (tmp_path / "rig.gltf").write_text(
        json.dumps({"nodes": nodes, "skins": [{"joints": [0, 1]}]})
    )
    skeleton = read_gltf(tmp_path / "rig.gltf", "m").skeleton
    assert (skeleton.joints, skeleton.parents) == (("root", "x", "y"), (-1, 0, 0))
    np.testing.assert_allclose(rest_points(skeleton)[1], [0, 1, 0], atol=1e-12)


@pytest.mark.parametrize("version", [0, 1])
def test_bones_that_a_vrm_file_names_vote(version: int, tmp_path: Path) -> None:
    rig = person(fingers=False).turned(Z_UP_TO_Y_UP)
    rig.names = [f"n{i}" for i in range(len(rig.names))]
    document = gltf_of(rig)
    bones = {"leftUpperLeg": rig.joint("left_thigh") + 1, "hips": rig.joint("hips") + 1}
    if version:
        body = {"humanBones": {name: {"node": node} for name, node in bones.items()}}
        document["extensions"] = {"VRMC_vrm": {"humanoid": body}}
    else:
        listed = [{"bone": name, "node": node} for name, node in bones.items()]
        document["extensions"] = {"VRM": {"humanoid": {"humanBones": listed}}}
    (tmp_path / "rig.vrm").write_bytes(glb(document))
    skeleton = read_motion(tmp_path / "rig.vrm").skeleton
    assert set(bones) <= set(skeleton.joints)
    assert role_map(skeleton).joints["left_thigh"] == skeleton.index("leftUpperLeg")


@pytest.mark.parametrize(
    "content",
    [
        b"", b"glTF", b"no glTF", b"[]", b"{}", b'{"nodes": 3}',
        b'{"nodes": [{"children": [7]}]}',
        b'{"nodes": [{"children": [0]}], "skins": [{"joints": [0]}]}',
        b'{"nodes": [{"translation": "x"}], "skins": [{"joints": [0]}]}',
        b'{"nodes": [{}], "skins": [{"joints": [5]}]}',
        glb({"nodes": [{}], "skins": [{}]}), glb({"nodes": [{}]})[:-6],
    ],
)  # fmt: skip
def test_damaged_gltf_files_are_refused_in_one_line(
    content: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "bad.glb"
    path.write_bytes(content)
    with pytest.raises(MotionFileError) as caught:
        read_gltf(path)
    assert "\n" not in str(caught.value)
    with pytest.raises(MotionFileError, match="cannot be read"):
        read_gltf(tmp_path / "missing.glb")
