"""Forward kinematics: by hand, against a plain loop, NumPy equal to torch, gradients."""

import numpy as np
import pytest
import torch
from scipy.spatial.transform import Rotation

from ambulo.motion.kinematics import (
    forward_kinematics,
    kinematics_by_depth,
    tip_positions,
)
from ambulo.motion.skeleton import Skeleton


def unit(values: np.ndarray) -> np.ndarray:
    return values / np.linalg.norm(values, axis=-1, keepdims=True)


def odd_skeleton(joints: int = 9, seed: int = 0) -> Skeleton:
    """A random tree with rest orientations and tips."""
    rng = np.random.default_rng(seed)
    return Skeleton(
        "odd",
        tuple(f"j{i}" for i in range(joints)),
        (-1, *(int(rng.integers(0, i)) for i in range(1, joints))),
        rng.normal(size=(joints, 3)),
        rest=unit(rng.normal(size=(joints, 4))),
        tip_parents=(joints - 1, 0),
        tips=rng.normal(size=(2, 3)),
    )


def poses(
    skeleton: Skeleton, *lead: int, seed: int = 1
) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(*lead, 3))
    return root, unit(rng.normal(size=(*lead, len(skeleton), 4)))


def by_loop(skeleton, root, rotations, offsets=None):
    """One pose, joint after joint, with SciPy."""
    places, turns = [], []
    offsets = np.array(skeleton.offsets if offsets is None else offsets)
    for joint, parent in enumerate(skeleton.parents):
        own = Rotation.from_quat(skeleton.rest[joint], scalar_first=True)
        own = own * Rotation.from_quat(rotations[joint], scalar_first=True)
        places.append(
            root if parent < 0 else places[parent] + turns[parent].apply(offsets[joint])
        )
        turns.append(own if parent < 0 else turns[parent] * own)
    return np.array(places), np.array([turn.as_matrix() for turn in turns])


def matrices(orientations: np.ndarray) -> np.ndarray:
    return Rotation.from_quat(orientations, scalar_first=True).as_matrix()


@pytest.mark.parametrize("run", [forward_kinematics, kinematics_by_depth])
@pytest.mark.parametrize("moving", [False, True])
def test_both_ways_are_the_plain_loop(run, moving):
    skeleton = odd_skeleton()
    root, rotations = poses(skeleton, 5)
    offsets = np.random.default_rng(2).normal(size=(5, 9, 3)) if moving else [None] * 5
    places, turns = run(skeleton, root, rotations, *([offsets] if moving else []))
    for t in range(5):
        expected = by_loop(skeleton, root[t], rotations[t], offsets[t])
        np.testing.assert_allclose(places[t], expected[0], atol=1e-12)
        np.testing.assert_allclose(matrices(turns[t]), expected[1], atol=1e-12)


def test_any_leading_shape_and_broadcasting():
    skeleton = odd_skeleton()
    root, rotations = poses(skeleton, 2, 3)
    places, turns = forward_kinematics(skeleton, root, rotations)
    assert places.shape == (2, 3, 9, 3)
    assert turns.shape == (2, 3, 9, 4)
    np.testing.assert_array_equal(
        places[1, 2], forward_kinematics(skeleton, root[1, 2], rotations[1, 2])[0]
    )
    origin = forward_kinematics(skeleton, np.zeros(3), rotations)[0]
    np.testing.assert_allclose(origin + root[..., None, :], places, atol=1e-12)
    assert forward_kinematics(skeleton, root[:0], rotations[:0])[0].shape == (
        0,
        3,
        9,
        3,
    )


@pytest.mark.parametrize(("dtype", "error"), [(np.float64, 1e-12), (np.float32, 1e-4)])
def test_torch_gives_numpys_numbers_and_dtype(dtype, error):
    skeleton = odd_skeleton()
    root, rotations = (x.astype(dtype) for x in poses(skeleton, 6))
    expected = forward_kinematics(skeleton, root, rotations)
    got = forward_kinematics(skeleton, torch.tensor(root), torch.tensor(rotations))
    for ours, theirs in zip(expected, got, strict=True):
        assert ours.dtype == dtype == theirs.numpy().dtype
        np.testing.assert_allclose(theirs.numpy(), ours, atol=error)


def test_gradients_are_right():
    skeleton = odd_skeleton(4)
    root, rotations = poses(skeleton)
    offsets = np.random.default_rng(2).normal(size=(4, 3))
    inputs = tuple(
        torch.tensor(x, requires_grad=True) for x in (root, rotations, offsets)
    )
    assert torch.autograd.gradcheck(
        lambda *values: forward_kinematics(skeleton, *values), inputs, atol=1e-5
    )


def test_tips_ride_on_their_joints():
    skeleton = odd_skeleton()
    root, rotations = poses(skeleton, 3)
    places, turns = forward_kinematics(skeleton, root, rotations)
    tips = tip_positions(skeleton, places, turns)
    assert tips.shape == (3, 2, 3)
    expected = places[1, 8] + matrices(turns[1, 8]) @ skeleton.tips[0]
    np.testing.assert_allclose(tips[1, 0], expected, atol=1e-12)


def test_no_tips_are_an_empty_array():
    skeleton = odd_skeleton().replace(tip_parents=(), tips=np.zeros((0, 3)))
    places, turns = forward_kinematics(skeleton, *poses(skeleton, 3))
    assert tip_positions(skeleton, places, turns).shape == (3, 0, 3)
    assert tip_positions(skeleton, torch.tensor(places), torch.tensor(turns)).shape == (
        3,
        0,
        3,
    )
