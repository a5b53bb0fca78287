"""Collision shapes of a scene as the shapes of a level, each with its node's path."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import LevelError
from ambulo.envs.vr.levels.importing.raw import OUR_AXES, Item, RawScene, RawShape
from ambulo.envs.vr.levels.importing.solids import (
    ball_points,
    capsule_points,
    facing_up,
    height_map_triangles,
    hull,
    tube_points,
    twist,
    welded,
)
from ambulo.envs.vr.levels.surfaces import MAX_TRIANGLES, HeightField, Mesh

TILT = 1e-3
"""Largest deviation of a shape that counts as upright, [m]."""
MOST_TWIST = 0.02
"""Largest twist of a height map's cells; others become triangles, [m]."""
SMALLEST = 1e-6
"""Boxes and cylinders with a smaller size are dropped, [m]."""
_UNEVEN = 1e-3
_LEVEL = 0.9999

Key = Literal["boxes", "cylinders", "meshes", "heightfields"]


@dataclass(frozen=True, eq=False)
class Plane:
    """An endless level floor."""

    path: str
    """Path of the node."""
    height: float
    """Its height, [m]."""


@dataclass(eq=False)
class SceneParts:
    """The shapes of a level before assembly."""

    boxes: list[Floats] = field(default_factory=list)
    """Rows of `Level.boxes`, shape (7,)."""
    cylinders: list[Floats] = field(default_factory=list)
    """Rows of `Level.cylinders`, shape (5,)."""
    meshes: list[Mesh] = field(default_factory=list)
    """Triangle meshes."""
    heightfields: list[HeightField] = field(default_factory=list)
    """Terrains."""
    planes: list[Plane] = field(default_factory=list)
    """Endless floors."""
    paths: dict[Key, list[str]] = field(
        default_factory=lambda: {
            "boxes": [], "cylinders": [], "meshes": [], "heightfields": [],
        }
    )  # fmt: skip
    """The node of every shape of a kind."""
    not_carried: list[dict[str, str]] = field(default_factory=list)
    """Unsupported nodes: path, class and reason."""
    approximated: list[dict[str, str]] = field(default_factory=list)
    """Approximated nodes: path, class and reason."""

    @classmethod
    def of(cls, scene: RawScene, mask: int) -> SceneParts:
        """The shapes of `scene` on the collision layers of `mask`.

        Raises:
            LevelError: There are more triangles than a level may have.
        """
        parts = cls()
        maker = _Maker(parts)
        for item in scene.items:
            if item.layer & mask:
                maker.take(item)
            else:
                parts.leave(item, f"on collision layers {_layers(item.layer)} only")
        return parts

    def add(self, key: Key, shape: Floats | Mesh | HeightField, path: str) -> None:
        """Add one shape of the node at `path`."""
        getattr(self, key).append(shape)
        self.paths[key].append(path)

    def leave(self, item: Item, reason: str) -> None:
        """Record that `item` is unsupported."""
        self.not_carried.append(_note(item, reason))

    def keep(self, key: Key, which: list[int]) -> None:
        """Keep only the given shapes of a kind."""
        shapes, paths = getattr(self, key), self.paths[key]
        setattr(self, key, [shapes[k] for k in which])
        self.paths[key] = [paths[k] for k in which]

    def extents(self, key: Key) -> Floats:
        """x0, y0, x1, y1 of every shape of a kind, shape (n, 4), [m]."""
        rows = [_extent(shape) for shape in getattr(self, key)]
        return np.array(rows, np.float64).reshape(-1, 4)


class _Maker:
    """Makes parts; triangles of a shared shape are made once."""

    def __init__(self, parts: SceneParts) -> None:
        self._parts = parts
        self._made: dict[int, Floats | None] = {}
        self._triangles = 0

    def take(self, item: Item) -> None:
        """Add the shape of `item` to the parts."""
        kind = item.shape.kind
        if kind == "plane":
            self._plane(item)
        elif kind in ("sphere", "capsule", "cylinder"):
            self._round(item)
        elif kind == "box":
            self._box(item)
        elif kind == "heightmap":
            self._height_map(item)
        else:
            self._mesh(item, item.shape)

    def _plane(self, item: Item) -> None:
        normal = np.linalg.inv(item.axes).T @ item.shape.size[:3]
        normal /= np.linalg.norm(normal)
        point = item.points(item.shape.size[:3] * item.shape.size[3])
        if normal[2] >= _LEVEL:
            self._parts.planes.append(Plane(item.path, float(point[2])))
        else:
            self._parts.leave(item, "an endless plane that is not a level floor")

    def _box(self, item: Item) -> None:
        half = item.axes * (
            item.shape.size / 2
        )  # columns: from the middle to the sides
        lengths = np.linalg.norm(half, axis=0)
        if lengths.min() < SMALLEST:
            self._parts.leave(item, "has no size")
            return
        up = int(np.argmax(np.abs(half[2]) / lengths))
        first, second = (k for k in range(3) if k != up)
        tilt = np.hypot(*half[:2, up]) + np.abs(half[2, [first, second]]).sum()
        if tilt > TILT:
            self._mesh(item, item.shape)
            return
        turns = float(np.arctan2(half[1, first], half[0, first])) / (np.pi / 2)
        quarter = round(turns)
        sides = lengths[[first, second]][:: -1 if quarter % 2 else 1]
        yaw = (turns - quarter) * np.pi / 2
        yaw = 0.0 if abs(yaw) < 1e-6 else yaw
        row = np.array([*item.origin, *sides, lengths[up], yaw])
        self._parts.add("boxes", row, item.path)

    def _round(self, item: Item) -> None:
        scale = np.linalg.norm(item.axes, axis=0)
        even = scale.copy()  # uneven ones as in the Jolt engine
        even[[0, 2]] = scale[[0, 2]].mean()
        if item.shape.kind != "cylinder":
            even[:] = scale.mean()
        if (np.abs(even - scale) > _UNEVEN * even).any():
            reason = f"a {item.shape.kind} with an uneven scale: carried with the mean"
            self._parts.approximated.append(_note(item, reason))
        radius, height = item.shape.size[0] * even[0], 0.0
        if item.shape.kind != "sphere":
            height = item.shape.size[1] * even[1]
        axis = item.axes[:, 1] / scale[1]
        upright = item.shape.kind != "sphere" and (
            np.hypot(*axis[:2]) * (height / 2 + radius) <= TILT
        )
        if upright and min(radius, height) < SMALLEST:
            self._parts.leave(item, "has no size")
        elif upright:
            low = item.origin[2] - height / 2
            row = np.array([*item.origin[:2], radius, height, low])
            self._parts.add("cylinders", row, item.path)
            if item.shape.kind == "capsule":
                reason = "an upright capsule: carried as a cylinder"
                self._parts.approximated.append(_note(item, reason))
        else:
            axes = item.axes / scale * even
            even_item = Item(item.path, item.shape, axes, item.origin, item.layer)
            self._mesh(even_item, item.shape)

    def _height_map(self, item: Item) -> None:
        heights = item.shape.points
        scale = OUR_AXES.T @ item.axes
        s, up = scale[0, 0], scale[1, 1]
        plain = np.allclose(scale, np.diag([s, up, s]), 0, 1e-6 * abs(s))
        even = np.isfinite(heights).all() and twist(heights) * abs(up) <= MOST_TWIST
        if not (plain and even and s > 0 and up > 0):
            self._mesh(item, item.shape)
            return
        depth, width = heights.shape
        middle = np.array([(depth - 1) * s / 2, (width - 1) * s / 2, 0.0])
        rows = np.ascontiguousarray(heights[::-1, ::-1].T) * up
        self._count(2 * heights.size)
        found = HeightField(item.origin - middle, float(s), rows)
        self._parts.add("heightfields", found, item.path)

    def _mesh(self, item: Item, shape: RawShape) -> None:
        if id(shape) not in self._made:
            self._made[id(shape)] = _local_triangles(shape)
        local = self._made[id(shape)]
        if local is None:
            self._parts.leave(item, f"a {shape.kind} without volume")
            return
        corners = item.points(local)
        if np.linalg.det(item.axes) > 0:  # mirrored ones are right
            corners = corners[:, ::-1]
        if shape.two_sided:
            corners = facing_up(corners)
        mesh = welded(corners)
        if mesh is None:
            self._parts.leave(item, "has no triangle of any size")
            return
        self._count(len(mesh.triangles))
        self._parts.add("meshes", mesh, item.path)

    def _count(self, triangles: int) -> None:
        self._triangles += triangles
        if self._triangles > MAX_TRIANGLES:
            raise LevelError(f"the scene has more than {MAX_TRIANGLES} triangles")


def _local_triangles(shape: RawShape) -> Floats | None:
    """Triangles of a shape in its own axes, clockwise from outside, (T, 3, 3)."""
    if shape.kind == "mesh":
        count = len(shape.points) // 3
        return shape.points[: 3 * count].reshape(-1, 3, 3) if count else None
    if shape.kind == "heightmap":
        return height_map_triangles(shape.points)
    if shape.kind == "convex":
        points = shape.points
    elif shape.kind == "sphere":
        points = ball_points(shape.size[0])
    elif shape.kind == "capsule":
        points = capsule_points(shape.size[0], shape.size[1])
    elif shape.kind == "cylinder":
        points = tube_points(shape.size[0], shape.size[1])
    else:
        corners = np.array([[k >> 2 & 1, k >> 1 & 1, k & 1] for k in range(8)])
        points = (corners - 0.5) * shape.size
    outside = hull(points)
    return None if outside is None else outside[:, ::-1]


def _extent(shape: Floats | Mesh | HeightField) -> list[float]:
    """x0, y0, x1, y1 of a shape, [m]."""
    if isinstance(shape, Mesh):
        xy = shape.vertices[:, :2]
        return [*xy.min(axis=0), *xy.max(axis=0)]
    if isinstance(shape, HeightField):
        rows, columns = shape.heights.shape
        x, y = shape.origin[:2]
        return [x, y, x + (columns - 1) * shape.cell, y + (rows - 1) * shape.cell]
    x, y = shape[:2]
    if len(shape) == 5:
        return [x - shape[2], y - shape[2], x + shape[2], y + shape[2]]
    c, s = abs(np.cos(shape[6])), abs(np.sin(shape[6]))
    dx, dy = shape[3] * c + shape[4] * s, shape[3] * s + shape[4] * c
    return [x - dx, y - dy, x + dx, y + dy]


def _note(item: Item, reason: str) -> dict[str, str]:
    return {"path": item.path, "class": item.shape.kind, "reason": reason}


def _layers(bits: int) -> str:
    """The numbers of the layers in a mask, as Godot counts them, or "none"."""
    numbers = [str(k + 1) for k in range(32) if bits >> k & 1]
    return ", ".join(numbers) or "none"
