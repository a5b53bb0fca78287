"""Variants of a gait cycle: slower, faster, or standing still."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import MotionError
from ambulo.motion.gaits.cycle import HARMONICS, Cycle, resynthesized
from ambulo.motion.gaits.soles import (
    DEPTH,
    Soles,
    flat_soles,
    no_slip,
    sole_places,
    sole_velocities,
)
from ambulo.motion.kinematics import joint_positions
from ambulo.motion.mass import center_of_mass
from ambulo.motion.retargeting.body import retarget_body
from ambulo.motion.retargeting.turning import bend_part
from ambulo.motion.roles import SIDES, roles_of
from ambulo.motion.rotations import quat_about_mean, quat_from_rotvec, quat_multiply
from ambulo.motion.skeleton import Skeleton

KNEE = 0.15
"""Bend of the knees in standing, [rad]."""
ARMS = 1.35
"""Angle of the hanging arms below the horizontal, [rad]."""
LIFT, TOE_LIFT = 0.15, 0.1
"""Lift of a slow gait's swing leg by the hip (the knee twice as much), and of its toes by the
ankle, [rad]: with smaller swings the foot would graze the ground, which trips a simulated
body."""
FOOT_SHARE = 0.45
"""Position of the centre of mass over the feet, as a fraction from heels to toes."""


def with_amplitude(cycle: Cycle, factor: float) -> Cycle:
    """Scale the cycle's joint rotations about the mean posture by `factor`.

    Local rotations are scaled as rotation vectors about each joint's mean, and so are the
    root's sway and stride.
    """
    mean, turns = quat_about_mean(cycle.rotations)
    rotations = quat_multiply(mean[None], quat_from_rotvec(factor * turns))
    middle = cycle.root_positions.mean(axis=0)
    root = middle + factor * (cycle.root_positions - middle)
    root -= root[0] * [1.0, 0.0, 0.0]
    return replace(
        cycle, stride=factor * cycle.stride, root_positions=root, rotations=rotations
    )


def with_lifted_feet(cycle: Cycle, soles: Soles, fraction: float) -> Cycle:
    """The cycle with the swing foot lifted by `fraction` of `LIFT` and `TOE_LIFT`.

    A leg bends in proportion to its foot's speed: not in stance, fully in mid-swing.
    """
    body, sides = retarget_body(cycle.skeleton), np.array(soles.sides)
    ahead = sole_velocities(cycle, soles)[..., 0]
    rotations = cycle.rotations.copy()
    for foot, side in enumerate(SIDES):
        speed = np.maximum(ahead[:, sides == foot].mean(axis=1), 0.0)
        swing = resynthesized(speed / speed.max(), HARMONICS, len(speed))
        parts = {"thigh": -LIFT, "shin": 2.0 * LIFT, "foot": -LIFT - TOE_LIFT}
        for part, angle in parts.items():
            bend = np.zeros((len(cycle), 3))
            bend[:, 1] = fraction * angle * swing
            bend_part(body, rotations, f"{side}_{part}", bend)
    return replace(cycle, rotations=rotations)


def at_speed(cycle: Cycle, soles: Soles, speed: float) -> Cycle:
    """The cycle walked at `speed`, [m/s].

    Speed is divided between stride length and cadence as people do: both grow with its square
    root (D. Grieve and R. Gear, The relationships between length of stride, step frequency,
    time of swing and speed of walking, Ergonomics 9(5), 1966). The stride that the feet make is
    measured on the cycle, and the period follows from it.

    Raises:
        MotionError: A speed of 0 or below, or a cycle without a stride.
    """
    if speed <= 0.0 or cycle.speed < 0.1:
        raise MotionError(
            f"a gait of {cycle.speed:.2f} m/s cannot be walked at {speed:.2f} m/s"
        )
    ratio = speed / cycle.speed
    scaled = with_amplitude(cycle, float(np.sqrt(ratio)))
    if ratio < 1.0:
        scaled = with_lifted_feet(scaled, soles, min(1.0, 2.0 * (1.0 - ratio)))
    planted, _ = no_slip(flat_soles(scaled, soles)[0], soles)
    return replace(scaled, period=float(planted.stride[0]) / speed)


def standing_cycle(skeleton: Skeleton, soles: Soles, samples: int = 24) -> Cycle:
    """Standing on both feet with hanging arms and slightly bent knees, facing +X.

    The whole body leans about the ankles so that the centre of mass is over the feet, and
    the soles stand on the ground.
    """
    roles = roles_of(skeleton)
    turns = np.zeros((len(skeleton), 3))
    for side, sign in zip(SIDES, (1.0, -1.0), strict=True):
        turns[roles[f"{side}_thigh"], 1] = -0.5 * KNEE
        turns[roles[f"{side}_shin"], 1] = KNEE
        turns[roles[f"{side}_upper_arm"], 0] = -sign * ARMS
    lean = 0.0
    for _ in range(8):
        cycle = _still(skeleton, turns, lean, roles, samples)
        positions = sole_places(cycle, soles)[0]
        heel, toe = positions[:, 0].min(), positions[:, 0].max()
        target = heel + FOOT_SHARE * (toe - heel)
        center = _com(cycle)
        lean += float(np.arctan((target - center[0]) / center[2]))
    root = cycle.root_positions.copy()
    root[:, 2] -= sole_places(cycle, soles)[0, :, 2].min() + DEPTH
    root[:, 0] = 0.0
    return replace(cycle, root_positions=root)


def _still(
    skeleton: Skeleton, turns: Floats, lean: float, roles: dict[str, int], samples: int
) -> Cycle:
    """A cycle of one pose whose feet are level."""
    vectors = turns.copy()
    vectors[0, 1] += lean
    for side in SIDES:
        vectors[roles[f"{side}_foot"], 1] = -lean - 0.5 * KNEE
    rotations = np.tile(quat_from_rotvec(vectors), (samples, 1, 1))
    root = np.tile(skeleton.offsets[0] * [0.0, 0.0, 1.0], (samples, 1))
    return Cycle(skeleton, 1.0, np.zeros(3), root, rotations)


def _com(cycle: Cycle) -> Floats:
    """Centre of mass of the first sample relative to the lowest ankle, [m]. Shape (3,)."""
    motion = cycle.motion()[:1]
    x, y, z = center_of_mass(motion)[0]
    return np.array([x, y, z - joint_positions(motion)[0, :, 2].min()])
