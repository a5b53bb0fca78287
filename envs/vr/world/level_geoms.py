"""Visual geoms of a level in MuJoCo, without collisions."""

from __future__ import annotations

import mujoco
import numpy as np

from ambulo.configs.arrays import Bools, Floats
from ambulo.envs.vr.contract import BODY_HEIGHT
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.levels.solids import are_slabs, are_walls, floor_rectangles
from ambulo.envs.vr.levels.surfaces import Mesh, ramp_corners, stair_boxes

FLOOR, UPPER_FLOOR = "floor", "upper_floor"
"""Names of the materials of the ground, and of boxes that count as floors."""
_FLOOR_THICKNESS = 0.2
_WALL = [0.55, 0.58, 0.64, 1.0]
_BOXES = [
    [0.80, 0.45, 0.28, 1.0],
    [0.87, 0.62, 0.33, 1.0],
    [0.68, 0.36, 0.30, 1.0],
]
_CYLINDER = [0.23, 0.48, 0.62, 1.0]
_RAMP = [0.72, 0.66, 0.50, 1.0]
_STAIRS = ([0.70, 0.70, 0.66, 1.0], [0.60, 0.60, 0.57, 1.0])
"""Alternating colours, so that treads differ from above."""
_TERRAIN = [0.52, 0.60, 0.44, 1.0]
_MESH = [0.62, 0.58, 0.62, 1.0]
_LEAST_AREA = 1e-9
"""Smallest area of drawn triangles, [m^2]."""
_TOPS_APART = 0.001
"""Height difference between tops of neighbours, which would flicker otherwise, [m]."""
_GLASS = 0.2
"""Opacity of shapes that occlude the player from above."""
_SIGHT = 0.9
"""Height of the player that must be visible, [m]."""
_MARGIN = 0.3
"""Clearance of the line of sight from overhanging shapes, [m]."""
_TINY = 1e-12


def add_level(spec: mujoco.MjSpec, level: Level) -> None:
    """Add the shapes of `level` to the world of `spec`, which has the materials of floors."""
    world = spec.worldbody
    if level.ground:
        for x0, y0, x1, y1 in floor_rectangles(level):
            pos = [(x0 + x1) / 2, (y0 + y1) / 2, -_FLOOR_THICKNESS / 2]
            size = [(x1 - x0) / 2, (y1 - y0) / 2, _FLOOR_THICKNESS / 2]
            add_visual(world, "BOX", size, pos, material=FLOOR)
    walls = are_walls(level.boxes)
    slabs = are_slabs(level.boxes) & level.heights
    for k, (x, y, z, a, b, c, yaw) in enumerate(level.boxes):
        look = _WALL if walls[k] else _BOXES[k % len(_BOXES)]
        size = [a, b, c + (0.0 if slabs[k] else _TOPS_APART * (k % 8))]
        material = UPPER_FLOOR if slabs[k] else ""
        add_visual(world, "BOX", size, [x, y, z], look, yaw=yaw, material=material)
    for x, y, radius, tall, base in level.cylinders:
        add_visual(
            world, "CYLINDER", [radius, tall / 2, 0], [x, y, base + tall / 2], _CYLINDER
        )
    for row in level.stairs:
        for k, (x, y, z, a, b, c, yaw) in enumerate(stair_boxes(row[None])):
            look = _STAIRS[k % len(_STAIRS)]
            add_visual(world, "BOX", [a, b, c], [x, y, z], look, yaw=yaw)
    _add_meshes(spec, level)


def _add_meshes(spec: mujoco.MjSpec, level: Level) -> None:
    """Add ramps, terrains and meshes."""
    ramps = [_mesh_of(ramp_corners(row[None])) for row in level.ramps]
    terrains = [field.mesh() for field in level.heightfields]
    k = 0
    for meshes, look in (
        (ramps, _RAMP),
        (terrains, _TERRAIN),
        (level.meshes, _MESH),
    ):
        for mesh in map(_solid_part, meshes):
            if len(mesh.triangles) == 0:
                continue
            # Points far from the origin lose digits: MuJoCo keeps 32 bits.
            middle = mesh.vertices.mean(axis=0)
            points = (mesh.vertices - middle).astype(np.float32)
            spec.add_mesh(
                name=f"level_{k}",
                uservert=np.vstack([points, points[:1]]).ravel(),  # it requires four
                userface=mesh.triangles.astype(np.int32).ravel(),
                inertia=mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL,
            )
            geom = add_visual(spec.worldbody, "MESH", [0, 0, 0], middle.tolist(), look)
            geom.meshname = f"level_{k}"
            k += 1


def _solid_part(mesh: Mesh) -> Mesh:
    """Its triangles with a nonzero area, as MuJoCo requires."""
    a, b, c = np.moveaxis(mesh.corners(), 1, 0)
    area = np.linalg.norm(np.cross(b - a, c - a), axis=1) / 2
    return Mesh(mesh.vertices, mesh.triangles[area > _LEAST_AREA])


def _mesh_of(corners: Floats) -> Mesh:
    """Triangles (T, 3, 3) with separate vertices, so that their edges are sharp."""
    return Mesh(corners.reshape(-1, 3), np.arange(3 * len(corners)).reshape(-1, 3))


def add_visual(
    body: mujoco.MjsBody,
    shape: str,
    size: list[float],
    pos: list[float],
    rgba: list[float] | None = None,
    *,
    yaw: float = 0.0,
    material: str = "",
) -> mujoco.MjsGeom:
    """Add a geom without collisions; its material overrides its colour."""
    look = {"material": material} if material else {"rgba": rgba}
    return body.add_geom(
        type=getattr(mujoco.mjtGeom, f"mjGEOM_{shape}"),
        size=size,
        pos=pos,
        quat=yaw_quaternion(yaw),
        contype=0,
        conaffinity=0,
        **look,
    )


def yaw_quaternion(yaw: float) -> list[float]:
    """Rotation about Z as wxyz."""
    return [float(np.cos(yaw / 2)), 0.0, 0.0, float(np.sin(yaw / 2))]


class Overhead:
    """Makes shapes of a level that occlude the player from above transparent."""

    def __init__(self, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        """Create it; `data` has the positions of all geoms; the world's are the level."""
        self._model = model
        self._geoms = np.flatnonzero(model.geom_bodyid == 0)
        self._turns = data.geom_xmat[self._geoms].reshape(-1, 3, 3).copy()
        boxes = model.geom_aabb[self._geoms]
        places = data.geom_xpos[self._geoms]
        self._half = boxes[:, 3:].copy()
        self._middles = places + np.einsum("nij,nj->ni", self._turns, boxes[:, :3])
        up = np.abs(self._turns[:, 2]) * self._half
        self._bottoms = self._middles[:, 2] - up.sum(axis=1)
        self._looks = model.geom_rgba[self._geoms].copy()

    def show(self, feet: Floats, camera: Floats) -> None:
        """Choose the transparent shapes for a camera and a player at positions (3,), [m]."""
        looks = self._looks.copy()
        looks[self._hiding(feet, camera), 3] = _GLASS
        self._model.geom_rgba[self._geoms] = looks

    def _hiding(self, feet: Floats, camera: Floats) -> Bools:
        seen = feet + np.array([0.0, 0.0, _SIGHT])
        begin = np.einsum("nji,nj->ni", self._turns, seen - self._middles)
        way = np.einsum("nji,j->ni", self._turns, camera - seen)
        hiding: Bools = through_boxes(begin, way, self._half + _MARGIN)
        return hiding & (self._bottoms >= feet[2] + BODY_HEIGHT - _MARGIN)


def through_boxes(begin: Floats, way: Floats, half: Floats) -> Bools:
    """Whether segments `way` from `begin` meet centred boxes, shape (n,).

    All are (n, 3), or (3,) if equal for all, in axes along the sides of the boxes, [m]; `half`
    are half sizes.
    """
    inverse = 1.0 / np.where(np.abs(way) < _TINY, _TINY, way)
    one, other = (-half - begin) * inverse, (half - begin) * inverse
    enters = np.maximum(np.minimum(one, other).max(axis=1), 0.0)
    leaves = np.minimum(np.maximum(one, other).min(axis=1), 1.0)
    met: Bools = enters <= leaves
    return met
