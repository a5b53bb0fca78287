"""Films of skeletons: one panel an actor, side by side, in real time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter1d

from ambulo.common.gl import import_mujoco
from ambulo.configs.arrays import Floats
from ambulo.configs.errors import MotionError, RenderError
from ambulo.viz.skeleton_actor import Actor, mean_heading
from ambulo.viz.skeleton_view import (
    DARK,
    THREE_QUARTER,
    Camera,
    Theme,
    draw_actor,
    draw_strokes,
    ground_strokes,
    shadow_strokes,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Frame = NDArray[np.uint8]

RATES = {".mp4": 30.0, ".gif": 20.0}
"""Frames a second of a film, at most; a GIF counts hundredths of a second."""
PANEL = 420
"""Width and height of a panel, [px]."""
_DPI = 100
_CAMERA_SPREAD = 0.5
"""Standard deviation of the smoothing of the camera's way, [s]."""


def write_film(
    path: Path,
    actors: Sequence[Actor],
    fps: float,
    *,
    title: str = "",
    captions: Sequence[str] = (),
    ghost: bool = False,
    theme: Theme = DARK,
    camera: Camera = THREE_QUARTER,
    panel: int = PANEL,
) -> Path:
    """Write an .mp4 or .gif of actors side by side, whole or not at all.

    Args:
        path: The file; its ending chooses the format.
        actors: One a panel, all with the same number of frames.
        fps: Frames per second of the actors, [Hz]; the film runs in real time.
        title: Over everything.
        captions: A text for each frame of the actors, under the clock.
        ghost: Draw the first actor, pale, in the others' panels too.
        theme: The colours.
        camera: Relative to the mean heading of the first actor.
        panel: Width and height of a panel, [px].

    Raises:
        RenderError: another ending, or the encoder fails.
        MotionError: no actors, or of different lengths.
    """
    if path.suffix not in RATES:
        raise RenderError(f"{path}: a film ends in .mp4 or .gif")
    import_mujoco()
    from ambulo.envs.vr.world.render import write_video

    rate = min(RATES[path.suffix], fps)
    frames = film_frames(
        actors, fps, rate, title=title, captions=captions, ghost=ghost, theme=theme,
        camera=camera, panel=panel,
    )  # fmt: skip
    return write_video(frames, path, fps=rate)


def shown_frames(count: int, fps: float, rate: float) -> NDArray[np.int64]:
    """Which of `count` frames at `fps` a film of `rate` shows. Shape (F,)."""
    times = np.arange(0.0, (count - 1) / fps + 0.5 / rate, 1.0 / rate)
    return np.minimum(np.rint(times * fps), count - 1).astype(np.int64)


def camera_path(actor: Actor, fps: float) -> Floats:
    """Where the camera looks: the smoothed way of the body's middle, [m]. Shape (T, 3)."""
    low, high = actor.positions.min(axis=1), actor.positions.max(axis=1)
    middle = actor.root.copy()
    middle[:, 2] = 0.5 * (low + high)[:, 2]
    path: Floats = gaussian_filter1d(
        middle, _CAMERA_SPREAD * fps, axis=0, mode="nearest", truncate=3.0
    )
    return path


def film_frames(
    actors: Sequence[Actor],
    fps: float,
    rate: float,
    *,
    title: str = "",
    captions: Sequence[str] = (),
    ghost: bool = False,
    theme: Theme = DARK,
    camera: Camera = THREE_QUARTER,
    panel: int = PANEL,
) -> Iterator[Frame]:
    """Pictures (H, W, 3) of a film at `rate`; arguments as of `write_film`."""
    if not actors or len({len(actor) for actor in actors}) != 1:
        raise MotionError("a film needs actors with the same number of frames")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    banner = 34 if title else 0
    size = (len(actors) * panel / _DPI, (panel + banner) / _DPI)
    figure = Figure(figsize=size, dpi=_DPI, facecolor=theme.background)
    canvas: Any = FigureCanvasAgg(figure)
    share = panel / (panel + banner)
    if title:
        figure.text(
            0.5, 0.5 * (1 + share), title, color=theme.text, ha="center", va="center",
            fontsize=12, parse_math=False,
        )  # fmt: skip
    camera = camera.turned(mean_heading(actors[0]))
    paths = [camera_path(actor, fps) for actor in actors]
    reach = max(
        _reach(actor, path, camera) for actor, path in zip(actors, paths, strict=True)
    )
    panels = []
    for k, actor in enumerate(actors):
        ax = figure.add_axes((k / len(actors), 0.0, 1.0 / len(actors), share))
        ax.set_axis_off()
        ax.set_xlim(-reach, reach)
        ax.set_ylim(-reach, reach)
        ax.text(
            0.04, 0.95, actor.label, color=theme.text, transform=ax.transAxes,
            va="top", fontsize=11, parse_math=False,
        )  # fmt: skip
        panels.append(ax)
    clock = panels[0].text(
        0.04, 0.05, "", color=theme.text, transform=panels[0].transAxes, fontsize=10,
        parse_math=False,
    )  # fmt: skip
    for frame in shown_frames(len(actors[0]), fps, rate):
        for ax, actor, path in zip(panels, actors, paths, strict=True):
            beside = actors[0] if ghost and actor is not actors[0] else None
            _draw_panel(ax, actor, int(frame), camera, path[frame], theme, beside)
        caption = f"   {captions[frame]}" if captions else ""
        clock.set_text(f"{frame / fps:5.2f} s{caption}")
        canvas.draw()
        yield np.asarray(canvas.buffer_rgba())[..., :3].copy()


def _reach(actor: Actor, path: Floats, camera: Camera) -> float:
    """Half the width of a view in which the body always fits, [m]."""
    axes = camera.axes()
    seen = (actor.positions - path[:, None]) @ axes[:2].T
    return 1.18 * max(float(np.abs(seen).max()), 0.5)


def _draw_panel(
    ax: Axes,
    actor: Actor,
    frame: int,
    camera: Camera,
    target: Floats,
    theme: Theme,
    ghost: Actor | None,
) -> None:
    for artist in [*ax.collections, *ax.patches]:
        artist.remove()
    ground = ground_strokes(camera, target, theme, height=actor.ground)
    draw_strokes(ax, ground, zorder=1.0)
    draw_strokes(ax, shadow_strokes(actor, frame, camera, target, theme), zorder=1.5)
    if ghost is not None:
        draw_actor(ax, ghost, frame, camera, target, theme, ghost=True)
    draw_actor(ax, actor, frame, camera, target, theme)
