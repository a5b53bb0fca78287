"""Detection of leading frames that a converter added: a synthetic T-pose.

The BVH conversions of the CMU data base start with one: the root upright, nearly every joint at
zero, then a jump into the recording. In the Daz conversions the jump of the limbs is eased with
an overshoot until frame 8, so that frames 1 to 7 are not part of the recording either.
"""

from __future__ import annotations

import numpy as np

from ambulo.motion.motion import Motion
from ambulo.motion.rotations import quat_angle

EASED = 8
"""First frame of the recording in a conversion that eases the jump."""
_UPRIGHT = np.radians(0.01)
_AT_REST = np.radians(5.0)
_JUMP = np.radians(5.0)


def tpose_frames(motion: Motion) -> int:
    """Number of leading frames of `motion` that are a synthetic T-pose; 0 if it has none.

    A T-pose has the root within 0.01 degrees of no rotation and seven of ten joints within 5
    degrees of rest. It ends with a jump of more than 5 degrees of some joint, three times as
    far as the joints usually rotate. If the second step of the joints below the root is more
    than 0.6 of the first, the jump is eased, and all frames before `EASED` are dropped with it.
    """
    if len(motion) < 3:
        return 0
    rotations = motion.rotations[: 2 + max(4 * EASED, round(motion.fps))]
    rest = np.array([1.0, 0.0, 0.0, 0.0])
    from_rest = quat_angle(rotations[0], rest)
    if from_rest[0] > _UPRIGHT or np.mean(from_rest < _AT_REST) < 0.7:
        return 0
    turns = quat_angle(rotations[:-1], rotations[1:])
    usual = float(np.median(turns[1:].mean(axis=1)))
    if turns[0].max() < _JUMP or turns[0].mean() < 3.0 * usual:
        return 0
    steps = turns[:, 1:].mean(axis=1) if turns.shape[1] > 1 else turns.mean(axis=1)
    eased = len(motion) > EASED and steps[1] > 0.6 * steps[0]
    return EASED if eased else 1


def without_tpose(motion: Motion) -> Motion:
    """`motion` without its leading synthetic T-pose."""
    frames = tpose_frames(motion)
    return motion[frames:] if frames else motion
