"""Overlays around a navigator: rays, memory, the planned path, its trail, people."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.envs.vr.contract import BODY_HEIGHT
from ambulo.envs.vr.geometry.solid_kernels import BOX, PERSON
from ambulo.envs.vr.task.batch import NavigationBatch
from ambulo.motion.rotations import quat_from_yaw
from ambulo.viz.viewer.links import balls, links
from ambulo.viz.viewer.meshes import box, cylinder, sphere
from ambulo.viz.viewer.snapshot import (
    Instances,
    Layer,
    LineLayer,
    Lines,
    MeshLayer,
    Part,
)

MOST_CELLS = 1200
"""Largest number of drawn remembered cells, the nearest ones."""
MOST_MOVING = 48
"""Largest number of drawn people and movers."""
TRAIL = 300
"""Length of the trail, [environment steps]."""
PATH = 120
"""Largest number of drawn points of the planned path, one per cell (0.25 m)."""
_FREE_RAY, _HIT_RAY = (120, 190, 120), (230, 120, 30)
_PLAN, _TRAIL, _CELL = (190, 60, 200), (240, 190, 20), (200, 40, 90)
_PERSON, _THING = (204, 115, 77), (0, 130, 143)
_RAY_HEIGHT, _PLAN_HEIGHT, _TRAIL_HEIGHT = 0.8, 0.12, 0.05
_CELL_HALF = np.array([0.11, 0.11, 0.04])
_NOWHERE = np.array([0.0, 0.0, -100.0])


def overlay_layers() -> dict[str, Layer]:
    """All layers except the level's and the body's."""
    return {
        "rays/lines": LineLayer(2.0),
        "remembered/cells": MeshLayer(box(), opacity=0.6, shadow=False),
        "plan/lines": LineLayer(0.06, in_world=True),
        "trail/lines": LineLayer(0.05, in_world=True),
        "people/cylinders": MeshLayer(cylinder()),
        "people/spheres": MeshLayer(sphere()),
        "people/boxes": MeshLayer(box()),
    }


def ray_lines(batch: NavigationBatch, place: Floats, yaw: float) -> Lines:
    """The rays from the body's axis to their ends."""
    readings = batch.world.state.rays[0]
    count = len(readings)
    first = yaw if batch.spec.rays_in_head_frame else float(batch.episode.origin[0, 2])
    angles = first + 2.0 * np.pi * np.arange(count) / count
    origin = place + np.array([0.0, 0.0, _RAY_HEIGHT])
    along = np.column_stack([np.cos(angles), np.sin(angles), np.zeros(count)])
    points = np.empty((count, 2, 3))
    points[:, 0], points[:, 1] = origin, origin + readings[:, None] * along
    hit = readings < batch.spec.ray_length - 1e-6
    colours = np.where(hit[:, None], _HIT_RAY, _FREE_RAY).astype(np.uint8)
    return Lines(points, colours)


def memory_cells(batch: NavigationBatch, place: Floats) -> Instances:
    """The cells that the agent remembers as blocked, on the floor."""
    cells = batch.memory.blocked(0, place)
    if len(cells) > MOST_CELLS:
        away = np.linalg.norm(cells - place, axis=1)
        cells = cells[np.argsort(away)[:MOST_CELLS]]
    positions = np.tile(_NOWHERE, (MOST_CELLS, 1))
    positions[: len(cells)] = cells
    positions[: len(cells), 2] += _CELL_HALF[2]
    yaw = 0.0 if batch.memory.navigator else batch.episode.origin[0, 2]
    turn = quat_from_yaw(np.full(MOST_CELLS, yaw))
    return Instances(
        positions, turn, np.tile(_CELL_HALF, (MOST_CELLS, 1)),
        np.tile(np.array([_CELL], np.uint8), (MOST_CELLS, 1)), steady=True,
    )  # fmt: skip


def plan_lines(batch: NavigationBatch, place: Floats) -> Lines:
    """The planned path over all floors, up to `PATH` points."""
    navigator = batch.memory.navigator
    if navigator is None:
        return _lines(np.zeros((0, 3)), PATH, _PLAN)
    way = np.vstack([place, navigator.path(0)])[: PATH + 1]
    return _lines(way + np.array([0.0, 0.0, _PLAN_HEIGHT]), PATH, _PLAN)


def trail_lines(trail: Iterable[Floats]) -> Lines:
    """The path that the agent has walked."""
    points = np.array(list(trail)) + np.array([0.0, 0.0, _TRAIL_HEIGHT])
    return _lines(points, TRAIL, _TRAIL)


def moving_parts(rows: Floats) -> dict[str, Part]:
    """People and movers: rows of `solid_kernels` (n, 9)."""
    people = rows[rows[:, 8] == PERSON][:MOST_MOVING]
    things = rows[rows[:, 8] == BOX][:MOST_MOVING]
    return {**_people(people), "people/boxes": _boxes(things)}


def _people(rows: Floats) -> dict[str, Part]:
    """Capsules of people."""
    low, high = (np.tile(_NOWHERE, (MOST_MOVING, 1)) for _ in range(2))
    radii = np.full(MOST_MOVING, 1e-3)
    count = len(rows)
    radii[:count] = rows[:, 2]
    low[:count] = np.column_stack([rows[:, :2], rows[:, 6] + rows[:, 2]])
    top = rows[:, 6] + BODY_HEIGHT - rows[:, 2]
    high[:count] = np.column_stack([rows[:, :2], top])
    shade = np.tile(np.array([_PERSON], np.uint8), (MOST_MOVING, 1))
    ends = np.concatenate([low, high])
    return {
        "people/cylinders": links(low, high, radii, shade),
        "people/spheres": balls(ends, np.tile(radii, 2), np.tile(shade, (2, 1))),
    }


def _boxes(rows: Floats) -> Instances:
    positions = np.tile(_NOWHERE, (MOST_MOVING, 1))
    turns = np.tile([1.0, 0.0, 0.0, 0.0], (MOST_MOVING, 1))
    scales = np.full((MOST_MOVING, 3), 1e-3)
    count = len(rows)
    positions[:count] = np.column_stack([rows[:, :2], rows[:, 6:8].mean(axis=1)])
    turns[:count] = quat_from_yaw(np.arctan2(rows[:, 5], rows[:, 4]))
    scales[:count] = np.column_stack([rows[:, 2:4], 0.5 * (rows[:, 7] - rows[:, 6])])
    shade = np.tile(np.array([_THING], np.uint8), (MOST_MOVING, 1))
    return Instances(positions, turns, scales, shade)


def _lines(points: Floats, count: int, colour: tuple[int, int, int]) -> Lines:
    """The path through `points` (k, 3) as `count` lines; unused ones have zero length."""
    ends = np.tile(_NOWHERE, (count, 2, 1))
    pairs = min(max(len(points) - 1, 0), count)
    if pairs:
        ends[:pairs, 0], ends[:pairs, 1] = points[:pairs], points[1 : pairs + 1]
        ends[pairs:] = points[-1]
    shade = np.tile(np.array([colour], np.uint8), (count, 1))
    return Lines(ends, shade, steady=True)
