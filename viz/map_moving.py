"""What moves in a level, on its map: things where they come by, and ways of people."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ambulo.configs.arrays import Bools, Floats
from ambulo.envs.vr.levels.level import Level
from ambulo.viz.map_heights import box_corners

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOVING = "#00838f"
"""Colour of what moves."""
_MOST_PLACES = 24


def draw_moving(
    ax: Axes, level: Level, shown: Callable[[Floats], Bools], zorder: float = 2.3
) -> None:
    """Draw dashed outlines of things at their keyframes, and dotted ways of people.

    Args:
        ax: axes in metres.
        level: its movers and walkers are drawn.
        shown: which of some heights (n,) [m] the map shows.
        zorder: of all lines.
    """
    from matplotlib.collections import PolyCollection

    outlines = []
    for mover in level.movers:
        keys = mover.path[: _MOST_PLACES + 1]
        bottom = keys[:, 3] - mover.half_size[2]
        for key in keys[shown(bottom) | shown(bottom + 2.0 * mover.half_size[2])]:
            row = np.array([*key[1:4], *mover.half_size, key[4]])
            outlines.append(box_corners(row))
    if outlines:
        ax.add_collection(
            PolyCollection(
                outlines, facecolors="none", edgecolors=MOVING, linewidths=0.7,
                linestyles="--", zorder=zorder,
            ),
            autolim=False,
        )  # fmt: skip
    walkers = level.people.walkers if level.people is not None else ()
    for walker in walkers:
        x, y = np.where(
            shown(walker.path[:, 3])[:, None], walker.path[:, 1:3], np.nan
        ).T
        ax.plot(x, y, color=MOVING, lw=1.2, ls=":", zorder=zorder)
