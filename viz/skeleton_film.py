"""Films of skeletons: one panel per actor, side by side, in real time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter1d

from ambulo.common.figures import new_figure, pixels_of
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

Frame = NDArray[np.uint8]

RATES = {".mp4": 30.0, ".gif": 20.0}
"""Largest number of frames per second of a film; a GIF counts hundredths of a second."""
PANEL = 420
"""Width and height of a panel, [px]."""
TILE = 0.5
"""Distance of the lines on the ground, [m]."""
_DPI = 100
_BANNER = 34
"""Height of the title, [px]."""
_CAMERA_SPREAD = 0.5
"""Standard deviation of the smoothing of the camera path, [s]."""


class FilmPanels:
    """A figure with one panel per actor, redrawn for every frame."""

    def __init__(
        self,
        actors: Sequence[Actor],
        reach: float,
        *,
        theme: Theme = DARK,
        panel: int = PANEL,
        title: str = "",
    ) -> None:
        """Lay out panels that show `reach` [m] to each side of the camera's target."""
        height = panel + (_BANNER if title else 0)
        share = panel / height
        self._actors, self._theme = actors, theme
        self._figure = new_figure(
            (len(actors) * panel / _DPI, height / _DPI), dpi=_DPI,
            background=theme.background,
        )  # fmt: skip
        if title:
            self._figure.text(
                0.5, 0.5 * (1 + share), title, color=theme.text, ha="center",
                va="center", fontsize=12, parse_math=False,
            )  # fmt: skip
        self._axes = []
        for k, actor in enumerate(actors):
            ax = self._figure.add_axes((k / len(actors), 0.0, 1.0 / len(actors), share))
            ax.set_axis_off()
            ax.set_xlim(-reach, reach)
            ax.set_ylim(-reach, reach)
            ax.text(
                0.04, 0.95, actor.label, color=theme.text, transform=ax.transAxes,
                va="top", fontsize=11, parse_math=False,
            )  # fmt: skip
            self._axes.append(ax)
        self.clock = self._axes[0].text(
            0.04, 0.05, "", color=theme.text, transform=self._axes[0].transAxes,
            fontsize=10, parse_math=False,
        )  # fmt: skip
        """Text at the bottom of the first panel."""

    def draw(
        self,
        number: int,
        frame: int,
        camera: Camera,
        target: Floats,
        *,
        ghost: bool = False,
        step: float = TILE,
    ) -> None:
        """Draw frame `frame` of an actor in its panel.

        Args:
            number: Index of the actor.
            frame: Frame of the actor.
            camera: The camera.
            target: Target of the camera, [m]. Shape (3,).
            ghost: Draw the first actor too, pale, in the other panels.
            step: Distance of the lines on the ground, [m].
        """
        ax, actor, theme = self._axes[number], self._actors[number], self._theme
        for artist in [*ax.collections, *ax.patches]:
            artist.remove()
        ground = ground_strokes(camera, target, theme, height=actor.ground, step=step)
        draw_strokes(ax, ground, zorder=1.0)
        draw_strokes(
            ax, shadow_strokes(actor, frame, camera, target, theme), zorder=1.5
        )
        if ghost and number:
            draw_actor(ax, self._actors[0], frame, camera, target, theme, ghost=True)
        draw_actor(ax, actor, frame, camera, target, theme)

    def picture(self) -> Frame:
        """Return the picture of all panels. Shape (H, W, 3)."""
        self._figure.canvas.draw()
        return pixels_of(self._figure)


def write_film(
    path: Path,
    actors: Sequence[Actor],
    fps: float,
    *,
    title: str = "",
    captions: Sequence[str] = (),
    ghost: bool = False,
    theme: Theme = DARK,
    panel: int = PANEL,
) -> Path:
    """Write a film of actors side by side, atomically.

    Args:
        path: The file; its suffix determines the format.
        actors: One per panel, all with the same number of frames.
        fps: Frames per second of the actors, [Hz]; the film runs in real time.
        title: Title above all panels.
        captions: A text for each frame of the actors, under the clock.
        ghost: Draw the first actor, pale, in the others' panels too.
        theme: The colours.
        panel: Width and height of a panel, [px].

    Raises:
        RenderError: Another suffix, or a failure of the encoder.
        MotionError: No actors, or actors of different lengths.
    """
    if path.suffix not in RATES:
        raise RenderError(f"{path}: a film ends in .mp4 or .gif")
    import_mujoco()
    from ambulo.envs.vr.world.render import write_video

    rate = min(RATES[path.suffix], fps)
    frames = film_frames(
        actors, fps, rate, title=title, captions=captions, ghost=ghost, theme=theme,
        panel=panel,
    )  # fmt: skip
    return write_video(frames, path, fps=rate)


def shown_frames(count: int, fps: float, rate: float) -> NDArray[np.int64]:
    """Indices of the frames, of `count` at `fps`, in a film of `rate`. Shape (F,)."""
    times = np.arange(0.0, (count - 1) / fps + 0.5 / rate, 1.0 / rate)
    return np.minimum(np.rint(times * fps), count - 1).astype(np.int64)


def camera_path(actor: Actor, fps: float) -> Floats:
    """Targets of the camera: the smoothed path of the body's middle, [m]. Shape (T, 3)."""
    low, high = actor.drawn.min(axis=1), actor.drawn.max(axis=1)
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
    panel: int = PANEL,
) -> Iterator[Frame]:
    """Pictures (H, W, 3) of a film at `rate`; arguments as of `write_film`."""
    if not actors or len({len(actor) for actor in actors}) != 1:
        raise MotionError("a film needs actors with the same number of frames")
    camera = THREE_QUARTER.turned(mean_heading(actors[0]))
    paths = [camera_path(actor, fps) for actor in actors]
    reach = max(
        _reach(actor, path, camera) for actor, path in zip(actors, paths, strict=True)
    )
    panels = FilmPanels(actors, reach, theme=theme, panel=panel, title=title)
    for frame in shown_frames(len(actors[0]), fps, rate):
        for k, path in enumerate(paths):
            panels.draw(k, int(frame), camera, path[frame], ghost=ghost)
        caption = f"   {captions[frame]}" if captions else ""
        panels.clock.set_text(f"{frame / fps:5.2f} s{caption}")
        yield panels.picture()


def loop_frames(actors: Sequence[Actor], panel: int = PANEL) -> Iterator[Frame]:
    """Pictures (H, W, 3) of all frames except the last, at which the walks restart.

    The camera moves at constant speed, and the film's path is a whole number of tiles, so that
    neither jumps where the film restarts.
    """
    tall = max(float(np.ptp(actor.drawn[..., 2])) for actor in actors)
    panels = FilmPanels(actors, 0.62 * tall, panel=panel)
    for frame in range(min(len(actor) for actor in actors) - 1):
        for k, actor in enumerate(actors):
            target, step = _even_target(actor, frame)
            panels.draw(k, frame, THREE_QUARTER, target, step=step)
        yield panels.picture()


def _even_target(actor: Actor, frame: int) -> tuple[Floats, float]:
    """Target of a loop's camera, [m], (3,), and the size of a tile, [m]."""
    last = len(actor) - 1
    way = float(actor.root[-1, 0] - actor.root[0, 0])
    step = way / max(round(way / TILE), 1)
    ahead = np.arange(last + 1) / last * way
    place = actor.root[:, 0] - ahead
    middle = 0.5 * (actor.drawn[..., 2].min() + actor.drawn[..., 2].max())
    centre = [place.mean() + ahead[frame], actor.root[:, 1].mean(), middle]
    return np.array(centre), step


def _reach(actor: Actor, path: Floats, camera: Camera) -> float:
    """Half the width of a view in which the body always fits, [m]."""
    axes = camera.axes()
    seen = (actor.drawn - path[:, None]) @ axes[:2].T
    return 1.18 * max(float(np.abs(seen).max()), 0.5)
