"""MuJoCo models of levels with heights, in which bodies are moved by geometry queries.

Geoms that move are of the world body, too: compiled code writes where they are into
`MjData`, as it does with the player.
"""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np

from ambulo.configs.arrays import Floats, Ints
from ambulo.configs.errors import LevelError
from ambulo.envs.vr.contract import (
    BODY_HEIGHT,
    BODY_RADIUS,
    CAPSULE_HIGH,
    CAPSULE_LOW,
)
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.levels.solids import Solids

MOST_GEOMS = 20_000
"""Most shapes of one level; each triangle of a mesh or terrain is one."""

_THICKNESS = 0.02
"""How deep triangles reach behind their faces, as MuJoCo has no thin ones, [m]."""
MOVING_GROUP = 1
"""Geom group of what moves; rays that look for floors leave it out."""


@dataclass(frozen=True, eq=False)
class HeightScene:
    """A compiled level with heights, with the player's capsule as its last geom."""

    model: mujoco.MjModel
    data: mujoco.MjData
    still: int
    """Number of geoms that stand still, which come first."""

    @classmethod
    def of(cls, level: Level, tall: float = BODY_HEIGHT) -> HeightScene:
        """The scene of `level`; shape k of its `Solids` is geom k, then comes what moves.

        The player is `tall`, [m].

        Things that move come as in the rows of `MovingThings`.

        Raises:
            LevelError: too many shapes.
        """
        spec, still = _spec(level, tall)
        model = spec.compile()
        data = mujoco.MjData(model)
        mujoco.mj_forward(model, data)
        return cls(model, data, still)

    @property
    def player(self) -> int:
        """Number of the player's geom."""
        return self.model.ngeom - 1

    def addresses(self) -> Ints:
        """What `mujoco_height_kernels` needs: see `ENGINE` there, shape (6,)."""
        places, turns = self.data.geom_xpos, self.data.geom_xmat
        return np.array(
            [
                self.model._address,
                self.data._address,
                self.player,
                self.still,
                places.ctypes.data,
                turns.ctypes.data,
            ],
            np.int64,
        )


def _spec(level: Level, tall: float) -> tuple[mujoco.MjSpec, int]:
    """The scene of `level`, and the number of its geoms that stand still."""
    solids = Solids.of(level)
    count = len(solids.prisms) + len(solids.drums) + len(solids.triangles)
    if count > MOST_GEOMS:
        raise LevelError(
            f"level {level.name!r}: {count} shapes and triangles, and world = mujoco takes "
            f"{MOST_GEOMS}: use world = kernel"
        )
    spec = mujoco.MjSpec()
    kinds, world = mujoco.mjtGeom, spec.worldbody
    for x, y, a, b, cos, sin, low, high in solids.prisms:
        half = np.arctan2(sin, cos) / 2
        world.add_geom(
            type=kinds.mjGEOM_BOX,
            pos=[x, y, (low + high) / 2],
            quat=[np.cos(half), 0.0, 0.0, np.sin(half)],
            size=[a, b, (high - low) / 2],
        )
    for x, y, radius, low, high in solids.drums:
        world.add_geom(
            type=kinds.mjGEOM_CYLINDER,
            pos=[x, y, (low + high) / 2],
            size=[radius, (high - low) / 2, 0.0],
        )
    for k, row in enumerate(solids.triangles):
        _add_triangle(spec, f"triangle_{k}", row)
    _add_moving(world, level)
    body = world.add_body()
    body.add_geom(
        type=kinds.mjGEOM_CAPSULE,
        size=[BODY_RADIUS, (tall - BODY_HEIGHT + CAPSULE_HIGH - CAPSULE_LOW) / 2, 0.0],
    )
    return spec, count


def _add_moving(world: mujoco.MjsBody, level: Level) -> None:
    """Geoms of what moves, in the order of the rows of `MovingThings`."""
    kinds, people = mujoco.mjtGeom, level.people
    for mover in level.movers:
        world.add_geom(type=kinds.mjGEOM_BOX, size=mover.half_size, group=MOVING_GROUP)
    persons = 0 if people is None else len(people.walkers) + people.count
    for _ in range(persons):
        world.add_geom(
            type=kinds.mjGEOM_CYLINDER,
            size=[people.radius if people else 0.0, BODY_HEIGHT / 2, 0.0],
            group=MOVING_GROUP,
        )


def _add_triangle(spec: mujoco.MjSpec, name: str, row: Floats) -> None:
    """A thin convex mesh in front of which the triangle is."""
    corners, normal = row[:9].reshape(3, 3), row[9:12]
    middle = corners.mean(axis=0)
    # Its back is a point, so that it stays behind the triangles beside it.
    points = np.vstack([corners, middle - _THICKNESS * normal]) - middle
    spec.add_mesh(
        name=name,
        uservert=points.astype(np.float32).ravel(),
        inertia=mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL,
    )
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname=name, pos=middle)
