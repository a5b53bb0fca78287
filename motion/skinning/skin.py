"""A skinned surface of a body: vertices, triangles and weights of the joints.

The surface is found by naive surface nets (Gibson, "Constrained Elastic Surface Nets", 1998):
one vertex for each cell of a grid that the surface passes, at the mean of its cuts with the
cell's edges, then projected onto the surface.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ambulo.configs.arrays import Floats, Ints
from ambulo.motion.skeleton import Skeleton
from ambulo.motion.skinning.shape import (
    BodyShape,
    body_shape,
    cone_distances,
    surface_distance,
)

CELL = 0.017
"""Size of the grid's cells, [m]."""
INFLUENCES = 4
"""Largest number of joints that move a vertex."""
SOFT = 0.016
"""Distance beyond that of the nearest cone at which a cone's weight is 1 / e, [m]."""


@dataclass(frozen=True, eq=False)
class Skin:
    """V vertices and F triangles, in the world at rest, feet on the ground."""

    vertices: Floats
    """Positions, [m]. Shape (V, 3)."""
    normals: Floats
    """Outward unit normals. Shape (V, 3)."""
    triangles: Ints
    """Vertices of each, counter-clockwise from outside. Shape (F, 3)."""
    joints: Ints
    """Joints that move a vertex. Shape (V, 4)."""
    weights: Floats
    """Their weights, which sum to 1. Shape (V, 4)."""
    colours: Ints
    """Index of each vertex' colour (see `shape`). Shape (V,)."""


def body_skin(skeleton: Skeleton, cell: float = CELL) -> Skin:
    """Return the skin of a human23 of any lengths; `cell` is its resolution, [m]."""
    shape = body_shape(skeleton)
    vertices, triangles = _surface(shape, cell)
    normals = np.empty_like(vertices)
    for _ in range(2):  # onto the surface, along its normals
        normals = _normals(shape, vertices)
        vertices = vertices - surface_distance(shape, vertices)[:, None] * normals
    joints, weights, colours = _weights(shape, vertices)
    return Skin(
        vertices, _normals(shape, vertices), triangles, joints, weights, colours
    )


def _surface(shape: BodyShape, cell: float) -> tuple[Floats, Ints]:
    """Vertices (V, 3) and triangles (F, 3) by surface nets."""
    ends = np.concatenate([shape.starts, shape.ends])
    margin = shape.radii.max() + 2.0 * cell
    low, high = ends.min(axis=0) - margin, ends.max(axis=0) + margin
    counts = np.ceil((high - low) / cell).astype(int) + 1
    axes = [low[i] + cell * np.arange(counts[i]) for i in range(3)]
    field = np.empty(counts)
    for k, x in enumerate(axes[0]):  # slice by slice, to save memory
        grid = np.stack(np.meshgrid(x, axes[1], axes[2], indexing="ij"), axis=-1)
        field[k] = surface_distance(shape, grid.reshape(-1, 3)).reshape(counts[1:])
    inside = field < 0.0
    cells = tuple(counts - 1)
    total = np.zeros((*cells, 3))
    cuts = np.zeros(cells, dtype=np.int64)
    for axis in range(3):
        _add_cuts(field, inside, axis, total, cuts)
    used = cuts > 0
    number = np.full(cells, -1)
    number[used] = np.arange(int(used.sum()))
    corner = np.argwhere(used)
    vertices = low + cell * (corner + total[used] / cuts[used][:, None])
    return vertices, np.concatenate([_faces(inside, number, axis) for axis in range(3)])


def _add_cuts(
    field: Floats, inside: np.ndarray, axis: int, total: Floats, cuts: Ints
) -> None:
    """Add the cuts of the surface with the edges along `axis`, in each cell's coordinates."""
    others = [i for i in range(3) if i != axis]
    for first in (0, 1):
        for second in (0, 1):
            start: list[slice] = [slice(None)] * 3
            start[others[0]] = slice(first, first - 1 or None)
            start[others[1]] = slice(second, second - 1 or None)
            end = list(start)
            start[axis], end[axis] = slice(None, -1), slice(1, None)
            a, b = field[tuple(start)], field[tuple(end)]
            cut = inside[tuple(start)] != inside[tuple(end)]
            part = np.where(cut, a / np.where(cut, a - b, 1.0), 0.0)
            total[..., axis] += part
            total[..., others[0]] += cut * first
            total[..., others[1]] += cut * second
            cuts += cut


def _faces(inside: np.ndarray, number: Ints, axis: int) -> Ints:
    """Two triangles for each edge along `axis` that the surface cuts. Shape (F, 3)."""
    others = [(axis + 1) % 3, (axis + 2) % 3]
    start: list[slice] = [slice(1, -1)] * 3
    end: list[slice] = [slice(1, -1)] * 3
    start[axis], end[axis] = slice(None, -1), slice(1, None)
    leaving = inside[tuple(start)] & ~inside[tuple(end)]
    entering = ~inside[tuple(start)] & inside[tuple(end)]
    corners = []
    for first, second in ((-1, -1), (0, -1), (0, 0), (-1, 0)):
        place: list[slice] = [slice(None)] * 3
        for other, step in zip(others, (first, second), strict=True):
            place[other] = slice(1 + step, number.shape[other] + step)
        corners.append(number[tuple(place)])
    quads = np.stack(corners, axis=-1)
    out, back = quads[leaving], quads[entering][:, ::-1]
    every = np.concatenate([out, back])
    return np.concatenate([every[:, [0, 1, 2]], every[:, [0, 2, 3]]])


def _normals(shape: BodyShape, points: Floats, step: float = 1e-3) -> Floats:
    """Unit gradients (N, 3) of the distance, by central differences."""
    slopes = [
        surface_distance(shape, points + move) - surface_distance(shape, points - move)
        for move in step * np.eye(3)
    ]
    slope = np.stack(slopes, axis=-1)
    normals: Floats = slope / np.maximum(
        np.linalg.norm(slope, axis=1, keepdims=True), 1e-12
    )
    return normals


def _weights(shape: BodyShape, vertices: Floats) -> tuple[Ints, Floats, Ints]:
    """Joints (V, 4) and weights (V, 4) by nearness to the cones, and colours (V,)."""
    apart = cone_distances(shape, vertices)
    nearest = apart.argmin(axis=1)
    legs = shape.groups[nearest]
    other = (shape.groups > 0) & (shape.groups != legs[:, None]) & (legs > 0)[:, None]
    share = np.exp(-(apart - apart.min(axis=1, keepdims=True)) / SOFT)
    share[other] = 0.0
    count = int(shape.joints.max()) + 1
    whole = np.zeros((len(vertices), count))
    for joint in range(count):
        own = shape.joints == joint
        if own.any():
            whole[:, joint] = share[:, own].max(axis=1)
    joints = np.argsort(-whole, axis=1, kind="stable")[:, :INFLUENCES]
    weights = np.take_along_axis(whole, joints, axis=1)
    weights /= weights.sum(axis=1, keepdims=True)
    return joints, weights, shape.colours[nearest]
