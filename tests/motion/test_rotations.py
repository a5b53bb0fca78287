"""Rotations: laws for any rotation, SciPy as oracle, torch equal to NumPy, gradients."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.transform import Rotation

from ambulo.motion import rotations as rot

_number = st.floats(-1.0, 1.0, allow_nan=False, width=64)
quats = (
    arrays(np.float64, (4,), elements=_number)
    .filter(lambda q: np.linalg.norm(q) > 0.1)
    .map(lambda q: q / np.linalg.norm(q))
)
vectors = arrays(np.float64, (3,), elements=st.floats(-3.0, 3.0, width=64))


def scipy_of(q: np.ndarray) -> Rotation:
    return Rotation.from_quat(q, scalar_first=True)


def some_quats(count: int, seed: int = 0) -> np.ndarray:
    q = np.random.default_rng(seed).normal(size=(count, 4))
    return q / np.linalg.norm(q, axis=-1, keepdims=True)


@given(quats, quats, vectors)
def test_multiply_turns_by_the_right_one_first(a, b, v):
    both = rot.quat_rotate(rot.quat_multiply(a, b), v)
    np.testing.assert_allclose(
        both, rot.quat_rotate(a, rot.quat_rotate(b, v)), atol=1e-12
    )
    np.testing.assert_allclose(both, (scipy_of(a) * scipy_of(b)).apply(v), atol=1e-12)


@given(quats, vectors)
def test_conjugate_is_the_inverse(q, v):
    back = rot.quat_rotate(rot.quat_conjugate(q), rot.quat_rotate(q, v))
    np.testing.assert_allclose(back, v, atol=1e-12)


@given(quats)
def test_matrices_are_scipys_and_come_back(q):
    matrix = rot.quat_to_matrix(q)
    np.testing.assert_allclose(matrix, scipy_of(q).as_matrix(), atol=1e-12)
    back = rot.quat_from_matrix(matrix)
    assert back[0] >= 0.0
    np.testing.assert_allclose(back if back @ q > 0 else -back, q, atol=1e-12)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_half_turns_come_back_from_matrices(axis):
    q = np.zeros(4)
    q[1 + axis] = 1.0
    assert abs(rot.quat_from_matrix(rot.quat_to_matrix(q)) @ q) == pytest.approx(1.0)


@given(quats)
def test_rotation_vectors_are_scipys_and_come_back(q):
    vector = rot.quat_to_rotvec(q)
    assert np.linalg.norm(vector) <= np.pi + 1e-12
    back = rot.quat_from_rotvec(vector)
    np.testing.assert_allclose(back if back @ q > 0 else -back, q, atol=1e-12)
    expected = scipy_of(q).as_rotvec()
    if np.linalg.norm(vector) < np.pi - 1e-6:  # at pi both signs are right
        np.testing.assert_allclose(vector, expected, atol=1e-9)


@pytest.mark.parametrize("size", [0.0, 1e-12, 1e-8, 1e-6, 1.1e-6, 1e-3])
def test_small_rotation_vectors_keep_their_digits(size):
    vector = size * np.array([0.6, 0.0, -0.8])
    back = rot.quat_to_rotvec(rot.quat_from_rotvec(vector))
    np.testing.assert_allclose(back, vector, rtol=1e-12, atol=1e-300)


@given(quats, quats)
def test_angle_is_scipys(a, b):
    expected = (scipy_of(a).inv() * scipy_of(b)).magnitude()
    assert rot.quat_angle(a, b) == pytest.approx(expected, abs=1e-7)


@given(quats, quats, st.floats(0.0, 1.0))
def test_slerp_goes_at_even_speed_on_the_shorter_way(a, b, t):
    total = rot.quat_angle(a, b)
    between = rot.quat_slerp(a, b, np.array(t))
    assert rot.quat_angle(a, between) == pytest.approx(t * total, abs=1e-7)
    assert rot.quat_angle(between, b) == pytest.approx((1 - t) * total, abs=1e-7)


def test_unroll_makes_neighbours_closest_and_keeps_rotations():
    q = rot.quat_from_rotvec(np.outer(np.linspace(0, 12, 50), [0, 0, 1.0]))
    flipped = q * np.where(np.arange(50) % 3 == 0, -1.0, 1.0)[:, None]
    out = rot.quat_unroll(flipped)
    assert (np.sum(out[1:] * out[:-1], axis=-1) > 0).all()
    np.testing.assert_array_equal(np.abs(out), np.abs(q))
    np.testing.assert_array_equal(rot.quat_unroll(q[:1]), q[:1])


@given(vectors, vectors)
def test_between_turns_one_direction_into_the_other(u, v):
    if min(np.linalg.norm(u), np.linalg.norm(v)) < 1e-2:
        return
    turned = rot.quat_rotate(rot.quat_between(u, v), u / np.linalg.norm(u))
    np.testing.assert_allclose(turned, v / np.linalg.norm(v), atol=1e-4)


@pytest.mark.parametrize("u", [[1.0, 0, 0], [0, -2.0, 0], [0, 0, 1.0], [1, 1, 1.0]])
def test_between_opposite_directions_is_a_half_turn(u):
    u = np.array(u)
    q = rot.quat_between(u, -u)
    np.testing.assert_allclose(rot.quat_rotate(q, u), -u, atol=1e-12)


@given(quats, vectors)
def test_swing_and_twist_make_the_whole(q, axis):
    if np.linalg.norm(axis) < 1e-2:
        return
    axis = axis / np.linalg.norm(axis)
    swing, twist = rot.swing_twist(q, axis)
    np.testing.assert_allclose(rot.quat_multiply(swing, twist), q, atol=1e-9)
    np.testing.assert_allclose(np.cross(twist[1:], axis), 0.0, atol=1e-9)
    assert swing[1:] @ axis == pytest.approx(0.0, abs=1e-6)


@given(st.floats(-3.1, 3.1), quats)
def test_yaw_is_the_twist_about_z(yaw, q):
    assert rot.yaw_of(rot.quat_from_yaw(np.array(yaw))) == pytest.approx(yaw, abs=1e-12)
    if np.hypot(q[0], q[3]) < 1e-3:  # upside down, no yaw
        return
    turned = rot.yaw_of(rot.quat_multiply(rot.quat_from_yaw(np.array(yaw)), q))
    error = turned - rot.yaw_of(q) - yaw
    assert np.abs((error + np.pi) % (2 * np.pi) - np.pi) < 1e-9


@given(quats)
def test_six_numbers_are_two_rows_and_come_back(q):
    matrix = rot.quat_to_matrix(q)
    six = rot.matrix_to_sixd(matrix)
    np.testing.assert_array_equal(six, [*matrix[0], *matrix[1]])
    np.testing.assert_allclose(rot.sixd_to_matrix(six), matrix, atol=1e-12)


def test_six_rough_numbers_give_a_rotation():
    matrix = rot.sixd_to_matrix(np.array([2.0, 0, 0, 0.5, 3.0, 0]))
    np.testing.assert_allclose(matrix, np.eye(3), atol=1e-15)


FUNCTIONS = {
    "multiply": lambda a, b, v: rot.quat_multiply(a, b),
    "conjugate": lambda a, b, v: rot.quat_conjugate(a),
    "rotate": lambda a, b, v: rot.quat_rotate(a, v),
    "normalize": lambda a, b, v: rot.quat_normalize(2.0 * a),
    "to_matrix": lambda a, b, v: rot.quat_to_matrix(a),
    "from_matrix": lambda a, b, v: rot.quat_from_matrix(rot.quat_to_matrix(a)),
    "from_rotvec": lambda a, b, v: rot.quat_from_rotvec(v),
    "to_rotvec": lambda a, b, v: rot.quat_to_rotvec(a),
    "angle": lambda a, b, v: rot.quat_angle(a, b),
    "slerp": lambda a, b, v: rot.quat_slerp(a, b, v[..., 0]),
    "unroll": lambda a, b, v: rot.quat_unroll(a),
    "between": lambda a, b, v: rot.quat_between(a[..., 1:], v),
    "swing": lambda a, b, v: rot.swing_twist(
        a, v / ((v * v).sum(-1) ** 0.5)[..., None]
    )[0],
    "yaw": lambda a, b, v: rot.yaw_of(a),
    "from_yaw": lambda a, b, v: rot.quat_from_yaw(v[..., 0]),
    "sixd": lambda a, b, v: rot.matrix_to_sixd(rot.quat_to_matrix(a)),
    "from_sixd": lambda a, b, v: rot.sixd_to_matrix(
        rot.matrix_to_sixd(rot.quat_to_matrix(a)) * 1.5
    ),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_torch_gives_numpys_numbers(name):
    a, b = some_quats(12, 1).reshape(3, 4, 4), some_quats(12, 2).reshape(3, 4, 4)
    v = np.random.default_rng(3).uniform(0.1, 0.9, size=(3, 4, 3))
    expected = FUNCTIONS[name](a, b, v)
    got = FUNCTIONS[name](*(torch.tensor(x) for x in (a, b, v)))
    assert got.dtype == torch.float64
    np.testing.assert_allclose(got.numpy(), expected, atol=1e-12)
    small = FUNCTIONS[name](*(torch.tensor(x, dtype=torch.float32) for x in (a, b, v)))
    assert small.dtype == torch.float32


@pytest.mark.parametrize("name", sorted(set(FUNCTIONS) - {"unroll"}))
def test_gradients_are_right(name):
    inputs = (
        torch.tensor(some_quats(2, 4), requires_grad=True),
        torch.tensor(some_quats(2, 5), requires_grad=True),
        torch.tensor(
            np.random.default_rng(6).uniform(0.2, 0.8, (2, 3)), requires_grad=True
        ),
    )

    def whole(*values):
        return FUNCTIONS[name](*values)

    assert torch.autograd.gradcheck(whole, inputs, eps=1e-6, atol=1e-5)


def test_gradients_are_finite_where_formulas_divide_by_zero():
    one = torch.tensor([1.0, 0, 0, 0], dtype=torch.float64, requires_grad=True)
    zero = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    total = (
        rot.quat_to_rotvec(one).sum()
        + rot.quat_from_rotvec(zero).sum()
        + rot.quat_angle(one, one)
        + rot.quat_slerp(
            one, one.detach(), torch.tensor(0.5, dtype=torch.float64)
        ).sum()
    )
    total.backward()
    assert torch.isfinite(one.grad).all()
    np.testing.assert_allclose(zero.grad.numpy(), [0.5, 0.5, 0.5])
