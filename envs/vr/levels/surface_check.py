"""What makes a level with heights unplayable: the first broken rule."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.envs.vr.contract import BODY_RADIUS, CLIMB_HEIGHT, STEEPEST_FLOOR
from ambulo.envs.vr.geometry.solid_kernels import standing
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.levels.solids import Solids
from ambulo.envs.vr.levels.surfaces import MAX_TRIANGLES

_SURFACES = ("ramps", "stairs", "heightfields", "meshes")


def flat_problem(level: Level) -> str | None:
    """The first thing in a level without heights that needs them, as `key: rule`."""
    for key in _SURFACES:
        if len(getattr(level, key)):
            return f'{key}: needs "heights": true'
    if not level.ground:
        return 'ground: a level without ground needs "heights": true'
    for key, height in (("start", level.start_height), ("goal", level.goal_height)):
        if height != 0:
            return f'{key}: a place at height {height:g} needs "heights": true'
    for key in ("starts", "goals", "waypoints"):
        raised = np.flatnonzero(getattr(level, key)[:, 2] != 0)
        if len(raised):
            return f'{key}[{raised[0]}]: a place above the floor needs "heights": true'
    return None


def surface_problem(level: Level) -> str | None:
    """The first broken rule of a level with heights as `key: rule`; None: it is good."""
    problem = _bad_slopes(level) or _bad_amount(level)
    if problem is not None:
        return problem
    solids = Solids.of(level)
    for key, place in _places(level):
        problem = _bad_place(level, solids, key, place)
        if problem is not None:
            return problem
    return None


def _bad_slopes(level: Level) -> str | None:
    for k, row in enumerate(level.ramps):
        run, rise = float(np.hypot(*(row[3:5] - row[:2]))), row[5] - row[2]
        if run < STEEPEST_FLOOR * math.hypot(run, rise):
            return f"ramps[{k}]: steeper than 45 degrees, nobody can climb it"
    for k, row in enumerate(level.stairs):
        rise = (row[5] - row[2]) / row[8]
        if rise > CLIMB_HEIGHT + 1e-9:
            return (
                f"stairs[{k}].steps: a step is {rise:.3g} m high, and the body climbs "
                f"{CLIMB_HEIGHT} m"
            )
    return None


def _bad_amount(level: Level) -> str | None:
    triangles = sum(len(mesh.triangles) for mesh in level.meshes)
    triangles += sum(2 * field.heights.size for field in level.heightfields)
    if triangles > MAX_TRIANGLES:
        return f"meshes: {triangles} triangles, at most {MAX_TRIANGLES} allowed"
    if not level.ground and not (
        triangles or len(level.boxes) or len(level.ramps) or len(level.stairs)
    ):
        return "ground: there is no floor"
    return None


def _places(level: Level) -> Iterator[tuple[str, Floats]]:
    """The places that the level names: their keys, and x, y, z."""
    if level.start is not None:
        yield "start.position", np.append(level.start[:2], level.start_height)
    if level.goal is not None:
        yield "goal", np.append(level.goal, level.goal_height)
    for key in ("starts", "goals", "waypoints"):
        for k, place in enumerate(getattr(level, key)):
            yield f"{key}[{k}]", place[:3]


def _bad_place(level: Level, solids: Solids, key: str, place: Floats) -> str | None:
    x, y, z = (float(v) for v in place)
    x0, y0, x1, y1 = level.bounds
    if not (x0 <= x <= x1 and y0 <= y <= y1):
        return f"{key}: out of bounds"
    floor, free = standing(solids.arrays(), x, y, z)
    if not math.isfinite(floor) or floor < z - CLIMB_HEIGHT:
        return f"{key}: no floor within {CLIMB_HEIGHT} m of z = {z:g}"
    if not free:
        return f"{key}: inside an obstacle (the body needs {BODY_RADIUS} m around it)"
    return None
