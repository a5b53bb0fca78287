"""Ground contact of a cycle: flat soles in stance, no sinking, floating or slipping."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ambulo.configs.arrays import Bools, Floats
from ambulo.motion.gaits.cycle import Cycle, derivative, fourier_waves
from ambulo.motion.kinematics import forward_kinematics
from ambulo.motion.mass import center_of_mass
from ambulo.motion.motion import Motion
from ambulo.motion.retargeting.body import retarget_body
from ambulo.motion.retargeting.feet import sole_normal
from ambulo.motion.retargeting.turning import turn_part
from ambulo.motion.roles import SIDES
from ambulo.motion.rotations import (
    quat_between,
    quat_conjugate,
    quat_multiply,
    quat_normalize,
    quat_rotate,
)

STANCE_SHARE = 0.3
"""The slowest fraction of the cycle, in which a foot counts as flat in stance."""

DEPTH = 0.002
"""Depth to which the lowest sole point presses into the ground, [m]."""

STANDING_SPEED = 0.8
"""Speed below which the lowest sole point counts as in stance, [m/s]."""

GROUND_HARMONICS = 7
"""Harmonics of the height correction."""

FLIGHT_HEIGHT, FLIGHT_SHARE = 0.015, 0.05
"""Height of the lowest sole point, [m], above which neither foot is in stance, and the fraction
of the cycle from which that counts as a flight."""

STANCE_ERROR, FLIGHT_ERROR, BEND = 0.01, 1.0, 0.15
"""For a gait with a flight: errors of equal weight, of the height of stance soles, [m], and of
the acceleration of the falling body, [m/s^2], and the fraction of the latter's weight on
bending the root's path elsewhere."""

LEVEL = 0.01
"""Slope below which a sole is level."""

GRAVITY = 9.81
"""[m/s^2]."""


@dataclass(frozen=True, eq=False)
class Soles:
    """Contact spheres of the soles: points on their joints, with a radius."""

    joints: tuple[int, ...]
    """The joint of each of P points."""
    offsets: Floats
    """Positions in their joints' frames, [m]. Shape (P, 3)."""
    radius: float
    """Radius of the contact spheres, [m]; 0 for plain points."""
    sides: tuple[int, ...]
    """0 for the left foot, 1 for the right."""


def sole_places(moving: Cycle | Motion, soles: Soles) -> Floats:
    """World position of the lowest point of each contact sphere, [m]. Shape (N, P, 3)."""
    positions, turns = forward_kinematics(
        moving.skeleton, moving.root_positions, moving.rotations
    )
    at = list(soles.joints)
    points: Floats = positions[:, at] + quat_rotate(turns[:, at], soles.offsets[None])
    return points - [0.0, 0.0, soles.radius]


def sole_velocities(cycle: Cycle, soles: Soles) -> Floats:
    """World velocities of the sole points, [m/s]. Shape (N, P, 3)."""
    positions = sole_places(cycle, soles) - cycle.progress[:, None]
    moving = derivative(positions, cycle.period)
    return moving + cycle.stride / cycle.period


def stance(cycle: Cycle, soles: Soles) -> np.ndarray:
    """Stance mask of each foot: the slowest `STANCE_SHARE` of the phases. Shape (N, 2)."""
    speeds = np.linalg.norm(sole_velocities(cycle, soles)[..., :2], axis=-1)
    sides = np.array(soles.sides)
    slow = np.empty((len(cycle), 2), dtype=bool)
    for foot in range(2):
        mean = speeds[:, sides == foot].mean(axis=1)
        slow[:, foot] = mean <= np.quantile(mean, STANCE_SHARE)
    return slow


def flat_soles(cycle: Cycle, soles: Soles) -> tuple[Cycle, Floats]:
    """Rotate both ankles by a constant, so that the soles are level in mid-stance.

    Shins that stand on their ends are unchanged.

    Captured ankle angles on a body of other proportions leave the sole pitched by as much as 15
    deg; a constant preserves the ankle's movement.

    Returns:
        The cycle and the two angles, left and right, [rad].
    """
    rotations = cycle.rotations.copy()
    angles = np.zeros(2)
    body = retarget_body(cycle.skeleton)
    standing = stance(cycle, soles)
    _, turns = cycle.kinematics()
    up = np.array([0.0, 0.0, 1.0])
    for foot, side in enumerate(SIDES):
        role = f"{side}_foot"
        if role not in body.roles:
            continue
        ankle = body.parts[role]
        # The sole's normal in the world, and the mean normal in the foot's frame.
        seen = quat_rotate(quat_conjugate(turns[standing[:, foot], ankle]), up)
        normal = seen.mean(axis=0) / np.linalg.norm(seen.mean(axis=0))
        fix = quat_between(normal, up)
        angles[foot] = np.arccos(np.clip(normal @ up, -1.0, 1.0))
        turn_part(body, rotations, role, quat_conjugate(fix)[None])
        rotations[:, ankle] = quat_normalize(rotations[:, ankle])
    return replace(cycle, rotations=rotations), angles


def with_level_soles(motion: Motion, soles: Soles) -> Motion:
    """Rotate feet by constants, so that soles are level where retargeting has level feet.

    Retargeting knows the feet's joints alone: on a foot whose heel is higher than its toes at
    rest, a body would stand on its toes.
    """
    rotations, body = motion.rotations.copy(), retarget_body(motion.skeleton)
    at, up = list(soles.joints), np.array([0.0, 0.0, 1.0])
    places = body.positions[at] + quat_rotate(body.orientations[at], soles.offsets)
    for foot, side in enumerate(SIDES):
        role = f"{side}_foot"
        if role not in body.roles:
            continue
        level = quat_between(sole_normal(body, f"{side}_", np.zeros((0, 4))), up)
        own = quat_rotate(level, places[np.array(soles.sides) == foot])
        own -= own.mean(axis=0)
        slope = np.linalg.lstsq(own[:, :2], own[:, 2], rcond=None)[0]
        if np.abs(slope).max() < LEVEL:
            continue
        normal = np.r_[-slope, 1.0] / np.hypot(1.0, np.linalg.norm(slope))
        part = quat_multiply(level, body.orientations[body.parts[role]])
        fix = quat_multiply(quat_between(normal, up), part)
        turn = quat_multiply(quat_conjugate(part), fix)
        turn_part(body, rotations, role, turn[None])
    return motion.replace(rotations=rotations)


def grounded(cycle: Cycle, soles: Soles, depth: float = DEPTH) -> Cycle:
    """Raise or lower the root so that the lowest sole point is at height -`depth`, [m].

    The correction has `GROUND_HARMONICS` harmonics, fitted in stance (where the lowest sole
    point is slow), so that the body still moves smoothly and a flight keeps its height. A gait
    with a flight is corrected again: there the centre of mass falls freely, and the correction
    bends little elsewhere.
    """
    lowest, slow = _lowest(cycle, soles)
    waves = fourier_waves(len(cycle), GROUND_HARMONICS)
    # A little stiffness determines the correction without stance.
    count = len(cycle)
    order = np.r_[0, np.repeat(np.arange(1, GROUND_HARMONICS + 1), 2)]
    rigid = np.diag(order**2.0)
    standing = waves * slow[:, None]
    normal = standing.T @ waves + 1e-3 * count * rigid * (~slow).mean()
    lift = (
        waves @ np.linalg.lstsq(normal, standing.T @ (-depth - lowest), rcond=None)[0]
    )
    first = _raised(cycle, lift)
    flight = _lowest(first, soles)[0] > FLIGHT_HEIGHT
    if flight.mean() < FLIGHT_SHARE:
        return first
    falling = derivative(
        derivative(center_of_mass(cycle.motion())[:, 2], cycle.period), cycle.period
    )
    bends = -np.square(order * (2.0 * np.pi / cycle.period)) * waves
    goal = np.where(flight, -GRAVITY - falling, 0.0) / FLIGHT_ERROR
    weight = np.where(flight, 1.0, BEND)
    rows = np.concatenate([
        standing / STANCE_ERROR,
        bends * (weight / FLIGHT_ERROR)[:, None],
    ])  # fmt: skip
    goals = np.r_[slow * (-depth - lowest) / STANCE_ERROR, goal]
    return _raised(cycle, waves @ np.linalg.lstsq(rows, goals, rcond=None)[0])


def _lowest(cycle: Cycle, soles: Soles) -> tuple[Floats, Bools]:
    """Height of the lowest sole point, [m], and whether it is in stance, each (N,)."""
    heights = sole_places(cycle, soles)[..., 2]
    speeds = np.linalg.norm(sole_velocities(cycle, soles), axis=-1)
    point = heights.argmin(axis=1)[:, None]
    slow = np.take_along_axis(speeds, point, axis=1)[:, 0] < STANDING_SPEED
    return heights.min(axis=1), slow


def _raised(cycle: Cycle, lift: Floats) -> Cycle:
    root = cycle.root_positions.copy()
    root[:, 2] += lift
    return replace(cycle, root_positions=root)


def no_slip(cycle: Cycle, soles: Soles) -> tuple[Cycle, float]:
    """Change the stride so that feet in contact have no mean forward velocity.

    Returns:
        The cycle and the removed velocity, [m/s].
    """
    velocities = sole_velocities(cycle, soles)
    standing = stance(cycle, soles)
    sides = np.array(soles.sides)
    slips = [
        velocities[standing[:, foot]][:, sides == foot, 0].mean(axis=1)
        for foot in range(2)
    ]
    slip = float(np.median(np.concatenate(slips)))
    return cycle.lengthened(np.array([-slip * cycle.period, 0.0, 0.0])), slip
