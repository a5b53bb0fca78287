"""Half turns of captured limbs: found, turned back, and nothing else touched."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ambulo.motion.euler import axis_quat
from ambulo.motion.formats.files import read_motion
from ambulo.motion.kinematics import forward_kinematics
from ambulo.motion.motion import Motion
from ambulo.motion.retargeting.retarget import retarget
from ambulo.motion.retargeting.twists import _outside, untwisted
from ambulo.motion.rotations import quat_angle, quat_conjugate, quat_multiply
from ambulo.motion.skeleton import Skeleton
from ambulo.motion.skeletons import load_skeleton

Walk = Callable[..., Motion]


def placed(motion: Motion) -> tuple[np.ndarray, np.ndarray]:
    """World positions and orientations."""
    return forward_kinematics(motion.skeleton, motion.root_positions, motion.rotations)


def bone_of(skeleton: Skeleton, joint: int) -> np.ndarray:
    """Unit vector to a joint's first child, else to its tip."""
    children = skeleton.children(joint)
    bone = (
        skeleton.offsets[children[0]]
        if children
        else skeleton.tips[skeleton.tip_parents.index(joint)]
    )
    return bone / np.linalg.norm(bone)


def half_turned(motion: Motion, frames: slice, *names: str) -> Motion:
    """`motion` with joints turned half round their own bones in the world, in `frames`.

    What hangs on the last of `names` goes with it.
    """
    skeleton, rotations = motion.skeleton, motion.rotations.copy()
    world = placed(motion)[1].copy()
    chain = [skeleton.index(name) for name in names]
    for joint in chain:
        half = np.array([0.0, *bone_of(skeleton, joint)])
        world[frames, joint] = quat_multiply(world[frames, joint], half)
    for joint in chain:
        base = quat_multiply(
            world[frames, skeleton.parents[joint]], skeleton.rest[joint]
        )
        rotations[frames, joint] = quat_multiply(
            quat_conjugate(base), world[frames, joint]
        )
    return motion.replace(rotations=rotations)


def test_a_sane_motion_is_handed_back_as_it_is(walk_motion: Walk) -> None:
    walk = walk_motion(60)
    assert untwisted(walk) is walk


@pytest.mark.parametrize(
    "names", [("lfoot", "ltoes"), ("rfoot", "rtoes"), ("lwrist", "lhand")]
)
def test_flipped_ends_are_turned_back(
    walk_motion: Walk, names: tuple[str, ...]
) -> None:
    walk = walk_motion(90)
    bad = half_turned(walk, slice(30, 60), *names)
    assert np.rad2deg(quat_angle(placed(bad)[1], placed(walk)[1]).max()) > 179.0
    good = untwisted(bad)
    assert quat_angle(good.rotations, walk.rotations).max() < 1e-6
    np.testing.assert_allclose(placed(good)[0], placed(walk)[0], atol=1e-9)
    limb = [walk.skeleton.index(n) for n in ("lhumerus", "rradius", "lfemur", "rtibia")]
    np.testing.assert_array_equal(good.rotations[:, limb], bad.rotations[:, limb])
    np.testing.assert_array_equal(good.rotations[:30], bad.rotations[:30])


def test_a_whole_flipped_clip_is_turned_back(walk_motion: Walk) -> None:
    walk = walk_motion(40)
    good = untwisted(half_turned(walk, slice(None), "lfoot", "ltoes"))
    assert quat_angle(good.rotations, walk.rotations).max() < 1e-6


def test_a_straight_arm_is_turned_back_and_a_broken_one_is_not(
    walk_motion: Walk,
) -> None:
    walk = walk_motion(90)
    elbow, frames = walk.skeleton.index("lradius"), slice(20, 50)
    for degrees in (10.0, 70.0):
        rotations = walk.rotations.copy()
        rotations[:, elbow] = axis_quat("Z", np.full(90, np.deg2rad(-degrees)))
        bent = walk.replace(rotations=rotations)
        flipped = half_turned(bent, frames, "lhumerus", "lradius", "lwrist")
        # The wrist turned only to leave the hand as it was.
        flipped = half_turned(flipped, frames, "lwrist")
        good = untwisted(flipped)
        assert quat_angle(placed(good)[1], placed(bent)[1]).max() < 1e-6
        # Here the forearm goes with the upper arm, so that the elbow bends backwards.
        broken = half_turned(bent, frames, "lhumerus")
        assert degrees < 30.0 or untwisted(broken) is broken


def test_a_short_twist_without_a_jump_is_left(walk_motion: Walk) -> None:
    # A foot that turns to 80 degrees and back in half a second is odd, but not flipped.
    walk = walk_motion(120)
    foot = walk.skeleton.index("lfoot")
    bone = bone_of(walk.skeleton, foot)
    angle = np.deg2rad(80.0) * np.exp(-np.square((np.arange(120) - 60) / 6.0))
    turn = np.concatenate(
        [np.cos(0.5 * angle)[:, None], np.sin(0.5 * angle)[:, None] * bone], axis=1
    )
    rotations = walk.rotations.copy()
    rotations[:, foot] = quat_multiply(rotations[:, foot], turn)
    odd = walk.replace(rotations=rotations)
    assert untwisted(odd) is odd


def test_retargeting_turns_back_too(walk_motion: Walk) -> None:
    walk, rig = walk_motion(60), load_skeleton("ik23")
    bad = half_turned(walk, slice(20, 40), "rfoot", "rtoes")
    one, other = retarget(walk, rig).motion, retarget(bad, rig).motion
    assert quat_angle(one.rotations, other.rotations).max() < 1e-6


def test_how_far_outside_counts_round_the_circle_and_in_the_mirror() -> None:
    angles = np.deg2rad([0.0, 100.0, 179.0, -179.0, -100.0])
    span = (np.deg2rad(-40.0), np.deg2rad(60.0))
    left = np.rad2deg(_outside(angles, span, mirrored=False))
    np.testing.assert_allclose(left, [0.0, 40.0, 119.0, 121.0, 60.0], atol=1e-9)
    right = np.rad2deg(_outside(-angles, span, mirrored=True))
    np.testing.assert_allclose(right, left, atol=1e-9)


MORE = 7.0
"""A joint may turn by this more than in the source from one frame to the next, [deg]."""


def steps(motion: Motion) -> np.ndarray:
    """How far joints turn from frame to frame, world and local, (2, T - 1, J), [deg]."""
    both = np.stack([placed(motion)[1], motion.rotations])
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
    walk_motion: Walk, name: str, reach: float, part: np.ndarray
) -> None:
    walk = walk_motion(240)
    joint = walk.skeleton.index(name)
    half = 0.5 * np.deg2rad(reach) * part
    turn = np.cos(half)[:, None] * [1.0, 0.0, 0.0, 0.0]
    turn[:, 1:] = np.sin(half)[:, None] * bone_of(walk.skeleton, joint)
    rotations = walk.rotations.copy()
    rotations[:, joint] = quat_multiply(rotations[:, joint], turn)
    assert added(walk.replace(rotations=rotations)) < MORE
