"""The cycle of a clip: it moves where the clip does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ambulo.configs.errors import MotionError
from ambulo.motion.formats.files import read_motion
from ambulo.motion.gaits.cycle import along_x, check_moves, find_cycle
from ambulo.motion.motion import Motion

Walk = Callable[..., Motion]


def then_still(walk: Motion, frames: int) -> Motion:
    """`walk`, then its last pose for `frames` frames."""

    def held(values: np.ndarray) -> np.ndarray:
        return np.concatenate([values, np.repeat(values[-1:], frames, axis=0)])

    return walk.replace(
        root_positions=held(walk.root_positions), rotations=held(walk.rotations)
    )


def test_a_walk_moves(walk_motion: Walk) -> None:
    walk = walk_motion(240)
    check_moves(walk, find_cycle(walk))


def test_a_pause_is_no_cycle_of_a_walk(walk_motion: Walk) -> None:
    clip = then_still(walk_motion(240), 120)
    frames = find_cycle(clip)
    assert frames.start >= 239
    with pytest.raises(MotionError, match=r"0\.8\d m/s on the whole, but at 0\.00 m/s"):
        check_moves(clip, frames)


def test_a_clip_that_stands_may_stand(walk_motion: Walk) -> None:
    clip = then_still(walk_motion(1), 120)
    check_moves(clip, find_cycle(clip))


@pytest.mark.parametrize(
    ("clip", "moves"),
    [("02_01", True), ("02_03", True), ("03_01", True), ("07_04", True), ("55_02", True),
     ("02_04", False), ("05_11", False), ("01_08", False), ("11_01", False)],
)  # fmt: skip
def test_real_clips(cmu: Path, clip: str, moves: bool) -> None:
    motion = along_x(read_motion(cmu / "asfamc" / clip[:2] / f"{clip}.amc"))
    frames = find_cycle(motion)
    if moves:
        check_moves(motion, frames)
    else:
        with pytest.raises(MotionError, match="the body stands there"):
            check_moves(motion, frames)
