"""Raw geometry of a Godot scene, as the add-on's exporter writes it, read and checked.

`{"format": "ambulo_scene", "version": 1, "scene", "problem", "shapes": [{"kind", ...}],
"items": [{"path", "shape", "transform": [12], "layer"}], "markers": [{"path", "kind",
"transform", "box"}], "not_carried": [{"path", "class", "reason"}], ...}`. Transforms hold the
three axes and the origin in the engine's axes; here everything is in ours (Z up).
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictFloat,
    StrictStr,
    ValidationError,
)

from ambulo.configs.arrays import Floats
from ambulo.configs.base import Config, error_line, read_json
from ambulo.configs.errors import LevelError
from ambulo.configs.json_text import large_json_value
from ambulo.envs.vr.levels.level_numbers import MAX_COORDINATE, Number, Rows

MOST_SHAPES = 100_000
"""Largest number of shapes of a scene."""
MarkerKind = Literal["start", "goal", "waypoint", "bounds"]
"""Kinds of marker nodes."""
OUR_AXES = np.array([[0.0, 0.0, -1.0], [-1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
"""Rotates vectors from the engine's axes (-Z forward, Y up) to ours (Z up)."""

_SIZES = {"box": 3, "sphere": 1, "capsule": 2, "cylinder": 2, "plane": 4}
_MOST_BYTES = 2**30
_SHEAR = 1e-3
_TINY = 1e-9


@dataclass(frozen=True, eq=False)
class RawShape:
    """One collision shape, in its own axes, which are those of the engine."""

    kind: str
    """box, sphere, capsule, cylinder, plane, convex, mesh or heightmap."""
    size: Floats
    """Sizes of a simple shape as in its Godot class: sizes, radius and height, or normal and
    distance."""
    points: Floats
    """Points of a convex shape, three corners of every triangle of a mesh, or the heights
    of a height map (depth, width)."""
    two_sided: bool = False
    """Whether a mesh also collides from behind."""


@dataclass(frozen=True, eq=False)
class Item:
    """One shape with its transform in the scene."""

    path: str
    """Path of the node."""
    shape: RawShape
    """Its shape."""
    axes: Floats
    """Matrix from the shape's own axes to the scene's, in our axes, shape (3, 3)."""
    origin: Floats
    """Position, shape (3,), [m]."""
    layer: int
    """Bit mask of collision layers."""

    def points(self, local: Floats) -> Floats:
        """Points (..., 3) of the shape, in the scene, [m]."""
        return local @ self.axes.T + self.origin


@dataclass(frozen=True, eq=False)
class RawMarker:
    """A marker node for a start, a goal, a waypoint or the level's area."""

    path: str
    """Path of the node."""
    kind: MarkerKind
    """Kind of marker."""
    place: Floats
    """x, y, z, yaw, shape (4,)."""
    box: Floats
    """Rectangle x0, y0, x1, y1 of an area, shape (4,); else zeros."""


@dataclass(frozen=True, eq=False)
class RawScene:
    """Complete result of the exporter."""

    scene: str
    """`res://` path of the scene."""
    items: list[Item]
    """Colliding shapes."""
    markers: list[RawMarker]
    """In the order of the scene tree."""
    lists: dict[str, list[dict[str, str]]]
    """`not_carried`, `without_collision` and `notes`: path, class and reason each."""
    pictures: int
    """Number of meshes without collision."""


def read_scene(path: Path) -> RawScene:
    """Return the raw geometry in the file `path`.

    Raises:
        LevelError: The file cannot be read, or a node breaks a rule; its path is named.
    """
    data = read_json(path, _MOST_BYTES, large_json_value, LevelError)
    try:
        return parse_scene(data)
    except LevelError as error:
        raise LevelError(f"{path}: {error}") from None


def parse_scene(data: object) -> RawScene:
    """Return checked raw geometry from JSON data.

    Raises:
        LevelError: A rule is broken; a node's path comes first.
    """
    try:
        if problem := _Header.model_validate(data).problem:
            raise LevelError(f"node {problem.get('path', '?')}: {problem.get('rule')}")
        file = _SceneFile.model_validate(data)
    except ValidationError as error:
        raise LevelError(error_line(error)) from None
    lists = ("not_carried", "without_collision", "notes")
    shapes = [_shape(row, f"shapes[{k}]") for k, row in enumerate(file.shapes)]
    return RawScene(
        scene=file.scene,
        items=[_item(row, f"items[{k}]", shapes) for k, row in enumerate(file.items)],
        markers=[_marker(row) for row in file.markers],
        lists=file.model_dump(include=set(lists), by_alias=True, mode="json"),
        pictures=int(file.pictures),
    )


def _line(text: str) -> str:
    if not text.strip() or not text.isprintable():
        raise ValueError("expected one line of text")
    return text


def _decoded(text: object) -> bytes:
    """Array of 32-bit integers from base64."""
    try:
        raw = base64.b64decode(text if isinstance(text, str) else "?", validate=True)
    except ValueError:
        raise ValueError("not base64") from None
    return raw[: len(raw) // 4 * 4]


_Text = Annotated[
    str, BeforeValidator(lambda text: str(text or "?")[:200]), AfterValidator(_line)
]
_Base64 = Annotated[bytes, BeforeValidator(_decoded)]
_Amount = Annotated[StrictFloat, Field(ge=0)]
_Transform = Annotated[
    list[Annotated[StrictFloat, Field(allow_inf_nan=True)]],
    Field(min_length=12, max_length=12),
]


class _Entry(Config):
    model_config = ConfigDict(extra="ignore")


class _Points(_Entry):
    count: _Amount
    data: _Base64


class _Shape(_Entry):
    kind: Literal[
        "box", "sphere", "capsule", "cylinder", "plane", "convex", "mesh", "heightmap"
    ]
    size: tuple[Number, ...] = ()
    points: _Points | None = None
    two_sided: StrictBool = False
    width: _Amount = 0.0
    depth: _Amount = 0.0
    heights: _Base64 | None = None


class _Item(_Entry):
    path: _Text = "?"
    shape: StrictFloat
    transform: _Transform
    layer: _Amount = 1.0


class _Marker(_Entry):
    path: _Text = "?"
    kind: MarkerKind
    transform: _Transform
    box: Annotated[list[Number], Field(min_length=6, max_length=6)] | None = None


class _Listed(_Entry):
    path: _Text = "?"
    node_class: _Text = Field("?", alias="class")
    reason: _Text = "?"


class _Header(_Entry):
    format: Literal["ambulo_scene"]
    version: Literal[1]
    problem: dict[str, _Text] = Field(default_factory=dict)


class _SceneFile(_Header):
    scene: StrictStr = ""
    shapes: Rows[_Shape] = ()
    items: Annotated[Rows[_Item], Field(max_length=MOST_SHAPES)] = ()
    markers: Rows[_Marker] = ()
    not_carried: Rows[_Listed] = ()
    without_collision: Rows[_Listed] = ()
    notes: Rows[_Listed] = ()
    pictures: _Amount = 0.0


def _shape(row: _Shape, key: str) -> RawShape:
    if row.kind in _SIZES:
        if len(row.size) != _SIZES[row.kind]:
            raise LevelError(f"{key}.size: expected {_SIZES[row.kind]} numbers")
        return RawShape(row.kind, np.array(row.size), np.zeros((0, 3)))
    if row.kind == "heightmap":
        heights = np.frombuffer(row.heights or b"", np.float32).astype(np.float64)
        width, depth = int(row.width), int(row.depth)
        if min(width, depth) < 2 or len(heights) != width * depth:
            raise LevelError(
                f"{key}: {len(heights)} heights of {width} x {depth}; both must be >= 2"
            )
        return RawShape(row.kind, np.zeros(0), heights.reshape(depth, width))
    if row.points is None:
        raise LevelError(f"{key}.points: field required")
    raw, count = row.points.data, int(row.points.count)
    for kind in (np.float32, np.float64):  # of engines with single or double precision
        if len(raw) == count * 3 * np.dtype(kind).itemsize:
            points = np.frombuffer(raw, kind).reshape(-1, 3).astype(np.float64)
            return RawShape(row.kind, np.zeros(0), points, row.two_sided)
    raise LevelError(f"{key}.points: {len(raw)} bytes are not {count} points")


def _item(row: _Item, key: str, shapes: list[RawShape]) -> Item:
    if not 0 <= row.shape < len(shapes):
        raise LevelError(f"{key}.shape: there is no shape {row.shape:g}")
    shape = shapes[int(row.shape)]
    axes, origin = _transform(row)
    _refuse_bad_axes(axes, row.path, shape)
    if shape.kind != "heightmap" and not np.isfinite(shape.points).all():
        raise LevelError(f"node {row.path}: a corner of its shape is not finite")
    return Item(row.path, shape, axes, origin, int(row.layer))


def _refuse_bad_axes(axes: NDArray[np.float64], path: str, shape: RawShape) -> None:
    """Raise `LevelError` for a scale of zero, and for shapes that are sheared."""
    lengths = np.linalg.norm(axes, axis=0)
    if lengths.min() < _TINY:
        raise LevelError(f"node {path}: its scale is zero")
    unit = axes / lengths
    cosines = np.abs(unit.T @ unit - np.eye(3))
    if cosines.max() > _SHEAR:
        raise LevelError(
            f"node {path}: it is sheared (an uneven scale above a rotation), and physics "
            f"engines disagree about a sheared {shape.kind}: scale the node itself"
        )


def _marker(row: _Marker) -> RawMarker:
    axes, origin = _transform(row)
    ahead = -axes[:, 2]
    place = np.append(origin, np.arctan2(ahead[1], ahead[0]))
    box = np.zeros(4)
    if row.kind == "bounds":
        if row.box is None:
            raise LevelError(f"node {row.path}: box: field required")
        ends = np.array(row.box).reshape(2, 3)
        picks = np.array([[k >> 2 & 1, k >> 1 & 1, k & 1] for k in range(8)])
        corners = np.take_along_axis(ends, picks, axis=0) @ axes.T + origin
        box = np.concatenate([corners.min(axis=0)[:2], corners.max(axis=0)[:2]])
    return RawMarker(row.path, row.kind, place, box)


def _transform(row: _Item | _Marker) -> tuple[Floats, Floats]:
    """Axes (3, 3) and origin (3,) in our axes."""
    numbers = np.array(row.transform).reshape(4, 3)
    if not (np.abs(numbers) <= MAX_COORDINATE).all():
        raise LevelError(
            f"node {row.path}: transform: not finite, or beyond {MAX_COORDINATE:g}"
        )
    ours = numbers @ OUR_AXES.T
    return ours[:3].T.copy(), ours[3]
