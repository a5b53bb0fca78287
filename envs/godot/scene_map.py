"""A scene of a Godot game as a level: its floor, and what its marker nodes say."""

from __future__ import annotations

import functools
import itertools
import json
import math
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Floats, Ints
from ambulo.configs.errors import BridgeError, LevelError
from ambulo.envs.godot.engine import EngineProcess
from ambulo.envs.godot.errors import BadStatus, BridgeFault, Malformed, Rejected
from ambulo.envs.godot.locate import find_engine, find_project, newest_change
from ambulo.envs.godot.protocol import parse_table
from ambulo.envs.godot.settings import BridgeSettings
from ambulo.envs.godot.transport import BINARY, JSON, HttpConnection, address_of
from ambulo.envs.vr.contract import CLIMB_HEIGHT
from ambulo.envs.vr.levels.layers import CLEARANCE, LayeredGrid
from ambulo.envs.vr.levels.level import with_places
from ambulo.envs.vr.levels.scene_level import SceneLevel, joined

COLUMNS_PER_REQUEST = 20_000
"""Columns whose floors are requested at once."""
_FLOOR_WIDTH = 5
_BOUNDS = (
    'add a box (CSGBox3D or MeshInstance3D) named "AmbuloBounds" around where to play'
)
CELL = 0.1
"""Usual cell size, [m]."""
MOST_COLUMNS = 300_000
"""Wider scenes get larger cells."""
LARGEST_CELL = 0.25
"""Cell size beyond which doors are lost, [m]."""
ANCHOR_REACH = 0.75
"""A start, goal or point of a navigation mesh stands for floor this near, [m]."""
_MIN_CELLS = 12


@dataclass(frozen=True)
class Marker:
    """A node of the scene at which episodes start, end, or go by."""

    node: str
    """Path of the node."""
    place: Floats
    """x, y, z on the floor, shape (3,), [m]."""
    yaw: float
    """[rad]."""


def scene_level(settings: BridgeSettings) -> SceneLevel:
    """The scene that `settings` names, looked at once in a process until a file changes.

    Raises:
        BridgeError: no engine, or one that cannot open the scene.
        LevelError: no floor, or markers that no walk joins.
    """
    stamp = 0.0
    if settings.url is None:
        stamp = newest_change(find_project(settings.project))
    return _looked_at(replace(settings, log_folder=None), stamp)


@functools.lru_cache(maxsize=8)
def _looked_at(settings: BridgeSettings, stamp: float) -> SceneLevel:
    assert settings.scene is not None
    if settings.url is not None:
        host, port = address_of(settings.url)
        return _read(settings, HttpConnection(
            host, port, timeout=settings.timeout, token=settings.token
        ))  # fmt: skip
    with (
        tempfile.TemporaryDirectory(prefix="ambulo-scene-") as folder,
        EngineProcess(
            find_engine(settings.binary),
            find_project(settings.project),
            Path(folder) / "engine.log",
            scene=settings.scene,
        ) as engine,
    ):
        try:
            port = engine.wait_until_ready()
            return _read(settings, HttpConnection(
                "127.0.0.1", port, timeout=settings.timeout, token=settings.token
            ))  # fmt: skip
        except BridgeFault as fault:
            raise BridgeError(f"scene {settings.scene}: {fault}") from fault


def enter_scene(connection: HttpConnection, scene: str) -> dict[str, Any]:
    """Have the engine's agents play in `scene`, which is open there; what it says of it.

    Raises:
        Rejected: it is not open, or breaks a rule: which node, and which rule.
    """
    body = json.dumps({"scene_path": scene}).encode()
    try:
        answer = connection.request("POST", "/rl/scene", body).checked().json()
    except BadStatus as error:
        if error.status >= 500:
            raise
        if error.code == "bad_scene":
            raise Rejected(error.said) from None
        raise Rejected(f"scene {scene}: {error.said}") from None
    if not isinstance(answer, dict):
        raise Malformed("/rl/scene: expected a JSON object")
    return answer


def _read(settings: BridgeSettings, connection: HttpConnection) -> SceneLevel:
    """Ask the engine for markers and floors."""
    assert settings.scene is not None
    name = f"scene {settings.scene}"
    try:
        facts = enter_scene(connection, settings.scene)
        starts, goals, stops = (
            [
                Marker(m["node"], np.array(m["position"]), float(m["yaw"]))
                for m in facts[kind]
            ]
            for kind in ("starts", "goals", "waypoints")
        )
        anchors = np.array(facts["anchors"], np.float64).reshape(-1, 3)
        box = [float(x) for x in facts["box"]]
        grid = _floor(connection, box, name)
    finally:
        connection.close()
    if not grid.free.any():
        raise LevelError(
            f"{name}: no floor that a body fits on: it needs colliders at least 0.6 m wide "
            "whose top is free and level within 45 degrees"
        )
    placed = [marker.place for marker in (*starts, *goals, *stops)]
    grid = anchored(grid, np.array(placed) if placed else anchors)
    if not grid.free.any():
        raise LevelError(
            f"{name}: no walkable floor at its navigation meshes or markers"
        )
    _check_ways(name, grid, starts, goals, stops)
    return _level(settings.scene, box, grid, starts, goals, stops)


def _floor(connection: HttpConnection, box: list[float], name: str) -> LayeredGrid:
    """The walkable cells in `box` x0, y0, z0, x1, y1, z1, block by block."""
    x0, y0, z0, x1, y1, z1 = box
    size = cell_size(x1 - x0, y1 - y0)
    if size > LARGEST_CELL:
        raise LevelError(
            f"{name}: its colliders fill {x1 - x0:.0f} x {y1 - y0:.0f} m, which is too "
            f"wide to look for floors everywhere: {_BOUNDS}"
        )
    nx, ny = (max(1, math.ceil(length / size)) for length in (x1 - x0, y1 - y0))
    step = max(1, COLUMNS_PER_REQUEST // nx)
    found = []
    for row in range(0, ny, step):
        body = {
            "origin": [x0, y0], "size": size, "first": [0, row],
            "last": [nx - 1, min(row + step, ny) - 1], "heights": [z0 - 0.1, z1 + 0.1],
        }  # fmt: skip
        answer = connection.request(
            "POST", "/rl/floor", json.dumps(body).encode(),
            content_type=JSON, accept=BINARY,
        )  # fmt: skip
        found.append(parse_table(answer, _FLOOR_WIDTH))
    return floor_grid(np.concatenate(found), x0, y0, nx, ny, size)


def _check_ways(
    name: str,
    grid: LayeredGrid,
    starts: list[Marker],
    goals: list[Marker],
    stops: list[Marker],
) -> None:
    """`LevelError` unless each marker is on walkable floor, and walks join them."""
    for marker in (*starts, *goals, *stops):
        if grid.nearest(marker.place, ANCHOR_REACH) is None:
            raise LevelError(
                f"{name}: node {marker.node}: a body cannot walk there: it needs 0.6 m of "
                "level floor around"
            )
    for goal in (*goals, *stops):
        field = grid.field(goal.place)
        if starts and not any(grid.reaches(field, m.place) for m in starts):
            raise LevelError(
                f"{name}: node {goal.node}: no walk leads there from {starts[0].node}"
            )
    for start in starts if goals else []:
        field = grid.field(start.place)
        if not any(grid.reaches(field, m.place) for m in goals):
            raise LevelError(
                f"{name}: node {start.node}: no walk leads from there to {goals[0].node}"
            )


def _level(
    scene: str,
    box: list[float],
    grid: LayeredGrid,
    starts: list[Marker],
    goals: list[Marker],
    stops: list[Marker],
) -> SceneLevel:
    """The level of what the engine knows."""
    level = SceneLevel(
        name=scene,
        bounds=np.array([box[0], box[1], box[3], box[4]]),
        family="scene",
        heights=True,
        ground=False,
        grid=grid,
    )
    return with_places(
        level,
        np.array([[*m.place, m.yaw] for m in starts]).reshape(-1, 4),
        np.array([m.place for m in goals]).reshape(-1, 3),
        np.array([m.place for m in stops]).reshape(-1, 3),
    )


def cell_size(width: float, depth: float) -> float:
    """Cell size for a scene of that size, [m]; more than `LARGEST_CELL`: it is too large."""
    return max(CELL, math.sqrt(width * depth / MOST_COLUMNS))


def floor_grid(
    rows: Floats, x0: float, y0: float, nx: int, ny: int, resolution: float
) -> LayeredGrid:
    """Cells on which the body fits and keeps away from edges.

    Args:
        rows: column, row, height [m], whether the body fits, whether the floor slopes, of
            all floors of the columns, shape (n, 5).
        x0: lower x of the grid, [m].
        y0: lower y of the grid, [m].
        nx: columns.
        ny: rows.
        resolution: cell size, [m].
    """
    rows = rows[np.lexsort((rows[:, 2], rows[:, 0], rows[:, 1]))]
    i, j = rows[:, 0].astype(np.int64), rows[:, 1].astype(np.int64)
    layer = _layers(j * nx + i)
    count = int(layer.max(initial=0)) + 1
    height = np.full((count, ny, nx), np.nan, np.float32)
    height[layer, j, i] = rows[:, 2]
    free = np.zeros((count, ny, nx), np.bool_)
    free[layer, j, i] = rows[:, 3] > 0
    slopes = np.zeros((count, ny, nx), np.bool_)
    slopes[layer, j, i] = rows[:, 4] > 0
    free &= _keeps_from_edges(height, resolution)
    links = joined(height, free, slopes, resolution)
    return LayeredGrid(x0, y0, resolution, height, free, links)


def anchored(grid: LayeredGrid, anchors: Floats) -> LayeredGrid:
    """The cells that walks from `anchors` (n, 3) lead to; without any, the largest floor."""
    labels = grid.parts()
    cells = [grid.nearest(point, ANCHOR_REACH) for point in anchors]
    kept = {int(labels.ravel()[cell]) for cell in cells if cell is not None}
    if not len(anchors):
        sizes = np.bincount(labels[grid.free])
        kept = {int(np.argmax(sizes))} if sizes.max(initial=0) >= _MIN_CELLS else set()
    return grid.restricted(grid.free & np.isin(labels, list(kept)))


def _layers(columns: Ints) -> Ints:
    """Number of each floor in its column, from below; `columns` (n,) are sorted."""
    starts = np.flatnonzero(np.diff(columns, prepend=-1))
    return np.arange(len(columns)) - np.repeat(
        starts, np.diff(starts, append=len(columns))
    )


def _keeps_from_edges(
    height: NDArray[np.float32], resolution: float
) -> NDArray[np.bool_]:
    """Whether there is floor within `CLEARANCE`, two climbs up or down, around each cell."""
    reach = int(CLEARANCE / resolution + 0.5)
    _, ny, nx = height.shape
    padded = np.pad(
        height, ((0, 0), (reach, reach), (reach, reach)), constant_values=np.nan
    )
    keeps = ~np.isnan(height)
    span = range(-reach, reach + 1)
    for dy, dx in itertools.product(span, span):
        if math.hypot(dx, dy) * resolution > CLEARANCE + 0.5 * resolution:
            continue
        beside = padded[:, reach + dy : reach + dy + ny, reach + dx : reach + dx + nx]
        found = np.zeros_like(keeps)
        for other in beside:
            found |= np.abs(height - other) <= 2.0 * CLIMB_HEIGHT
        keeps &= found
    return keeps
