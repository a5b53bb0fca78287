"""Shapes of levels with heights: ramps, stairs, height fields and triangle meshes.

Ramps and stairs are rows of numbers; `ramp_corners` and `stair_boxes` convert them to the
shapes of worlds. Metres, Z up.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Floats

RAMP_COLUMNS = 8
"""Middle of the lower edge x, y, z, middle of the upper edge x, y, z, width, thickness."""
STAIR_COLUMNS = 9
"""As a ramp, and the number of steps."""
MAX_TRIANGLES = 1_000_000
"""Largest number of triangles of all meshes and height fields of a level together."""

_BOX = np.array(
    [[0, 2, 1], [1, 2, 3], [4, 5, 6], [5, 7, 6], [0, 1, 4], [1, 5, 4],
     [2, 6, 3], [3, 6, 7], [0, 4, 2], [2, 4, 6], [1, 3, 5], [3, 7, 5]]
)  # fmt: skip
"""Triangles of a box whose corner k has the high x, y, z where bits 0, 1, 2 of k are set."""


@dataclass(frozen=True, eq=False)
class HeightField:
    """A terrain: heights at the points of a square grid, two triangles per cell."""

    origin: Floats
    """x, y and base height of the first point, shape (3,), [m]."""
    cell: float
    """Distance of neighbouring points, [m]."""
    heights: Floats
    """Height above `origin`, shape (rows along y, columns along x), [m]."""

    def mesh(self) -> Mesh:
        """The terrain as triangles that face up."""
        rows, columns = self.heights.shape
        j, i = np.mgrid[0:rows, 0:columns]
        grid = np.stack([i * self.cell, j * self.cell, self.heights], axis=-1)
        corner = (j * columns + i)[:-1, :-1].ravel()
        right, up = corner + 1, corner + columns
        lower = np.column_stack([corner, right, up + 1])
        upper = np.column_stack([corner, up + 1, up])
        return Mesh(grid.reshape(-1, 3) + self.origin, np.vstack([lower, upper]))


@dataclass(frozen=True, eq=False)
class Mesh:
    """Triangles, counter-clockwise seen from outside."""

    vertices: Floats
    """Points, shape (V, 3), [m]."""
    triangles: NDArray[np.int64]
    """Indices of the corners, shape (T, 3)."""

    def corners(self) -> Floats:
        """The corners of every triangle, shape (T, 3, 3), [m]."""
        return np.asarray(self.vertices[self.triangles], np.float64)


def ramp_corners(ramps: Floats) -> Floats:
    """Triangles of `ramps` (R, 8), twelve per ramp, shape (12 R, 3, 3), [m].

    A ramp of thickness 0 is solid down to 0.2 m below its lower end; others are planks.
    """
    boxes = [_ramp_points(row) for row in ramps]
    if not boxes:
        return np.zeros((0, 3, 3))
    return np.concatenate([points[_BOX] for points in boxes])


def _ramp_points(row: Floats) -> Floats:
    """The eight corners of one ramp, in the order of `_BOX`, shape (8, 3)."""
    low, high, width, thickness = row[:3], row[3:6], row[6], row[7]
    along = high[:2] - low[:2]
    side = np.array([-along[1], along[0]]) / np.hypot(*along) * (width / 2)
    points = np.empty((8, 3))
    for k in range(8):
        end = high if k & 1 else low
        points[k, :2] = end[:2] + (side if k & 2 else -side)
        under = low[2] - 0.2 if thickness == 0 else end[2] - thickness
        points[k, 2] = end[2] if k & 4 else under
    return points


def stair_boxes(stairs: Floats) -> Floats:
    """The steps of `stairs` (S, 9) as boxes x, y, z, a, b, c, yaw, shape (n, 7), [m].

    The lowest step is one rise above the lower end, the highest is level with the upper
    end; steps of thickness 0 are solid down to the lower end.
    """
    boxes: list[list[float]] = []
    for row in stairs:
        low, high, width, thickness = row[:3], row[3:6], row[6], row[7]
        count = round(row[8])
        along = high[:2] - low[:2]
        yaw = float(np.arctan2(along[1], along[0]))
        tread, rise = float(np.hypot(*along)) / count, (high[2] - low[2]) / count
        for k in range(count):
            middle = low[:2] + along * ((k + 0.5) / count)
            top = low[2] + (k + 1) * rise
            under = low[2] if thickness == 0 else top - thickness
            boxes.append(
                [
                    *middle,
                    (top + under) / 2,
                    tread / 2,
                    width / 2,
                    (top - under) / 2,
                    yaw,
                ]
            )
    return np.array(boxes, np.float64).reshape(-1, 7)
