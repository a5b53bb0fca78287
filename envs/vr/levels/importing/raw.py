"""Raw geometry of a Godot scene, as the add-on's exporter writes it, read and checked.

`{"format": "ambulo_scene", "version": 1, "scene", "problem", "shapes": [{"kind", ...}],
"items": [{"path", "shape", "transform": [12], "layer"}], "markers": [{"path", "kind",
"transform", "box"}], "not_carried": [{"path", "class", "reason"}], ...}`. Transforms hold the
three axes and the origin in the engine's axes; here everything is in ours (Z up).
"""

from __future__ import annotations

import base64
import binascii
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import LevelError
from ambulo.configs.json_text import unique_keys
from ambulo.envs.vr.levels.level_json import (
    Problem,
    as_list,
    as_numbers,
    as_text,
    short,
)

FORMAT = "ambulo_scene"
VERSION = 1
MOST_SHAPES = 100_000
"""Most shapes of a scene."""
MARKERS = ("start", "goal", "waypoint", "bounds")
"""Kinds of marker nodes."""
OUR_AXES = np.array([[0.0, 0.0, -1.0], [-1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
"""Takes vectors from the engine's axes (-Z forward, Y up) to ours."""

_SIZES = {"box": 3, "sphere": 1, "capsule": 2, "cylinder": 2, "plane": 4}
_MOST_BYTES = 2**30
_SHEAR = 1e-3
_TINY = 1e-9


@dataclass(frozen=True, eq=False)
class RawShape:
    """One collision shape, in its own axes, which are the engine's."""

    kind: str
    """box, sphere, capsule, cylinder, plane, convex, mesh or heightmap."""
    size: Floats
    """Numbers of a simple shape as its Godot class has them: sizes, radius and height, or
    normal and distance."""
    points: Floats
    """Points of a convex shape, three corners of every triangle of a mesh, or the heights
    of a height map (depth, width)."""
    two_sided: bool = False
    """Whether a mesh is also touched from behind."""


@dataclass(frozen=True, eq=False)
class Item:
    """One shape at its place in the scene."""

    path: str
    """Path of the node."""
    shape: RawShape
    """Its shape."""
    axes: Floats
    """Takes the shape's own vectors to the scene's, in our axes, shape (3, 3)."""
    origin: Floats
    """Place, shape (3,), [m]."""
    layer: int
    """Collision layers, a bit each."""

    def points(self, local: Floats) -> Floats:
        """`local` points (..., 3) of the shape in the scene, [m]."""
        return local @ self.axes.T + self.origin


@dataclass(frozen=True, eq=False)
class RawMarker:
    """A node that says where episodes start or end, or which area is played."""

    path: str
    """Path of the node."""
    kind: str
    """One of `MARKERS`."""
    place: Floats
    """x, y, z, yaw, shape (4,)."""
    box: Floats
    """Rectangle x0, y0, x1, y1 of an area, shape (4,); else zeros."""


@dataclass(frozen=True, eq=False)
class RawScene:
    """All that the exporter has collected."""

    scene: str
    """`res://` path of the scene."""
    items: list[Item]
    """What bodies collide with."""
    markers: list[RawMarker]
    """In the order of the scene tree."""
    lists: dict[str, list[dict[str, str]]]
    """`not_carried`, `without_collision` and `notes`: path, class and reason each."""
    pictures: int
    """Meshes that are only seen."""


def read_scene(path: Path) -> RawScene:
    """The raw geometry in the file `path`.

    Raises:
        LevelError: it cannot be read, or a node breaks a rule; its path is named.
    """
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise LevelError(f"{path}: larger than {_MOST_BYTES >> 20} MiB")
        data = json.loads(
            path.read_text(encoding="utf-8"), object_pairs_hook=unique_keys
        )
    except OSError as error:
        raise LevelError(f"{path}: cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        text = " ".join(str(error).split())
        raise LevelError(f"{path}: no raw geometry: {text}") from None
    try:
        return parse_scene(data)
    except Problem as problem:
        raise LevelError(f"{path}: {problem}") from None


def parse_scene(data: object) -> RawScene:
    """Checked raw geometry from JSON data.

    Raises:
        Problem: what is wrong, the node's path first.
    """
    table = _table(data, "file")
    if table.get("format") != FORMAT or table.get("version") != VERSION:
        raise Problem(
            f'expected "format": "{FORMAT}" of version {VERSION}, got '
            f"{short(table.get('format'))} of version {short(table.get('version'))}"
        )
    broken = table.get("problem")
    if broken:
        rule = _table(broken, "problem")
        raise Problem(f"node {_text(rule, 'path')}: {_text(rule, 'rule')}")
    shapes = [_shape(s, f"shapes[{k}]") for k, s in enumerate(as_list(table, "shapes"))]
    rows = as_list(table, "items")
    if len(rows) > MOST_SHAPES:
        raise Problem(f"items: more than {MOST_SHAPES} shapes")
    items = [_item(row, f"items[{k}]", shapes) for k, row in enumerate(rows)]
    markers = [_marker(m, f"markers[{k}]") for k, m in enumerate(_rows(table))]
    lists = {
        key: [_listed(row, f"{key}[{k}]") for k, row in enumerate(as_list(table, key))]
        for key in ("not_carried", "without_collision", "notes")
    }
    pictures = table.get("pictures", 0)
    return RawScene(
        scene=str(table.get("scene") or ""),
        items=items,
        markers=markers,
        lists=lists,
        pictures=int(pictures) if isinstance(pictures, int | float) else 0,
    )


def _rows(table: dict[str, Any]) -> list[Any]:
    return as_list(table, "markers")


def _table(data: object, key: str) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise Problem(f"{key}: expected an object, got {short(data)}")
    return data


def _text(table: dict[str, Any], key: str) -> str:
    return as_text(str(table.get(key) or "?")[:200], key)


def _listed(data: object, key: str) -> dict[str, str]:
    row = _table(data, key)
    return {name: _text(row, name) for name in ("path", "class", "reason")}


def _shape(data: object, key: str) -> RawShape:
    row = _table(data, key)
    kind = row.get("kind")
    nothing = np.zeros((0, 3))
    if kind in _SIZES:
        size = as_numbers(row.get("size"), f"{key}.size", _SIZES[kind])
        return RawShape(kind, np.array(size), nothing)
    if kind in ("convex", "mesh"):
        points = _points(row.get("points"), f"{key}.points")
        return RawShape(kind, np.zeros(0), points, row.get("two_sided") is True)
    if kind == "heightmap":
        return RawShape(kind, np.zeros(0), _heights(row, key))
    raise Problem(f"{key}.kind: unknown kind {short(kind)}")


def _points(data: object, key: str) -> Floats:
    """Packed points, shape (n, 3)."""
    row = _table(data, key)
    raw, count = _bytes(row.get("data"), key), row.get("count")
    if not isinstance(count, int | float) or count < 0:
        raise Problem(f"{key}.count: expected a number, got {short(count)}")
    for width in (np.float32, np.float64):  # of engines with single or double precision
        if len(raw) == int(count) * 3 * np.dtype(width).itemsize:
            return np.frombuffer(raw, width).reshape(-1, 3).astype(np.float64)
    raise Problem(f"{key}: {len(raw)} bytes are not {int(count)} points")


def _heights(row: dict[str, Any], key: str) -> Floats:
    """Heights of a height map, shape (depth, width)."""
    width, depth = (row.get(name) for name in ("width", "depth"))
    values = np.frombuffer(_bytes(row.get("heights"), f"{key}.heights"), np.float32)
    for number in (width, depth):
        if not isinstance(number, int | float) or number < 2:
            raise Problem(f"{key}: width and depth must be >= 2")
    assert width is not None
    assert depth is not None
    if len(values) != int(width) * int(depth):
        raise Problem(f"{key}.heights: {len(values)} of {int(width)} x {int(depth)}")
    return values.reshape(int(depth), int(width)).astype(np.float64)


def _bytes(data: object, key: str) -> bytes:
    try:
        raw = base64.b64decode(data if isinstance(data, str) else "?", validate=True)
    except (ValueError, binascii.Error):
        raise Problem(f"{key}: not base64") from None
    return raw[: len(raw) // 4 * 4]


def _item(data: object, key: str, shapes: list[RawShape]) -> Item:
    row = _table(data, key)
    path = _text(row, "path")
    number = row.get("shape")
    if not isinstance(number, int | float) or not 0 <= number < len(shapes):
        raise Problem(f"{key}.shape: expected a number of shapes, got {short(number)}")
    shape = shapes[int(number)]
    axes, origin = _transform(row.get("transform"), path)
    _refuse_bad_axes(axes, path, shape)
    if shape.kind != "heightmap" and not np.isfinite(shape.points).all():
        raise Problem(f"node {path}: a corner of its shape is not finite")
    layer = row.get("layer", 1)
    return Item(path, shape, axes, origin, int(layer) if layer else 0)


def _refuse_bad_axes(axes: NDArray[np.float64], path: str, shape: RawShape) -> None:
    """Raise `Problem` for a scale of zero, and for shapes that are sheared."""
    lengths = np.linalg.norm(axes, axis=0)
    if lengths.min() < _TINY:
        raise Problem(f"node {path}: its scale is zero")
    unit = axes / lengths
    cosines = np.abs(unit.T @ unit - np.eye(3))
    if cosines.max() > _SHEAR:
        raise Problem(
            f"node {path}: it is sheared (an uneven scale above a rotation), and physics "
            f"engines disagree about a sheared {shape.kind}: scale the node itself"
        )


def _marker(data: object, key: str) -> RawMarker:
    row = _table(data, key)
    path, kind = _text(row, "path"), row.get("kind")
    if kind not in MARKERS:
        raise Problem(f"{key}.kind: unknown kind {short(kind)}")
    axes, origin = _transform(row.get("transform"), path)
    ahead = -axes[:, 2]
    place = np.append(origin, np.arctan2(ahead[1], ahead[0]))
    box = np.zeros(4)
    if kind == "bounds":
        ends = np.array(as_numbers(row.get("box"), f"{key}.box", 6)).reshape(2, 3)
        picks = np.array([[k >> 2 & 1, k >> 1 & 1, k & 1] for k in range(8)])
        corners = np.take_along_axis(ends, picks, axis=0) @ axes.T + origin
        box = np.concatenate([corners.min(axis=0)[:2], corners.max(axis=0)[:2]])
    return RawMarker(path, kind, place, box)


def _transform(data: object, path: str) -> tuple[Floats, Floats]:
    """Axes (3, 3) and origin (3,) in our axes."""
    try:
        numbers = np.array(as_numbers(data, "transform", 12)).reshape(4, 3)
    except Problem as problem:
        raise Problem(f"node {path}: {problem}") from None
    ours = numbers @ OUR_AXES.T
    return ours[:3].T.copy(), ours[3]
