"""The skeleton: what is filled in, what is refused, and what is derived."""

import numpy as np
import pytest

from ambulo.configs.errors import SkeletonError
from ambulo.motion.skeleton import MAX_JOINTS, Skeleton


def chain(**changes) -> Skeleton:
    values = {
        "name": "chain",
        "joints": ("root", "upper", "lower", "twin"),
        "parents": (-1, 0, 1, 0),
        "offsets": np.array([[0, 0, 1.0], [0, 0.1, 0], [0, 0, -0.4], [0, -0.1, 0]]),
    }
    return Skeleton(**{**values, **changes})


def test_what_is_left_out_is_filled_in():
    skeleton = chain()
    assert len(skeleton) == 4
    assert skeleton.orders == ("ZXY",) * 4
    np.testing.assert_array_equal(skeleton.rest, [[1, 0, 0, 0]] * 4)
    np.testing.assert_array_equal(skeleton.axes, skeleton.rest)
    np.testing.assert_array_equal(skeleton.limits, [[-np.pi, np.pi]] * 12)
    assert skeleton.tips.shape == (0, 3)


def test_arrays_are_copies_that_cannot_be_written():
    offsets = np.zeros((4, 3))
    skeleton = chain(offsets=offsets)
    offsets[0] = 9.0
    assert skeleton.offsets[0, 0] == 0.0
    with pytest.raises(ValueError, match="read-only"):
        skeleton.offsets[0] = 1.0


def test_tree():
    skeleton = chain()
    assert [level.tolist() for level in skeleton.levels] == [[0], [1, 3], [2]]
    assert skeleton.children(0) == (1, 3)
    assert skeleton.index("lower") == 2


def test_angle_slices_follow_the_orders():
    skeleton = chain(orders=("ZXY", "", "Y", "XZ"))
    assert skeleton.angle_slices == (slice(0, 3), slice(3, 3), slice(3, 4), slice(4, 6))
    assert skeleton.limits.shape == (6, 2)


def test_scaled_and_same_tree():
    skeleton = chain(tip_parents=(2,), tips=[[0, 0, -0.2]])
    twice = skeleton.scaled(2.0)
    np.testing.assert_allclose(twice.offsets, 2 * skeleton.offsets)
    np.testing.assert_allclose(twice.tips, [[0, 0, -0.4]])
    assert twice.same_tree(skeleton)
    assert not skeleton.replace(joints=("a", "b", "c", "d")).same_tree(skeleton)


WRONG = {
    "no joints": ({"joints": ()}, "0 joints"),
    "twice": ({"joints": ("root", "a", "b", "a")}, "'a'"),
    "few parents": ({"parents": (-1, 0, 1)}, "one parent"),
    "second root": ({"parents": (-1, -1, 1, 0)}, "'upper'"),
    "no root": ({"parents": (0, 0, 1, 0)}, "-1 for the first"),
    "child first": ({"parents": (-1, 2, 0, 0)}, "'upper'"),
    "own parent": ({"parents": (-1, 1, 1, 0)}, "'upper'"),
    "shape": ({"offsets": np.zeros((3, 3))}, r"offsets: expected shape \(4, 3\)"),
    "nan": ({"offsets": np.full((4, 3), np.nan)}, "offsets: every number"),
    "order": ({"orders": ("ZXY", "ZZ", "", "")}, "orders"),
    "few orders": ({"orders": ("ZXY",)}, "orders"),
    "rest": ({"rest": np.ones((4, 4))}, "rest must be unit"),
    "axes": ({"axes": 0.5 * np.ones((4, 4)) * 1.1}, "axes must be unit"),
    "limits": ({"limits": np.tile([1.0, -1.0], (12, 1))}, "lower limit"),
    "limit count": ({"limits": np.zeros((3, 2))}, "limits: expected shape"),
    "tip": (
        {"tip_parents": (4,), "tips": np.zeros((1, 3))},
        "a tip belongs to no joint",
    ),
    "tips": ({"tip_parents": (1,), "tips": np.zeros((2, 3))}, "tips: expected shape"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_named(case):
    changes, message = WRONG[case]
    with pytest.raises(SkeletonError, match=message):
        chain(**changes)


def test_too_many_joints_are_refused_at_once():
    with pytest.raises(SkeletonError, match=str(MAX_JOINTS)):
        chain(joints=("a",) * (MAX_JOINTS + 1))


def test_an_unknown_joint_gets_a_hint():
    with pytest.raises(SkeletonError, match="did you mean 'upper'"):
        chain().index("uper")
