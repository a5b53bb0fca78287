"""The motion: checks, times and slices."""

import numpy as np
import pytest

from ambulo.configs.errors import MotionError
from ambulo.motion.motion import Motion
from ambulo.motion.skeleton import Skeleton

TWO = Skeleton("two", ("root", "arm"), (-1, 0), np.array([[0, 0, 1.0], [0, 1.0, 0]]))


def motion(frames: int = 10, **changes) -> Motion:
    rotations = np.zeros((frames, 2, 4))
    rotations[..., 0] = 1.0
    values = {
        "skeleton": TWO,
        "fps": 20.0,
        "root_positions": np.arange(3.0 * frames).reshape(frames, 3),
        "rotations": rotations,
    }
    return Motion(**{**values, **changes})


def test_times_and_duration():
    m = motion()
    assert len(m) == 10
    assert m.duration == pytest.approx(0.45)
    np.testing.assert_allclose(m.times[:3], [0.0, 0.05, 0.1])


def test_arrays_cannot_be_written_neither_here_nor_by_the_giver():
    given = np.zeros((10, 3))
    m = motion(root_positions=given)
    with pytest.raises(ValueError, match="read-only"):
        m.root_positions[0] = 1.0
    given[0] = np.nan
    assert not m.root_positions.any()
    assert np.shares_memory(m[2:4].root_positions, m.root_positions)


def test_slices_keep_the_rate_and_steps_divide_it():
    m = motion()
    part = m[2:6]
    assert (len(part), part.fps) == (4, 20.0)
    np.testing.assert_array_equal(part.root_positions, m.root_positions[2:6])
    third = m[::3]
    assert third.fps == pytest.approx(20.0 / 3.0)
    assert third.times[-1] == pytest.approx(m.times[9])
    assert len(m[-2:]) == 2


def test_slices_take_joint_offsets_along():
    m = motion(joint_offsets=np.arange(60.0).reshape(10, 2, 3))
    np.testing.assert_array_equal(m[4:5].joint_offsets, m.joint_offsets[4:5])


@pytest.mark.parametrize("frames", [slice(5, 5), slice(20, 30), slice(None, None, -1)])
def test_empty_and_backward_slices_are_refused(frames):
    with pytest.raises(MotionError):
        motion()[frames]


def test_single_frames_are_refused():
    with pytest.raises(MotionError, match="sliced"):
        motion()[3]


WRONG = {
    "fps": ({"fps": 0.0}, "fps must be above 0"),
    "nan fps": ({"fps": float("nan")}, "fps must be above 0"),
    "no frames": ({"root_positions": np.zeros((0, 3))}, "at least one frame"),
    "root": ({"root_positions": np.zeros((10, 2))}, "root_positions: expected shape"),
    "frames": ({"root_positions": np.zeros((9, 3))}, "rotations: expected shape"),
    "inf": ({"root_positions": np.full((10, 3), np.inf)}, "finite"),
    "length": ({"rotations": np.full((10, 2, 4), 0.6)}, "unit quaternions"),
    "offsets": ({"joint_offsets": np.zeros((10, 3, 3))}, "joint_offsets: expected"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_named_with_the_motion(case):
    changes, message = WRONG[case]
    with pytest.raises(MotionError, match=f"walk: .*{message}"):
        motion(name="walk", **changes)
