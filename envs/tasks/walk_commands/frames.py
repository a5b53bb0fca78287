"""The moving frames of walkers: near the bodies, and over the feet of those that stand."""

from __future__ import annotations

import numpy as np

from ambulo.configs.arrays import Bools, Floats
from ambulo.envs.locomotion.body import walk_frames

LEASH, TOUCHED_LEASH, YAW_LEASH = 0.2, 0.03, 0.4
"""How far the moving frame is from a body, [m], when that touches something, and how far it
turns from it, [rad], at most."""
TIED = 0.3
"""Part of the way to between the feet that the frame of a standing body goes in a step."""


def ahead_and_left(vectors: Floats, yaw: Floats) -> Floats:
    """World vectors (N, 2 or more) along headings `yaw` (N,) and to their left. (N, 2)."""
    c, s = np.cos(yaw), np.sin(yaw)
    x, y = vectors[:, 0], vectors[:, 1]
    return np.stack([c * x + s * y, c * y - s * x], axis=1)


def go_on(
    anchor: Floats, speed: Floats, turning: Floats, side: Floats, dt: float
) -> None:
    """Move frames (N, 4) by `dt`, [s], in place, also to the left at `side`, [m/s]."""
    yaw = anchor[:, 2] + 0.5 * dt * turning
    walk_frames(anchor, speed, turning, dt)
    anchor[:, 0] -= dt * side * np.sin(yaw)
    anchor[:, 1] += dt * side * np.cos(yaw)


def hold_near(anchor: Floats, root: Floats, leash: Floats | float) -> None:
    """Keep frames (N, 4) within `leash` (N,), [m], of roots (N, 2), in place."""
    away = anchor[:, :2] - root
    far = np.maximum(np.linalg.norm(away, axis=1), 1e-9)
    anchor[:, :2] = root + away * np.minimum(1.0, leash / far)[:, None]


def stay_near(anchor: Floats, root: Floats, yaw: Floats, touched: Bools) -> None:
    """Lead frames (N, 4) back to bodies that are too far, in place.

    Args:
        anchor: Moving frames.
        root: Places of the roots, [m]. Shape (N, 2).
        yaw: Headings of the roots from the frames, [rad]. Shape (N,).
        touched: Which bodies touch something. Shape (N,).
    """
    hold_near(anchor, root, np.where(touched, TOUCHED_LEASH, LEASH))
    anchor[:, 2] += yaw - np.clip(yaw, -YAW_LEASH, YAW_LEASH)


def tie(anchor: Floats, feet: Floats, turns: Floats, behind: float) -> None:
    """Lead frames (k, 4) of standing bodies to between their feet, in place.

    Args:
        anchor: Moving frames.
        feet: Places of the ankles, [m]. Shape (k, 2, 3).
        turns: Matrices of the feet. Shape (k, 2, 9).
        behind: Place of the ankles ahead of the frame in standing, [m].
    """
    ahead = turns.reshape(-1, 2, 3, 3)[..., :2, 0].sum(axis=1)
    yaw = np.arctan2(ahead[:, 1], ahead[:, 0])
    facing = np.stack([np.cos(yaw), np.sin(yaw)], axis=1)
    place = feet[..., :2].mean(axis=1) - behind * facing
    anchor[:, :2] += TIED * (place - anchor[:, :2])
    anchor[:, 2] += TIED * ((yaw - anchor[:, 2] + np.pi) % (2.0 * np.pi) - np.pi)
