"""The path that a walker is led along: commands towards it, and rewards for nearness."""

from __future__ import annotations

import numpy as np

from ambulo.configs.arrays import Bools, Floats
from ambulo.configs.locomotion_learning import LocomotionRewardsConfig
from ambulo.envs.locomotion.reward import Terms
from ambulo.envs.simulation.frames import along_heading
from ambulo.envs.tasks.walk_commands.commands import within_envelope

PLACE_TIME, TURN_TIME = 0.2, 0.8
"""Time constants of the path's position and heading, [s]: the pelvis swings with every step."""
PULL, TURN_PULL = 1.0, 2.6
"""Commanded speed by distance from the path, [1/s], and turning rate by angle, [1/s]."""
FARTHEST = 0.3
"""Distance from the path beyond which the commanded speed does not grow, [m]."""
STEERING, WIDEST, PACES = 0.8, 0.4, (0.4, 0.8)
"""A fast walker turns towards a path beside it: gain of the angle, [rad/s], its largest value,
[rad], and the speeds, [m/s], at which this begins and is complete."""
BEGIN, END = (0.1, 0.25, 0.35), (0.05, 0.12, 0.2)
"""Thresholds of distance from the path, [m], of its speed, [m/s], and of the heading error,
[rad]. A standing body steps when one exceeds `BEGIN`; a stepping one stands when all are below
`END`."""

CROUCHED = 2.5
"""Factor on `BEGIN` and `END` in a crouch."""
PLACE_WIDTH, SPEED_WIDTH, HEADING_WIDTH, JOINTS_WIDTH = 0.15, 0.5, 0.3, 0.15
"""Widths of the reward terms: [m], [m/s], [rad], [m]."""


def advance_path(path: Floats, pace: Floats, measured: Floats, dt: float) -> None:
    """Track measured positions and headings, in place; no lag at constant velocity.

    A g-h filter, critically damped (E. Brookner, Tracking and Kalman Filtering Made Easy,
    1998, section 1.2.6).

    Args:
        path: x, y, [m], yaw, [rad]. Shape (N, 3).
        pace: Time derivative of `path`. Shape (N, 3).
        measured: Measured pose. Shape (N, 3).
        dt: Time since the last measurement, [s].
    """
    keep = np.exp(-dt / np.array([PLACE_TIME, PLACE_TIME, TURN_TIME]))
    path += dt * pace
    missed = measured - path
    missed[:, 2] = wrapped(missed[:, 2])
    path += (1.0 - keep**2) * missed
    pace += (1.0 - keep) ** 2 / dt * missed


def leading_commands(path: Floats, pace: Floats, root: Floats, frame: Floats) -> Floats:
    """Commands (speed, turning rate, speed to the left) towards the path. (N, 3).

    Args:
        path: x, y, [m], yaw, [rad]. Shape (N, 3).
        pace: Time derivative of `path`. Shape (N, 3).
        root: Positions of the bodies, [m]. Shape (N, 2).
        frame: Headings of their reference frames, [rad]. Shape (N,).
    """
    away = path[:, :2] - root
    far = np.linalg.norm(away, axis=1, keepdims=True)
    away = away * np.minimum(1.0, FARTHEST / np.maximum(far, 1e-9))
    wanted = pace[:, :2] + PULL * away
    speed = np.hypot(pace[:, 0], pace[:, 1])
    beside = along_heading(away, frame)[:, 1]
    part = np.clip((speed - PACES[0]) / (PACES[1] - PACES[0]), 0.0, 1.0)
    steering = np.clip(STEERING * beside / np.maximum(speed, 0.5), -WIDEST, WIDEST)
    turn = wrapped(path[:, 2] - frame) + part * steering
    ahead, left = along_heading(wanted, frame).T
    commands = np.stack([ahead, pace[:, 2] + TURN_PULL * turn, left], axis=1)
    return within_envelope(commands, turns_take_side=False)[0]


def steps_on(
    stepping: Bools, path: Floats, pace: Floats, root: Floats, yaw: Floats, low: Bools
) -> Bools:
    """Mask of the bodies that should step; see `BEGIN` and `END`. (N,).

    Args:
        stepping: Mask of the bodies that step already. Shape (N,).
        path: x, y, [m], yaw, [rad]. Shape (N, 3).
        pace: Time derivative of `path`. Shape (N, 3).
        root: Positions of the bodies, [m]. Shape (N, 2).
        yaw: Their headings, [rad]. Shape (N,).
        low: Mask of crouching players; larger thresholds, by `CROUCHED`. Shape (N,).
    """
    far = np.hypot(path[:, 0] - root[:, 0], path[:, 1] - root[:, 1])
    speed = np.hypot(pace[:, 0], pace[:, 1])
    off = np.abs(wrapped(path[:, 2] - yaw))
    seen = np.stack([far, speed, off], axis=1)
    seen[low] /= CROUCHED
    begins, stays = np.any(seen > BEGIN, axis=1), np.any(seen > END, axis=1)
    return np.asarray((stepping & stays) | begins)


def wrapped(angle: Floats) -> Floats:
    """`angle` wrapped to [-pi, pi], [rad]."""
    return np.asarray((angle + np.pi) % (2.0 * np.pi) - np.pi)


def following_terms(
    place: Floats,
    velocity: Floats,
    yaw: Floats,
    joints: Floats,
    weights: LocomotionRewardsConfig,
) -> Terms:
    """Reward terms for nearness to the path and to the tracked pose, (N,) each.

    Args:
        place: Position of the root relative to the path. Shape (N, 2), [m].
        velocity: Root's velocity minus that of the path. Shape (N, 2), [m/s].
        yaw: Heading relative to that of the path. Shape (N,), [rad].
        joints: Mean distance of joints from the tracked ones. Shape (N,), [m].
        weights: Weights of the terms.
    """
    far = np.square(place).sum(axis=1) / PLACE_WIDTH**2
    slips = np.square(velocity).sum(axis=1) / SPEED_WIDTH**2
    return {
        "root": weights.root * np.exp(-far),
        "speed": weights.speed * np.exp(-slips),
        "heading": weights.heading * np.exp(-np.square(yaw / HEADING_WIDTH)),
        "end_effector": weights.end_effector * np.exp(-joints / JOINTS_WIDTH),
    }
