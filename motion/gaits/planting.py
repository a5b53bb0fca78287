"""Removal of foot sliding that filters and retargeting have added.

The soles of the body decide, not the joints: the velocity of the touching material counts. A
foot that is dragged or turned on purpose is left unchanged.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.linalg import solveh_banded

from ambulo.configs.arrays import Floats
from ambulo.motion.analysis import angular_velocities, joint_velocities
from ambulo.motion.filters import low_pass
from ambulo.motion.gaits.cycle import Cycle, resynthesized
from ambulo.motion.gaits.soles import DEPTH, Soles
from ambulo.motion.kinematics import motion_kinematics
from ambulo.motion.motion import Motion
from ambulo.motion.retargeting.body import SIDES, retarget_body
from ambulo.motion.retargeting.refine import (
    AIM,
    ANKLE,
    HIPS,
    POSITION,
    RefinementGoals,
    refined,
)
from ambulo.motion.rotations import (
    quat_about_mean,
    quat_from_rotvec,
    quat_multiply,
    quat_rotate,
)

NEAR, FAR = 0.01, 0.03
"""Heights of the lowest sole point, [m]: up to the first a foot is in stance, from the second
it is not."""
SLOW, FAST = 0.2, 0.6
"""The same two thresholds of the sliding speed, [m/s]. Captured feet in stance slide with up to
0.15 m/s once noise is filtered; faster ones roll, are dragged or are in the air."""
TOUCHING = 0.006
"""Height above the lowest sole point at which another point has a third of its weight, [m]."""
SPEED_CUTOFF = 8.0
"""Cut-off of the low-pass of the sliding speed, [Hz]."""
HOLD = 0.5
"""Time constant in which a shift of a stance foot fades, [s]: drift over many steps belongs to
the clip."""
SMOOTHING = 0.03
"""Time over which a shift changes, [s]."""
PRESS = 20.0
"""Weight of a height error of a stance foot, [1/s]: 5 cm weigh as 1 m/s of slide."""
LAX = 0.2
"""Weight of a change of a swing foot's shift, relative to the slide of a stance foot."""
ROUNDS = 2
"""Number of passes: legs rotate soles as they are moved."""
SHIN = 0.1
"""Weight of squared distances of knees from their original positions; they are free to
yield."""
CYCLE_HARMONICS = 12
"""Harmonics that a planted cycle keeps."""


def planted(motion: Motion, soles: Soles, depth: float = DEPTH) -> Motion:
    """`motion` with stance feet at rest, their lowest points at height -`depth`, [m].

    The shift d (T, 3) of each foot is a least-squares solution: along the ground of w (v +
    d')^2 + LAX (1 - w) d'^2, upwards of w (PRESS (h + depth + d))^2 + d'^2, both with (d /
    HOLD)^2 + (SMOOTHING d'')^2, where v is the velocity of the touching sole, h its height, and
    w the stance weight. Legs follow by the refinement of the retargeting.

    Args:
        motion: Motion on the body of the soles, the ground at height 0.
        soles: Contact spheres of its feet.
        depth: Depth to which they press into the ground, [m].
    """
    for _ in range(ROUNDS):
        height, velocity = touching_soles(motion, soles)
        stands = standing(motion, height, velocity)
        shifts = [
            _shift(
                stands[:, foot], velocity[:, foot], -depth - height[:, foot], motion.fps
            )
            for foot in range(2)
        ]
        motion = with_shifted_feet(motion, np.stack(shifts, axis=1))
    return motion


def with_shifted_feet(motion: Motion, shifts: Floats) -> Motion:
    """`motion` with its feet moved by `shifts`, [m]; legs follow. Shape (T, 2, 3), left first.

    By the refinement of the retargeting: soles keep their orientation, other joints their
    position.
    """
    body = retarget_body(motion.skeleton)
    places, turns = motion_kinematics(motion)
    goals = places.copy()
    weights = np.full(places.shape[:2], POSITION)
    aims = np.zeros(places.shape[:2])
    for role, joint in body.parts.items():
        aims[:, joint] = AIM.get(role.split("_", 1)[-1], 0.0)
    weights[:, 0] = HIPS
    for foot, side in enumerate(SIDES):
        weights[:, body.roles[side + "thigh"]] = HIPS
        weights[:, body.roles[side + "shin"]] = SHIN
        if side + "foot" in body.roles:
            ankle = body.roles[side + "foot"]
        else:  # a shin that stands on its end is moved rigidly
            ankle = body.roles[side + "shin"]
            aims[:, body.parts[side + "shin"]] = AIM["foot"]
        weights[:, ankle] = ANKLE
        for joint in motion.skeleton.branch(ankle):
            goals[:, joint] += shifts[:, foot]
    root, rotations = refined(
        body,
        motion.root_positions,
        motion.rotations,
        RefinementGoals(goals, weights, np.ascontiguousarray(turns), aims),
        motion.fps,
    )
    return motion.replace(root_positions=root, rotations=rotations)


def planted_cycle(cycle: Cycle, soles: Soles, depth: float = DEPTH) -> Cycle:
    """`cycle` with stance feet at rest; as `planted`."""
    count = len(cycle)
    moved = planted(cycle.motion(3), soles, depth)[count : 2 * count]
    root = moved.root_positions - cycle.stride - cycle.progress
    mean, turns = quat_about_mean(moved.rotations)
    smooth = resynthesized(turns, CYCLE_HARMONICS, count)
    return replace(
        cycle,
        root_positions=resynthesized(root, CYCLE_HARMONICS, count) + cycle.progress,
        rotations=quat_multiply(mean[None], quat_from_rotvec(smooth)),
    )


def touching_soles(motion: Motion, soles: Soles) -> tuple[Floats, Floats]:
    """Height (T, 2), [m], and velocity (T, 2, 3), [m/s], of the lowest sole of each foot.

    The velocity is that of the sole's material, averaged with larger weights of lower points: a
    foot that rolls over its edge does not slide.
    """
    at, sides = list(soles.joints), np.array(soles.sides)
    places, turns = motion_kinematics(motion)
    arms = quat_rotate(turns[:, at], soles.offsets[None]) - [0.0, 0.0, soles.radius]
    turning = angular_velocities(motion, "world")[:, at]
    velocities = joint_velocities(motion)[:, at] + np.cross(turning, arms)
    heights = (places[:, at] + arms)[..., 2]
    lowest = np.empty((len(motion), 2))
    velocity = np.empty((len(motion), 2, 3))
    for foot in range(2):
        own = sides == foot
        lowest[:, foot] = heights[:, own].min(axis=1)
        bears = np.exp((lowest[:, foot, None] - heights[:, own]) / TOUCHING)
        bears /= bears.sum(axis=1, keepdims=True)
        velocity[:, foot] = np.einsum("tp,tpc->tc", bears, velocities[:, own])
    return lowest, velocity


def standing(motion: Motion, height: Floats, velocity: Floats) -> Floats:
    """Stance weight of each foot, from 0 to 1, by `touching_soles`. Shape (T, 2)."""
    speed = np.linalg.norm(velocity[..., :2], axis=-1)
    cutoff = min(SPEED_CUTOFF, 0.4 * motion.fps)
    speed = low_pass(speed, motion.fps, cutoff)
    return _falling(height, NEAR, FAR) * _falling(speed, SLOW, FAST)


def slide(motion: Motion, soles: Soles) -> float:
    """Mean horizontal speed of soles in stance, [m/s]; 0 without any stance."""
    height, velocity = touching_soles(motion, soles)
    stands = standing(motion, height, velocity)
    speed = np.linalg.norm(velocity[..., :2], axis=-1)
    return float((stands * speed).sum() / max(stands.sum(), 1e-9))


def _falling(values: Floats, low: float, high: float) -> Floats:
    """1 below `low`, 0 above `high`, smooth between."""
    part = np.clip((high - values) / (high - low), 0.0, 1.0)
    return part * part * (3.0 - 2.0 * part)


def _shift(stands: Floats, velocity: Floats, lift: Floats, fps: float) -> Floats:
    """The shift of a foot, [m]. Shape (T, 3).

    Args:
        stands: Stance weight. Shape (T,).
        velocity: Velocity of its sole, [m/s]. Shape (T, 3).
        lift: Missing height, [m]. Shape (T,).
        fps: Frames per second.
    """
    between = 0.5 * (stands[1:] + stands[:-1])
    rates = 0.5 * (velocity[1:, :2] + velocity[:-1, :2])
    held = between + LAX * (1.0 - between)
    goals = -rates * (between / held)[:, None]
    level = _solved(np.zeros(len(stands)), held, fps, (None, goals))
    # A foot under the ground is in stance, however fast it is.
    pressed = PRESS**2 * np.where(lift > 0.0, 1.0, stands)
    upright = _solved(pressed, np.ones_like(between), fps, (lift[:, None], None))
    return np.concatenate([level, upright], axis=1)


def _solved(
    place_weights: Floats,
    rate_weights: Floats,
    fps: float,
    goals: tuple[Floats | None, Floats | None],
) -> Floats:
    """The smooth shift d (T, n) nearest to positions and rates; small without goals.

    Args:
        place_weights: Weights of squared distances to places. Shape (T,).
        rate_weights: Weights of squared differences to rates. Shape (T - 1,).
        fps: Frames per second.
        goals: Places (T, n) and rates (T - 1, n); None for no such goal.
    """
    places, rates = goals
    count = len(place_weights)
    bands = np.zeros((3, count))  # upper form: bands[2] is the diagonal
    bands[2] = place_weights + HOLD**-2
    bands[2, :-1] += rate_weights * fps**2
    bands[2, 1:] += rate_weights * fps**2
    bands[1, 1:] -= rate_weights * fps**2
    bend = (SMOOTHING * fps**2) ** 2 * np.outer([1.0, -2.0, 1.0], [1.0, -2.0, 1.0])
    for i in range(3):
        for j in range(i, 3):
            bands[2 - (j - i), j : count - 2 + j] += bend[i, j]
    right = np.zeros((count, 2 if places is None else places.shape[1]))
    if places is not None:
        right += place_weights[:, None] * places
    if rates is not None:
        pull = (rate_weights * fps)[:, None] * rates
        right[:-1] -= pull
        right[1:] += pull
    solved: Floats = solveh_banded(bands, right)
    return solved
