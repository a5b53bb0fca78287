"""Vertices of mesh files (STL, OBJ, COLLADA), and those of their hull as an OBJ file.

MuJoCo reads neither COLLADA nor STL in text, and a hull is all that a body's shape is used for.
"""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.configs.reading import read_regular
from ambulo.motion.rotations import quat_from_rotvec, quat_to_matrix

MAX_MESH = 2**27
"""Longest mesh file, [bytes]."""
DIRECTIONS = 300
"""Directions in which a mesh's outermost vertices are taken for its hull."""
THIN = 1e-4
"""Smallest extent of a hull, [m]: flat meshes are made so thick."""


def mesh_points(path: Path) -> Floats:
    """Return the vertices of a mesh file in its own axes, (n, 3).

    Raises:
        ValueError: It is damaged, or of another kind.
        OSError: It cannot be read.
    """
    data = read_regular(path, MAX_MESH)
    kind = path.suffix.lower()
    if kind == ".stl":
        points = _stl(data)
    elif kind == ".obj":
        rows = [line.split()[1:4] for line in data.splitlines() if line[:2] == b"v "]
        points = np.array(rows, dtype=np.float64)
    elif kind == ".dae":
        points = _collada(data)
    else:
        raise ValueError(f"{kind} is none of .stl, .obj and .dae")
    if points.ndim != 2 or points.shape[1:] != (3,) or not np.isfinite(points).all():
        raise ValueError("its vertices are damaged")
    return points


def hull_obj(points: Floats) -> bytes:
    """Return an OBJ file of the hull of `points` (n, 3), within a few percent.

    It has no faces: MuJoCo makes the hull.
    """
    angle = np.pi * (3.0 - np.sqrt(5.0)) * np.arange(DIRECTIONS)
    height = 1.0 - 2.0 * (np.arange(DIRECTIONS) + 0.5) / DIRECTIONS
    ring = np.sqrt(1.0 - height**2)
    directions = np.stack([ring * np.cos(angle), ring * np.sin(angle), height], axis=1)
    rows = np.ascontiguousarray(points.T, dtype=np.float32)
    few = np.array_split(directions.astype(np.float32), 12)
    far = np.concatenate([(some @ rows).argmax(axis=1) for some in few])
    outer = points[np.unique(far)]
    around = outer - outer.mean(axis=0)
    axes = np.linalg.svd(around)[2]
    for axis in axes[np.ptp(around @ axes.T, axis=0) < THIN]:
        outer = np.concatenate([outer - THIN * axis, outer + THIN * axis])
    return "\n".join(f"v {x:.9g} {y:.9g} {z:.9g}" for x, y, z in outer).encode()


def _stl(data: bytes) -> Floats:
    """Vertices of an STL file, binary or text."""
    count = int.from_bytes(data[80:84], "little")
    if len(data) == 84 + 50 * count:
        rows = np.frombuffer(data, np.uint8, 50 * count, 84).reshape(count, 50)
        numbers = rows[:, 12:48].copy().view("<f4").astype(np.float64)
        return numbers.reshape(-1, 3)
    words = [w.split()[1:4] for w in data.splitlines() if w.lstrip()[:6] == b"vertex"]
    if not words:
        raise ValueError("is no STL file")
    return np.array(words, dtype=np.float64)


def _collada(data: bytes) -> Floats:
    """Vertices of all geometries in a COLLADA file, in its scene's metres."""
    if b"<!ENTITY" in data:
        raise ValueError("declares entities")
    try:
        root = ElementTree.fromstring(data)
    except ElementTree.ParseError as error:
        raise ValueError(f"is no COLLADA file: {error}") from None
    space = root.tag.partition("}")[0] + "}" if root.tag[:1] == "{" else ""
    unit = root.find(f"{space}asset/{space}unit")
    scale = 1.0 if unit is None else float(unit.get("meter", "1"))
    clouds: dict[str, Floats] = {}
    for geometry in root.iter(f"{space}geometry"):
        inputs = {
            str(row.get("source", ""))[1:]
            for row in geometry.iter(f"{space}input")
            if row.get("semantic") == "POSITION"
        }
        parts = [
            np.array((numbers.text or "").split(), dtype=np.float64).reshape(-1, 3)
            for source in geometry.iter(f"{space}source")
            if source.get("id") in inputs
            for numbers in source.iter(f"{space}float_array")
        ]
        clouds[str(geometry.get("id"))] = np.concatenate(parts or [np.zeros((0, 3))])
    placed: list[Floats] = []

    def visit(node: ElementTree.Element, above: Floats) -> None:
        for step in node:
            above = above @ _collada_step(step)
        for shape in node.findall(f"{space}instance_geometry"):
            cloud = clouds.get(str(shape.get("url", ""))[1:])
            if cloud is not None:
                placed.append(cloud @ above[:3, :3].T + above[:3, 3])
        for child in node.findall(f"{space}node"):
            visit(child, above)

    for scene in root.iter(f"{space}visual_scene"):
        for node in scene.findall(f"{space}node"):
            visit(node, np.eye(4))
    points = scale * np.concatenate(placed or list(clouds.values()))
    axis = root.find(f"{space}asset/{space}up_axis")
    if axis is None or (axis.text or "").strip() == "Y_UP":
        points = points[:, [0, 2, 1]] * [1.0, -1.0, 1.0]
    return np.asarray(points)


def _collada_step(step: ElementTree.Element) -> Floats:
    """The transformation of one element of a node, (4, 4); none is the identity."""
    kind = step.tag.rpartition("}")[2]
    out = np.eye(4)
    if kind not in ("matrix", "translate", "scale", "rotate"):
        return out
    numbers = np.array((step.text or "").split(), dtype=np.float64)
    if kind == "matrix":
        out = numbers.reshape(4, 4)
    elif kind == "translate":
        out[:3, 3] = numbers
    elif kind == "scale":
        out[:3, :3] = np.diag(numbers)
    elif (length := float(np.linalg.norm(numbers[:3]))) > 0.0:
        turn = quat_from_rotvec(np.deg2rad(numbers[3]) * numbers[:3] / length)
        out[:3, :3] = quat_to_matrix(turn)
    return out
