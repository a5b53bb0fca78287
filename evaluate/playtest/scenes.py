"""A scene of a Godot project as a level to be play-tested, and its nodes by place."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import LevelError
from ambulo.envs.godot.scene_export import export_scene, find_scene
from ambulo.envs.vr.contract import BODY_HEIGHT, CLIMB_HEIGHT
from ambulo.envs.vr.levels.importing.convert import DEFAULT_MASK, Imported, converted
from ambulo.envs.vr.levels.importing.raw import RawScene, read_scene
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.levels.surfaces import Mesh
from ambulo.evaluate.playtest.flags import EXPORT_ENDING, PlaytestFlags

NODE_REACH = 1.5
"""A node that is farther away is not named, [m]."""
_ON = 0.05


@dataclass(frozen=True, eq=False)
class SceneSource:
    """Where a level comes from."""

    path: str
    """`res://` path."""
    imported: Imported
    """The level, what it could not carry, and the node of each shape."""

    def to_data(self) -> dict[str, Any]:
        """The scene as plain JSON data."""
        report = self.imported.report
        keys = ("not_carried", "approximated", "notes")
        return {"path": self.path, **{key: report[key] for key in keys}}

    def nodes_at(self, place: Floats) -> tuple[str, str]:
        """Paths of the node beside a body at `place`, and of the one that it stands on.

        The first one obstructs it within `NODE_REACH`; empty where there is none.

        Args:
            place: x, y and height of the floor, shape (3,), [m].
        """
        best, beside, under = NODE_REACH, "", ""
        lowest = place[2] - CLIMB_HEIGHT - _ON
        for path, away, bottom, top in self._shapes(place):
            if bottom < place[2] + BODY_HEIGHT and top > place[2] + CLIMB_HEIGHT:
                if away < best:
                    best, beside = away, path
            elif away == 0.0 and bottom < place[2] + _ON and top > lowest:
                lowest, under = top, path
        return beside, under

    def _shapes(self, place: Floats) -> Iterator[tuple[str, float, float, float]]:
        """Node, horizontal distance from `place`, bottom and top of each shape, [m]."""
        level, paths = self.imported.level, self.imported.paths
        for row, path in zip(level.boxes, paths["boxes"], strict=True):
            cos, sin = np.cos(row[6]), np.sin(row[6])
            x, y = place[:2] - row[:2]
            u = max(abs(cos * x + sin * y) - row[3], 0.0)
            v = max(abs(cos * y - sin * x) - row[4], 0.0)
            yield path, float(np.hypot(u, v)), row[2] - row[5], row[2] + row[5]
        for row, path in zip(level.cylinders, paths["cylinders"], strict=True):
            away = max(float(np.hypot(*(place[:2] - row[:2]))) - row[2], 0.0)
            yield path, away, row[4], row[4] + row[3]
        fields = [field.mesh() for field in level.heightfields]
        named = zip(level.meshes, paths["meshes"], strict=True)
        terrains = zip(fields, paths["heightfields"], strict=True)
        for mesh, path in (*named, *terrains):
            yield from _triangles(mesh, path, place)


def _triangles(
    mesh: Mesh, path: str, place: Floats
) -> Iterator[tuple[str, float, float, float]]:
    """The nearest triangle of `mesh` beside a body at `place`, and one below it."""
    corners = mesh.corners()
    low, high = corners[:, :, 2].min(axis=1), corners[:, :, 2].max(axis=1)
    away = _distances(corners[:, :, :2], place[:2])
    beside = (low < place[2] + BODY_HEIGHT) & (high > place[2] + CLIMB_HEIGHT)
    if beside.any():
        k = int(np.argmin(np.where(beside, away, np.inf)))
        yield path, float(away[k]), float(low[k]), float(high[k])
    below = (low < place[2] + _ON) & (high > place[2] - CLIMB_HEIGHT - _ON) & ~beside
    if below.any():  # of those right below, the highest
        k = int(np.lexsort((-high, np.where(below, away, np.inf)))[0])
        yield path, float(away[k]), float(low[k]), float(high[k])


def _distances(corners: Floats, xy: Floats) -> Floats:
    """Distance of `xy` (2,) from triangles (T, 3, 2), shape (T,), [m]."""
    edges = np.roll(corners, -1, axis=1) - corners
    to = xy - corners
    length = np.maximum((edges**2).sum(axis=2), 1e-12)
    share = np.clip((to * edges).sum(axis=2) / length, 0.0, 1.0)
    gaps = to - share[..., None] * edges
    away = np.sqrt((gaps**2).sum(axis=2)).min(axis=1)
    side = edges[..., 0] * to[..., 1] - edges[..., 1] * to[..., 0]
    inside = (side > 0).all(axis=1) | (side < 0).all(axis=1)
    return np.where(inside, 0.0, away)


def read_level(named: str, flags: PlaytestFlags) -> tuple[Level, SceneSource]:
    """The level that the scene `named` makes: a `res://` path, its file or its export.

    There need be no way from its start to its goal.

    Raises:
        BridgeError: the engine cannot run the scene.
        ConfigError: no such scene.
        LevelError: a node breaks a rule of levels.
    """
    raw, path = _raw(named, flags)
    name = Path(path).name.split(".")[0]
    mask = flags.obstacle_mask or DEFAULT_MASK
    imported = converted(raw, name, mask=mask, solvable=False)
    return imported.level, SceneSource(path, imported)


def _raw(named: str, flags: PlaytestFlags) -> tuple[RawScene, str]:
    """The raw geometry of a scene, and its path."""
    if named.lower().endswith(EXPORT_ENDING):
        raw = read_scene(Path(named).expanduser())
        return raw, raw.scene or named
    scene = find_scene(named, flags.godot_project, flag="--godot-project")
    with tempfile.TemporaryDirectory(prefix="ambulo_playtest_") as folder:
        file = Path(folder) / "scene.json"
        export_scene(
            scene, file, engine=flags.godot_bin, lenient=flags.ignore_script_errors
        )
        try:
            return read_scene(file), scene.path
        except LevelError as error:
            text = str(error).removeprefix(f"{file}: ")
            raise LevelError(f"{scene.path}: {text}") from None
