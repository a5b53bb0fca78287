"""The posture prior knows natural postures from others."""

from __future__ import annotations

import numpy as np
import pytest

from ambulo.envs.vr.body.blocks import ROWS, in_blocks
from ambulo.envs.vr.body.posture import PosturePrior
from ambulo.ik.solver.solver import load_solver
from ambulo.motion.kinematics import forward_kinematics
from ambulo.motion.rotations import quat_from_rotvec, quat_multiply
from ambulo.motion.skeletons import load_skeleton

SKELETON = load_skeleton("human23")


@pytest.fixture(scope="module")
def prior() -> PosturePrior:
    return PosturePrior(load_solver("ik_net"), SKELETON)


def pose(**turns: tuple[float, float, float]) -> tuple[np.ndarray, np.ndarray]:
    """A body at rest but for joints turned by rotation vectors: places and orientations."""
    local = np.tile([1.0, 0.0, 0.0, 0.0], (1, len(SKELETON), 1))
    for joint, turn in turns.items():
        row = SKELETON.index(joint)
        local[0, row] = quat_multiply(local[0, row], quat_from_rotvec(np.array(turn)))
    places, orientations = forward_kinematics(
        SKELETON, np.array([[0.0, 0.0, 0.93]]), local
    )
    return np.asarray(places), np.asarray(orientations)


def test_a_twisted_body_is_less_natural_than_one_that_stands(
    prior: PosturePrior,
) -> None:
    standing = prior(*pose())[0]
    folded = prior(*pose(**{SKELETON.joints[1]: (0.0, -2.0, 0.0)}))[0]
    assert 0.3 < standing <= 1.0
    assert folded < 0.8 * standing


def test_hands_that_nobody_could_hold_there_miss_their_share(
    prior: PosturePrior,
) -> None:
    places, turns = pose()
    natural = prior(places, turns)[0]
    hand = next(i for i, name in enumerate(SKELETON.joints) if "hand" in name.lower())
    places[:, hand] += [1.5, 1.0, 0.0]
    assert prior(places, turns)[0] < 0.75 * natural


def test_what_is_not_finite_earns_nothing_and_harms_nobody(prior: PosturePrior) -> None:
    places, turns = (np.repeat(array, 3, axis=0) for array in pose())
    clean = prior(places, turns)
    places[1, 4] = np.nan
    found = prior(places, turns)
    assert found[1] == 0.0
    np.testing.assert_array_equal(found[[0, 2]], clean[[0, 2]])


def test_blocks_have_one_size_and_keep_the_order() -> None:
    sizes: list[int] = []

    def double(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        sizes.append(len(rows))
        return 2 * rows, rows[:, 0]

    given = np.arange(3.0 * (2 * ROWS + 1)).reshape(-1, 3)
    twice, first = in_blocks(double, given)
    np.testing.assert_array_equal(twice, 2 * given)
    np.testing.assert_array_equal(first, given[:, 0])
    assert sizes == [ROWS] * 3
    assert in_blocks(double, given[:0])[0].shape == (0, 3)
