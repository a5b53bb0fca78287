"""Movers on a level's map: their initial poses, their swept area, and paths of people."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from ambulo.configs.arrays import Bools, Floats
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.world.mover_kernels import place_things
from ambulo.envs.vr.world.moving import PackedThings
from ambulo.viz.map_heights import box_corners

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOVING = "#00838f"
"""Colour of movers."""
_FILL = 0.55
"""Opacity of movers at their initial poses."""
_MOST_PLACES = 24


def draw_moving(
    ax: Axes,
    level: Level,
    shown: Callable[[Floats], Bools] = np.isfinite,
    zorder: float = 2.3,
) -> None:
    """Draw movers at their initial poses, dashed along their paths, and dotted paths of people.

    Lifts have a cross; goals of the crowd are crosses without a box. A random phase counts as
    0.

    Args:
        ax: Axes in metres.
        level: Level with movers and people.
        shown: Mask of the heights (n,) [m] that the map shows; by default all.
        zorder: Z-order of all lines.
    """
    from matplotlib.collections import PolyCollection

    begins, outlines = [], []
    for mover, begin in zip(level.movers, _begins(level), strict=True):
        x, y, a, b, cos, sin, bottom, top = begin[:8]
        corners = box_corners(np.array([x, y, 0, a, b, 0, np.arctan2(sin, cos)]))
        if shown(np.array([bottom, top])).any():
            begins.append(corners)
        keys = mover.path[: _MOST_PLACES + 1]
        low = keys[:, 3] - mover.half_size[2]
        kept = keys[shown(low) | shown(low + 2.0 * mover.half_size[2])]
        for key in kept:
            row = np.array([*key[1:4], *mover.half_size, key[4]])
            outlines.append(box_corners(row))
        if mover.kind == "lift" and len(kept):
            for ends in (corners[::2], corners[1::2]):
                ax.plot(*ends.T, color=MOVING, lw=1.0, zorder=zorder)
    for shapes, style in (
        (begins, {"facecolors": MOVING, "alpha": _FILL}),
        (outlines, {"facecolors": "none", "linestyles": "--"}),
    ):
        if shapes:
            drawn = PolyCollection(
                shapes, edgecolors=MOVING, linewidths=0.5, zorder=zorder, **style
            )
            ax.add_collection(drawn, autolim=False)
    if level.people is None:
        return
    for walker in level.people.walkers:
        x, y = np.where(
            shown(walker.path[:, 3])[:, None], walker.path[:, 1:3], np.nan
        ).T
        ax.plot(x, y, color=MOVING, lw=1.2, ls=":", zorder=zorder)
    goals = level.people.goals
    if level.people.count and len(goals):
        x, y = goals[shown(goals[:, 2]), :2].T
        ax.plot(x, y, "x", color=MOVING, ms=6, zorder=zorder)


def moving_handles(levels: Iterable[Level]) -> list[Any]:
    """Legend entries of the movers of `levels`, as matplotlib lines."""
    from matplotlib.lines import Line2D

    levels = list(levels)
    peoples = [level.people for level in levels if level.people is not None]
    square = {"marker": "s", "ms": 9, "mec": MOVING, "ls": "--", "color": MOVING}
    styles: list[tuple[bool, str, dict[str, Any]]] = [
        (
            any(level.movers for level in levels),
            "moving obstacle, and its path",
            {**square, "mfc": (*_rgb(), _FILL), "lw": 1.0},
        ),
        (
            any(m.kind == "lift" for level in levels for m in level.movers),
            "lift",
            {**square, "marker": "$⊠$", "ls": "", "mew": 0.2},
        ),
        (
            any(people.walkers for people in peoples),
            "path of a person",
            {"color": MOVING, "lw": 1.2, "ls": ":"},
        ),
        (
            any(people.count and len(people.goals) for people in peoples),
            "goals of a crowd",
            {"color": MOVING, "marker": "x", "ms": 6, "ls": ""},
        ),
        (
            any(people.count and not len(people.goals) for people in peoples),
            "a crowd, all over the floor",
            {"ls": ""},
        ),
    ]
    return [Line2D([], [], label=label, **style) for has, label, style in styles if has]


def _rgb() -> tuple[float, ...]:
    return tuple(int(MOVING[k : k + 2], 16) / 255.0 for k in (1, 3, 5))


def _begins(level: Level) -> Floats:
    """Poses of movers at the start of an episode, rows of `solid_kernels`, (M, 9)."""
    packed = PackedThings()
    packed.set([0], [level])
    _, things, keys = packed.arrays()
    rows = np.zeros((len(level.movers), 9))
    phases = np.array([mover.phase or 0.0 for mover in level.movers])
    place_things(things, 0, len(rows), keys, phases, 0.0, rows)
    return rows
