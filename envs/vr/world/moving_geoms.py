"""What moves by itself in pictures by MuJoCo: geoms that are added to each picture."""

from __future__ import annotations

from collections.abc import Sequence

import mujoco
import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.envs.vr.contract import BODY_HEIGHT
from ambulo.envs.vr.geometry.solid_kernels import BOX, PERSON

MOST_MOVING = 512
"""More things and people than this are not all drawn."""
_PERSON_COLOUR = (0.80, 0.45, 0.30, 1.0)
_THING_COLOUR = (0.0, 0.51, 0.56, 1.0)
_GLASS = 0.3
"""Opacity of a thing right over the player."""
_LIFTED = 0.004
"""Things are drawn so much higher: their tops may lie in the plane of a floor, [m]."""


def add_moving(scene: mujoco.MjvScene, rows: Floats, feet: Floats) -> None:
    """Add things and people to what is drawn.

    Args:
        scene: what is drawn.
        rows: of `solid_kernels`, shape (n, 9).
        feet: of the player, whom nothing overhead hides, shape (3,), [m].
    """
    for x, y, a, b, cos, sin, bottom, top, kind in rows:
        if kind == PERSON:
            low, high = bottom + a, bottom + BODY_HEIGHT - a
            ends = (np.array([x, y, low]), np.array([x, y, high]))
            add_line(scene, ends, a, _PERSON_COLOUR)
        elif kind == BOX and scene.ngeom < scene.maxgeom:
            away = np.hypot(x - feet[0], y - feet[1]) - np.hypot(a, b)
            over = bottom >= feet[2] + BODY_HEIGHT and away < 1.0
            rgba = np.array([*_THING_COLOUR[:3], _GLASS if over else 1.0], np.float32)
            turn = np.array([cos, -sin, 0.0, sin, cos, 0.0, 0.0, 0.0, 1.0])
            half = np.array([a, b, (top - bottom) / 2])
            middle = np.array([x, y, (bottom + top) / 2 + _LIFTED])
            geom = scene.geoms[scene.ngeom]
            mujoco.mjv_initGeom(
                geom, mujoco.mjtGeom.mjGEOM_BOX, half, middle, turn, rgba
            )
            scene.ngeom += 1


def add_line(
    scene: mujoco.MjvScene,
    ends: Sequence[Floats],
    radius: float,
    colour: Sequence[float],
) -> None:
    """Add a capsule to what is drawn, if there is room.

    Args:
        scene: what is drawn.
        ends: its two ends, [m]. Shape (2, 3).
        radius: [m].
        colour: red, green, blue, alpha.
    """
    if scene.ngeom >= scene.maxgeom:
        return
    geom, capsule = scene.geoms[scene.ngeom], mujoco.mjtGeom.mjGEOM_CAPSULE
    rgba = np.array(colour, np.float32)
    mujoco.mjv_initGeom(geom, capsule, np.zeros(3), np.zeros(3), np.zeros(9), rgba)
    mujoco.mjv_connector(geom, capsule, radius, *ends)
    scene.ngeom += 1
