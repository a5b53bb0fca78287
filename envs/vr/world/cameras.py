"""Camera paths of films, the same for every rendering engine.

A camera looks along its X axis; its Z axis is up in the picture.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import gaussian_filter1d, maximum_filter1d

from ambulo.configs.arrays import Bools, Floats
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.world.level_geoms import through_boxes
from ambulo.motion.rotations import quat_from_rotvec, quat_multiply, quat_rotate

EYES_FIELD_OF_VIEW = 75.0
"""Vertical field of view through a body's eyes, [deg]."""
_STEPS = 9
"""Number of candidate elevations, from the camera's own up to `_STEEPEST`."""
_STEEPEST = -78.0
"""[deg]."""
_MARGIN = 0.12
"""Clearance of lines of sight from obstacles, [m]."""
_SIGHTS = (0.9, 1.5)
"""Heights of the player that must be visible, [m]."""
_RISING, _SETTLING = 0.6, 0.25
"""Time by which the camera rises before a wall occludes the player; smoothing time, [s]."""

_UP = np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True, eq=False)
class CameraPose:
    """Pose of a camera at one time."""

    place: Floats
    """World position, [m]. Shape (3,)."""
    turn: Floats
    """Orientation, wxyz. Shape (4,)."""
    field_of_view: float
    """Vertical, [deg]."""


@dataclass(frozen=True, eq=False)
class CameraPath:
    """Poses of a camera over a film."""

    places: Floats
    """World positions, [m]. Shape (F, 3)."""
    turns: Floats
    """Orientations, wxyz. Shape (F, 4)."""
    field_of_view: float
    """Vertical, [deg]."""

    def __len__(self) -> int:
        """Number of frames."""
        return len(self.places)

    def __getitem__(self, frame: int) -> CameraPose:
        """The camera in one frame."""
        return CameraPose(self.places[frame], self.turns[frame], self.field_of_view)


@dataclass(frozen=True)
class ChaseCamera:
    """A camera behind a player."""

    distance: float
    """Distance from the camera to its target, [m]."""
    elevation: float
    """Elevation of the line of sight,"""
    field_of_view: float
    """Vertical, [deg]."""
    ahead: float
    """Distance of the target ahead of the player's feet, [m]."""
    up: float
    """Height of the target above the feet, [m]."""


CHASE = ChaseCamera(7.0, -54.0, 50.0, 0.8, 0.9)
"""Steep camera that sees over walls."""
CLOSE = ChaseCamera(3.8, -26.0, 50.0, 0.3, 0.95)
"""Near camera that shows a body's steps; see `elevations_over_walls`."""


def chase_path(
    places: Floats,
    headings: Floats,
    camera: ChaseCamera = CHASE,
    elevations: Floats | None = None,
) -> CameraPath:
    """The path of a camera behind a player.

    Args:
        places: Positions of the player's feet, shape (F, 3), [m].
        headings: View directions, shape (F,), [rad].
        camera: Its settings.
        elevations: Elevations of the lines of sight instead of the camera's own, shape (F,),
            [deg].
    """
    if elevations is None:
        elevations = np.full(len(headings), camera.elevation)
    zero = np.zeros(len(headings))
    about_y = np.column_stack([zero, -np.radians(elevations), zero])
    about_z = np.column_stack([zero, zero, headings])
    turns = quat_multiply(quat_from_rotvec(about_z), quat_from_rotvec(about_y))
    ahead = np.column_stack([np.cos(headings), np.sin(headings), zero])
    target = places + camera.ahead * ahead + camera.up * _UP
    back = quat_rotate(turns, np.array([1.0, 0.0, 0.0]))
    return CameraPath(target - camera.distance * back, turns, camera.field_of_view)


def elevations_over_walls(
    level: Level, places: Floats, headings: Floats, camera: ChaseCamera, fps: float
) -> Floats:
    """Elevations at which obstacles do not occlude the player, shape (F,), [deg].

    The camera's own where that is free, otherwise as much steeper as needed; the camera rises
    and sinks smoothly. Arguments as of `chase_path`.
    """
    steps = np.linspace(camera.elevation, _STEEPEST, _STEPS)
    found = np.full(len(places), _STEEPEST)
    for elevation in steps[::-1]:
        path = chase_path(places, headings, camera, np.full(len(places), elevation))
        free = np.ones(len(places), np.bool_)
        for height in _SIGHTS:
            free &= ~_hidden(level, places + height * _UP, path.places)
        found[free] = elevation
    rising = 2 * round(_RISING * fps) + 1
    steep = maximum_filter1d(-found, rising, mode="nearest")
    reach = _RISING / _SETTLING
    smooth: Floats = gaussian_filter1d(
        steep, _SETTLING * fps, mode="nearest", truncate=reach
    )
    return -smooth


def _hidden(level: Level, seen: Floats, cameras: Floats) -> Bools:
    """Whether an obstacle is between points and cameras, both (F, 3). Shape (F,)."""
    hidden = np.zeros(len(seen), np.bool_)
    for x, y, z, a, b, c, yaw in level.boxes:
        cos, sin = np.cos(yaw), np.sin(yaw)
        into = np.array([[cos, sin, 0.0], [-sin, cos, 0.0], [0.0, 0.0, 1.0]])
        begin = (seen - [x, y, z]) @ into.T
        way = (cameras - seen) @ into.T
        hidden |= through_boxes(begin, way, np.array([a, b, c]) + _MARGIN)
    for x, y, radius, tall, base in level.cylinders:
        # The bounding square: occluding a little too early only raises the camera.
        half = np.array([radius, radius, tall / 2]) + _MARGIN
        hidden |= through_boxes(seen - [x, y, base + tall / 2], cameras - seen, half)
    return hidden
