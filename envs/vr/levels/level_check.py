"""What makes a level unplayable: the first broken rule, found without long searches."""

from __future__ import annotations

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.envs.vr.contract import BODY_RADIUS, CLIMB_HEIGHT
from ambulo.envs.vr.levels.level import MAX_OBSTACLES, Level
from ambulo.envs.vr.levels.moving_check import moving_problem
from ambulo.envs.vr.levels.surface_check import flat_problem, surface_problem
from ambulo.envs.vr.levels.way_check import way_problem

MAX_AREA = 1e6
"""Largest floor, [m^2]."""
MAX_SIDE = 1e4
"""Longest side of a floor, [m]."""
MAX_COVER = 1e7
"""Largest sum of the floor under each obstacle, overlaps counted, [m^2]."""


def level_problem(level: Level, *, solvable: bool = True) -> str | None:
    """The first broken rule of `level` as `key: rule`; None: it can be played.

    Without `solvable` there need be no ways between starts and goals.
    """
    problem = _bad_shapes(level)
    if level.heights:
        problem = (
            problem
            or _bad_range(level)
            or moving_problem(level)
            or surface_problem(level)
        )
    else:
        problem = (
            problem
            or moving_problem(level)
            or flat_problem(level)
            or _bad_place(level, "start.position", level.start)
            or _bad_place(level, "goal", level.goal)
            or _bad_places(level)
            or _bad_range(level)
        )
    return problem or (way_problem(level) if solvable else None)


def _bad_shapes(level: Level) -> str | None:
    x0, y0, x1, y1 = level.bounds
    if not (x1 > x0 and y1 > y0):
        return f"bounds: need x0 < x1 and y0 < y1, got {level.bounds.tolist()}"
    if (x1 - x0) * (y1 - y0) > MAX_AREA or max(x1 - x0, y1 - y0) > MAX_SIDE:
        return f"bounds: more than {MAX_AREA:g} m^2 or a side over {MAX_SIDE:g} m"
    holes, boxes, drums = level.holes, level.boxes, level.cylinders
    if len(holes) + len(boxes) + len(drums) > MAX_OBSTACLES:
        return f"boxes: more than {MAX_OBSTACLES} obstacles and holes"
    inverted = (holes[:, 2] <= holes[:, 0]) | (holes[:, 3] <= holes[:, 1])
    for key, bad, rule in (
        ("holes[{}]", inverted, "need x0 < x1 and y0 < y1"),
        ("boxes[{}].half_size", (boxes[:, 3:6] <= 0).any(axis=1), "must be > 0"),
        ("cylinders[{}].radius", drums[:, 2] <= 0, "must be > 0"),
        ("cylinders[{}].height", drums[:, 3] <= 0, "must be > 0"),
    ):
        if bad.any():
            return f"{key.format(int(np.argmax(bad)))}: {rule}"
    rectangles = np.vstack([holes, _footprints(boxes), _round_footprints(drums)])
    low = np.maximum(rectangles[:, :2], level.bounds[:2])
    high = np.minimum(rectangles[:, 2:], level.bounds[2:])
    cover = np.maximum(high - low + 2.0, 0.0).prod(axis=1).sum()
    if cover > MAX_COVER:
        return f"boxes: obstacles cover more than {MAX_COVER:g} m^2 one by one"
    return None


def _footprints(boxes: Floats) -> Floats:
    """Axis-aligned rectangles around boxes, shape (n, 4)."""
    c, s = np.abs(np.cos(boxes[:, 6])), np.abs(np.sin(boxes[:, 6]))
    half = np.column_stack(
        [boxes[:, 3] * c + boxes[:, 4] * s, boxes[:, 3] * s + boxes[:, 4] * c]
    )
    return np.hstack([boxes[:, :2] - half, boxes[:, :2] + half])


def _round_footprints(cylinders: Floats) -> Floats:
    radius = cylinders[:, 2:3]
    return np.hstack([cylinders[:, :2] - radius, cylinders[:, :2] + radius])


def _bad_place(level: Level, key: str, pose: Floats | None) -> str | None:
    """Whether the body cannot stand at `pose` (2,) or (3,)."""
    if pose is None:
        return None
    x, y = float(pose[0]), float(pose[1])
    x0, y0, x1, y1 = level.bounds
    if not (x0 <= x <= x1 and y0 <= y <= y1):
        return f"{key}: off the floor"
    h = level.holes
    over = (h[:, 0] < x) & (x < h[:, 2]) & (h[:, 1] < y) & (y < h[:, 3])
    if over.any():
        return f"{key}: in holes[{int(np.argmax(over))}]"
    boxes = level.box_prisms()
    dx, dy = x - boxes[:, 0], y - boxes[:, 1]
    u = np.abs(boxes[:, 4] * dx + boxes[:, 5] * dy) - boxes[:, 2]
    v = np.abs(boxes[:, 4] * dy - boxes[:, 5] * dx) - boxes[:, 3]
    gaps = np.hypot(np.maximum(u, 0), np.maximum(v, 0))
    drums = level.cylinder_prisms()
    gaps = np.append(gaps, np.hypot(x - drums[:, 0], y - drums[:, 1]) - drums[:, 2])
    if (gaps < BODY_RADIUS - 1e-9).any():
        return f"{key}: inside an obstacle (the body needs {BODY_RADIUS} m around it)"
    return None


def _bad_places(level: Level) -> str | None:
    for key in ("starts", "goals", "waypoints"):
        for k, place in enumerate(getattr(level, key)):
            problem = _bad_place(level, f"{key}[{k}]", place)
            if problem is not None:
                return problem
    return None


def _bad_range(level: Level) -> str | None:
    if level.goal_distance is not None:
        low, high = level.goal_distance
        if not 0 < low <= high:
            return f"goal_distance: need 0 < min <= max, got {[low, high]}"
    start, goal = level.start, level.goal
    same_floor = abs(level.start_height - level.goal_height) < CLIMB_HEIGHT
    if (
        start is not None
        and goal is not None
        and same_floor
        and np.allclose(start[:2], goal, 0, 1e-6)
    ):
        return "goal: the same place as start"
    return None
