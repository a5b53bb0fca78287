"""Raw geometry of a scene to a checked level, with a report of what it cannot carry."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ambulo.configs.errors import LevelError
from ambulo.envs.vr.levels.importing.assemble import assembled, checked
from ambulo.envs.vr.levels.importing.parts import Key, SceneParts
from ambulo.envs.vr.levels.importing.raw import RawScene
from ambulo.envs.vr.levels.importing.solids import normals
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.levels.surfaces import Mesh

DEFAULT_MASK = 1
"""Collision layers of obstacles and floors, as in `AmbuloSceneSpace`."""


@dataclass(frozen=True, eq=False)
class Imported:
    """A level made from a scene."""

    level: Level
    """The checked level."""
    report: dict[str, Any]
    """Counts, and lists of what is not carried as it is, by node path; JSON data."""
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

    Without `solvable` there need be no way from start to goal.

    Raises:
        LevelError: a node breaks a rule; it is named.
    """
    source = scene.scene or name
    try:
        parts = SceneParts.of(scene, mask)
        level = assembled(parts, scene, name)
    except LevelError as error:
        raise LevelError(f"{source}: {error}") from None
    checked(level, parts, source, solvable=solvable)
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
