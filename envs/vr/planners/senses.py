"""The readings of a fair planner: the numbers of the observation, in the head frame."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ambulo.configs.arrays import Floats, Ints
from ambulo.envs.vr.contract import BODY_RADIUS, WorldSpec
from ambulo.envs.vr.task.batch import NavigationBatch
from ambulo.envs.vr.task.observation import rotated
from ambulo.envs.vr.task.tasks import REACH
from ambulo.envs.vr.world.actions import TELEPORT_STICK

_WALKER_RESPONSE = 0.5
"""Response time of bodies with legs and their twins, [s]: between a walker's delay (0.27 s of
speed, 0.07 s of turning) and its delay plus lag (0.68 s and 0.41 s)."""

_SHORTEST_LEAP = 1.02 * TELEPORT_STICK
"""Stick of the shortest teleport."""
_CLOSE, _AWAY = BODY_RADIUS + 0.1, 0.3
"""Distance of near shapes, [m], and the fraction of the stick that is aimed away from them."""
_REACHES = (0.5, np.radians(40.0))
"""Bodies with legs stop within this distance of a point to reach, [m], and this heading error,
[rad]."""
_ABOVE = 0.25
"""Distance below which points may be at any side: the heads of crouching bodies are above them,
[m]."""


@dataclass(frozen=True)
class Senses:
    """Readings of N envs, all from their observations; x is ahead, y is left."""

    position: Floats
    """Position x, y in a frame that stays fixed during the episode, shape (N, 2), [m]."""
    yaw: Floats
    """Heading in that frame, shape (N,), [rad]."""
    velocity: Floats
    """Velocity in the head frame, shape (N, 2), [m/s]."""
    yaw_rate: Floats
    """Yaw rate, shape (N,), [rad/s]."""
    rays: Floats
    """Ray lengths, shape (N, R), [m]."""
    ray_angles: Floats
    """Direction of each ray in the head frame, shape (N, R), [rad]."""
    goal: Floats
    """Target of the body, head frame, shape (N, 2), [m]."""


def senses(batch: NavigationBatch) -> Senses:
    """The readings in the observations of `batch`."""
    where, obs = batch.layout.slices(), batch.obs.astype(np.float64)
    spec = batch.spec
    quaternion = obs[:, where["camera_rotation"]]
    yaw = 2.0 * np.arctan2(quaternion[:, 2], quaternion[:, 3])
    back = np.zeros_like(yaw) if spec.rays_in_head_frame else -yaw
    goal = obs[:, where["goal_position"]]
    ahead, left = rotated(goal[:, 0], goal[:, 1], back)
    by_walking = (batch.task.kind == REACH) & (
        batch.config.environment.body == "capsule"
    )
    hand = spec.hand_offset
    ahead = ahead - np.where(by_walking, hand[0], 0.0)
    left = left - np.where(by_walking, np.sign(left) * hand[1], 0.0)
    velocity = obs[:, where["camera_velocity"]]
    fan = 2.0 * np.pi * np.arange(spec.num_rays) / spec.num_rays
    return Senses(
        position=obs[:, where["camera_position"]][:, :2],
        yaw=yaw,
        velocity=np.column_stack(rotated(velocity[:, 0], velocity[:, 1], back)),
        yaw_rate=obs[:, where["camera_angular_velocity"]][:, 2],
        rays=obs[:, where["ray_sensors"]],
        ray_angles=fan + back[:, None],
        goal=np.column_stack([ahead, left]),
    )


def response_time(batch: NavigationBatch) -> float:
    """Response time of the bodies of `batch` to a stick, [s].

    Planners steer from the positions predicted for that time.
    """
    return 0.0 if batch.config.environment.body == "capsule" else _WALKER_RESPONSE


def at_rest_near_points(
    batch: NavigationBatch, goal: Floats, velocity: Floats, error: Floats
) -> Floats:
    """Stop bodies with legs near their point to reach: hands are led only at rest.

    Args:
        batch: The batch of the bodies.
        goal: Their goals in the head frame, [m]. Shape (N, 2).
        velocity: Head frame, [m/s]. Shape (N, 2); zeroed in place.
        error: Errors of their headings, [rad]. Shape (N,).

    Returns:
        Heading errors; zero for bodies that stop and face their point. Shape (N,).
    """
    far = np.hypot(*goal.T)
    near = (batch.task.kind == REACH) & (far < _REACHES[0])
    near &= batch.config.environment.body != "capsule"
    angle = np.arctan2(goal[:, 1], goal[:, 0])
    velocity[near] = 0.0
    faces = (np.abs(angle) < _REACHES[1]) | (far < _ABOVE)
    turned = np.where(faces, 0.0, angle)
    return np.where(near, turned, error)


def leap_to(velocity: Floats, distance: Floats, now: Senses, spec: WorldSpec) -> Floats:
    """Velocities (N, 2) whose sticks teleport by `distance` (N,) [m], if sticks teleport.

    Directions are those of `velocity`, but away from near obstacles, which would stop a
    teleport at once. If sticks walk, `velocity` is returned unchanged.
    """
    if spec.teleport <= 0.0:
        return velocity
    speed = np.maximum(np.hypot(velocity[:, 0], velocity[:, 1]), 1e-9)
    aim = velocity / speed[:, None]
    rows = np.arange(len(aim))
    nearest = now.rays.argmin(axis=1)
    angle = now.ray_angles[rows, nearest]
    inward = np.column_stack([np.cos(angle), np.sin(angle)])
    towards = (aim * inward).sum(axis=1)
    close = (now.rays[rows, nearest] < _CLOSE) & (towards > -_AWAY)
    aim -= np.where(close, towards + _AWAY, 0.0)[:, None] * inward
    aim /= np.maximum(np.hypot(aim[:, 0], aim[:, 1]), 1e-9)[:, None]
    length = np.clip(distance / spec.teleport, _SHORTEST_LEAP, 1.0)
    moves = speed > 1e-6  # bodies at rest wait
    return aim * (moves * length * spec.max_speed)[:, None]


def wrapped(angle: Floats) -> Floats:
    """The equivalent angle in [-pi, pi)."""
    return np.remainder(angle + np.pi, 2.0 * np.pi) - np.pi


def uniform(seed: Ints, counter: Ints, columns: int) -> Floats:
    """Numbers in [-1, 1) for each (seed, counter), shape (N, columns) (SplitMix64).

    Streams of different seeds are independent of each other and of the batch.
    """
    key = seed.astype(np.uint64)[:, None] * np.uint64(0xD1342543DE82EF95)
    z = key + (counter.astype(np.uint64) * np.uint64(columns))[:, None]
    z = (z + np.arange(columns, dtype=np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return (z >> np.uint64(11)).astype(np.float64) * 2.0**-52 - 1.0
