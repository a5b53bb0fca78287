"""The cycle of a clip: it moves where the clip does, repeats, and goes straight."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ambulo.configs.errors import MotionError
from ambulo.motion.formats.files import read_motion
from ambulo.motion.gaits.cycle import (
    along_x,
    check_cycle,
    find_cycle,
    periodic,
    straightened,
)
from ambulo.motion.kinematics import joint_positions
from ambulo.motion.motion import Motion
from ambulo.motion.operations import heading, transform, unbent

Walk = Callable[..., Motion]


def then_still(walk: Motion, frames: int) -> Motion:
    """`walk`, then its last pose for `frames` frames."""

    def held(values: np.ndarray) -> np.ndarray:
        return np.concatenate([values, np.repeat(values[-1:], frames, axis=0)])

    return walk.replace(
        root_positions=held(walk.root_positions), rotations=held(walk.rotations)
    )


def test_a_pause_is_no_cycle_of_a_walk(walk_motion: Walk) -> None:
    clip = then_still(walk_motion(240), 120)
    frames = find_cycle(clip)
    assert frames.start >= 239
    numbers = r"0\.8\d and 0\.\d+ m/s on the whole, but at 0\.0\d and 0\.0\d m/s"
    with pytest.raises(MotionError, match=numbers) as got:
        check_cycle(clip, frames, first=1000)
    assert f"(frames {1000 + frames.start}:{1000 + frames.stop})" in str(got.value)
    assert "`ambulo fit`" in str(got.value)


def test_frames_that_hold_a_moving_cycle_are_named(walk_motion: Walk) -> None:
    clip = then_still(walk_motion(240), 120)
    moving = find_cycle(clip, moving=True)
    assert moving.stop <= 241
    check_cycle(clip, moving)
    low, high = moving.start - 12, min(moving.stop + 12, len(clip))
    with pytest.raises(
        MotionError, match=f"--frames {max(low, 0)}:{high} holds a cycle"
    ):
        check_cycle(clip, find_cycle(clip))


def test_frames_of_a_file_of_fewer_frames(walk_motion: Walk) -> None:
    clip = then_still(walk_motion(240), 120)
    frames = find_cycle(clip)
    with pytest.raises(
        MotionError, match=rf"\(frames {frames.start // 5}:{-(-frames.stop // 5)}\)"
    ):
        check_cycle(clip, frames, finer=5)


def test_a_movement_on_the_spot_moves(walk_motion: Walk) -> None:
    walk = walk_motion(240)
    spot = then_still(walk.replace(root_positions=0.0 * walk.root_positions), 120)
    with pytest.raises(MotionError, match="the body stands there"):
        check_cycle(spot, find_cycle(spot))


def test_a_clip_that_stands_may_stand(walk_motion: Walk) -> None:
    clip = then_still(walk_motion(1), 120)
    check_cycle(clip, find_cycle(clip))


def test_a_movement_that_does_not_repeat(walk_motion: Walk) -> None:
    half = walk_motion(68)  # half a stride: legs end where the others began
    frames = slice(0, 66)
    with pytest.raises(MotionError, match=r"misses its beginning by .*`ambulo fit`"):
        check_cycle(half, frames)


def test_a_turning_walk_is_made_straight_with_its_feet(walk_motion: Walk) -> None:
    walk = walk_motion(242)
    yaw = np.linspace(0.2, 1.0, len(walk))
    bent = unbent(walk, yaw)
    assert np.ptp(bent.root_positions[:, 1]) > 0.5
    frames = slice(60, 180)
    back = straightened(bent, frames)
    step = back.root_positions[180] - back.root_positions[60]
    assert abs(step[1]) < 0.01 * step[0]
    np.testing.assert_allclose(heading(back)[60:181], heading(walk)[60:181], atol=0.03)
    # Beside its root the body is as it was.
    own, theirs = (joint_positions(m)[60:181] for m in (back, walk))
    np.testing.assert_allclose(own - own[:, :1], theirs - theirs[:, :1], atol=0.03)
    # The stride is the walk's own; left bent, a part of it would be slid aside.
    length = walk.root_positions[120, 0]
    strides = [periodic(m, frames).stride[0] / length for m in (bent, back)]
    assert strides[0] < 0.95
    assert 0.98 < strides[1] < 1.01


def test_a_straight_walk_is_left(walk_motion: Walk) -> None:
    walk = transform(walk_motion(242), yaw=np.deg2rad(2.0))
    assert straightened(walk, slice(60, 180)) is walk
    standing = then_still(walk_motion(1), 200)
    assert straightened(transform(standing, yaw=1.0), slice(0, 100)).fps == 120.0


@pytest.mark.parametrize(
    ("clip", "moves"),
    [("02_01", True), ("02_03", True), ("03_01", True), ("07_04", True), ("55_02", True),
     ("02_04", False), ("05_11", False), ("01_08", False), ("11_01", False)],
)  # fmt: skip
def test_real_clips(cmu: Path, clip: str, moves: bool) -> None:
    motion = along_x(read_motion(cmu / "asfamc" / clip[:2] / f"{clip}.amc"))
    frames = find_cycle(motion)
    if moves:
        check_cycle(motion, frames)
    else:
        with pytest.raises(MotionError, match="the body stands there"):
            check_cycle(motion, frames)
