"""A walk made from typical joint angles of normal level walking, without a captured clip.

The curves are rounded values of textbook figures (D. Winter, Biomechanics and Motor Control of
Human Movement, 4th edition, 2009, and J. Perry and J. Burnfield, Gait Analysis, 2nd edition,
2010), smoothed by their first harmonics; arms and pelvis are plain sines.
"""

from __future__ import annotations

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.motion.gaits.cycle import HARMONICS, PHASES, Cycle, resynthesized
from ambulo.motion.roles import SIDES, roles_of
from ambulo.motion.rotations import quat_from_rotvec, quat_multiply
from ambulo.motion.skeleton import Skeleton

PERIOD = 1.1
"""Duration of the cycle, [s]."""

HIP = (30.0, 25.0, 16.0, 6.0, -3.0, -9.0, -7.0, 10.0, 26.0, 32.0)
"""Hip flexion at tenths of the cycle from heel strike, [deg]."""
KNEE = (6.0, 17.0, 18.0, 12.0, 8.0, 13.0, 36.0, 60.0, 52.0, 20.0)
"""Knee flexion, [deg]."""
ANKLE = (0.0, -3.0, 3.0, 7.0, 9.0, 7.0, -10.0, -9.0, 0.0, 2.0)
"""Ankle dorsiflexion, [deg]."""
PELVIS_TURN, PELVIS_LIST, SWAY = 4.0, 2.5, 0.02
"""Amplitudes of the pelvis: rotation about the vertical, [deg], list to the side, [deg], and
sway, [m]."""
ADDUCTION = 2.5
"""Adduction of the thighs, which brings the feet closer together than the hips, [deg]."""
ARM_SWING, ELBOW, ARMS_DOWN = 18.0, 20.0, 78.0
"""Swing and bend of the arms, and their angle below the horizontal, [deg]."""


def plain_walk(skeleton: Skeleton) -> Cycle:
    """The walk on a skeleton whose joints' rest axes are the world's, along +X.

    A raw cycle, whose feet `envs.reference` plants.
    """
    roles = roles_of(skeleton)
    phase = np.arange(PHASES) / PHASES
    turns = np.zeros((PHASES, len(skeleton), 3))
    swing = 2.0 * np.pi * phase
    turns[:, 0, 2] = np.deg2rad(-PELVIS_TURN) * np.cos(swing)
    turns[:, 0, 0] = np.deg2rad(PELVIS_LIST) * np.sin(swing)
    turns[:, roles["spine"], 2] = np.deg2rad(2.0 * PELVIS_TURN) * np.cos(swing)
    turns[:, roles["spine"], 0] = np.deg2rad(-PELVIS_LIST) * np.sin(swing)
    rotations = quat_from_rotvec(turns)
    for side, sign, late in zip(SIDES, (1.0, -1.0), (0.0, 0.5), strict=True):
        for role, angle in (("thigh", HIP), ("shin", KNEE), ("foot", ANKLE)):
            bend = _curve(angle, late) * (1.0 if role == "shin" else -1.0)
            rotations[:, roles[f"{side}_{role}"]] = _turned(1, bend)
        thigh = roles[f"{side}_thigh"]
        # The legs compensate the pelvis' list and rotation.
        sway = SWAY * np.sin(swing) / float(skeleton.offsets[0, 2])
        inward = np.deg2rad(-sign * ADDUCTION) - turns[:, 0, 0] - sway
        rotations[:, thigh] = quat_multiply(_turned(0, inward), rotations[:, thigh])
        rotations[:, thigh] = quat_multiply(
            _turned(2, -turns[:, 0, 2]), rotations[:, thigh]
        )
        ankle = roles[f"{side}_foot"]
        rotations[:, ankle] = quat_multiply(
            rotations[:, ankle],
            _turned(0, np.full(PHASES, np.deg2rad(sign * ADDUCTION))),
        )
        arm = roles[f"{side}_upper_arm"]
        back = np.deg2rad(ARM_SWING) * np.cos(swing + 2.0 * np.pi * late)
        down = np.full(PHASES, np.deg2rad(-sign * ARMS_DOWN))
        rotations[:, arm] = quat_multiply(_turned(1, back), _turned(0, down))
        bend = np.full(PHASES, np.deg2rad(-sign * ELBOW))
        rotations[:, roles[f"{side}_forearm"]] = _turned(2, bend)
    root = np.zeros((PHASES, 3))
    root[:, 1] = SWAY * np.sin(swing)
    root[:, 2] = skeleton.offsets[0, 2]
    stride = np.array([1.3, 0.0, 0.0])
    root += phase[:, None] * stride
    return Cycle(skeleton, PERIOD, stride, root, rotations)


def _curve(tenths: tuple[float, ...], late: float) -> Floats:
    """Angles at all phases, [rad], delayed by `late` of the cycle. Shape (PHASES,)."""
    smooth = resynthesized(np.deg2rad(tenths), min(HARMONICS, 4), PHASES)
    return np.asarray(np.roll(smooth, round(late * PHASES)))


def _turned(axis: int, angle: Floats) -> Floats:
    """Rotations by angles (N,) about one axis. Shape (N, 4)."""
    vectors = np.zeros((len(angle), 3))
    vectors[:, axis] = angle
    return np.asarray(quat_from_rotvec(vectors))
