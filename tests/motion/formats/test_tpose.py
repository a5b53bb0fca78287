from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from ambulo.motion.formats.files import read_motion
from ambulo.motion.formats.tpose import tpose_frames, without_tpose
from ambulo.motion.motion import Motion
from ambulo.motion.rotations import quat_from_yaw, quat_multiply, quat_slerp

Walk = Callable[..., Motion]


def turned(motion: Motion) -> Motion:
    """The walk along another heading, as recordings have it."""
    rotations = np.array(motion.rotations)
    rotations[:, 0] = quat_multiply(quat_from_yaw(np.array(0.4)), rotations[:, 0])
    return motion.replace(rotations=rotations)


def with_tpose(motion: Motion) -> Motion:
    still = np.zeros((1, len(motion.skeleton), 4))
    still[..., 0] = 1.0
    return motion.replace(
        rotations=np.concatenate([still, motion.rotations]),
        root_positions=np.concatenate(
            [motion.root_positions[:1], motion.root_positions]
        ),
    )


def test_one_frame_before_a_jump(walk_motion: Walk) -> None:
    motion = turned(walk_motion(60))
    # Its arms hang down, by 75 degrees from the T-pose.
    changed = with_tpose(motion)
    assert tpose_frames(changed) == 1
    np.testing.assert_array_equal(without_tpose(changed).rotations, motion.rotations)


def test_none_in_a_recording(walk_motion: Walk) -> None:
    motion = turned(walk_motion(60))
    assert tpose_frames(motion) == 0
    assert without_tpose(motion) is motion
    assert tpose_frames(motion[:2]) == 0


def test_a_recorded_tpose_stays(walk_motion: Walk) -> None:
    """Someone who really stands in a T-pose leaves it at the speed of a human."""
    motion = with_tpose(turned(walk_motion(60)))
    steps = np.linspace(0.0, 1.0, 60)[:, None]
    rotations = quat_slerp(motion.rotations[0], motion.rotations[1], steps)
    slow = motion[:60].replace(rotations=rotations)
    assert tpose_frames(slow) == 0


def test_an_eased_jump(walk_motion: Walk) -> None:
    motion = with_tpose(turned(walk_motion(60)))
    rotations = np.array(motion.rotations)
    for frame in range(1, 5):
        rotations[frame, 1:] = quat_slerp(
            motion.rotations[0, 1:], motion.rotations[frame, 1:], np.array(frame / 5)
        )
    assert tpose_frames(motion.replace(rotations=rotations)) == 8


def test_real_files(cmu: Path) -> None:
    for pattern, frames in (("asfamc", 0), ("bvh_mb", 1), ("bvh_daz", 8)):
        found = [p for p in sorted(cmu.glob(f"{pattern}/*/*.*")) if p.suffix != ".asf"]
        assert found
        for path in found:
            assert tpose_frames(read_motion(path)) == frames, path
