"""The ground floor of a level with heights, for bodies that cannot climb.

Stairs, ramps and curbs, which such a body cannot step over or walk under, become obstacles of a
flat level.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import LevelError
from ambulo.envs.vr.contract import BODY_HEIGHT, STEP_HEIGHT
from ambulo.envs.vr.levels.level import Level, with_places
from ambulo.envs.vr.levels.surfaces import Mesh, stair_boxes

_ON_GROUND = 0.1
"""Largest |z| of positions on the ground floor, [m]."""


_NOWHERE = np.zeros((0, 4))


def open_ground_floor(level: Level) -> Level:
    """The ground floor of a level with heights, without places; flat levels unchanged.

    Raises:
        LevelError: The level has terrains, meshes, people, movers or no ground.
    """
    if not level.heights:
        return level
    return ground_floor(with_places(level, _NOWHERE, _NOWHERE[:, :3], _NOWHERE[:, :3]))


def ground_floor(level: Level) -> Level:
    """The ground floor of `level` as a flat level; a flat level is returned unchanged.

    Of several starts, goals and waypoints, those on the ground floor remain.

    Raises:
        LevelError: A start or goal is on another floor, or the level has what a flat level
            cannot have: terrains, meshes, people, movers or a missing ground.
    """
    if not level.heights:
        return level
    why = _not_flat(level)
    if why is not None:
        raise LevelError(f"level {level.name!r}: {why}: use body = capsule")
    for key in ("starts", "goals", "waypoints"):
        if len(getattr(level, key)) and not len(_on_ground(getattr(level, key))):
            raise LevelError(
                f"level {level.name!r}: none of its {key} is on the ground floor, and a "
                "simulated body cannot climb: use body = capsule"
            )
    ramps = [box for row in level.ramps if (box := _ramp_box(row)) is not None]
    rows = [level.boxes, stair_boxes(level.stairs), np.array(ramps).reshape(-1, 7)]
    return dataclasses.replace(
        level,
        heights=False,
        boxes=np.vstack(rows),
        ramps=level.ramps[:0],
        stairs=level.stairs[:0],
        meshes=(),
        heightfields=(),
        start_height=0.0,
        goal_height=0.0,
        starts=_on_ground(level.starts),
        goals=_on_ground(level.goals),
        waypoints=_on_ground(level.waypoints),
    )


def _not_flat(level: Level) -> str | None:
    """Why `level` cannot become a flat level, as a phrase; None: it can."""
    if not level.ground:
        return "has no ground at z = 0, on which a simulated body walks"
    if level.moving:
        return "has moving things or people, which a simulated body does not meet"
    for name, place in (("start", level.start_place), ("goal", level.goal_place)):
        if place is not None and abs(place[2]) > _ON_GROUND:
            return (
                f"its {name} is {place[2]:.2f} m above the ground floor, and a simulated "
                "body cannot climb"
            )
    terrains = (field.mesh() for field in level.heightfields)
    for mesh in (*level.meshes, *terrains):
        if _is_in_the_way(mesh):
            return "has meshes or terrains, which a simulated body cannot climb"
    return None


def _is_in_the_way(mesh: Mesh) -> bool:
    """Whether `mesh` is an obstacle to a body on the ground."""
    z = mesh.corners()[..., 2]
    between = (z.max(axis=1) > STEP_HEIGHT) & (z.min(axis=1) < BODY_HEIGHT)
    return bool(between.any())


def _on_ground(places: Floats) -> Floats:
    """Those of `places` (n, 3 or more) that are on the ground floor, at z = 0."""
    kept = places[np.abs(places[:, 2]) <= _ON_GROUND].copy()
    kept[:, 2] = 0.0
    return kept


def _ramp_box(row: Floats) -> Floats | None:
    """The obstructing part of a ramp (8,) as a box (7,), [m]; None: no part obstructs."""
    low, high, width, thickness = row[:3], row[3:6], row[6], row[7]
    along, rise = high[:2] - low[:2], high[2] - low[2]
    # The part of a plank whose top is above a step and whose underside is below a head.
    steep = max(rise, 1e-9)
    first = np.clip((STEP_HEIGHT - low[2]) / steep, 0.0, 1.0)
    last = 1.0
    if thickness > 0.0:
        last = np.clip((BODY_HEIGHT + thickness - low[2]) / steep, 0.0, 1.0)
    elif low[2] >= BODY_HEIGHT:
        return None
    if first >= last:
        return None
    top = low[2] + last * rise
    under = max(low[2] + first * rise - thickness, 0.0) if thickness > 0.0 else 0.0
    middle = low[:2] + along * (0.5 * (first + last))
    length = float(np.hypot(*along)) * (last - first)
    yaw = np.arctan2(along[1], along[0])
    half = 0.5 * np.array([length, width, top - under])
    return np.array([*middle, 0.5 * (top + under), *half, yaw])
