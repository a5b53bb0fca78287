"""Swing-twist limits: against numbers by hand, and NumPy against torch and kernels."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from ambulo.ik.kernels.limits import clamp_one, is_outside, limit_normals
from ambulo.ik.limits import clamp, violation
from ambulo.ik.rig import load_rig
from ambulo.ik.solver.refine import kernel_body
from ambulo.motion.rotations import (
    SwingTwist,
    from_swing_twist,
    quat_from_rotvec,
    quat_multiply,
    swing_twist_of,
)

RIG = load_rig()
ARM = RIG.skeleton.index("LeftArm")
RNG = np.random.default_rng(5)


def random_rotations(count: int, size: float = 1.5) -> np.ndarray:
    return quat_from_rotvec(RNG.normal(0.0, size, (count, len(RIG), 3)))


def local(**parts_deg: tuple[float, float, float]) -> np.ndarray:
    """One pose with these (swing x, twist, swing z), [deg]; the rest identity."""
    angles = np.zeros((len(RIG), 3))
    for name, value in parts_deg.items():
        angles[RIG.skeleton.index(name)] = np.deg2rad(value)
    return from_swing_twist(SwingTwist(*angles.T))


def test_parts_of_a_turn_about_x_and_of_one_about_y() -> None:
    parts = swing_twist_of(
        quat_from_rotvec(np.array([[0.7, 0.0, 0.0], [0.0, -2.0, 0.0]]))
    )
    np.testing.assert_allclose(
        np.stack(parts), [[0.7, 0], [0, -2.0], [0, 0]], atol=1e-15
    )


def test_parts_make_the_rotation_again() -> None:
    q = random_rotations(500)
    again = from_swing_twist(swing_twist_of(q))
    assert np.abs(np.sum(q * again, axis=-1)).min() > 1.0 - 1e-14


def test_inside_violates_nothing_and_stays_bit_for_bit() -> None:
    q = local(LeftArm=(20, 10, -60), LeftShin=(-90, 0, 0))
    assert violation(RIG, q).max() == 0.0
    assert (clamp(RIG, q) == q).all()


@pytest.mark.parametrize(
    ("parts", "beyond_deg"),
    [
        ((150.0, 0.0, 0.0), 20.0),  # swing x may be 130
        ((0.0, 0.0, -120.0), 10.0),  # swing z may be -110
        ((0.0, 100.0, 0.0), 10.0),  # twist may be 90
        ((0.0, 120.0, -115.0), 35.0),  # both: 30 + 5
    ],
)
def test_violation_on_the_axes_is_the_angle_beyond(
    parts: tuple[float, float, float], beyond_deg: float
) -> None:
    q = local(LeftArm=parts)
    found = np.rad2deg(violation(RIG, q))
    assert found[ARM] == pytest.approx(beyond_deg, abs=1e-9)
    assert np.delete(found, ARM).max() == 0.0


def test_right_side_mirrors_the_left() -> None:
    names = RIG.skeleton.joints
    for j, name in enumerate(names):
        if name.startswith("Left"):
            k = names.index(name.replace("Left", "Right"))
            np.testing.assert_array_equal(RIG.swing[j], RIG.swing[k][[0, 1, 3, 2]])
            np.testing.assert_array_equal(RIG.twist[j], -RIG.twist[k][::-1])


def test_clamped_is_inside_and_near() -> None:
    q = random_rotations(500)
    inside = clamp(RIG, q)
    assert violation(RIG, inside).max() == 0.0
    outside = violation(RIG, q)
    moved = 2.0 * np.arccos(np.minimum(np.abs(np.sum(q * inside, axis=-1)), 1.0))
    # A clamped joint moves by about what it exceeds; 1.0 rad for the corners of cones.
    assert (moved <= outside + 1.0).all()
    assert (inside[outside == 0.0] == q[outside == 0.0]).all()


def test_hinge_keeps_its_flexion_when_it_leaves_sideways() -> None:
    q = local(LeftForeArm=(90.0, 0.0, 20.0))  # z may be 12 at most
    swing_x, _, swing_z = swing_twist_of(
        clamp(RIG, q)[RIG.skeleton.index("LeftForeArm")]
    )
    assert np.rad2deg(swing_x) == pytest.approx(90.0, abs=3.0)
    assert 0.0 < np.rad2deg(swing_z) < 12.0


def test_kernel_clamps_to_the_same_place() -> None:
    q = random_rotations(200)
    table = kernel_body(RIG).table
    wanted = clamp(RIG, q)
    for b in range(len(q)):
        for j in range(1, len(RIG)):
            *found, bits = clamp_one(table, j, *q[b, j])
            assert abs(np.dot(found, wanted[b, j])) > 1.0 - 1e-12
            outside = violation(RIG, q[b])[j] > 0.0
            assert bool(bits) == outside
            if outside:
                assert is_outside(table, j, *q[b, j])


def test_normals_point_where_the_limits_are_left() -> None:
    table = kernel_body(RIG).table
    step = 1e-6
    for parts in ((60.0, 40.0, 50.0), (-40.0, -100.0, -60.0), (80.0, 30.0, -30.0)):
        q = from_swing_twist(SwingTwist(*np.deg2rad(parts)))
        normals = np.empty((2, 3))
        limit_normals(table, ARM, *q, normals)

        def measured(d: np.ndarray, q: np.ndarray = q) -> tuple[float, float]:
            x, twist, z = swing_twist_of(quat_multiply(q, quat_from_rotvec(d)))
            radii = RIG.swing[ARM]
            a = x / radii[0 if x < 0 else 1]
            b = z / radii[2 if z < 0 else 3]
            return float(np.hypot(a, b)), float(twist)

        steep = np.array(
            [
                np.subtract(measured(step * axis), measured(-step * axis)) / (2 * step)
                for axis in np.eye(3)
            ]
        ).T
        middle = RIG.twist[ARM].mean()
        steep[1] *= 1.0 if np.deg2rad(parts[1]) > middle else -1.0
        steep /= np.linalg.norm(steep, axis=1, keepdims=True)
        np.testing.assert_allclose(normals, steep, atol=1e-6)


def test_torch_agrees_and_has_finite_gradients() -> None:
    q = random_rotations(20)
    q[0] = [1.0, 0.0, 0.0, 0.0]
    q[1] = [0.0, 1.0, 0.0, 0.0]  # half a turn of swing
    tensor = torch.tensor(q, requires_grad=True)
    found = violation(RIG, tensor)
    found.sum().backward()
    np.testing.assert_allclose(found.detach().numpy(), violation(RIG, q), atol=1e-12)
    assert torch.isfinite(tensor.grad).all()
