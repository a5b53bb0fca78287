"""Half turns are undone where the capture jumps, and nowhere else: no flip is added."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ambulo.motion.formats.files import read_motion
from ambulo.motion.kinematics import motion_kinematics
from ambulo.motion.motion import Motion
from ambulo.motion.retargeting.twists import untwisted
from ambulo.motion.rotations import quat_angle, quat_multiply

MORE = 7.0
"""A joint may turn by this more than in the source from one frame to the next, [deg]."""


def steps(motion: Motion) -> np.ndarray:
    """How far joints turn from frame to frame, world and local, (2, T - 1, J), [deg]."""
    both = np.stack([motion_kinematics(motion)[1], motion.rotations])
    return np.rad2deg(quat_angle(both[:, :-1], both[:, 1:]))


def added(motion: Motion) -> float:
    """By how much the largest step of any joint grew over the source's, [deg]."""
    return float((steps(untwisted(motion)) - steps(motion)).max())


@pytest.mark.parametrize(
    "subject", ["01", "02", "03", "05", "07", "11", "12", "13", "55"]
)
def test_no_flip_is_added_to_a_real_clip(cmu: Path, subject: str) -> None:
    for clip in sorted((cmu / "asfamc" / subject).glob("*.amc")):
        motion = read_motion(clip)
        assert added(motion) < MORE, clip.name


SLOWLY = np.clip((np.arange(240) - 60) / 120, 0.0, 1.0)
BACK = np.where(np.arange(240) < 60, 0.0, 1.0 - SLOWLY)
"""Of a turn: made over a second and left there; there at once, and slowly back."""


@pytest.mark.parametrize(
    ("name", "reach", "part"),
    [(n, r, SLOWLY) for n in ("lfoot", "rhand") for r in (100.0, 180.0, 260.0)]
    + [("lfoot", 180.0, BACK)],
)
def test_a_limb_that_turns_slowly_too_far_jumps_no_more_than_before(
    walk_motion: Callable[..., Motion], name: str, reach: float, part: np.ndarray
) -> None:
    walk = walk_motion(240)
    joint = walk.skeleton.index(name)
    tip = walk.skeleton.children(joint)
    bone = (
        walk.skeleton.offsets[tip[0]]
        if tip
        else walk.skeleton.tips[walk.skeleton.tip_parents.index(joint)]
    )
    half = 0.5 * np.deg2rad(reach) * part
    turn = np.cos(half)[:, None] * [1.0, 0.0, 0.0, 0.0]
    turn[:, 1:] = np.sin(half)[:, None] * bone / np.linalg.norm(bone)
    rotations = walk.rotations.copy()
    rotations[:, joint] = quat_multiply(rotations[:, joint], turn)
    assert added(walk.replace(rotations=rotations)) < MORE
