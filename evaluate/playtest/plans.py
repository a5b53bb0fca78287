"""Pictures of a play-test, drawn over the plans of the level, one for each storey."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ambulo.common.figures import new_figure, png_of
from ambulo.configs.arrays import Bools, Floats
from ambulo.envs.vr.survey.storey_plan import storey_level
from ambulo.evaluate.playtest.heatmaps import HeatMap
from ambulo.evaluate.playtest.problems import STUCK_SHARE, serious_spots
from ambulo.evaluate.playtest.result import Playtest
from ambulo.viz.map_moving import draw_moving, moving_handles
from ambulo.viz.map_plot import HOLE, MUTED, WALL, draw_level_map
from ambulo.viz.plots import clean

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SEALED, TIGHT, QUIET, STUCK = "#d32f2f", "#f39c12", "#8d99a6", "#8e24aa"
"""Colours of sealed areas, tight passages, gaps and outsides, and stuck spots."""
SOME = "#00796b"
"""Colour of parts that some bodies alone cannot reach."""
REACHED, FAILED = "#2f7fc9", "#d32f2f"
"""Colours of paths."""
UNCOVERED = "#7cc4ea"
"""Colour of reachable floor that no path came near to."""
_KINDS = {
    "sealed": SEALED, "tight": TIGHT, "ride": TIGHT, "gap": QUIET, "top": QUIET,
    "outside": QUIET,
}  # fmt: skip
_WORDS = {
    "sealed": "sealed area",
    "tight": "behind a tight passage",
    "ride": "reached on a platform only",
    "gap": "gap between things",
    "top": "top of something",
    "outside": "outside of the walls",
}
_SHOWN = ("presence", "stuck", "collisions", "discomfort", "people_collisions", "falls")
_COLOURS = {
    "presence": "YlGnBu", "stuck": "RdPu", "collisions": "OrRd", "discomfort": "YlOrBr",
    "people_collisions": "OrRd", "falls": "OrRd",
}  # fmt: skip
_LEAST_SCALE = 0.05
"""Least end of a scale of colours."""
_SCALE_PAD = 7.0
"""Room between two maps for the scale of colours, in font sizes."""
_WIDTH = 10.2
_MAX_PATHS = 300


def draw_problems(test: Playtest, storey: int = 0) -> bytes:
    """PNG of a plan with sealed areas, tight passages and stuck spots, and a legend."""
    figure, ax, aside = _plan_figure(test, storey)
    handles: dict[str, Any] = {}
    floor = test.floor
    missed = floor.storeys[storey].reachable & ~test.covered[storey]
    _fill(ax, test, storey, missed)
    if missed.any():
        handles["no path within 0.5 m"] = _patch(UNCOVERED)
    for area in floor.areas:
        if _storey_of(test, area.position) != storey:
            continue
        colour = _KINDS[area.kind]
        _mark(ax, area.position, area.name, colour)
        handles[_WORDS[area.kind]] = _patch(colour)
        if area.kind in ("sealed", "tight") and area.opening_position is not None:
            x, y = area.opening_position[:2]
            ax.plot(x, y, "D", ms=9, mfc="white", mec=colour, mew=2, zorder=6)
            handles["widest way in, too narrow"] = _line(
                marker="D", ms=8, mfc="white", mec=SEALED, mew=2, ls=""
            )
    known = {area.name for area in floor.areas}
    for part in {p.name: p for access in floor.access for p in access.parts}.values():
        if part.name not in known and _storey_of(test, part.position) == storey:
            _mark(ax, part.position, part.name, SOME)
            handles["out of reach of some bodies"] = _patch(SOME)
    counted = serious_spots(test)
    for spot in test.spots:
        if _storey_of(test, spot.position) != storey:
            continue
        serious = spot in counted
        _circle(ax, spot.position, spot.radius, STUCK if serious else QUIET)
        _mark(ax, spot.position, spot.name, STUCK if serious else QUIET)
        word = (
            "stuck spot"
            if serious
            else f"stuck spot, under {100 * STUCK_SHARE:.0f} %, or a wait"
        )
        handles[word] = _line(
            marker="o", ms=11, mfc="none", mec=STUCK if serious else QUIET, mew=2, ls=""
        )
    shown = storey_level(floor, storey)
    if shown.start is not None:
        handles["start of the level"] = _line(marker="o", ms=8, color="#2f62c9", ls="")
    if shown.goal is not None:
        handles["goal of the level"] = _line(marker="o", ms=8, color="#2fa84f", ls="")
    _legend(aside, test, storey, handles)
    return png_of(figure)


def draw_paths(test: Playtest, storey: int = 0) -> bytes:
    """PNG of a plan with the ways that agents took."""
    figure, ax, aside = _plan_figure(test, storey)
    shown = list(enumerate(test.records))[:_MAX_PATHS]
    alpha = float(np.clip(40.0 / len(shown), 0.2, 0.7))
    for _, record in sorted(shown, key=lambda item: item[1].success):
        here = test.floor.storey_at(record.trace.position[:, 2]) == storey
        x, y = np.where(here[:, None], record.trace.position[:, :2], np.nan).T
        colour = REACHED if record.success else FAILED
        ax.plot(x, y, color=colour, lw=1.0, alpha=alpha, zorder=4)
        if not record.success and here[-1]:
            ax.plot(x[-1], y[-1], "X", color=FAILED, ms=8, mec="white", zorder=6)
    handles = {"reached the goal": _line(color=REACHED, lw=2)}
    if not all(record.success for _, record in shown):
        handles["did not"] = _line(color=FAILED, lw=2)
        handles["where it ended"] = _line(marker="X", ms=9, color=FAILED, ls="")
    _legend(aside, test, storey, handles)
    return png_of(figure)


def draw_heat_maps(test: Playtest, storey: int = 0) -> bytes:
    """PNG of the heat maps on a plan, two in a row."""
    maps = {heat_map.name: heat_map for heat_map in test.maps}
    shown = [maps[name] for name in _SHOWN if name in maps]
    rows = -(-len(shown) // 2)
    _, height = _size(test, _WIDTH / 2 - 1.4)
    figure = new_figure((_WIDTH, rows * (height + 0.85)))
    for k, heat_map in enumerate(shown):
        ax = figure.add_subplot(rows, 2, k + 1)
        _draw_plan(ax, test, storey)
        _draw_map(ax, heat_map, storey)
    figure.tight_layout(w_pad=_SCALE_PAD, rect=(0.02, 0.0, 0.93, 1.0))
    return png_of(figure)


def draw_times(test: Playtest) -> bytes:
    """PNG: time of each journey against its shortest way."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    figure = new_figure((_WIDTH, 3.9))
    ax = figure.add_subplot(1, 1, 1)
    optimal = np.array([r.optimal for r in test.records])
    time = np.array([r.time for r in test.records])
    success = np.array([r.success for r in test.records])
    ax.plot(
        optimal[success], time[success], "o", ms=5, color=REACHED, alpha=0.6, mew=0,
        label="reached the goal",
    )  # fmt: skip
    if not success.all():
        ax.plot(
            optimal[~success], time[~success], "X", ms=8, color=FAILED, mec="white",
            label="did not reach it: time when it ended",
        )  # fmt: skip
    end, speed = float(optimal.max(initial=1.0)), test.spec.max_speed
    least = max(float(optimal.min(initial=end)), 0.5)
    ax.plot(
        [least, end], [least / speed, end / speed], color="#14213d", lw=1.5,
        label=f"shortest way at {speed:g} m/s",
    )  # fmt: skip
    ax.set_xscale("log")
    ax.set_yscale("log")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_formatter(NullFormatter())
    ax.set_xlabel("shortest way [m]")
    ax.set_ylabel("time [s]")
    clean(ax)
    ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=9)
    figure.tight_layout()
    return png_of(figure)


def _plan_figure(test: Playtest, storey: int) -> tuple[Any, Axes, Axes]:
    """A figure with a plan at the left and room for a legend at the right."""
    width, height = _size(test, 6.9)
    figure = new_figure((_WIDTH, max(height + 0.6, 2.6)))
    total = figure.get_figheight()
    ax = figure.add_axes((0.065, 0.5 / total, width / _WIDTH, height / total))
    aside = figure.add_axes(
        (0.065 + width / _WIDTH + 0.015, 0.5 / total, 0.2, height / total)
    )
    aside.set_axis_off()
    _draw_plan(ax, test, storey)
    return figure, ax, aside


def _size(test: Playtest, width: float) -> tuple[float, float]:
    """Width and height of a plan that fits into `width` and a sane height, [inches]."""
    x0, y0, x1, y1 = test.level.bounds
    ratio = float((y1 - y0) / (x1 - x0))
    height = float(np.clip(width * ratio, 1.2, 9.0))
    return min(width, height / ratio), height


def _storey_of(test: Playtest, position: Floats) -> int:
    return int(test.floor.storey_at(position[None, 2])[0])


def _draw_plan(ax: Axes, test: Playtest, storey: int) -> None:
    """Draw the static parts of a storey in muted colours, and its movers."""
    draw_level_map(ax, storey_level(test.floor, storey), muted=True, moving=False)
    level, floor = test.level, test.floor
    draw_moving(ax, level, lambda z: floor.storey_at(z) == storey)
    ax.tick_params(labelsize=8, length=3)
    ax.xaxis.label.set_fontsize(9)
    ax.yaxis.label.set_fontsize(9)


def _draw_map(ax: Axes, heat_map: HeatMap, storey: int) -> None:
    """A storey of a heat map, with the scale of all storeys."""
    values = heat_map.values[storey]
    ny, nx = values.shape
    known = heat_map.values[np.isfinite(heat_map.values)]
    ax.set_title(heat_map.title, fontsize=11, fontweight="bold", loc="left")
    if not np.isfinite(values).any():
        ax.text(
            0.5, 0.5, "none", transform=ax.transAxes, ha="center", fontsize=12,
            zorder=9, bbox={"fc": "white", "ec": "none", "alpha": 0.8},
        )  # fmt: skip
        return
    grid = heat_map.grid
    x1, y1 = grid.x0 + nx * grid.cell, grid.y0 + ny * grid.cell
    low, high = 0.0, float(np.percentile(known, 98))
    if heat_map.unit in ("collisions", "falls"):
        high = max(float(known.max()), 1.0)
    image = ax.imshow(
        values, origin="lower", extent=(grid.x0, x1, grid.y0, y1),
        cmap=_COLOURS[heat_map.name], vmin=low, vmax=max(high, _LEAST_SCALE), zorder=1.5,
        interpolation="nearest", aspect="equal",
    )  # fmt: skip
    bar = ax.figure.colorbar(
        image, cax=ax.inset_axes((1.02, 0, 0.035, 1)), extend="max"
    )
    label = f"{heat_map.unit} per cell of {grid.cell:.2f} m"
    bar.set_label("1 - comfort score" if heat_map.unit == "1" else label, fontsize=8)
    bar.ax.tick_params(labelsize=8)


def _fill(ax: Axes, test: Playtest, storey: int, missed: Bools) -> None:
    """Colour the cells of `missed` (ny, nx) and of unreachable parts, above the floor."""
    from matplotlib.colors import to_rgba

    floor, owner = test.floor, test.floor.storeys[storey].owner
    image = np.zeros((*owner.shape, 4), np.uint8)
    image[missed] = np.round(255.0 * np.array(to_rgba(UNCOVERED, 0.9)))
    for area in floor.areas:
        colour = to_rgba(_KINDS[area.kind], 0.55)
        image[owner == area.label] = np.round(255.0 * np.array(colour))
    x1 = floor.x0 + owner.shape[1] * floor.resolution
    y1 = floor.y0 + owner.shape[0] * floor.resolution
    ax.imshow(
        image, origin="lower", extent=(floor.x0, x1, floor.y0, y1), zorder=1.5,
        interpolation="nearest", aspect="equal",
    )  # fmt: skip


def _mark(ax: Axes, position: Any, text: str, colour: str) -> None:
    """A letter or number in a disc."""
    ax.text(
        position[0], position[1], text, color="white", fontsize=10, fontweight="bold",
        ha="center", va="center", zorder=8,
        bbox={"boxstyle": "circle,pad=0.25", "fc": colour, "ec": "white", "lw": 1.2},
    )  # fmt: skip


def _circle(ax: Axes, position: Any, radius: float, colour: str) -> None:
    from matplotlib.patches import Circle

    ax.add_patch(
        Circle(tuple(position[:2]), radius, fill=False, ec=colour, lw=2, zorder=7)
    )


def _patch(colour: str) -> Any:
    from matplotlib.patches import Patch

    return Patch(color=colour, alpha=0.7, lw=0)


def _line(**style: Any) -> Any:
    from matplotlib.lines import Line2D

    return Line2D([], [], **style)


def _legend(ax: Axes, test: Playtest, storey: int, handles: dict[str, Any]) -> None:
    """A legend at the upper left of empty axes."""
    from matplotlib.patches import Patch

    level = storey_level(test.floor, storey)
    every = dict(handles)
    every |= {handle.get_label(): handle for handle in moving_handles([level])}
    if not level.heights and (len(level.boxes) or len(level.cylinders)):
        every["wall"], every["furniture"] = Patch(color=WALL), Patch(color=MUTED)
    if len(level.holes):
        every["hole"] = Patch(color=HOLE)
    ax.legend(
        list(every.values()), list(every), loc="upper left", frameon=False, fontsize=9,
        borderaxespad=0.0, labelspacing=0.7,
    )  # fmt: skip
