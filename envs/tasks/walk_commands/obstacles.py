"""Walls, pillars and moving things around a walker in training."""

from __future__ import annotations

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.configs.walk_commands import WalkCommandsConfig
from ambulo.envs.simulation.touch import BOXES, PlacedBoxes

WALLS = 3
"""The first boxes are walls."""
WALL_GAP, GAP = (0.7, 2.5), (1.3, 3.0)
"""Distances from a body to a wall's middle plane, and to the middle of other boxes, [m]."""
WALL_ANGLE, ANGLE = np.deg2rad(80.0), np.deg2rad(35.0)
"""Largest angle between heading and a wall's normal, and to the middle of other boxes."""


def place_around(
    boxes: PlacedBoxes,
    env: int,
    frame: Floats,
    walk: WalkCommandsConfig,
    rng: np.random.Generator,
) -> None:
    """Park the boxes of body `env`, or put one or two of them in its way.

    Args:
        boxes: All boxes.
        env: The body.
        frame: Its place, x, y, [m], and heading, [rad]. Shape (3,).
        walk: How often, and how they move.
        rng: Its generator.
    """
    boxes.park(np.array([env]))
    used, several, moves = rng.random(3)
    if used >= walk.obstacles:
        return
    count = 1 + int(several < 0.4)
    moving = moves < walk.moving_share
    chosen = rng.permutation(len(BOXES))[:count]
    if moving:
        chosen[0] = rng.integers(WALLS, len(BOXES))
    for k, box in enumerate(chosen.tolist()):
        gap, turn, along, angle, pace = rng.random(5)
        low, high = WALL_GAP if box < WALLS else GAP
        far = low + gap * (high - low)
        widest = np.pi if moving and k == 0 else WALL_ANGLE if box < WALLS else ANGLE
        heading = frame[2] + (2.0 * turn - 1.0) * widest
        ahead = np.array([np.cos(heading), np.sin(heading)])
        left = np.array([-ahead[1], ahead[0]])
        offset = (2.0 * along - 1.0) * (1.5 if box < WALLS else 0.0)
        boxes.place[env, box, :2] = frame[:2] + far * ahead + offset * left
        boxes.place[env, box, 2] = heading if box < WALLS else angle * np.pi
        if moving and k == 0:
            slow, fast = walk.moving_speed
            boxes.velocity[env, box] = -(slow + pace * (fast - slow)) * ahead
    boxes.show()
