"""Maps of levels with heights: shapes coloured by the height of their top.

Higher shapes are drawn above, in layers of height; terrains are below everything else, and in
muted maps shapes without floor are above everything else.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Bools, Floats
from ambulo.envs.vr.contract import BODY_HEIGHT, CLIMB_HEIGHT
from ambulo.envs.vr.geometry.contact_kernels import standing
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.levels.solids import Solids, are_slabs
from ambulo.envs.vr.levels.surfaces import HeightField, stair_boxes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap, Normalize

EDGE = "#5a4636"
"""Colour of outlines, treads and arrows."""
SCALE_ROOM = 0.1
"""Space above a map for its scale of heights, in sides of the level."""
_SHADES = ("#f6ead6", "#e0ab6b", "#8c4a26")
_QUIET = ("#e4e7ea", "#a9b0b9")
"""Shades below heat maps."""
_OVERHEAD = 0.7
"""Opacity of shapes that hang over the ground."""
_STRIPS = 16
"""Number of strips of a ramp, each of one shade."""
_CORNERS = 32
"""Number of corners of a cylinder's circle."""
_LEAST_AREA = 1e-9
"""Area from above below which triangles are not drawn, [m^2]."""
_CONTOURS = 8
"""Number of contour lines of a terrain."""
_LAYERS = 64
"""Number of height ranges whose meshes, then other shapes, are drawn one above the other."""


@dataclass(frozen=True)
class _Piece:
    """A polygon of one shade."""

    corners: Floats
    """Corners, shape (n, 2), [m]."""
    top: float
    """Height, [m]."""
    bottom: float = 0.0
    """Height of its underside, [m]."""
    edge: bool = True
    """Whether it has an outline."""
    floor: bool = True
    """Whether bodies can walk on it."""


def draw_heights(ax: Axes, level: Level, *, muted: bool) -> None:
    """Draw the shapes of `level` and a scale of heights above the map.

    Heat maps (z-order 1.5) are drawn above floors, ramps, stairs and meshes where `muted`.
    """
    from matplotlib.colors import LinearSegmentedColormap, Normalize

    pieces = sorted(_pieces(level), key=lambda piece: piece.top)
    tops = [piece.top for piece in pieces]
    surfaces = [f.heights + f.origin[2] for f in level.heightfields]
    surfaces += [mesh.corners()[:, :, 2] for mesh in level.meshes]
    tops += [float(z) for s in surfaces if s.size for z in (s.min(), s.max())]
    scale = Normalize(min([0.0, *tops]), max([1.0, *tops]))
    shades = LinearSegmentedColormap.from_list("heights", _QUIET if muted else _SHADES)
    for field in level.heightfields:
        _draw_terrain(ax, field, shades, scale)
    triangles = _seen_triangles(level)
    layer_of_triangle = _layer(scale, triangles[:, :, 2].max(axis=1))
    low = [piece for piece in pieces if piece.floor or not muted]
    layer_of_piece = _layer(scale, np.array([piece.top for piece in low]))
    step = ((1.4 if muted else 2.1) - 1.2) / _LAYERS
    for layer in range(_LAYERS):
        zorder = 1.2 + layer * step
        _draw_triangles(
            ax, triangles[layer_of_triangle == layer], shades, scale, zorder
        )
        here = [low[k] for k in np.flatnonzero(layer_of_piece == layer)]
        _draw_pieces(ax, here, shades, scale, zorder + step / 2)
    high = [piece for piece in pieces if muted and not piece.floor]
    _draw_pieces(ax, high, shades, scale, 2.0)
    for row in (*level.ramps, *level.stairs):
        _draw_arrow(ax, row, zorder=1.4 if muted else 2.2)
    _draw_scale(ax, level, shades, scale)


def are_covered(level: Level, positions: Floats) -> Bools:
    """Mask of the `positions` (n, 3) below a shape of `level`, shape (n,)."""
    solids = Solids.of(level)
    highest = positions.copy()
    highest[:, 2] = solids.floor_heights()[1]
    tops, _ = standing(solids.arrays(), highest)
    return np.asarray(tops > positions[:, 2] + CLIMB_HEIGHT)


def _draw_terrain(
    ax: Axes, field: HeightField, shades: Colormap, scale: Normalize
) -> None:
    """Draw a terrain with contour lines."""
    rows, columns = field.heights.shape
    x = field.origin[0] + field.cell * np.arange(columns)
    y = field.origin[1] + field.cell * np.arange(rows)
    z = field.heights + field.origin[2]
    ax.pcolormesh(
        x, y, z, shading="gouraud", cmap=shades, norm=scale, zorder=1.1, rasterized=True
    )
    if np.ptp(z) > 0:
        ax.contour(
            x, y, z, _CONTOURS, colors=EDGE, linewidths=0.4, alpha=0.6, zorder=1.15
        )


def _layer(scale: Normalize, heights: Floats) -> NDArray[np.intp]:
    """Return the layer, 0 to _LAYERS - 1, of each of `heights` (N,), [m]."""
    shares = np.asarray(scale(heights), dtype=np.float64)
    return np.clip((shares * _LAYERS).astype(np.intp), 0, _LAYERS - 1)


def _seen_triangles(level: Level) -> Floats:
    """Return triangles of meshes visible from above, highest last, (N, 3, 3), [m]."""
    if not level.meshes:
        return np.zeros((0, 3, 3))
    corners = np.concatenate([mesh.corners() for mesh in level.meshes])
    one, other = (corners[:, k, :2] - corners[:, 0, :2] for k in (1, 2))
    area = np.abs(one[:, 0] * other[:, 1] - one[:, 1] * other[:, 0])
    corners = corners[area > _LEAST_AREA]
    return corners[np.argsort(corners[:, :, 2].max(axis=1), kind="stable")]


def _draw_triangles(
    ax: Axes, corners: Floats, shades: Colormap, scale: Normalize, zorder: float
) -> None:
    """Draw triangles (N, 3, 3), [m], in their order."""
    from matplotlib.tri import Triangulation

    if len(corners) == 0:
        return
    x, y, z = corners.reshape(-1, 3).T
    triangles = Triangulation(x, y, np.arange(len(x)).reshape(-1, 3))
    ax.tripcolor(
        triangles, z, shading="gouraud", cmap=shades, norm=scale, zorder=zorder,
        rasterized=True,
    )  # fmt: skip


def _pieces(level: Level) -> Iterator[_Piece]:
    """All shapes except terrains and meshes."""
    for row, slab in zip(level.boxes, are_slabs(level.boxes), strict=True):
        low = row[2] + row[5] <= CLIMB_HEIGHT  # a thick box below the ground level
        yield _box_piece(row, floor=bool(slab or low))
    for row in stair_boxes(level.stairs):
        yield _box_piece(row, floor=True)
    angle = np.linspace(0.0, 2 * np.pi, _CORNERS, endpoint=False)
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    for x, y, radius, tall, base in level.cylinders:
        yield _Piece((x, y) + radius * circle, base + tall, base, floor=False)
    for row in level.ramps:
        yield from _ramp_pieces(row)


def _box_piece(row: Floats, *, floor: bool) -> _Piece:
    return _Piece(box_corners(row), row[2] + row[5], row[2] - row[5], floor=floor)


def box_corners(row: Floats) -> Floats:
    """Corners of the base of a box (7,), shape (4, 2), [m]."""
    x, y, _, a, b, _, yaw = row
    corners = np.array([[a, b], [-a, b], [-a, -b], [a, -b]])
    cos, sin = np.cos(yaw), np.sin(yaw)
    turned: Floats = corners @ np.array([[cos, sin], [-sin, cos]]) + (x, y)
    return turned


def _ramp_pieces(row: Floats) -> Iterator[_Piece]:
    """A ramp (8,) as strips, with an outline around all."""
    low, high, width = row[:3], row[3:6], row[6]
    along = high[:2] - low[:2]
    side = np.array([-along[1], along[0]]) / np.hypot(*along) * (width / 2)
    ends = low[:2] + np.linspace(0.0, 1.0, _STRIPS + 1)[:, None] * along
    for k in range(_STRIPS):
        here, there = ends[k], ends[k + 1]
        corners = np.array([here - side, there - side, there + side, here + side])
        top = low[2] + (high[2] - low[2]) * (k + 0.5) / _STRIPS
        yield _Piece(corners, float(top), edge=False)


def _draw_pieces(
    ax: Axes, pieces: list[_Piece], shades: Colormap, scale: Normalize, zorder: float
) -> None:
    """Draw `pieces` in their order; overhanging ones with dashed outlines."""
    from matplotlib.collections import PolyCollection

    if not pieces:
        return
    colours = np.array(shades(scale([piece.top for piece in pieces])))
    overhead = np.array([piece.bottom >= BODY_HEIGHT for piece in pieces])
    colours[overhead, 3] = _OVERHEAD
    styles: list[Any] = ["--" if over else "-" for over in overhead]
    ax.add_collection(
        PolyCollection(
            [piece.corners for piece in pieces],
            facecolors=colours,
            edgecolors=[
                EDGE if p.edge else c for p, c in zip(pieces, colours, strict=True)
            ],
            linewidths=[0.6 if piece.edge else 0.3 for piece in pieces],
            linestyles=styles,
            zorder=zorder,
        ),
        autolim=False,
    )


def _draw_arrow(ax: Axes, row: Floats, zorder: float) -> None:
    """An arrow up a ramp or stairs."""
    low, high = row[:2], row[3:5]
    begin, end = low + 0.15 * (high - low), low + 0.85 * (high - low)
    ax.annotate(
        "", tuple(end), tuple(begin), zorder=zorder,
        arrowprops={"arrowstyle": "-|>", "color": EDGE, "lw": 1.2, "shrinkA": 0, "shrinkB": 0},
    )  # fmt: skip


def _draw_scale(ax: Axes, level: Level, shades: Colormap, scale: Normalize) -> None:
    """Draw a colour bar with heights above the upper left corner of the floor."""
    x0, y0, x1, y1 = level.bounds
    side = max(x1 - x0, y1 - y0)
    y, x = y1 + 0.45 * SCALE_ROOM * side, x0 + 0.35 * (x1 - x0)
    assert scale.vmin is not None
    assert scale.vmax is not None
    ax.imshow(
        np.linspace(scale.vmin, scale.vmax, 64)[None], cmap=shades, norm=scale,
        extent=(x0, x, y, y + 0.25 * SCALE_ROOM * side), aspect="equal", zorder=2,
    )  # fmt: skip
    for at, height in ((x0, scale.vmin), (x, scale.vmax)):
        ax.text(at, y, f"{height:.2g}", ha="center", va="top", fontsize=7)
    ax.text((x0 + x) / 2, y, "height [m]", ha="center", va="top", fontsize=7)
