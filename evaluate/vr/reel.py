"""Contents of a film of an episode: the same moments, poses and cameras for every engine."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from scipy.ndimage import gaussian_filter1d

from ambulo.configs.arrays import Floats
from ambulo.envs.characters.character import Character
from ambulo.envs.characters.registry import load_character
from ambulo.envs.simulation.tangent import Tangent
from ambulo.envs.vr.contract import EYE_HEIGHT
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.task.metrics import PlanTrace, Trace
from ambulo.envs.vr.world.cameras import (
    CLOSE,
    EYES_FIELD_OF_VIEW,
    CameraPath,
    chase_path,
    elevations_over_walls,
)
from ambulo.envs.vr.world.moving import between_rows
from ambulo.ik.avatar.layout import EYES, HEAD, STATURE, stature
from ambulo.motion.human23 import local_rotations
from ambulo.motion.kinematics import forward_kinematics
from ambulo.motion.rotations import (
    quat_from_rotvec,
    quat_normalize,
    quat_rotate,
    quat_unroll,
)

if TYPE_CHECKING:
    from ambulo.evaluate.vr.scores import EpisodeRecord

VIEWS = ("chase", "top", "eyes")
"""From behind, from above, and through the eyes."""
HUMAN = "human23"
"""The body whose joints Godot's character has, and whose eyes are known."""
MOST_FRAMES = 900
"""Longer films have fewer frames a second; they too run in real time."""
LAST_HOLD = 0.6
"""How long the end stays in the picture, [s]."""
HEADING_SPREAD = 0.45
"""Standard deviation of the smoothing of the camera's heading, [s]."""
SWAY_SPREAD = 0.35
"""Standard deviation of the smoothing of a body's position: heads sway at each step, [s]."""
GAZE_SPREAD = 0.08
"""Standard deviation of the smoothing of the gaze: eyes compensate for the head, [s]."""


@dataclass(frozen=True, eq=False)
class Reel:
    """A film before it is drawn, F frames at equal times."""

    level: Level
    """Where the episode was played."""
    fps: float
    """Frames a second."""
    poses: Floats
    """x, y, z [m] and yaw [rad] of the player, shape (F, 4); of a body without the sway of
    its gait."""
    cameras: Mapping[str, CameraPath | None]
    """Camera path of each view; None: the whole level from above."""
    character: Character | None = None
    """The body that was simulated; None: there was none."""
    qpos: Floats | None = None
    """Its positions of all joints, shape (F, nq)."""
    moving: Floats | None = None
    """Movers, rows of `solid_kernels`, shape (F, M, 9)."""
    plans: PlanTrace | None = None
    """Plans and memory of a navigator, F entries."""

    def body_rows(self) -> Floats | None:
        """Poses of human23 as Godot's character takes them, shape (F, 95).

        The pelvis' place, then the local rotations of the joints, wxyz. None: there is no
        body. `ConfigError` for a body that is not human23.
        """
        if self.qpos is None or self.character is None:
            return None
        rotations = _rotations(self.character, self.qpos)
        return np.hstack([self.qpos[:, :3], rotations.reshape(len(rotations), -1)])


def make_reel(
    record: EpisodeRecord,
    body: str | None,
    views: Sequence[str],
    most: float,
    eye_height: float = EYE_HEIGHT,
) -> Reel:
    """The film of an episode.

    Args:
        record: the episode.
        body: name of the simulated character in it; None: there was none.
        views: of `VIEWS`.
        most: frames a second at most.
        eye_height: of a player without a simulated body, [m].
    """
    trace = record.trace
    fps = film_rate(trace, most)
    times = film_times(trace, fps)
    poses = film_poses(trace, times)
    character, qpos = None, None
    if body is not None and trace.body is not None:
        character = load_character(body)
        poses[:, :3] = smoothed(poses[:, :3], SWAY_SPREAD * fps)
        known = trace.dt * (len(trace.yaw) - 1)
        qpos = _between(trace.body.qpos, times / known, Tangent(character.model))
    cameras: dict[str, CameraPath | None] = {}
    for view in views:
        if view == "top":
            cameras[view] = None
        elif view == "eyes":
            cameras[view] = _eyes(poses, fps, character, qpos, eye_height)
        else:
            cameras[view] = _chase(record.level, poses, fps, closely=qpos is not None)
    moving = None
    if trace.moving is not None:
        rows = trace.moving.rows(record.level, trace.position, trace.velocity)
        moving = between_rows(rows, times / trace.dt)
    plans = None
    if trace.plans is not None:
        steps = np.floor(times / trace.dt + 1e-9).astype(np.int64)
        paths, blocked = trace.plans.paths, trace.plans.blocked
        plans = PlanTrace(
            tuple(paths[t] for t in steps), tuple(blocked[t] for t in steps)
        )
    return Reel(record.level, fps, poses, cameras, character, qpos, moving, plans)


def film_rate(trace: Trace, most: float) -> float:
    """Frames a second of the film of an episode: `most`, or fewer for a long one.

    One frame takes whole hundredths of a second where it can, as GIFs have it.
    """
    seconds = (len(trace.yaw) - 1) * trace.dt + LAST_HOLD
    if seconds * most <= MOST_FRAMES:
        return most
    return 100.0 / math.ceil(100.0 * seconds / MOST_FRAMES)


def film_times(trace: Trace, fps: float) -> Floats:
    """Moments of the episode that are shown, shape (F,), [s].

    `fps` frames a second are real time; the end is held for `LAST_HOLD` seconds.
    """
    known = (len(trace.yaw) - 1) * trace.dt
    return np.minimum(np.arange(0.0, known + LAST_HOLD, 1.0 / fps), known)


def film_poses(trace: Trace, times: Floats) -> Floats:
    """x, y, z [m] and yaw [rad] at and between the environment steps, shape (F, 4)."""
    known = trace.dt * np.arange(len(trace.yaw))
    columns = [*trace.position.T, trace.yaw]
    return np.column_stack([np.interp(times, known, column) for column in columns])


def _between(qpos: ArrayLike, parts: Floats, tangent: Tangent) -> Floats:
    """Positions of joints at `parts` of the way through rows `qpos`, shape (F, nq)."""
    rows = np.asarray(qpos, np.float64)
    at = parts * (len(rows) - 1)
    first = np.minimum(np.floor(at + 1e-9).astype(np.int64), max(len(rows) - 2, 0))
    before, after = rows[first], rows[np.minimum(first + 1, len(rows) - 1)]
    step = tangent.difference(after, before) * np.clip(at - first, 0.0, 1.0)[:, None]
    return tangent.moved(before, step)


def _chase(level: Level, poses: Floats, fps: float, *, closely: bool) -> CameraPath:
    headings = smoothed(poses[:, 3], HEADING_SPREAD * fps)
    if not closely:
        return chase_path(poses[:, :3], headings)
    elevations = elevations_over_walls(level, poses[:, :3], headings, CLOSE, fps)
    return chase_path(poses[:, :3], headings, CLOSE, elevations)


def _eyes(
    poses: Floats,
    fps: float,
    character: Character | None,
    qpos: Floats | None,
    eye_height: float,
) -> CameraPath:
    """The gaze of a body, or of a player whose head is level, [m] above its feet."""
    if character is None or qpos is None:
        places = poses[:, :3] + np.array([0.0, 0.0, eye_height])
        about_z = poses[:, 3:] * np.array([0.0, 0.0, 1.0])
        return CameraPath(places, quat_from_rotvec(about_z), EYES_FIELD_OF_VIEW)
    skeleton, rotations = character.skeleton, _rotations(character, qpos)
    joints, turns = forward_kinematics(skeleton, qpos[:, :3], rotations)
    gaze = quat_unroll(turns[:, HEAD])
    gaze = quat_normalize(smoothed(gaze, GAZE_SPREAD * fps))
    eyes = np.array(EYES) * stature(skeleton) / STATURE
    places = joints[:, HEAD] + quat_rotate(turns[:, HEAD], eyes)
    return CameraPath(places, gaze, EYES_FIELD_OF_VIEW)


def _rotations(character: Character, qpos: Floats) -> Floats:
    """Local rotations of human23's joints, the pelvis' in the world, (F, 23, 4)."""
    rotations: Floats = local_rotations(character.get_positions(qpos))
    return rotations


def smoothed(values: Floats, spread: float) -> Floats:
    """A Gaussian mean along the first axis, of a standard deviation of `spread` rows."""
    reach = math.ceil(3 * spread)
    out: Floats = gaussian_filter1d(
        values, spread, axis=0, mode="nearest", radius=reach
    )
    return out
