"""Meshes of unit size for scaled instances: sphere, cylinder, box; and of MuJoCo models."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import mujoco
import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Floats

SIDES, RINGS = 20, 12
"""Corners around a sphere or cylinder, and rings from pole to pole of a sphere."""


@dataclass(frozen=True, eq=False)
class Mesh:
    """A surface of triangles."""

    vertices: NDArray[np.float32]
    """Vertices, [m]. Shape (V, 3)."""
    faces: NDArray[np.uint32]
    """Indices of corners, counter-clockwise from outside. Shape (F, 3)."""


@cache
def sphere() -> Mesh:
    """A sphere of radius 1."""
    tilt = np.linspace(0.0, np.pi, RINGS + 1)
    turn = np.linspace(0.0, 2.0 * np.pi, SIDES, endpoint=False)
    ring = np.stack([np.cos(turn), np.sin(turn)], axis=1)
    points = [
        np.column_stack([np.sin(t) * ring, np.full(SIDES, np.cos(t))]) for t in tilt
    ]
    return _grid_mesh(np.concatenate(points), RINGS)


@cache
def cylinder() -> Mesh:
    """A cylinder of radius 1 along Z, from -1 to 1, closed."""
    turn = np.linspace(0.0, 2.0 * np.pi, SIDES, endpoint=False)
    ring = np.stack([np.cos(turn), np.sin(turn)], axis=1)
    # Doubled rings give the shading an edge at the caps.
    rings = [(0.0, 1.0), (1.0, 1.0), (1.0, 1.0), (1.0, -1.0), (1.0, -1.0), (0.0, -1.0)]
    points = [np.column_stack([r * ring, np.full(SIDES, z)]) for r, z in rings]
    return _grid_mesh(np.concatenate(points), len(rings) - 1)


@cache
def box() -> Mesh:
    """A box from -1 to 1 along each axis; each side has corners of its own."""
    vertices: list[Floats] = []
    faces: list[list[int]] = []
    for axis in range(3):
        for sign in (-1.0, 1.0):
            u, v = np.eye(3)[(axis + 1) % 3], np.eye(3)[(axis + 2) % 3]
            normal = sign * np.eye(3)[axis]
            first = len(vertices)
            vertices += [normal + a * u + b * v for a, b in _CORNERS]
            order = (0, 1, 2, 0, 2, 3) if sign > 0 else (0, 2, 1, 0, 3, 2)
            faces += [[first + k for k in order[:3]], [first + k for k in order[3:]]]
    return Mesh(np.array(vertices, np.float32), np.array(faces, np.uint32))


_CORNERS = ((-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0))


def model_mesh(model: mujoco.MjModel, mesh: int) -> Mesh:
    """Mesh `mesh` of a model, in its own frame."""
    first, count = int(model.mesh_vertadr[mesh]), int(model.mesh_vertnum[mesh])
    face, faces = int(model.mesh_faceadr[mesh]), int(model.mesh_facenum[mesh])
    return Mesh(
        np.asarray(model.mesh_vert[first : first + count], np.float32),
        np.asarray(model.mesh_face[face : face + faces], np.uint32),
    )


def height_field(model: mujoco.MjModel, field: int) -> Mesh:
    """Height field `field` of a model, in the frame of its geom."""
    rows, columns = int(model.hfield_nrow[field]), int(model.hfield_ncol[field])
    x_half, y_half, top, _ = model.hfield_size[field]
    start = int(model.hfield_adr[field])
    data: Floats = model.hfield_data[start : start + rows * columns]
    x, y = np.linspace(-x_half, x_half, columns), np.linspace(-y_half, y_half, rows)
    grid_x, grid_y = np.meshgrid(x, y)
    points = np.column_stack([grid_x.ravel(), grid_y.ravel(), top * data])
    corner = (np.arange(rows - 1)[:, None] * columns + np.arange(columns - 1)).ravel()
    across, up = corner + 1, corner + columns
    faces = np.concatenate(
        [np.column_stack([corner, across, up]), np.column_stack([across, up + 1, up])]
    )
    return Mesh(points.astype(np.float32), faces.astype(np.uint32))


def joined(meshes: list[Mesh]) -> Mesh:
    """Return several meshes as one."""
    before = np.cumsum([0, *(len(mesh.vertices) for mesh in meshes[:-1])])
    faces = [mesh.faces + np.uint32(n) for mesh, n in zip(meshes, before, strict=True)]
    return Mesh(
        np.concatenate([mesh.vertices for mesh in meshes]), np.concatenate(faces)
    )


def _grid_mesh(points: Floats, bands: int) -> Mesh:
    """Connect rings of `SIDES` points, the first the highest, by `bands` bands."""
    faces = []
    for band in range(bands):
        for k in range(SIDES):
            a, b = band * SIDES + k, band * SIDES + (k + 1) % SIDES
            c, d = a + SIDES, b + SIDES
            faces += [(a, c, b), (b, c, d)]
    return Mesh(points.astype(np.float32), np.array(faces, np.uint32))
