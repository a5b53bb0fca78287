"""Uneven ground that all bodies share, each at its own start: terrain, slopes and steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, get_args

import mujoco
import numpy as np
from numba import njit
from scipy.ndimage import gaussian_filter

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import ConfigError
from ambulo.configs.locomotion_env import Course as CourseKind
from ambulo.envs.characters.character import Character

SIZE = 80.0
"""Length and width of the ground, [m]."""
CELL = 0.1
"""Grid spacing, [m]."""
RAMP = 4.0
"""Length of a ramp, [m]."""
BUMP = 0.25
"""Width of the bumps (standard deviation of the smoothing), [m]."""
EDGE = 34.0
"""Smallest distance of episode starts from the edge, [m]; enough for 20 s at 1.6 m/s."""
COURSES: tuple[str, ...] = get_args(CourseKind)
"""Kinds of courses."""
LEVEL = 2.0
"""End of the level part, x, [m]."""
STEP_LENGTH = 2.0
"""Length of a step, [m]; it does not match the stride, so steps come at any phase."""
_DEEP = 0.5
"""Half the thickness of the ground, [m]."""


class Ground(Protocol):
    """Ground that is not level."""

    kind: str
    """Its name in settings."""
    room: float
    """Smallest distance of episode starts from the edge, [m]."""

    def height(self, places: Floats) -> Floats:
        """Height at world points (..., 2), [m]. Shape (...)."""

    def place(self, rng: np.random.Generator) -> Floats:
        """A start position and heading: x, y, [m], yaw, [rad]. Shape (3,)."""

    def put_into(self, spec: mujoco.MjSpec) -> None:
        """Replace the geom `floor` of `spec` by this ground."""


class Terrain:
    """Heights on a grid, deterministic for each kind and height."""

    room = EDGE

    def __init__(self, kind: str, height: float) -> None:
        """Ground of a `kind` ("rough", "slope") whose bumps have `height`, [m]."""
        count = round(SIZE / CELL) + 1
        if kind == "rough":
            rough = np.random.default_rng(7).normal(size=(count, count))
            rough = gaussian_filter(rough, BUMP / CELL)
            values = np.clip(rough / (3.0 * rough.std()) + 0.5, 0.0, 1.0)
        elif kind == "slope":
            x = np.arange(count) * CELL
            values = np.tile(np.abs((x / RAMP) % 2.0 - 1.0), (count, 1))
        else:
            raise ConfigError(f"unknown terrain {kind!r}")
        self.kind = kind
        self.heights: Floats = height * values
        """Heights by row (Y) and column (X), [m]. Shape (M, M)."""

    def height(self, places: Floats) -> Floats:
        """Height at world points (..., 2), linear between samples, [m]. Shape (...)."""
        flat = np.ascontiguousarray(places.reshape(-1, 2))
        out = np.empty(len(flat))
        _heights(self.heights, flat, out)
        return out.reshape(places.shape[:-1])

    def place(self, rng: np.random.Generator) -> Floats:
        """A start position and heading: x, y, [m], yaw, [rad]. Shape (3,)."""
        x, y, yaw = rng.random(3)
        room = SIZE - 2.0 * EDGE
        heading = 2.0 * np.pi * yaw if self.kind == "rough" else np.pi * round(yaw)
        return np.array([(x - 0.5) * room, (y - 0.5) * room, heading])

    def put_into(self, spec: mujoco.MjSpec) -> None:
        """Replace the geom `floor` of `spec` by a height field."""
        floor = spec.geom("floor")
        top = max(float(self.heights.max()), 1e-3)
        field = spec.add_hfield(name="ground")
        field.nrow, field.ncol = self.heights.shape
        field.size = [0.5 * SIZE, 0.5 * SIZE, top, 0.5]
        field.userdata = (self.heights / top).ravel().tolist()
        floor.type = mujoco.mjtGeom.mjGEOM_HFIELD
        floor.hfieldname = "ground"


class Course:
    """A slope or steps, made of boxes with sharp edges; all bodies start towards +X."""

    room = EDGE

    def __init__(self, kind: CourseKind, height: float) -> None:
        """A course with steps of `height`, [m], or a slope that rises by it over `RAMP`."""
        sign = -1.0 if kind in ("downhill", "steps_down") else 1.0
        self.kind: str = kind
        self.steps = kind.startswith("steps")
        self.rise = sign * height
        """Height of a step, or of 4 m of the slope, upwards, [m]."""

    def height(self, places: Floats) -> Floats:
        """Height at world points (..., 2), [m]. Shape (...)."""
        x = places[..., 0] - LEVEL
        if self.steps:
            return np.asarray(
                self.rise * np.maximum(np.floor(x / STEP_LENGTH) + 1.0, 0.0)
            )
        return np.asarray(self.rise / RAMP * np.maximum(x, 0.0))

    def place(self, rng: np.random.Generator) -> Floats:
        """A start on the level part, x, y, [m], and heading, [rad]. Shape (3,)."""
        x, y, _ = rng.random(3)
        return np.array([STEP_LENGTH * (x - 0.5), y - 0.5, 0.0])

    def put_into(self, spec: mujoco.MjSpec) -> None:
        """Replace the geom `floor` of `spec` by boxes above a floor out of reach."""
        end = 0.5 * SIZE
        lowest = float(self.height(np.array([end, 0.0])))
        spec.geom("floor").pos = [0.0, 0.0, min(lowest, 0.0) - 2.0 * _DEEP]
        _add_box(spec, -end, LEVEL, 0.0, 0.0)
        if not self.steps:
            _add_box(spec, LEVEL, end, 0.0, float(np.arctan(self.rise / RAMP)))
            return
        for number, x in enumerate(np.arange(LEVEL, end, STEP_LENGTH), start=1):
            _add_box(spec, x, x + STEP_LENGTH, number * self.rise, 0.0)


def make_ground(kind: str, height: float) -> Ground:
    """The ground of a kind of terrain that is not flat; see `terrain_height`."""
    if kind in COURSES:
        return Course(kind, height)  # type: ignore[arg-type]
    return Terrain(kind, height)


def _add_box(
    spec: mujoco.MjSpec, start: float, end: float, top: float, angle: float
) -> None:
    """Add a box from x = `start`, where its top is at `top`, [m], to `end`, at an angle."""
    half = 0.5 * (end - start) / np.cos(angle)
    ahead = np.array([np.cos(angle), 0.0, np.sin(angle)])
    up = np.array([-np.sin(angle), 0.0, np.cos(angle)])
    floor = spec.geom("floor")
    pieces = sum(g.name.startswith("floor") for g in spec.worldbody.geoms)
    box = spec.worldbody.add_geom(name=f"floor{pieces}", type=mujoco.mjtGeom.mjGEOM_BOX)
    box.size = [half, 0.5 * SIZE, _DEEP]
    box.pos = np.array([start, 0.0, top]) + half * ahead - _DEEP * up
    box.quat = [np.cos(0.5 * angle), 0.0, -np.sin(0.5 * angle), 0.0]
    box.contype, box.conaffinity = floor.contype, floor.conaffinity


def terrain_model(
    character: Character,
    ground: Ground | None,
    edit: Callable[[mujoco.MjSpec], None] | None = None,
) -> mujoco.MjModel:
    """The character on a ground, the level one if None, after `edit` of its model.

    Raises:
        ConfigError: The character's model cannot be edited.
    """
    if character.spec is None:
        raise ConfigError(
            f"{character.name} walks on level ground only, where nothing is touched: "
            "terrain = flat, or character = human23"
        )
    spec = character.spec()
    if ground is not None:
        ground.put_into(spec)
    if edit is not None:
        edit(spec)
    model = spec.compile()
    model.opt.timestep = character.model.opt.timestep
    return model


@njit(cache=True)
def _heights(heights: Floats, places: Floats, out: Floats) -> None:
    last = heights.shape[0] - 1
    for n in range(len(places)):
        x = min(max((places[n, 0] + 0.5 * SIZE) / CELL, 0.0), last - 1e-6)
        y = min(max((places[n, 1] + 0.5 * SIZE) / CELL, 0.0), last - 1e-6)
        i, j = int(y), int(x)
        a, b = y - i, x - j
        low = (1.0 - b) * heights[i, j] + b * heights[i, j + 1]
        high = (1.0 - b) * heights[i + 1, j] + b * heights[i + 1, j + 1]
        out[n] = (1.0 - a) * low + a * high
