"""A whole clip on one sheet: poses from two sides, path of the root, contacts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.ndimage import gaussian_filter1d

from ambulo.common.figures import new_figure, png_of
from ambulo.configs.arrays import Floats, Ints
from ambulo.viz.skeleton_actor import Actor, headings
from ambulo.viz.skeleton_view import FRONT, LIGHT, SIDE, Camera, Theme, draw_actor

if TYPE_CHECKING:
    from matplotlib.axes import Axes

POSES = 10
"""Number of poses in a row."""
_SIZE = (13.0, 8.2)
"""Width and height of the sheet, [inches]."""
_WIDTH, _ROW = 0.93, 0.255
"""Size of a row of poses, as a fraction of the sheet."""
_FEWEST = 6
"""Smallest number of poses in a row, for a body that spreads wide."""
_ORIGIN = np.zeros(3)
_SPEED_SPREAD = 0.04
"""Standard deviation of the smoothing of the drawn speed, [s]."""


def contact_sheet(
    actor: Actor,
    fps: float,
    *,
    title: str = "",
    subtitle: str = "",
    poses: int = POSES,
    chosen: slice | None = None,
    theme: Theme = LIGHT,
) -> bytes:
    """PNG of a clip: poses from the side and from ahead, root path, contacts, height.

    Every pose is seen from the side and from ahead of its own heading.

    Args:
        actor: The moving body, with contacts if known.
        fps: Frames per second, [Hz].
        title: The sheet's name.
        subtitle: Facts under it.
        poses: Largest number of poses in a row.
        chosen: Frames to draw, shaded in the time line of the whole clip; all if None.
        theme: The colours.
    """
    figure = new_figure(_SIZE, background=theme.background)
    left = 0.045
    figure.text(
        left, 0.965, title, color=theme.text, fontsize=15, va="center",
        fontweight="bold", parse_math=False,
    )  # fmt: skip
    figure.text(
        left, 0.93, subtitle, color=theme.text, fontsize=10, va="center",
        parse_math=False,
    )  # fmt: skip
    part = actor if chosen is None else actor[chosen]
    start = 0 if chosen is None else chosen.start
    frames = _shown(part, poses)
    for k, (name, camera) in enumerate((("side", SIDE), ("front", FRONT))):
        ax = figure.add_axes((left, 0.65 - k * (_ROW + 0.01), _WIDTH, _ROW))
        _draw_row(ax, part, frames, camera, theme, name)
        if k == 1:
            _time_labels(ax, (start + frames) / fps, theme)
    path = figure.add_axes((left, 0.055, 0.29, 0.27))
    _draw_path(path, part, frames, theme)
    times = np.arange(len(actor)) / fps
    feet = figure.add_axes((0.44, 0.245, 0.5, 0.075))
    _draw_contacts(feet, actor, times, theme)
    height = figure.add_axes((0.44, 0.075, 0.5, 0.13))
    _draw_height(height, actor, times, fps, theme)
    if chosen is not None:
        for ax in (feet, height):
            ends = (start / fps, (start + len(part) - 1) / fps)
            ax.axvspan(*ends, color=theme.contact, alpha=0.15, lw=0, zorder=0)
    return png_of(figure)


def _draw_row(
    ax: Axes, actor: Actor, frames: Ints, camera: Camera, theme: Theme, name: str
) -> None:
    """Draw poses side by side on the ground, each relative to its own heading."""
    facing = headings(actor)[frames]
    low, high = _heights(actor, frames)
    aspect = _aspect(ax)
    pitch = max((high - low) * aspect / len(frames), _widest(actor, frames))
    span = pitch * len(frames) / aspect
    ax.set_xlim(-0.5 * pitch, (len(frames) - 0.5) * pitch)
    ax.set_ylim(low, low + span)
    _quiet(ax, theme)
    ax.set_xticks([])
    ax.set_yticks([])
    ax.axhline(actor.ground, color=theme.grid, lw=1.0, zorder=1.0)
    for k in range(0, len(frames), 2):
        ax.axvspan(
            (k - 0.5) * pitch, (k + 0.5) * pitch, color=theme.grid, alpha=0.07, lw=0
        )
    for k, frame in enumerate(frames):
        target = actor.root[frame] * [1.0, 1.0, 0.0]
        view = camera.turned(float(facing[k]))
        across = view.project(actor.drawn[frame], target)[0][:, 0]
        middle = 0.5 * float(across.min() + across.max())
        shift = (k * pitch - middle, 0.0)
        draw_actor(ax, actor, int(frame), view, target, theme, shift=shift)
    ax.set_ylabel(name, color=theme.text)


def _shown(actor: Actor, most: int) -> Ints:
    """Frames of the poses: fewer than `most` if the body spreads wide. Shape (N,)."""
    few = min(most, len(actor))
    frames = _spread(actor, few)
    low, high = _heights(actor, frames)
    width, height = _SIZE[0] * _WIDTH, _SIZE[1] * _ROW
    fit = int(width / height * (high - low) / _widest(actor, frames))
    return _spread(actor, min(few, max(fit, _FEWEST)))


def _spread(actor: Actor, count: int) -> Ints:
    return np.rint(np.linspace(0, len(actor) - 1, count)).astype(np.int64)


def _heights(actor: Actor, frames: Ints) -> tuple[float, float]:
    """The lowest and the highest point in a row, [m]."""
    heights = actor.drawn[frames][..., 2]
    low = min(float(heights.min()), actor.ground) - 0.08
    return low, float(heights.max()) + actor.head_radius + 0.05


def _widest(actor: Actor, frames: Ints) -> float:
    """The largest width of a pose from either side, plus a gap, [m]."""
    widths = [
        np.ptp(
            camera.turned(float(heading)).project(actor.drawn[frame], _ORIGIN)[0][:, 0]
        )
        for frame, heading in zip(frames, headings(actor)[frames], strict=True)
        for camera in (SIDE, FRONT)
    ]
    return float(max(widths)) + 0.1


def _aspect(ax: Axes) -> float:
    """Width over height of the axes on paper."""
    figure = ax.get_figure(root=True)
    assert figure is not None
    box, inches = ax.get_position(), figure.get_size_inches()
    return float(box.width * inches[0] / (box.height * inches[1]))


def _time_labels(ax: Axes, times: Floats, theme: Theme) -> None:
    """Draw the time of each pose under the row, [s]."""
    low, high = ax.get_xlim()
    pitch = (high - low) / len(times)
    digits = 1 if times[-1] - times[0] > 10.0 else 2
    ax.set_xticks(
        [low + (k + 0.5) * pitch for k in range(len(times))],
        [f"{time:.{digits}f} s" for time in times],
        color=theme.text, fontsize=9,
    )  # fmt: skip
    ax.tick_params(length=0)


def _draw_path(ax: Axes, actor: Actor, frames: Ints, theme: Theme) -> None:
    """Draw the path of the root from above, with the headings of the poses."""
    way = actor.root[:, :2]
    ax.plot(*way.T, color=theme.middle, lw=1.4, zorder=2)
    facing = headings(actor)[frames]
    low, high = way.min(axis=0), way.max(axis=0)
    reach = 0.5 * max(float((high - low).max()), 0.8) * 1.25
    arrows = 0.2 * reach * np.column_stack([np.cos(facing), np.sin(facing)])
    ax.quiver(
        *way[frames].T, *arrows.T, color=theme.contact, angles="xy", scale_units="xy",
        scale=1.0, width=0.006, headwidth=4, headlength=4, zorder=3,
    )  # fmt: skip
    ax.plot(*way[0], "o", ms=7, color=theme.left, label="start", zorder=4)
    ax.plot(*way[-1], "s", ms=7, color=theme.right, label="end", zorder=4)
    aspect = _aspect(ax)
    middle = 0.5 * (low + high)
    ax.set_xlim(middle[0] - reach * aspect, middle[0] + reach * aspect)
    ax.set_ylim(middle[1] - reach, middle[1] + reach)
    _quiet(ax, theme)
    ax.grid(color=theme.grid, alpha=0.25, lw=0.6)
    ax.set_title("root path from above [m]", color=theme.text, fontsize=10, loc="left")
    ax.legend(
        frameon=False, fontsize=8, labelcolor=theme.text, loc="lower right", ncols=2,
        bbox_to_anchor=(1.0, 0.985), borderaxespad=0.0,
    )  # fmt: skip


def _draw_contacts(ax: Axes, actor: Actor, times: Floats, theme: Theme) -> None:
    """Draw the contacts of each foot."""
    _quiet(ax, theme)
    ax.set_title("foot contacts", color=theme.text, fontsize=10, loc="left")
    ax.set_xlim(0.0, max(times[-1], 1e-3))
    ax.set_ylim(-0.5, 1.5)
    ax.set_yticks([1, 0], ["left", "right"], color=theme.text, fontsize=9)
    ax.tick_params(labelbottom=False, length=0)
    if actor.contacts is None:
        return
    step = times[1] - times[0] if len(times) > 1 else 0.01
    for foot, (row, colour) in enumerate(((1, theme.left), (0, theme.right))):
        stands = np.concatenate([[False], actor.contacts[:, foot], [False]])
        edges = np.flatnonzero(np.diff(stands.astype(np.int8)))
        starts, stops = edges[::2], edges[1::2]
        bars = [
            (float(start * step), float((stop - start) * step))
            for start, stop in zip(starts, stops, strict=True)
        ]
        ax.broken_barh(bars, (row - 0.3, 0.6), color=colour, lw=0)


def _draw_height(
    ax: Axes, actor: Actor, times: Floats, fps: float, theme: Theme
) -> None:
    """Draw height and horizontal speed of the root over time."""
    _quiet(ax, theme)
    ax.plot(times, actor.root[:, 2], color=theme.middle, lw=1.3)
    ax.set_ylabel("root height [m]", color=theme.middle, fontsize=9)
    ax.set_xlim(0.0, max(times[-1], 1e-3))
    ax.set_xlabel("time [s]", color=theme.text, fontsize=9, labelpad=1.0)
    ax.grid(color=theme.grid, alpha=0.25, lw=0.6)
    twin = ax.twinx()
    _quiet(twin, theme)
    if len(actor) > 1:
        steps = np.linalg.norm(np.diff(actor.root[:, :2], axis=0), axis=1) * fps
        steps = gaussian_filter1d(steps, _SPEED_SPREAD * fps, mode="nearest")
        twin.plot(times[1:], steps, color=theme.contact, lw=1.3)
        twin.set_ylim(0.0, max(1.15 * float(steps.max()), 0.5))
    twin.set_ylabel("root speed [m/s]", color=theme.contact, fontsize=9)


def _quiet(ax: Axes, theme: Theme) -> None:
    """Remove the frame; small figures in the theme's colours."""
    ax.set_facecolor(theme.background)
    for spine in ax.spines.values():
        spine.set_visible(False)
    ax.tick_params(colors=theme.text, labelsize=8, length=0)
