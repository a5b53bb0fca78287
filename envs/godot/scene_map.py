"""A scene of a Godot game as a level: its floor, and what its marker nodes say."""

from __future__ import annotations

import functools
import json
import math
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import BridgeError, LevelError
from ambulo.envs.godot.engine import EngineProcess
from ambulo.envs.godot.errors import BadStatus, BridgeFault, Malformed, Rejected
from ambulo.envs.godot.locate import find_engine, find_project, newest_change
from ambulo.envs.godot.protocol import parse_table
from ambulo.envs.godot.scene_floor import (
    ANCHOR_REACH,
    LARGEST_CELL,
    anchored,
    cell_size,
    floor_grid,
)
from ambulo.envs.godot.settings import BridgeSettings
from ambulo.envs.godot.transport import BINARY, JSON, HttpConnection, address_of
from ambulo.envs.vr.levels.layers import LayeredGrid
from ambulo.envs.vr.levels.scene_level import SceneLevel

COLUMNS_PER_REQUEST = 20_000
"""Columns whose floors are asked for at once."""
_FLOOR_WIDTH = 5
_BOUNDS = (
    'add a box (CSGBox3D or MeshInstance3D) named "AmbuloBounds" around where to play'
)


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
    """The level; one start or goal is designed, of several one is drawn."""
    level = SceneLevel(
        name=scene,
        bounds=np.array([box[0], box[1], box[3], box[4]]),
        family="scene",
        heights=True,
        ground=False,
        waypoints=np.array([m.place for m in stops]).reshape(-1, 3),
        grid=grid,
    )
    if len(starts) == 1:
        (only,) = starts
        pose = np.array([*only.place[:2], only.yaw])
        level = replace(level, start=pose, start_height=float(only.place[2]))
    elif starts:
        rows = np.array([[*m.place, m.yaw] for m in starts])
        level = replace(level, starts=rows)
    if len(goals) == 1:
        place = goals[0].place
        return replace(level, goal=place[:2].copy(), goal_height=float(place[2]))
    return replace(level, goals=np.array([m.place for m in goals]).reshape(-1, 3))
