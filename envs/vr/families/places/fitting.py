"""Compiled test whether a group of parts fits among obstacles and reserved floor."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from ambulo.configs.arrays import Floats
from ambulo.envs.vr.families.draft import Region

_EPS = 1e-6
_SLACK = 0.05
"""Largest overlap of reserved floor with a wall, [m]."""


class Regions:
    """A growing list of rectangles."""

    def __init__(self) -> None:
        self._rows = np.empty((64, 4))
        self._count = 0

    def add(self, region: Region | Floats) -> None:
        """Append one rectangle."""
        if self._count == len(self._rows):
            self._rows = np.vstack([self._rows, np.empty_like(self._rows)])
        self._rows[self._count] = region
        self._count += 1

    @property
    def rows(self) -> Floats:
        """All rectangles, shape (n, 4), [m]."""
        return self._rows[: self._count]

    def meets(self, region: Region) -> bool:
        """Whether any rectangle overlaps `region`."""
        return bool(_meet(np.array([region]), self.rows, 0.0))


@njit(cache=True)
def around(rows, x, y, yaw):  # type: ignore[no-untyped-def]
    """Bounding rectangles of the parts `rows` (n, 6) of a group at (x, y, yaw), (n, 4).

    A part is x, y, half width, half depth, yaw, 1 if it is round.
    """
    result = np.empty((rows.shape[0], 4))
    c, s = math.cos(yaw), math.sin(yaw)
    for k in range(rows.shape[0]):
        px = x + rows[k, 0] * c - rows[k, 1] * s
        py = y + rows[k, 0] * s + rows[k, 1] * c
        a, b = rows[k, 2], rows[k, 2]
        if rows[k, 5] == 0.0:
            cos, sin = abs(math.cos(yaw + rows[k, 4])), abs(math.sin(yaw + rows[k, 4]))
            a, b = (
                rows[k, 2] * cos + rows[k, 3] * sin,
                rows[k, 2] * sin + rows[k, 3] * cos,
            )
        result[k, 0], result[k, 1] = px - a, py - b
        result[k, 2], result[k, 3] = px + a, py + b
    return result


@njit(cache=True)
def _meet(rows, others, gap):  # type: ignore[no-untyped-def]
    g = gap - _EPS
    for i in range(rows.shape[0]):
        for j in range(others.shape[0]):
            if (
                rows[i, 0] < others[j, 2] + g
                and rows[i, 2] > others[j, 0] - g
                and rows[i, 1] < others[j, 3] + g
                and rows[i, 3] > others[j, 1] - g
            ):
                return True
    return False


@njit(cache=True)
def _inside(rows, room, slack):  # type: ignore[no-untyped-def]
    for i in range(rows.shape[0]):
        if (
            rows[i, 0] < room[0] - slack
            or rows[i, 1] < room[1] - slack
            or rows[i, 2] > room[2] + slack
            or rows[i, 3] > room[3] + slack
        ):
            return False
    return True


@njit(cache=True)
def fits(parts, clear, room, solid, kept, gap):  # type: ignore[no-untyped-def]
    """Whether `parts` (n, 4) fit in `room`, `gap` [m] from `solid` and outside `kept`.

    Their own `clear` (m, 4) must be in the room and outside `solid`.
    """
    if not (_inside(parts, room, _EPS) and _inside(clear, room, _SLACK)):
        return False
    if _meet(parts, solid, gap) or _meet(parts, kept, 0.0):
        return False
    return not _meet(clear, solid, 0.0)
