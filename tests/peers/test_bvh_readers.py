"""BVH files as the commands write them, in readers that others wrote."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ambulo.cli import main
from ambulo.motion.formats.files import read_motion
from ambulo.motion.kinematics import joint_positions

CLIP = Path("asfamc") / "02" / "02_01.amc"
NEAR = 1e-4
"""Errors allowed, [cm]: files hold six digits."""


@pytest.fixture(params=["gait generate", "data convert"])
def bvh(request: pytest.FixtureRequest) -> Path:
    """A file of each command that writes BVH files on `human23`."""
    walk: Path = request.getfixturevalue("walk_bvh")
    if request.param == "gait generate":
        return walk
    cmu: Path = request.getfixturevalue("cmu")
    out = walk.with_name("clip.bvh")
    arguments = ["data", "convert", str(cmu / CLIP), str(out), "--skeleton", "human23"]
    assert main(arguments) == 0
    return out


def ours(path: Path) -> np.ndarray:
    """World positions of the joints as our reader has them, Y up, (T, J, 3), [cm]."""
    places = 100.0 * joint_positions(read_motion(path))
    return places[..., [1, 2, 0]]


def test_pybvh(bvh: Path) -> None:
    pybvh = pytest.importorskip("pybvh")
    theirs = pybvh.read_bvh_file(str(bvh))
    assert theirs.joint_names == list(read_motion(bvh).skeleton.joints)
    assert np.abs(theirs.joint_positions() - ours(bvh)).max() < NEAR


@pytest.mark.filterwarnings("ignore:pkg_resources")
def test_bvhtoolbox(bvh: Path) -> None:
    toolbox = pytest.importorskip("bvhtoolbox")
    tree = toolbox.BvhTree(bvh.read_text(encoding="utf-8"))
    expected = ours(bvh)
    worlds: dict[str, np.ndarray] = {}
    for row, joint in enumerate(tree.get_joints()):
        channels = tree.joint_channels(joint.name)
        order = [name[0].lower() for name in channels if name.endswith("rotation")]
        local = toolbox.get_affines(tree, joint.name, axes="r" + "".join(order))
        if len(channels) == 3:
            local[:, :3, 3] = tree.joint_offset(joint.name)
        parent = tree.joint_parent(joint.name)
        above = worlds.get(getattr(parent, "name", ""), np.eye(4))
        worlds[joint.name] = above @ local
        away = worlds[joint.name][:, :3, 3] - expected[:, row]
        assert np.abs(away).max() < NEAR, joint.name


def test_bvhio(bvh: Path) -> None:
    bvhio = pytest.importorskip("bvhio")
    root = bvhio.readAsHierarchy(str(bvh))
    expected = ours(bvh)
    joints = [joint for joint, _, _ in root.layout()]
    for frame in (0, len(expected) // 2, len(expected) - 1):
        root.loadPose(frame)
        places = np.array([list(joint.PositionWorld) for joint in joints])
        assert np.abs(places - expected[frame]).max() < NEAR, frame
