"""Top-down maps of levels for matplotlib reports; paths are drawn on top of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ambulo.envs.vr.contract import BODY_RADIUS
from ambulo.envs.vr.levels.level import Level

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FLOOR, HOLE, WALL, BOX, CYLINDER = "#e9ebee", "#2b2f36", "#7d8590", "#c9784a", "#3f7d9e"
MUTED = "#c3c9d1"
"""Colour of all furniture below heat maps."""
START, GOAL = "#2f62c9", "#2fa84f"


def draw_level_map(
    ax: Axes, level: Level, goal_radius: float = 0.5, *, muted: bool = False
) -> None:
    """Draw floor, holes, obstacles, designed start and goal on axes in metres.

    Shapes lie below z-order 3, so that what is drawn afterwards is seen. `muted` obstacles
    other than walls are grey.
    """
    from matplotlib.patches import Circle, Polygon, Rectangle

    x0, y0, x1, y1 = level.bounds
    ax.add_patch(Rectangle((x0, y0), x1 - x0, y1 - y0, color=FLOOR, lw=0, zorder=0))
    for a, b, c, d in level.holes:
        ax.add_patch(Rectangle((a, b), c - a, d - b, color=HOLE, lw=0, zorder=1))
    for x, y, _, a, b, _, yaw in level.boxes:
        corners = np.array([[a, b], [-a, b], [-a, -b], [a, -b]])
        cos, sin = np.cos(yaw), np.sin(yaw)
        corners = corners @ np.array([[cos, sin], [-sin, cos]]) + (x, y)
        colour = WALL if max(a, b) > 8 * min(a, b) else MUTED if muted else BOX
        ax.add_patch(Polygon(corners, closed=True, color=colour, lw=0, zorder=2))
    for x, y, radius, *_ in level.cylinders:
        colour = MUTED if muted else CYLINDER
        ax.add_patch(Circle((x, y), radius, color=colour, lw=0, zorder=2))
    if level.start is not None:
        x, y, yaw = level.start
        ax.add_patch(Circle((x, y), BODY_RADIUS, color=START, lw=0, zorder=2.5))
        ax.plot(
            [x, x + 2 * BODY_RADIUS * np.cos(yaw)],
            [y, y + 2 * BODY_RADIUS * np.sin(yaw)],
            color=START,
            lw=1.5,
            zorder=2.5,
        )
    if level.goal is not None:
        ax.add_patch(
            Circle(
                tuple(level.goal), goal_radius, color=GOAL, lw=0, alpha=0.7, zorder=2.5
            )
        )
    margin = 0.03 * max(x1 - x0, y1 - y0)
    ax.set_xlim(x0 - margin, x1 + margin)
    ax.set_ylim(y0 - margin, y1 + margin)
    ax.set_aspect("equal")
    ax.set_xlabel("x [m]")
    ax.set_ylabel("y [m]")
