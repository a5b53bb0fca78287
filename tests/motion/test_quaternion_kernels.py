"""The compiled algebra beside the array functions: rotations, and kinematics of any tree."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ambulo.configs.arrays import Floats
from ambulo.motion import quaternion_kernels as kernels
from ambulo.motion import rotations as rot
from ambulo.motion.fk_kernel import place_joints, place_pose
from ambulo.motion.kinematics import kinematics_by_depth
from ambulo.motion.skeleton import Skeleton
from ambulo.motion.skeletons import load_skeleton

seeds = st.integers(0, 2**31)


def drawn(seed: int) -> tuple[Floats, Floats, Floats]:
    """Two rotations and a vector."""
    rng = np.random.default_rng(seed)
    a, b = rot.quat_from_rotvec(rng.normal(0.0, 2.0, (2, 3)))
    return a, b, rng.normal(size=3)


def same(a: Floats, b: Floats) -> bool:
    """Whether two quaternions are one rotation."""
    return float(rot.quat_angle(a, b)) < 1e-7


@settings(max_examples=50, deadline=None)
@given(seeds)
def test_kernels_do_what_array_functions_do(seed: int) -> None:
    a, b, v = drawn(seed)
    out, vector, six = np.empty(4), np.empty(3), np.empty(6)
    kernels.multiply_inverse(a, b, out)
    assert same(rot.quat_multiply(out, b), a)
    kernels.inverse_multiply(a, b, out)
    assert same(rot.quat_multiply(a, out), b)
    kernels.rotate(a, v, vector)
    np.testing.assert_allclose(vector, rot.quat_rotate(a, v), atol=1e-12)
    kernels.unrotate(a, vector, vector)
    np.testing.assert_allclose(vector, v, atol=1e-12)
    kernels.logarithm(a, vector)
    np.testing.assert_allclose(vector, rot.quat_to_rotvec(a), atol=1e-9)
    kernels.between(a[1:], v, out)
    unit = v / np.linalg.norm(v)
    turned = rot.quat_rotate(out, a[1:] / np.linalg.norm(a[1:]))
    np.testing.assert_allclose(turned, unit, atol=1e-6)
    kernels.to_rows(a, six)
    np.testing.assert_allclose(
        six, rot.matrix_to_sixd(rot.quat_to_matrix(a)), atol=1e-12
    )
    assert same(np.array(kernels.from_rows(*six, 1e-12)), a)
    assert same(np.array(kernels.from_axes(*rot.quat_to_matrix(a).T.ravel())), a)
    yaw = kernels.yaw_of(a)
    assert math.isclose(math.cos(yaw), math.cos(rot.yaw_of(a)), abs_tol=1e-9)
    np.testing.assert_allclose(
        kernels.heading_of(a), (math.cos(yaw), math.sin(yaw)), atol=1e-6
    )


@settings(max_examples=50, deadline=None)
@given(seeds, st.floats(0.0, 1.0))
def test_mixes_lie_on_the_short_way(seed: int, part: float) -> None:
    a, b, _ = drawn(seed)
    out = np.empty(4)
    kernels.nlerp(a, b, part, out)
    whole = float(rot.quat_angle(a, b))
    there = float(rot.quat_angle(a, out))
    assert math.isclose(there + float(rot.quat_angle(out, b)), whole, abs_tol=1e-6)
    kernels.nlerp(a, -b, part, b)
    assert same(out, b)


def test_a_swing_turns_part_of_the_way() -> None:
    q = np.array([1.0, 0.0, 0.0, 0.0])
    kernels.swing(q, 1.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.5)
    np.testing.assert_allclose(rot.quat_to_rotvec(q), [0.0, 0.0, 0.25 * np.pi])


@pytest.mark.parametrize("u", [(0.0, 0.0, 0.0), (1.0, 2.0, 3.0)])
def test_directions_that_are_none_or_opposite(u: tuple[float, float, float]) -> None:
    out = np.empty(4)
    kernels.between(np.array(u), -np.array(u), out)
    assert math.isclose(np.linalg.norm(out), 1.0)
    if any(u):
        np.testing.assert_allclose(rot.quat_rotate(out, np.array(u)), -np.array(u))
    kernels.normalize(zero := np.zeros(4))
    assert zero.tolist() == [1.0, 0.0, 0.0, 0.0]


def odd_tree(seed: int) -> Skeleton:
    """A tree of 12 joints with rest orientations."""
    rng = np.random.default_rng(seed)
    rest = rot.quat_from_rotvec(rng.normal(size=(12, 3)))
    return Skeleton(
        name="odd", joints=tuple(f"j{i}" for i in range(12)),
        parents=(-1, *(int(rng.integers(i)) for i in range(1, 12))),
        offsets=rng.normal(size=(12, 3)), rest=rest,
    )  # fmt: skip


@settings(max_examples=20, deadline=None)
@given(seeds)
def test_one_core_places_any_tree(seed: int) -> None:
    skeleton, rng = odd_tree(seed), np.random.default_rng(seed)
    local = rot.quat_from_rotvec(rng.normal(size=(12, 3)))
    root, parents = rng.normal(size=3), np.array(skeleton.parents)
    expected = kinematics_by_depth(skeleton, root, local)
    p, q = np.empty((12, 3)), np.empty((12, 4))
    place_pose(parents, skeleton.rest, skeleton.offsets, root, local, p, q)
    np.testing.assert_allclose(p, expected[0], atol=1e-12)
    np.testing.assert_allclose(q, expected[1], atol=1e-12)
    p[5:], q[5:] = 0.0, 0.0
    place_joints(parents, skeleton.rest, skeleton.offsets, local, 5, 12, p, q)
    np.testing.assert_allclose(p, expected[0], atol=1e-12)


def test_a_tree_without_rest_orientations_needs_none() -> None:
    skeleton = load_skeleton("human23")
    local = rot.quat_from_rotvec(np.random.default_rng(0).normal(size=(23, 3)))
    parents, root = np.array(skeleton.parents), np.zeros(3)
    p, q = np.empty((2, 23, 3)), np.empty((2, 23, 4))
    place_pose(parents, None, skeleton.offsets, root, local, p[0], q[0])
    place_pose(parents, skeleton.rest, skeleton.offsets, root, local, p[1], q[1])
    np.testing.assert_array_equal(p[0], p[1])
