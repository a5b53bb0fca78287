"""Top-down maps of levels for matplotlib reports; paths are drawn on top of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ambulo.configs.arrays import Bools
from ambulo.envs.vr.contract import BODY_HEIGHT, BODY_RADIUS
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.levels.scene_level import SceneLevel
from ambulo.envs.vr.levels.solids import are_walls
from ambulo.viz.map_heights import SCALE_ROOM, box_corners, draw_heights
from ambulo.viz.map_moving import draw_moving

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FLOOR, HOLE, WALL, BOX, CYLINDER = "#e9ebee", "#2b2f36", "#7d8590", "#c9784a", "#3f7d9e"
MUTED = "#c3c9d1"
"""Colour of furniture below heat maps."""
START, GOAL = "#2f62c9", "#2fa84f"
OVERHEAD_MARK: dict[str, Any] = {
    "marker": "s", "ms": 10, "mfc": "none", "mec": BOX, "ls": "", "mew": 1.0,
    "fillstyle": "none",
}  # fmt: skip
"""Legend entry of overhanging shapes in flat levels, as settings of a `Line2D`."""


def has_overhead(level: Level) -> bool:
    """Whether its map has dashed outlines of overhanging shapes."""
    hanging = [overhead.any() for overhead in _overhead(level)]
    return not level.heights and any(hanging)


def _overhead(level: Level) -> tuple[Bools, Bools]:
    """Masks of the boxes and cylinders that hang over a body on the ground."""
    boxes: Bools = level.boxes[:, 2] - level.boxes[:, 5] >= BODY_HEIGHT
    cylinders: Bools = level.cylinders[:, 4] >= BODY_HEIGHT
    return boxes, cylinders


def draw_level_map(
    ax: Axes,
    level: Level,
    goal_radius: float = 0.5,
    *,
    muted: bool = False,
    moving: bool = True,
) -> None:
    """Draw floor, holes, obstacles, movers, designed start and goal on axes in metres.

    Shapes are below z-order 3, so that later drawings are visible. Overhanging shapes are
    dashed outlines; shapes of levels with heights have shades (`map_heights`). `muted`
    obstacles other than walls are grey. Without `moving`, movers are left to the caller.
    """
    from matplotlib.patches import Circle, Rectangle

    x0, y0, x1, y1 = level.bounds
    if level.ground:
        floor = Rectangle((x0, y0), x1 - x0, y1 - y0, color=FLOOR, lw=0, zorder=0)
        ax.add_patch(floor)
    for a, b, c, d in level.holes:
        ax.add_patch(Rectangle((a, b), c - a, d - b, color=HOLE, lw=0, zorder=1))
    if isinstance(level, SceneLevel):
        _draw_cells(ax, level)
    elif level.heights:
        draw_heights(ax, level, muted=muted)
    else:
        _draw_obstacles(ax, level, muted=muted)
    if moving:
        draw_moving(ax, level)
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
    room = SCALE_ROOM * max(x1 - x0, y1 - y0) if level.heights else margin
    ax.set_ylim(y0 - margin, y1 + room)
    ax.set_aspect("equal")
    ax.set_xlabel("x [m]")
    ax.set_ylabel("y [m]")


def _draw_cells(ax: Axes, level: SceneLevel) -> None:
    """Draw the unwalkable area of a scene whose shapes are only in the engine."""
    grid = level.cells()
    blocked = ~grid.free.any(axis=0)
    shade = np.zeros((*blocked.shape, 4))
    shade[blocked] = (*(int(WALL[k : k + 2], 16) / 255.0 for k in (1, 3, 5)), 1.0)
    extent = (
        grid.x0,
        grid.x0 + grid.nx * grid.resolution,
        grid.y0,
        grid.y0 + grid.ny * grid.resolution,
    )
    ax.imshow(shade, origin="lower", extent=extent, interpolation="nearest", zorder=1)


def _draw_obstacles(ax: Axes, level: Level, *, muted: bool) -> None:
    """Boxes and cylinders of a flat level."""
    from matplotlib.patches import Circle, Polygon

    colours = np.where(are_walls(level.boxes), WALL, MUTED if muted else BOX)
    boxes, cylinders = _overhead(level)
    for row, colour, over in zip(level.boxes, colours, boxes, strict=True):
        ax.add_patch(Polygon(box_corners(row), closed=True, **_look(str(colour), over)))
    colour = MUTED if muted else CYLINDER
    for row, over in zip(level.cylinders, cylinders, strict=True):
        ax.add_patch(Circle((row[0], row[1]), row[2], **_look(colour, over)))


def _look(colour: str, overhead: bool) -> dict[str, Any]:
    """Style of an obstacle: filled, or a dashed outline."""
    if overhead:
        return {"fill": False, "ec": colour, "ls": "--", "lw": 1.2, "zorder": 2.1}
    return {"color": colour, "lw": 0, "zorder": 2}
