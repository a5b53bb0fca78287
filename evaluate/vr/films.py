"""Films of recorded episodes, drawn by the engine of the world in which they were played."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy.ndimage import gaussian_filter1d

from ambulo.configs.arrays import Floats
from ambulo.envs.vr.task.metrics import Trace
from ambulo.evaluate.vr.scores import EpisodeRecord

if TYPE_CHECKING:
    from ambulo.configs.vr import NavigationConfig
    from ambulo.envs.vr.world.render import EpisodeRenderer, Frame

SIZE = (480, 360)
"""Width and height of each of the two views, [px]."""
FPS = {".mp4": 30.0, ".gif": 12.5}
"""Frames a second of a short film from Godot; a GIF counts hundredths of a second."""
MOST_FRAMES = 900
"""Longer films from Godot have fewer frames a second; they too run in real time."""
SMOOTH_FRAMES = 400
"""Longer films from Godot are drawn without smooth edges: the processor may draw them."""
LAST_HOLD = 0.6
"""How long the end stays in the picture, [s]."""
HEADING_SPREAD = 0.45
"""Standard deviation of the smoothing of the camera's heading, [s]."""
_MUJOCO_FRAMES = 200
"""Longer episodes skip frames: software OpenGL draws a few frames a second."""
_TRAIL_POINTS = 100


def write_episode_video(
    record: EpisodeRecord, config: NavigationConfig, path: Path
) -> None:
    """Film of one episode: view from behind beside the view from above.

    Godot draws what was played in Godot, MuJoCo everything else.

    Args:
        record: the episode.
        config: of the world it was played in.
        path: .mp4 or .gif file.

    Raises:
        RenderError: nothing can be drawn on this machine, or no encoder.
        BridgeError: no Godot project.
    """
    from ambulo.envs.vr.world.render import EpisodeRenderer, write_video

    if config.environment.world == "godot":
        _write_godot_video(record, config, path)
        return
    radius = config.environment.goal_radius
    character = config.environment.character
    with EpisodeRenderer(
        record.level, *SIZE, goal_radius=radius, character=character
    ) as renderer:
        write_video(_frames(renderer, record), path, fps=1.0 / record.trace.dt)


def check_can_film(config: NavigationConfig) -> None:
    """Refuse a film from Godot before the episodes are played.

    Raises:
        RenderError: no Godot engine that can draw.
    """
    if config.environment.world == "godot":
        from ambulo.viz.godot_film import find_drawing_engine

        find_drawing_engine(config.environment.godot_bin)


def film_rate(trace: Trace, most: float) -> float:
    """Frames a second of the film of an episode: `most`, or fewer for a long one.

    One frame takes whole hundredths of a second where it can, as GIFs have it.
    """
    seconds = (len(trace.yaw) - 1) * trace.dt + LAST_HOLD
    if seconds * most <= MOST_FRAMES:
        return most
    return 100.0 / math.ceil(100.0 * seconds / MOST_FRAMES)


def film_poses(trace: Trace, fps: float) -> Floats:
    """Poses at and between the decisions, so that `fps` frames a second are real time.

    Args:
        trace: of the episode.
        fps: frames a second.

    Returns:
        Rows of x, y, z [m], yaw, and heading of the chase camera [rad], shape (F, 5). The
        end is held for `LAST_HOLD` seconds.
    """
    known = trace.dt * np.arange(len(trace.yaw))
    times = np.arange(0.0, known[-1] + LAST_HOLD, 1.0 / fps)
    columns = [*trace.position.T, trace.yaw]
    moving = [np.interp(times, known, column) for column in columns]
    return np.column_stack([*moving, _smoothed(moving[3], HEADING_SPREAD * fps)])


def _write_godot_video(
    record: EpisodeRecord, config: NavigationConfig, path: Path
) -> None:
    from ambulo.envs.vr.contract import WorldSpec
    from ambulo.envs.vr.world.render import write_video
    from ambulo.viz.godot_film import GodotFilm

    fps = film_rate(record.trace, FPS.get(path.suffix, FPS[".mp4"]))
    poses = film_poses(record.trace, fps)
    with GodotFilm(
        record.level,
        poses,
        WorldSpec.from_config(config),
        goal_radius=config.environment.goal_radius,
        size=SIZE,
        views=("chase", "top"),
        smooth=len(poses) <= SMOOTH_FRAMES,
        frame_time=1.0 / fps,
        engine=config.environment.godot_bin,
    ) as film:
        write_video(film.frames(), path, fps=fps)


def _frames(renderer: EpisodeRenderer, record: EpisodeRecord) -> Iterator[Frame]:
    """Both views of MuJoCo, a frame a decision."""
    trace = record.trace
    headings = _smoothed(trace.yaw, HEADING_SPREAD / trace.dt)
    last = len(trace.yaw) - 1
    stride = 1 + last // _MUJOCO_FRAMES
    for t in [*range(0, last, stride), last]:
        trail = trace.position[: t + 1 : 1 + t // _TRAIL_POINTS]
        place, yaw, goal = trace.position[t], float(trace.yaw[t]), record.level.goal
        qpos = None if trace.body is None else trace.body.qpos[t]
        behind = renderer.frame(
            place,
            yaw,
            goal,
            trail,
            camera="chase",
            heading=float(headings[t]),
            qpos=qpos,
        )
        above = renderer.frame(place, yaw, goal, trail, camera="top", qpos=qpos)
        yield np.concatenate([behind, above], axis=1)


def _smoothed(values: Floats, spread: float) -> Floats:
    """A Gaussian mean of `values` with a standard deviation of `spread` items."""
    reach = math.ceil(3 * spread)
    return gaussian_filter1d(values, spread, mode="nearest", radius=reach)
