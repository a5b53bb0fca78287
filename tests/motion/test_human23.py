"""The numbers of human23: layouts slice by slice, round trips, NumPy equal to torch."""

import numpy as np
import pytest
import torch

from ambulo.configs.errors import MotionError
from ambulo.motion import human23
from ambulo.motion.euler import quat_from_euler
from ambulo.motion.motion import Motion
from ambulo.motion.rotations import quat_angle, quat_from_rotvec, quat_to_matrix
from ambulo.motion.skeletons import load_skeleton

SKELETON = load_skeleton("human23")

RANGES = [
    ("Pelvis", 0, 5),
    ("FemurR", 9, 14),
    ("TibiaR", 15, 15),
    ("TalusR", 16, 21),
    ("FootPinkyR", 22, 22),
    ("FootThumbR", 23, 23),
    ("FemurL", 24, 29),
    ("TibiaL", 30, 30),
    ("TalusL", 31, 36),
    ("FootPinkyL", 37, 37),
    ("FootThumbL", 38, 38),
    ("Spine", 39, 44),
    ("Torso", 45, 50),
    ("Neck", 51, 56),
    ("Head", 57, 62),
    ("ShoulderR", 63, 68),
    ("ArmR", 69, 74),
    ("ForeArmR", 75, 75),
    ("HandR", 76, 81),
    ("ShoulderL", 82, 87),
    ("ArmL", 88, 93),
    ("ForeArmL", 94, 94),
    ("HandL", 95, 100),
]
"""Each joint's first and last of the published 101 numbers; the root's place is 6 to 8."""


def some_positions(*lead: int, seed: int = 0) -> np.ndarray:
    return 0.6 * np.random.default_rng(seed).normal(size=(*lead, 56))


@pytest.mark.parametrize(("joint", "first", "last"), RANGES)
def test_each_joint_lies_where_the_published_layout_has_it(joint, first, last):
    positions = np.zeros(56)
    part = human23.position_slices()[joint]
    rotvec = np.array([0.1, -0.2, 0.3])[: part.stop - part.start]
    positions[part] = rotvec
    moved = human23.to_sixdof(positions) - human23.to_sixdof(np.zeros(56))
    assert set(np.flatnonzero(moved)) <= set(range(first, last + 1))
    if last > first:
        rows = quat_to_matrix(quat_from_rotvec(rotvec))[:2].ravel()
        np.testing.assert_allclose(human23.to_sixdof(positions)[first : last + 1], rows)
    else:
        assert moved[first] == rotvec[0]
    assert human23.sixdof_slices()[joint] == slice(first, last + 1)


def test_a_knee_by_hand():
    rotations = np.zeros((1, 23, 4))
    rotations[..., 0] = 1.0
    knee, elbow = SKELETON.index("TibiaL"), SKELETON.index("ForeArmL")
    rotations[0, knee] = quat_from_euler(np.array([0.7]), "Y")
    rotations[0, elbow] = -quat_from_euler(
        np.array([-0.4]), "Z"
    )  # the same, other sign
    motion = Motion(SKELETON, 30.0, np.array([[0.1, 0.2, 0.9]]), rotations)
    expected = np.zeros(56)
    expected[3:6], expected[18], expected[52] = [0.1, 0.2, 0.9], 0.7, -0.4
    np.testing.assert_allclose(human23.to_positions(motion)[0], expected, atol=1e-15)


def test_motions_come_back():
    positions = some_positions(20)
    motion = human23.from_positions(positions, 25.0)
    assert motion.fps == 25.0
    assert motion.skeleton is SKELETON
    np.testing.assert_allclose(human23.to_positions(motion), positions, atol=1e-14)


def test_other_sizes_are_taken_and_other_trees_refused():
    big = SKELETON.scaled(1.1)
    motion = human23.from_positions(some_positions(2), 25.0, big)
    assert motion.skeleton is big
    human23.to_positions(motion)
    other = load_skeleton("ik23")
    rotations = np.tile([1.0, 0, 0, 0], (1, 23, 1))
    with pytest.raises(MotionError, match="ik23, expected human23"):
        human23.to_positions(Motion(other, 25.0, np.zeros((1, 3)), rotations))
    with pytest.raises(MotionError, match=r"\(T, 56\)"):
        human23.from_positions(np.zeros((3, 55)), 25.0)


def test_a_leading_shape_is_kept():
    positions = some_positions(4, 5)
    assert human23.local_rotations(positions).shape == (4, 5, 23, 4)
    assert human23.to_sixdof(positions).shape == (4, 5, 101)
    single = human23.velocities(positions[2], 25.0)
    np.testing.assert_array_equal(human23.velocities(positions, 25.0)[2], single)


def test_sixdof_comes_back_also_from_rough_rows():
    positions = some_positions(30)
    sixdof = human23.to_sixdof(positions)
    np.testing.assert_allclose(human23.from_sixdof(sixdof), positions, atol=1e-13)
    rough = sixdof.copy()
    for joint, first, last in RANGES:
        if last > first:
            rough[:, first : last + 1] *= 1.0 + 0.1 * len(joint)
    np.testing.assert_allclose(human23.from_sixdof(rough), positions, atol=1e-13)
    angles = quat_angle(
        human23.rotations_of_sixdof(sixdof), human23.local_rotations(positions)
    )
    assert angles.max() < 1e-7


def test_velocities_know_no_later_frame_and_integrate_takes_them_back():
    positions = some_positions(12)
    rates = human23.velocities(positions, 25.0)
    np.testing.assert_allclose(
        human23.integrate(positions[:-1], rates[1:], 1 / 25.0),
        positions[1:],
        atol=1e-13,
    )
    np.testing.assert_array_equal(rates[0], rates[1])
    changed = positions.copy()
    changed[7:] += 0.3
    np.testing.assert_array_equal(human23.velocities(changed, 25.0)[:7], rates[:7])


def test_velocity_frames_by_hand():
    # The root faces +Y (yaw 90 degrees), pitches about its own Y axis and moves along +X.
    start = quat_from_euler(np.array([np.pi / 2]), "Z")
    end = quat_from_euler(np.array([np.pi / 2, 0.1]), "ZY")
    motion = Motion(
        SKELETON,
        10.0,
        np.array([[0.0, 0, 1], [0.05, 0, 1]]),
        np.stack([np.tile([1.0, 0, 0, 0], (23, 1))] * 2),
    )
    rotations = motion.rotations.copy()
    rotations[:, 0] = [start, end]
    rates = human23.velocities(
        human23.to_positions(motion.replace(rotations=rotations)), 10.0
    )
    np.testing.assert_allclose(rates[1, :6], [0, 1.0, 0, 0.5, 0, 0], atol=1e-12)


def test_a_single_pose_has_no_velocity():
    np.testing.assert_array_equal(
        human23.velocities(some_positions(1), 25.0), np.zeros((1, 56))
    )


def test_equal_poses_have_equal_numbers():
    spin = np.zeros((200, 56))
    spin[:, 2] = np.linspace(0.0, 12.0, 200)
    short = human23.to_positions(human23.from_positions(spin, 25.0))
    assert np.abs(short).max() <= np.pi
    assert np.abs(np.diff(short[:, 2])).max() > 6.0
    # Velocities see no jump.
    rates = human23.velocities(short, 25.0)
    np.testing.assert_allclose(rates[:, 2], 12.0 / 199 * 25.0, atol=1e-9)


FUNCTIONS = {
    "local_rotations": human23.local_rotations,
    "to_sixdof": human23.to_sixdof,
    "from_sixdof": lambda p: human23.from_sixdof(human23.to_sixdof(p)),
    "rotations_of_sixdof": lambda p: human23.rotations_of_sixdof(human23.to_sixdof(p)),
    "positions_of": lambda p: human23.positions_of(
        p[..., 3:6], human23.local_rotations(p)
    ),
    "velocities": lambda p: human23.velocities(p, 25.0),
    "integrate": lambda p: human23.integrate(p, 0.5 * p, 0.04),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize(("dtype", "error"), [(np.float64, 1e-12), (np.float32, 2e-4)])
def test_torch_gives_numpys_numbers_and_gradients(name, dtype, error):
    positions = some_positions(6).astype(dtype)
    expected = FUNCTIONS[name](positions)
    tensor = torch.tensor(positions, requires_grad=True)
    got = FUNCTIONS[name](tensor)
    assert got.detach().numpy().dtype == expected.dtype == dtype
    np.testing.assert_allclose(got.detach().numpy(), expected, atol=error)
    got.sum().backward()
    assert torch.isfinite(tensor.grad).all()


@pytest.mark.parametrize("name", ["local_rotations", "to_sixdof", "velocities"])
def test_gradients_are_finite_at_rest(name):
    rest = torch.zeros((3, 56), dtype=torch.float64, requires_grad=True)
    FUNCTIONS[name](rest).sum().backward()
    assert torch.isfinite(rest.grad).all()
