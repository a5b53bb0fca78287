"""Our kinematics against matrices that Blender computed (blender/golden.py)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ambulo.ik.pose import Pose, fk
from ambulo.ik.rig import load_rig
from ambulo.motion.rotations import quat_normalize, quat_to_matrix

GOLDEN = Path(__file__).resolve().parents[1] / "data" / "ik" / "blender_ik23.npz"

# The armature faces -Y and its left is +X: our +X and +Y, turned by -90 degrees about Z.
TO_OURS = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])


@pytest.fixture(scope="module")
def golden():
    with np.load(GOLDEN, allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


def largest_gaps(positions, orientations, matrices):
    """Largest distance of a head, [m], and largest difference of a matrix element."""
    heads = matrices[..., :3, 3] @ TO_OURS.T
    axes = TO_OURS @ matrices[..., :3, :3]
    away = np.linalg.norm(positions - heads, axis=-1).max()
    return away, np.abs(quat_to_matrix(orientations) - axes).max()


def test_the_file_is_of_this_rig(golden):
    assert tuple(golden["bones"]) == load_rig("ik23").skeleton.joints
    assert golden["matrices"].shape == (100, 23, 3, 4)
    assert str(golden["blender"]).startswith("4.5")
    assert GOLDEN.stat().st_size < 200_000


def test_rest_and_identity(golden):
    rig = load_rig("ik23")
    still = Pose(rig.skeleton.offsets[:1], np.tile([1.0, 0, 0, 0], (1, 23, 1)))
    positions, orientations = fk(rig, still)
    rest = golden["rest"].astype(np.float64)
    away, turned = largest_gaps(positions[0], orientations[0], rest)
    assert away < 1e-5
    assert turned < 1e-5


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_random_poses_of_all_bones(golden, dtype):
    rig = load_rig("ik23")
    rotations = quat_normalize(golden["rotations"].astype(np.float64))
    poses = Pose(golden["root"], rotations.astype(dtype))
    positions, orientations = fk(rig, poses)
    matrices = golden["matrices"].astype(np.float64)
    away, turned = largest_gaps(positions, orientations, matrices)
    assert away < 1e-4
    assert turned < 1e-4
    # The poses are far from rest: a wrong convention would be off by decimetres.
    assert np.linalg.norm(positions - positions[:1], axis=-1).mean() > 0.5
