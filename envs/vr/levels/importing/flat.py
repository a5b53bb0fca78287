"""A scene as a flat level: its largest floor is the ground, all else obstructs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import LevelError
from ambulo.envs.vr.contract import BODY_HEIGHT, CLIMB_HEIGHT, STEP_HEIGHT
from ambulo.envs.vr.levels.importing.parts import SceneParts
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.levels.surfaces import Mesh

_MOST_LINES = 2000


def flattened(level: Level, parts: SceneParts) -> Level:
    """`level` (with heights) on its largest level floor, which is moved to z = 0.

    Boxes whose tops are that floor become the ground; obstacles are boxes and cylinders,
    and the boxes around the parts of meshes, which `parts.approximated` then lists.

    Raises:
        LevelError: the floor is not made of boxes along the axes, or a place is not on it.
    """
    if level.heightfields:
        raise LevelError(
            f"node {parts.paths['heightfields'][0]}: a terrain is not flat: leave --flat out"
        )
    height, rectangles = _floor(level, parts)
    bounds, holes = _ground(rectangles)
    boxes = level.boxes - np.array([0, 0, height, 0, 0, 0, 0])
    drums = level.cylinders - np.array([0, 0, 0, 0, height])
    boxes = np.vstack([boxes, _mesh_boxes(level, parts, height)])
    low, high = boxes[:, 2] - boxes[:, 5], boxes[:, 2] + boxes[:, 5]
    drum_tops = drums[:, 4] + drums[:, 3]
    _refuse_raised_places(level, height)
    flat = {key: getattr(level, key).copy() for key in ("starts", "goals", "waypoints")}
    for places in flat.values():
        places[:, 2] = 0.0
    return replace(
        level,
        bounds=bounds,
        holes=holes,
        boxes=boxes[(high > STEP_HEIGHT) & (low < BODY_HEIGHT)],
        cylinders=drums[(drum_tops > STEP_HEIGHT) & (drums[:, 4] < BODY_HEIGHT)],
        meshes=(),
        heights=False,
        ground=True,
        start_height=0.0,
        goal_height=0.0,
        **flat,
    )


def _floor(level: Level, parts: SceneParts) -> tuple[float, Floats]:
    """Height of the largest level floor, and its rectangles x0, y0, x1, y1, shape (n, 4)."""
    boxes = level.boxes
    if level.ground:
        return 0.0, level.bounds[None]
    if len(boxes) == 0:
        raise LevelError("no floor made of boxes: leave --flat out")
    tops = boxes[:, 2] + boxes[:, 5]
    area = boxes[:, 3] * boxes[:, 4]
    same = np.abs(tops[:, None] - tops[None]) <= STEP_HEIGHT
    height = float(tops[np.argmax(same @ area)])
    mine = np.abs(tops - height) <= STEP_HEIGHT
    turned = np.flatnonzero(mine & (np.abs(boxes[:, 6]) > 1e-4))
    if len(turned):
        path = parts.paths["boxes"][turned[0]]
        raise LevelError(f"node {path}: a floor that is turned: leave --flat out")
    b = boxes[mine]
    return height, np.hstack([b[:, :2] - b[:, 3:5], b[:, :2] + b[:, 3:5]])


def _ground(rectangles: Floats) -> tuple[Floats, Floats]:
    """Bounds (4,) of `rectangles` (n, 4), and the holes between them (m, 4)."""
    xs = np.unique(rectangles[:, [0, 2]])
    ys = np.unique(rectangles[:, [1, 3]])
    if max(len(xs), len(ys)) > _MOST_LINES:
        raise LevelError("the floor has too many tiles for --flat")
    covered = np.zeros((len(ys) - 1, len(xs) - 1), bool)
    for x0, y0, x1, y1 in rectangles:
        i0, i1 = np.searchsorted(xs, [x0, x1])
        j0, j1 = np.searchsorted(ys, [y0, y1])
        covered[j0:j1, i0:i1] = True
    holes = []
    for i in range(len(xs) - 1):  # runs along y, one column of the lines at a time
        edges = np.flatnonzero(np.diff(np.r_[True, covered[:, i], True]))
        for start, stop in edges.reshape(-1, 2):
            holes.append([xs[i], ys[start], xs[i + 1], ys[stop]])
    bounds = np.array([xs[0], ys[0], xs[-1], ys[-1]])
    return bounds, np.array(holes, np.float64).reshape(-1, 4)


def _mesh_boxes(level: Level, parts: SceneParts, height: float) -> Floats:
    """Boxes around the connected parts of meshes that obstruct, shape (n, 7)."""
    rows = []
    for mesh, path in zip(level.meshes, parts.paths["meshes"], strict=True):
        boxes = [_box_around(points, height) for points in _connected(mesh)]
        obstructing = [
            b for b in boxes if b[2] + b[5] > STEP_HEIGHT and b[2] - b[5] < BODY_HEIGHT
        ]
        if obstructing:
            reason = (
                f"a mesh: carried as {len(obstructing)} upright boxes around its parts"
            )
            note = {"path": path, "class": "mesh", "reason": reason}
            parts.approximated.append(note)
        rows += obstructing
    return np.array(rows, np.float64).reshape(-1, 7)


def _connected(mesh: Mesh) -> list[Floats]:
    """Points of each connected part of `mesh`, (n, 3) each."""
    t: NDArray[np.int64] = mesh.triangles
    pairs = np.vstack([t[:, :2], t[:, 1:]])
    count = len(mesh.vertices)
    links = coo_array((np.ones(len(pairs)), pairs.T), (count, count))
    number, label = connected_components(links, directed=False)
    return [mesh.vertices[label == k] for k in range(number)]


def _box_around(points: Floats, height: float) -> Floats:
    """The upright box around `points` (n, 3), above a floor at `height`, shape (7,)."""
    low, high = points.min(axis=0), points.max(axis=0)
    half = np.maximum((high - low) / 2, 1e-3)
    middle = (low + high) / 2 - [0.0, 0.0, height]
    return np.array([*middle, *half, 0.0])


def _refuse_raised_places(level: Level, height: float) -> None:
    """Raise a `LevelError` for a start, goal or waypoint that is not on the floor."""
    places = {
        "start": None if level.start is None else level.start_height,
        "goal": None if level.goal is None else level.goal_height,
    }
    for key in ("starts", "goals", "waypoints"):
        places |= {f"{key}[{k}]": p[2] for k, p in enumerate(getattr(level, key))}
    for key, z in places.items():
        if z is not None and abs(z - height) > CLIMB_HEIGHT:
            raise LevelError(
                f"{key}: {z - height:.2f} m above the largest floor: leave --flat out"
            )
