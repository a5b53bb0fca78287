"""Courses: a level start, and then a slope or steps, up or down, along +X."""

from __future__ import annotations

from typing import get_args

import mujoco
import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.configs.locomotion import Course as Kind
from ambulo.envs.simulation.terrain import EDGE, RAMP, SIZE, Ground, Terrain

KINDS: tuple[str, ...] = get_args(Kind)
"""Kinds of courses."""
LEVEL = 2.0
"""Where the level part ends, x, [m]."""
STEP_LENGTH = 2.0
"""Length of a step, [m]: between strides, so that each step comes as a surprise."""
_DEEP = 0.5
"""Half the thickness of the ground, [m]."""


class Course:
    """A slope or steps, made of boxes with true edges; all bodies start towards +X."""

    room = EDGE

    def __init__(self, kind: Kind, height: float) -> None:
        """A course whose steps have `height`, [m], or whose slope has it over `RAMP`."""
        sign = -1.0 if kind in ("downhill", "steps_down") else 1.0
        self.kind: str = kind
        self.steps = kind.startswith("steps")
        self.rise = sign * height
        """Height of a step, or of 4 m of the slope, upwards, [m]."""

    def height(self, places: Floats) -> Floats:
        """Height at world places (..., 2), [m]. Shape (...)."""
        x = places[..., 0] - LEVEL
        if self.steps:
            return np.asarray(
                self.rise * np.maximum(np.floor(x / STEP_LENGTH) + 1.0, 0.0)
            )
        return np.asarray(self.rise / RAMP * np.maximum(x, 0.0))

    def place(self, rng: np.random.Generator) -> Floats:
        """A place of the level part, x, y, [m], and heading, [rad]. Shape (3,)."""
        x, y, _ = rng.random(3)
        return np.array([STEP_LENGTH * (x - 0.5), y - 0.5, 0.0])

    def put_into(self, spec: mujoco.MjSpec) -> None:
        """Replace the geom `floor` of `spec` by boxes above a floor that none reaches."""
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
    if kind in KINDS:
        return Course(kind, height)  # type: ignore[arg-type]
    return Terrain(kind, height)


def _add_box(
    spec: mujoco.MjSpec, start: float, end: float, top: float, angle: float
) -> None:
    """Add ground from x = `start`, where its top is at `top`, [m], to `end`, at an angle."""
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
