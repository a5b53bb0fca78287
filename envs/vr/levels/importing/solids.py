"""Triangles of simple shapes, and conversion of the engine's triangles to a level's.

Local points are in the engine's axes; its triangles are clockwise seen from outside, a level's
are counter-clockwise.
"""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull, QhullError

from ambulo.configs.arrays import Floats
from ambulo.envs.vr.levels.surfaces import Mesh

WELD = 1e-5
"""Distance below which corners are merged, [m]."""
_SIDES = 24
_SMALL = 0.31
_FLAT = 1e-10
_MOST_KEYS = 2.0**62

Triangles = NDArray[np.int64]


def normals(corners: Floats) -> Floats:
    """Normals of triangles (T, 3, 3), of length twice their areas, shape (T, 3).

    Equals `np.cross`, in a tenth of its time for the few triangles of a shape.
    """
    u, v = (corners[:, 1] - corners[:, 0]).T, (corners[:, 2] - corners[:, 0]).T
    x, y, z = (
        u[1] * v[2] - u[2] * v[1],
        u[2] * v[0] - u[0] * v[2],
        u[0] * v[1] - u[1] * v[0],
    )
    return np.stack([x, y, z], axis=1)


def welded(corners: Floats) -> Mesh | None:
    """A mesh of triangles with `corners` (T, 3, 3); None: all are degenerate."""
    faces = _same(np.round(corners.reshape(-1, 3) / WELD)).reshape(-1, 3)
    # Merged corners take the first one, unrounded, so that large meshes keep their shape.
    first = np.full(int(faces.max()) + 1, -1, np.int64)
    first[faces.ravel()[::-1]] = np.arange(faces.size)[::-1]
    vertices = corners.reshape(-1, 3)[first]
    area = np.linalg.norm(normals(vertices[faces]), axis=1)
    faces = faces[area > 2 * _FLAT]
    if len(faces) == 0:
        return None
    used, faces = np.unique(faces, return_inverse=True)
    return Mesh(vertices[used], np.asarray(faces, np.int64).reshape(-1, 3))


def _same(points: Floats) -> Triangles:
    """Index of each of the integer `points` (n, 3) in their sorted set, shape (n,)."""
    low = points.min(axis=0)
    sides = points.max(axis=0) - low + 1.0
    if np.prod(sides) < _MOST_KEYS:  # ten times faster than sorting rows
        rows = (points - low).astype(np.int64)
        _, across, up = sides.astype(np.int64).tolist()
        keys = (rows[:, 0] * across + rows[:, 1]) * up + rows[:, 2]
        return np.unique(keys, return_inverse=True)[1]
    return np.unique(points, axis=0, return_inverse=True)[1].ravel()


def facing_up(corners: Floats) -> Floats:
    """`corners` (T, 3, 3), with downward triangles reversed."""
    turned = normals(corners)
    return np.where((turned[:, 2] < 0)[:, None, None], corners[:, ::-1], corners)


def hull(points: Floats) -> Floats | None:
    """Outward triangles of the convex hull of `points` (n, 3), (T, 3, 3); None: flat."""
    if len(points) < 4:
        return None
    try:
        found = ConvexHull(points)
    except (QhullError, ValueError):
        return None
    corners = points[found.simplices]
    inward = (normals(corners) * found.equations[:, :3]).sum(axis=1) < 0
    return np.where(inward[:, None, None], corners[:, ::-1], corners)


def height_map_triangles(heights: Floats) -> Floats:
    """Triangles of a height map (depth, width), clockwise from above, (T, 3, 3).

    It is centred at its origin with 1 m between points, and each cell is cut from the corner
    with the larger x to that with the larger z, as the engine does. Holes (NaN) have none.
    """
    depth, width = heights.shape
    z, x = np.mgrid[0:depth, 0:width].astype(np.float64)
    grid = np.stack([x - (width - 1) / 2, heights, z - (depth - 1) / 2], axis=-1)
    a, b = grid[:-1, :-1], grid[:-1, 1:]
    c, d = grid[1:, :-1], grid[1:, 1:]
    cells = [np.stack([a, b, c], axis=-2), np.stack([b, d, c], axis=-2)]
    corners = np.concatenate([cell.reshape(-1, 3, 3) for cell in cells])
    whole = np.isfinite(corners).all(axis=(1, 2))
    return np.asarray(corners[whole], np.float64)


def twist(heights: Floats) -> float:
    """Largest height difference between the two ways to cut a cell of a height map, [m]."""
    across = heights[:-1, :-1] + heights[1:, 1:] - heights[:-1, 1:] - heights[1:, :-1]
    return float(np.abs(across).max()) / 2


def tube_points(radius: float, height: float) -> Floats:
    """Points of an upright prism that approximates a cylinder around the origin, (n, 3)."""
    angle = np.arange(_SIDES) * (2 * np.pi / _SIDES)
    ring = np.column_stack(
        [radius * np.cos(angle), np.zeros(_SIDES), radius * np.sin(angle)]
    )
    up = np.array([0.0, height / 2, 0.0])
    return np.vstack([ring - up, ring + up])


def capsule_points(radius: float, height: float) -> Floats:
    """Points of an upright capsule of this total height around the origin, (n, 3)."""
    ball = ball_points(radius)
    up = np.array([0.0, max(height / 2 - radius, 0.0), 0.0])
    return np.vstack([ball - up, ball + up])


def ball_points(radius: float) -> Floats:
    """Points of a sphere around the origin, (n, 3); small spheres have fewer."""
    return radius * _unit_ball(1 if radius <= _SMALL else 2)


@functools.cache
def _unit_ball(rounds: int) -> Floats:
    """Vertices of an icosphere after `rounds` subdivisions."""
    golden = (1 + 5**0.5) / 2
    signs = np.array([(a, b) for a in (-1, 1) for b in (-1, 1)])
    corners = np.array([(0.0, a, b * golden) for a, b in signs])
    points = np.vstack([np.roll(corners, k, axis=1) for k in range(3)])
    points /= np.linalg.norm(points[0])
    for _ in range(rounds):
        found = ConvexHull(points)
        edges = np.vstack([found.simplices[:, [k, (k + 1) % 3]] for k in range(3)])
        edges = np.unique(np.sort(edges, axis=1), axis=0)
        middle = points[edges].mean(axis=1)
        middle /= np.linalg.norm(middle, axis=1, keepdims=True)
        points = np.vstack([points, middle])
    return points
