"""Raw geometry of a scene to a checked level, with a report of unsupported parts."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import LevelError
from ambulo.envs.vr.contract import BODY_RADIUS, CLIMB_HEIGHT, STEEPEST_FLOOR
from ambulo.envs.vr.geometry.contact_kernels import standing
from ambulo.envs.vr.levels.importing.parts import Key, SceneParts
from ambulo.envs.vr.levels.importing.raw import RawMarker, RawScene
from ambulo.envs.vr.levels.importing.solids import normals
from ambulo.envs.vr.levels.level import GOAL_DISTANCE, Level, with_places
from ambulo.envs.vr.levels.level_check import (
    MAX_AREA,
    MAX_SIDE,
    level_problem,
)
from ambulo.envs.vr.levels.level_numbers import MAX_COORDINATE
from ambulo.envs.vr.levels.solids import Solids
from ambulo.envs.vr.levels.surfaces import HeightField, Mesh

DEFAULT_MASK = 1
"""Collision layers of obstacles and floors, as in `AmbuloSpace`."""
MARKER_HEIGHT = 3.0
"""Largest height of a marker above its floor, [m]."""
DIGITS = 6
"""Decimals of lengths in level files of scenes, [m]."""
_KEYS: tuple[Key, ...] = ("boxes", "cylinders", "meshes", "heightfields")
_AROUND = 5.0
_GROUND = 1e-3
_THICKNESS = 0.5
_ROOM = 20.0


@dataclass(frozen=True, eq=False)
class Imported:
    """A level made from a scene."""

    level: Level
    """The checked level."""
    report: dict[str, Any]
    """Counts, and lists of unsupported or approximated nodes, by node path; JSON data."""
    paths: dict[Key, list[str]]
    """The node of each shape of a kind, in the order of the level."""


def converted(
    scene: RawScene,
    name: str,
    *,
    mask: int = DEFAULT_MASK,
    solvable: bool = True,
) -> Imported:
    """`scene` as a level called `name`.

    Without `solvable`, start and goal need not be connected.

    Raises:
        LevelError: A node breaks a rule; it is named.
    """
    source = scene.scene or name
    try:
        parts = SceneParts.of(scene, mask)
        level = _assembled(parts, scene, name)
    except LevelError as error:
        raise LevelError(f"{source}: {error}") from None
    _checked(level, parts, source, solvable=solvable)
    return Imported(level, _report(scene, parts, level), parts.paths)


def _report(scene: RawScene, parts: SceneParts, level: Level) -> dict[str, Any]:
    notes = list(scene.lists["notes"])
    for mesh, path in zip(parts.meshes, parts.paths["meshes"], strict=True):
        if _only_faces_down(mesh):
            reason = "faces down only: bodies fall through it from above, in Godot too"
            notes.append({"path": path, "class": "mesh", "reason": reason})
    return {
        "scene": scene.scene,
        "level": level.name,
        "shapes": len(scene.items),
        "counts": counts(level),
        "not_carried": scene.lists["not_carried"] + parts.not_carried,
        "approximated": parts.approximated,
        "without_collision": scene.lists["without_collision"],
        "notes": notes,
    }


def counts(level: Level) -> dict[str, int]:
    """The number of shapes of each kind, and of the triangles of meshes."""
    kinds = ("boxes", "cylinders", "meshes", "heightfields", "holes")
    found = {kind: len(getattr(level, kind)) for kind in kinds}
    found["triangles"] = sum(len(mesh.triangles) for mesh in level.meshes)
    return found


def _only_faces_down(mesh: Mesh) -> bool:
    normal = normals(mesh.corners())
    up = normal[:, 2] / np.maximum(np.linalg.norm(normal, axis=1), 1e-12)
    return bool(up.max() < 0.1 and up.min() < -0.7)


def _assembled(parts: SceneParts, scene: RawScene, name: str) -> Level:
    """The level with heights of `parts`; its places are on the floor.

    Raises:
        LevelError: There is no floor, or a node breaks a rule; its path is named.
    """
    if not _has_floor(parts):
        seen = f" ({scene.pictures} meshes are only seen)" if scene.pictures else ""
        raise LevelError(f"no floor: no collision shape has a face to stand on{seen}")
    bounds = _bounds(parts, scene)
    _drop_far(parts, bounds)
    ground = _lay_ground(parts, bounds)
    level = Level(
        name=name,
        bounds=np.round(bounds, DIGITS),
        boxes=np.round(np.array(parts.boxes).reshape(-1, 7), DIGITS),
        cylinders=np.round(np.array(parts.cylinders).reshape(-1, 5), DIGITS),
        meshes=tuple(
            Mesh(np.round(m.vertices, DIGITS), m.triangles) for m in parts.meshes
        ),
        heightfields=tuple(
            HeightField(np.round(f.origin, DIGITS), f.cell, np.round(f.heights, DIGITS))
            for f in parts.heightfields
        ),
        heights=True,
        ground=ground,
        goal_distance=_goal_distance(bounds),
    )
    return _with_places(level, scene.markers)


def _checked(
    level: Level, parts: SceneParts, source: str, *, solvable: bool = True
) -> None:
    """Raise a `LevelError` that names the node if `level` breaks a rule of level files.

    Without `solvable`, start and goal need not be connected.
    """
    problem = _out_of_range(level) or level_problem(level, solvable=solvable)
    if problem is None:
        return
    match = re.match(r"(\w+)\[(\d+)\]", problem)
    paths: dict[Any, list[str]] = dict(parts.paths)
    if match and match[1] in paths and int(match[2]) < len(paths[match[1]]):
        problem = f"node {paths[match[1]][int(match[2])]}: {problem}"
    raise LevelError(f"{source}: {problem}")


def _out_of_range(level: Level) -> str | None:
    """The first number that level files cannot hold as `key: rule`."""
    for key in _KEYS:
        for k, shape in enumerate(getattr(level, key)):
            numbers = [shape]
            if isinstance(shape, Mesh):
                numbers = [shape.vertices]
            elif isinstance(shape, HeightField):
                numbers = [shape.origin, shape.heights]
            if max(np.abs(n).max() for n in numbers) > MAX_COORDINATE:
                return f"{key}[{k}]: beyond {MAX_COORDINATE:g} m"
    return None


def _has_floor(parts: SceneParts) -> bool:
    """Whether any shape has a face on which bodies can stand."""
    if parts.planes or parts.boxes or parts.cylinders or parts.heightfields:
        return True
    return any(_has_flat_face(mesh.corners()) for mesh in parts.meshes)


def _with_places(level: Level, markers: list[RawMarker]) -> Level:
    """`level` with the starts, goals and waypoints of its markers, put on the floor."""
    markers = [m for m in markers if m.kind != "bounds"]
    if not markers:
        return level
    places = np.array([marker.place for marker in markers])
    floors, free = standing(Solids.of(level).arrays(), places[:, :3])
    for marker, (x, y, z, _), floor, fits in zip(
        markers, places, floors, free, strict=True
    ):
        x0, y0, x1, y1 = level.bounds
        if not (x0 <= x <= x1 and y0 <= y <= y1):
            raise LevelError(f"node {marker.path}: out of the level's bounds")
        if not math.isfinite(floor) or floor < z - MARKER_HEIGHT:
            raise LevelError(
                f"node {marker.path}: no floor within {MARKER_HEIGHT:g} m below it, or "
                f"{CLIMB_HEIGHT} m above it"
            )
        if not fits:
            raise LevelError(
                f"node {marker.path}: inside an obstacle (the body needs {BODY_RADIUS} m "
                "around it)"
            )
    places[:, 2] = floors
    places = np.round(places, DIGITS) + 0.0
    kinds = np.array([marker.kind for marker in markers])
    starts, goals, waypoints = (
        places[kinds == kind] for kind in ("start", "goal", "waypoint")
    )
    return with_places(level, starts, goals[:, :3], waypoints[:, :3])


def _has_flat_face(corners: Floats) -> bool:
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    steep = normal[:, 2] >= STEEPEST_FLOOR * np.linalg.norm(normal, axis=1)
    return bool(steep.any())


def _bounds(parts: SceneParts, scene: RawScene) -> Floats:
    """The area of a marker, else that of all shapes, shape (4,).

    Around an endless floor it is larger by `_AROUND`.
    """
    areas = [marker for marker in scene.markers if marker.kind == "bounds"]
    if areas:
        return areas[0].box
    rows = [parts.extents(key) for key in _KEYS]
    if parts.planes:
        places = [m.place[:2] for m in scene.markers]
        rows += [np.concatenate([xy, xy])[None] for xy in places]
    extents = np.vstack(rows)
    if len(extents) == 0:
        return np.array([-_ROOM, -_ROOM, _ROOM, _ROOM])
    low, high = extents[:, :2].min(axis=0), extents[:, 2:].max(axis=0)
    if parts.planes:
        low, high = low - _AROUND, high + _AROUND
    span = high - low
    if span.prod() > MAX_AREA or span.max() > MAX_SIDE:
        paths = [path for key in _KEYS for path in parts.paths[key]]
        sizes = (extents[: len(paths), 2:] - extents[: len(paths), :2]).max(axis=1)
        k = int(np.argmax(sizes))
        raise LevelError(
            f"node {paths[k]}: the scene is {span[0]:.0f} x {span[1]:.0f} m, this node "
            f"{sizes[k]:.0f} m, and a level has at most {MAX_AREA:g} m^2: put a box named "
            "AmbuloBounds around the area to be played"
        )
    return np.concatenate([low, high])


def _drop_far(parts: SceneParts, bounds: Floats) -> None:
    """Drop shapes outside the bounds and out of sight."""
    for key in _KEYS:
        rows = parts.extents(key)
        near = (rows[:, :2] < bounds[2:] + _AROUND).all(axis=1)
        near &= (rows[:, 2:] > bounds[:2] - _AROUND).all(axis=1)
        if not near.all():
            parts.keep(key, np.flatnonzero(near).tolist())


def _lay_ground(parts: SceneParts, bounds: Floats) -> bool:
    """Use the highest endless floor as ground; one at another height becomes a box."""
    if not parts.planes:
        return False
    plane = max(parts.planes, key=lambda plane: plane.height)
    if abs(plane.height) <= _GROUND:
        return True
    middle, half = (bounds[:2] + bounds[2:]) / 2, (bounds[2:] - bounds[:2]) / 2
    low = plane.height - _THICKNESS
    row = np.array([*middle, low, *half, _THICKNESS, 0.0])
    parts.add("boxes", row, plane.path)
    return False


def _goal_distance(bounds: Floats) -> tuple[float, float] | None:
    """A range of distances that fits a small scene; None: the default fits."""
    across = math.hypot(*(bounds[2:] - bounds[:2]))
    low, high = GOAL_DISTANCE
    if across > 3 * low:
        return None
    return round(across / 5, 2), high
