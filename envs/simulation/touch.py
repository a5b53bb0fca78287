"""Contact forces of bodies with anything but the ground, and boxes as obstacles."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import ConfigError
from ambulo.configs.walk_commands import WalkCommandsConfig
from ambulo.envs.simulation.simulation import CharacterSimulation
from ambulo.envs.state_arrays import Arrays, NamedState

FLOOR = "floor"
"""Prefix of the names of ground geoms."""
ALL = "touch_all"
"""Name of the sensor of all contact forces of a body; the sensors of floor pieces are called
`touch_` and the piece's name."""
SOLVER_ITERATIONS = 50
"""Largest number of solver iterations: with 4, limbs pressed against walls explode."""
STIFFNESS = (0.03, 1.0)
"""Time constant, [s], and damping ratio of a box's contacts."""
PARKED = 200.0
"""Distance of boxes that are not in use, [m]."""


@dataclass(frozen=True)
class Box:
    """An upright box that many bodies may have at different positions."""

    half: tuple[float, float, float]
    """Half lengths, [m]."""
    friction: float
    """Sliding friction."""


BOXES = (
    Box((0.1, 3.0, 1.2), 0.0),
    Box((0.1, 3.0, 1.2), 0.5),
    Box((0.1, 3.0, 1.2), 1.0),
    Box((0.15, 0.15, 1.2), 0.3),
    Box((0.15, 0.15, 1.2), 1.0),
    Box((0.3, 0.6, 0.4), 0.6),
)
"""Walls, pillars and a chest, of the frictions that walls may have."""
WALLS = 3
"""The first boxes of `BOXES`, which are walls."""
WALL_GAP, GAP = (0.7, 2.5), (1.3, 3.0)
"""Distances from a body to a wall's middle plane, and to the middle of other boxes, [m]."""
WALL_ANGLE, ANGLE = np.deg2rad(80.0), np.deg2rad(35.0)
"""Largest angle between heading and a wall's normal, and to the middle of other boxes."""


def add_touch_sensors(spec: mujoco.MjSpec) -> None:
    """Add the sensors that `TouchForces` reads to the model of one body.

    The model must have all pieces of the floor already.

    Raises:
        ConfigError: There is no floor: the ground would count as an obstacle.
    """
    root, floors = spec.worldbody.first_body().name, floor_names(spec)
    if not floors:
        raise ConfigError(f"no geom of the world has a name that begins with {FLOOR!r}")
    for floor in (None, *floors):
        name = ALL if floor is None else f"touch_{floor}"
        sensor = spec.add_sensor(name=name, type=mujoco.mjtSensor.mjSENS_CONTACT)
        sensor.objtype, sensor.objname = mujoco.mjtObj.mjOBJ_XBODY, root
        if floor is not None:
            sensor.reftype, sensor.refname = mujoco.mjtObj.mjOBJ_GEOM, floor
        # One net force of all contacts (reduction 3), in the world.
        data = 1 << int(mujoco.mjtConDataField.mjCONDATA_FORCE)
        sensor.intprm[:3] = [data, 3, 1]
    spec.option.iterations = max(spec.option.iterations, SOLVER_ITERATIONS)
    spec.option.ls_iterations = max(spec.option.ls_iterations, SOLVER_ITERATIONS)


def floor_names(spec: mujoco.MjSpec) -> list[str]:
    """Names of the pieces of floor that the world itself carries."""
    return [g.name for g in spec.worldbody.geoms if g.name.startswith(FLOOR)]


def add_boxes(spec: mujoco.MjSpec) -> None:
    """Add `BOXES` as mocap bodies, which contacts do not move."""
    for i, box in enumerate(BOXES):
        body = spec.worldbody.add_body(
            name=f"box{i}", mocap=True, pos=[PARKED + 10.0 * i, PARKED, box.half[2]]
        )
        geom = body.add_geom(name=f"box{i}", type=mujoco.mjtGeom.mjGEOM_BOX)
        geom.size, geom.friction[0], geom.priority = box.half, box.friction, 1
        geom.contype, geom.conaffinity = 1, 0
        # A frictionless pyramid is degenerate: the solver then fails, and bodies explode.
        geom.condim = 3 if box.friction > 0.0 else 1
        geom.solref[:] = STIFFNESS


class TouchForces:
    """Reads the horizontal forces on the bodies of a simulation with touch sensors."""

    def __init__(self, simulation: CharacterSimulation) -> None:
        """Look up the sensors."""
        model = simulation.model
        self._values = simulation.bind("sensordata")
        names = [model.sensor(k).name for k in range(model.nsensor)]
        floors = [name for name in names if name.startswith(f"touch_{FLOOR}")]
        starts = [int(model.sensor(name).adr[0]) for name in (ALL, *floors)]
        self._all, *self._floors = (slice(at, at + 2) for at in starts)

    def now(self) -> Floats:
        """Force on each body except the ground's, along the world's X and Y, [N]. (N, 2)."""
        # The sensors report the force of a body on others.
        force: Floats = -self._values[:, self._all]
        for floor in self._floors:
            force = force + self._values[:, floor]
        return np.nan_to_num(force)


class PlacedBoxes(NamedState):
    """Positions and velocities of each body's own `BOXES`, which move by themselves."""

    saved = ("place", "velocity")

    def __init__(self, simulation: CharacterSimulation) -> None:
        """Start with all boxes parked."""
        self._places = simulation.bind("mocap_pos")
        self._turns = simulation.bind("mocap_quat")
        count = simulation.count
        self.place: Floats = np.zeros((count, len(BOXES), 3))
        """World x, y, [m], and heading, [rad]. Shape (N, K, 3)."""
        self.velocity: Floats = np.zeros((count, len(BOXES), 2))
        """Along the world's X and Y, [m/s]. Shape (N, K, 2)."""
        self._height = np.array([box.half[2] for box in BOXES])
        self.park(np.arange(count))

    def park(self, envs: np.ndarray) -> None:
        """Park all boxes of `envs` (k,)."""
        self.velocity[envs] = 0.0
        self.place[envs] = 0.0
        self.place[envs, :, 0] = PARKED + 10.0 * np.arange(len(BOXES))
        self.place[envs, :, 1] = PARKED
        self.show()

    def load_state_dict(self, arrays: Arrays) -> None:
        """Continue from `state_dict`."""
        super().load_state_dict(arrays)
        self.show()

    def advance(self, dt: float) -> None:
        """Advance all boxes by `dt`, [s]."""
        if np.count_nonzero(self.velocity):
            self.place[..., :2] += dt * self.velocity
            self.show()

    def show(self) -> None:
        """Write the positions to the physics."""
        self._places[..., :2] = self.place[..., :2]
        self._places[..., 2] = self._height
        half = 0.5 * self.place[..., 2]
        self._turns[...] = 0.0
        self._turns[..., 0], self._turns[..., 3] = np.cos(half), np.sin(half)


def place_around(
    boxes: PlacedBoxes,
    env: int,
    frame: Floats,
    walk: WalkCommandsConfig,
    rng: np.random.Generator,
) -> None:
    """Park the boxes of body `env`, or place one or two of them as obstacles.

    Args:
        boxes: All boxes.
        env: The body.
        frame: Its position x, y, [m], and heading, [rad]. Shape (3,).
        walk: Their probability and motion.
        rng: Its generator.
    """
    boxes.park(np.array([env]))
    used, several, moves = rng.random(3)
    if used >= walk.obstacles:
        return
    count = 1 + int(several < 0.4)
    moving = moves < walk.moving_share
    chosen = rng.permutation(len(BOXES))[:count]
    if moving:
        chosen[0] = rng.integers(WALLS, len(BOXES))
    for k, box in enumerate(chosen.tolist()):
        gap, turn, along, angle, pace = rng.random(5)
        low, high = WALL_GAP if box < WALLS else GAP
        far = low + gap * (high - low)
        widest = np.pi if moving and k == 0 else WALL_ANGLE if box < WALLS else ANGLE
        heading = frame[2] + (2.0 * turn - 1.0) * widest
        ahead = np.array([np.cos(heading), np.sin(heading)])
        left = np.array([-ahead[1], ahead[0]])
        offset = (2.0 * along - 1.0) * (1.5 if box < WALLS else 0.0)
        boxes.place[env, box, :2] = frame[:2] + far * ahead + offset * left
        boxes.place[env, box, 2] = heading if box < WALLS else angle * np.pi
        if moving and k == 0:
            slow, fast = walk.moving_speed
            boxes.velocity[env, box] = -(slow + pace * (fast - slow)) * ahead
    boxes.show()
