"""Level geometry around simulated bodies: each body's model holds the shapes near it.

All models have the same few geoms, so that bodies in different levels run as one batch, and the
cost of a step does not depend on the size of the level. A window is refilled when its body has
left the middle of it. The shapes have their true sizes, unlike the prisms of the world
contract.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass

import mujoco
import numpy as np

from ambulo.configs.arrays import Floats, Ints
from ambulo.envs.simulation.simulation import CharacterSimulation
from ambulo.envs.simulation.touch import FLOOR
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.levels.solids import floor_rectangles, obstructing

OBSTACLES = "obstacles"
"""Name of the static body that carries the obstacles."""
FLOORS = FLOOR
"""Name of the first piece of floor; all pieces belong to the world body."""
TOUCH = "touch"
"""Name of the sensor of contacts between body and obstacles: count, and force, [N]."""
NUM_OBSTACLES = 24
"""Obstacles in a window: the nearest ones."""
NUM_FLOORS = 12
"""Pieces of floor in a window."""
STIFFNESS = (0.03, 1.0)
"""Time constant, [s], and damping ratio of contacts with obstacles."""
STRIDE = 0.5
"""Distance after which a body gets a new window, [m]."""
_PARKED = -100.0
"""Height of unused geoms, [m]."""
_FLOOR_THICKNESS = 0.5

_BOX = int(mujoco.mjtGeom.mjGEOM_BOX)
_CYLINDER = int(mujoco.mjtGeom.mjGEOM_CYLINDER)


@dataclass(frozen=True, eq=False)
class LevelShapes:
    """Shapes of a level as MuJoCo geoms; S obstacles or pieces of floor."""

    kind: Ints
    """Type of geom, shape (S,)."""
    place: Floats
    """Centre, shape (S, 3), [m]."""
    turn: Floats
    """Rotation as wxyz, shape (S, 4)."""
    size: Floats
    """Half sizes, or radius and half height, shape (S, 3), [m]."""

    @classmethod
    def obstacles(cls, level: Level) -> LevelShapes:
        """Boxes and cylinders that a standing body can touch."""
        boxes, cylinders = obstructing(level)
        half, zero = 0.5 * cylinders[:, 3], np.zeros(len(cylinders))
        yaw = 0.5 * np.concatenate([boxes[:, 6], zero])
        still = np.zeros(len(yaw))
        return cls(
            np.array([_BOX] * len(boxes) + [_CYLINDER] * len(cylinders), np.int64),
            np.vstack(
                [
                    boxes[:, :3],
                    np.column_stack([cylinders[:, :2], half + cylinders[:, 4]]),
                ]
            ),
            np.column_stack([np.cos(yaw), still, still, np.sin(yaw)]),
            np.vstack([boxes[:, 3:6], np.column_stack([cylinders[:, 2], half, zero])]),
        )

    @classmethod
    def floor(cls, level: Level) -> LevelShapes:
        """The floor without its holes, as boxes."""
        pieces = floor_rectangles(level)
        count, half = len(pieces), 0.5 * _FLOOR_THICKNESS
        middle = 0.5 * (pieces[:, :2] + pieces[:, 2:])
        return cls(
            np.full(count, _BOX, np.int64),
            np.column_stack([middle, np.full(count, -half)]),
            np.tile([1.0, 0.0, 0.0, 0.0], (count, 1)),
            np.column_stack(
                [0.5 * (pieces[:, 2:] - pieces[:, :2]), np.full(count, half)]
            ),
        )

    def nearest(self, point: Floats, count: int) -> Ints:
        """Indices of the `count` shapes nearest to `point` (2,), or of all."""
        if len(self.kind) <= count:
            return np.arange(len(self.kind))
        away = point - self.place[:, :2]
        cos = self.turn[:, 0] ** 2 - self.turn[:, 3] ** 2
        sin = 2.0 * self.turn[:, 0] * self.turn[:, 3]
        along = np.abs(cos * away[:, 0] + sin * away[:, 1])
        across = np.abs(cos * away[:, 1] - sin * away[:, 0])
        round_ = self.kind == _CYLINDER
        gap = np.where(
            round_,
            np.hypot(away[:, 0], away[:, 1]) - self.size[:, 0],
            np.hypot(
                np.maximum(along - self.size[:, 0], 0.0),
                np.maximum(across - self.size[:, 1], 0.0),
            ),
        )
        return np.argpartition(gap, count - 1)[:count]


class LevelGround:
    """Ground and obstacles of levels as the ground of a walker; see `Ground`.

    It is level; a body that steps off the floor falls.
    """

    kind = "level"
    room = float("inf")

    def __init__(self) -> None:
        """Create it without any body."""
        self._starts: list[Floats] = []

    def begin(self, poses: Floats) -> None:
        """Set the results (k, 3) of the next `place` calls, in order."""
        self._starts = list(poses)

    def height(self, places: Floats) -> Floats:
        """Height at world points (..., 2), [m]. Shape (...)."""
        return np.zeros(places.shape[:-1])

    def place(self, rng: np.random.Generator) -> Floats:
        """The next start: x, y, [m], yaw, [rad]. Shape (3,)."""
        del rng  # the task draws a level's starts
        return self._starts.pop(0)

    def put_into(self, spec: mujoco.MjSpec) -> None:
        """Add the geoms of a window and the contact sensor to a character."""
        body = spec.worldbody.add_body(name=OBSTACLES)
        for index in range(NUM_OBSTACLES):
            geom = _add_parked(body, f"obstacle{index}")
            # Frictionless: with friction, the few solver iterations let limbs wedged between
            # hard faces explode.
            geom.priority, geom.condim = 1, 1
            geom.solref[:] = STIFFNESS
        spec.delete(spec.geom(FLOORS))
        for name in _floor_names():
            _add_parked(spec.worldbody, name)
        # Edits move geoms out of their compiled bounding volumes.
        spec.option.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_MIDPHASE)
        sensor = spec.add_sensor(name=TOUCH, type=mujoco.mjtSensor.mjSENS_CONTACT)
        root = spec.worldbody.first_body()
        sensor.objtype = mujoco.mjtObj.mjOBJ_XBODY  # with all bodies below it
        sensor.objname = root.name
        sensor.reftype, sensor.refname = mujoco.mjtObj.mjOBJ_BODY, OBSTACLES
        data = mujoco.mjtConDataField
        found, force = (
            1 << int(field) for field in (data.mjCONDATA_FOUND, data.mjCONDATA_FORCE)
        )
        sensor.intprm[:3] = [found | force, _NET_FORCE, 1]


_NET_FORCE = 3
"""Reduction of a contact sensor: the net force."""


def _floor_names() -> list[str]:
    return [FLOORS, *(f"{FLOORS}{index}" for index in range(1, NUM_FLOORS))]


def _add_parked(body: mujoco.MjsBody, name: str) -> mujoco.MjsGeom:
    geom = body.add_geom(name=name, type=mujoco.mjtGeom.mjGEOM_BOX)
    geom.pos, geom.size = [0.0, 0.0, _PARKED], [0.1, 0.1, 0.1]
    geom.contype, geom.conaffinity = 1, 0
    return geom


class LevelWindows:
    """The models of N bodies, each with the nearby shapes of its level."""

    def __init__(self, simulation: CharacterSimulation) -> None:
        """For a simulation whose model has the geoms of `LevelGround`."""
        model = simulation.model
        self._simulation = simulation
        self._models = [copy.copy(model) for _ in range(simulation.count)]
        obstacles = [f"obstacle{index}" for index in range(NUM_OBSTACLES)]
        self._obstacles, self._floors = (
            np.array([model.geom(name).id for name in names])
            for names in (obstacles, _floor_names())
        )
        for one in self._models:  # compiled upright: MuJoCo would skip their rotation
            one.geom_sameframe[self._obstacles] = mujoco.mjtSameFrame.mjSAMEFRAME_NONE
        self._levels: dict[int, tuple[LevelShapes, LevelShapes]] = {}
        self._middle = np.full((simulation.count, 2), np.inf)
        simulation.use_models(self._models)

    def set_levels(self, slots: Sequence[int], levels: Sequence[Level]) -> None:
        """Put `levels[i]` into slot `slots[i]`."""
        for slot, level in zip(slots, levels, strict=True):
            self._levels[int(slot)] = (
                LevelShapes.obstacles(level),
                LevelShapes.floor(level),
            )

    def forget(self, envs: Ints) -> None:
        """Refill the windows of `envs` at the next `follow`."""
        self._middle[envs] = np.inf

    def follow(self, slots: Ints, points: Floats) -> None:
        """Refill the windows of bodies that left the middle of theirs.

        Args:
            slots: Level of each body, shape (N,); negative: none.
            points: Positions of the bodies, shape (N, 2), [m].
        """
        away = np.abs(points - self._middle).max(axis=1)
        stale = np.flatnonzero(~(away <= STRIDE) & (slots >= 0))
        for env in stale:
            obstacles, floor = self._levels[int(slots[env])]
            model, here = self._models[env], points[env]
            _fill(
                model, self._obstacles, obstacles,
                obstacles.nearest(here, NUM_OBSTACLES),
            )  # fmt: skip
            _fill(model, self._floors, floor, floor.nearest(here, NUM_FLOORS))
            self._middle[env] = here
        if len(stale):
            self._simulation.use_models(self._models)


def _fill(
    model: mujoco.MjModel, geoms: Ints, shapes: LevelShapes, chosen: Ints
) -> None:
    """Give `geoms` the form of the `chosen` shapes, and park the remaining ones."""
    used, left = geoms[: len(chosen)], geoms[len(chosen) :]
    kind, size = shapes.kind[chosen], shapes.size[chosen]
    model.geom_type[used], model.geom_size[used] = kind, size
    model.geom_pos[used], model.geom_quat[used] = (
        shapes.place[chosen],
        shapes.turn[chosen],
    )
    round_ = kind == _CYLINDER
    model.geom_rbound[used] = np.where(
        round_, np.hypot(size[:, 0], size[:, 1]), np.linalg.norm(size, axis=1)
    )
    extent = np.where(round_[:, None], size[:, [0, 0, 1]], size)
    model.geom_aabb[used] = np.hstack([np.zeros_like(extent), extent])
    model.geom_pos[left, 2] = _PARKED
