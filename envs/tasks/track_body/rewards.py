"""What a walker that follows trackers is rewarded for."""

from __future__ import annotations

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.configs.locomotion import LocomotionRewardsConfig
from ambulo.envs.locomotion.reward import Terms

PLACE, SPEED, HEADING, JOINTS = 0.15, 0.5, 0.3, 0.15
"""Widths: [m], [m/s], [rad], [m]."""


def following_terms(
    place: Floats,
    velocity: Floats,
    yaw: Floats,
    joints: Floats,
    weights: LocomotionRewardsConfig,
) -> Terms:
    """Nearness to the path and to the tracked pose, each term (N,).

    Args:
        place: Root from the path. Shape (N, 2), [m].
        velocity: Root's velocity minus that of the path. Shape (N, 2), [m/s].
        yaw: Heading from that of the path. Shape (N,), [rad].
        joints: Mean distance of joints from the tracked ones. Shape (N,), [m].
        weights: Weights of the terms.
    """
    far = np.square(place).sum(axis=1) / PLACE**2
    slips = np.square(velocity).sum(axis=1) / SPEED**2
    return {
        "root": weights.root * np.exp(-far),
        "speed": weights.speed * np.exp(-slips),
        "heading": weights.heading * np.exp(-np.square(yaw / HEADING)),
        "end_effector": weights.end_effector * np.exp(-joints / JOINTS),
    }
