"""Compiled visibility of movers: the nearest ones that no static shape hides."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from ambulo.envs.vr.geometry.cut_kernels import Ray, collect_cuts, reach_around
from ambulo.envs.vr.geometry.solid_kernels import BOX, nearest_of

MOVER_COLUMNS = 13
"""Columns of a visible mover: x, y, half sizes a, b, cos(yaw), sin(yaw), bottom, top, kind
(`solid_kernels`), velocity x, y, z [m/s], and yaw rate [rad/s]."""
_BESIDE = 0.05
"""Distance within which a mover is sensed even if hidden, [m]."""
_INSIDE = 0.8
"""Positions of the test points of a box, as a fraction of its half sizes."""
_OFF = 0.02
"""Distance of the test points from its bottom and top, [m]."""
_THIN = 1e-9


@njit(cache=True, error_model="numpy")
def _hidden(cuts, count, eye, height, far):
    """Whether a static cut lies between an eye and a point at `far` and `height`, [m]."""
    if far < _THIN:
        return False
    tilt = (height - eye) / far
    for k in range(count):
        c = cuts[k]
        begin = max(c[0], 0.0)
        end = min(c[1], far)
        if begin >= end:
            continue
        z0 = eye + tilt * begin
        z1 = eye + tilt * end
        low0 = z0 - (c[2] + (begin - c[0]) * c[4])
        low1 = z1 - (c[2] + (end - c[0]) * c[4])
        top0 = (c[3] + (begin - c[0]) * c[5]) - z0
        top1 = (c[3] + (end - c[0]) * c[5]) - z1
        # Range of the cut in which the line is above the bottom and below the top, as
        # fractions.
        first = 0.0
        last = 1.0
        for f0, f1 in ((low0, low1), (top0, top1)):
            if f0 < 0.0 and f1 < 0.0:
                last = -1.0
            elif f0 < 0.0:
                first = max(first, f0 / (f0 - f1))
            elif f1 < 0.0:
                last = min(last, f0 / (f0 - f1))
        if first <= last:
            return True
    return False


@njit(cache=True)
def _is_visible(shapes, row, x, y, eye, length, work):
    """Whether any of five test points on a mover's bottom or top is seen from (x, y, eye)."""
    for p in range(5):
        u = 0.0
        v = 0.0
        if p > 0:
            u = _INSIDE * row[2] * (1 if p % 2 else -1)
            v = _INSIDE * row[3] * (1 if p < 3 else -1)
        dx = row[0] + row[4] * u - row[5] * v - x
        dy = row[1] + row[5] * u + row[4] * v - y
        far = math.sqrt(dx * dx + dy * dy)
        cx = 1.0 if far < _THIN else dx / far
        sy = 0.0 if far < _THIN else dy / far
        count = -1
        for side in range(2):
            height = row[6] - _OFF if side == 0 else row[7] + _OFF
            if far * far + (height - eye) ** 2 > length * length:
                continue
            if count < 0:
                count = collect_cuts(shapes, Ray(x, y, cx, sy, far), work)
            if not _hidden(work.cuts, count, eye, height, far):
                return True
    return False


@njit(cache=True)
def see_movers(shapes, before, x, y, eye, length, dt, out, work):
    """Write the nearest visible movers to `out` (K, MOVER_COLUMNS); kind 0: none.

    Args:
        shapes: Static shapes within `length`, and movers.
        before: Rows of the movers at the start of the last step, shape (M, 9).
        x: x of the eye, [m].
        y: y of the eye, [m].
        eye: Height of the eye, [m].
        length: Range of sight, [m].
        dt: Length of a step, [s].
        out: Visible movers (output).
        work: Result of `ray_work`.
    """
    out[:] = 0.0
    most = out.shape[0]
    gaps = np.full(most, np.inf)
    reach_around(shapes, x, y, work.hubs)
    for m in range(shapes.movers.shape[0]):
        row = shapes.movers[m]
        if row[8] == 0.0:
            continue
        dx, dy = nearest_of(x, y, row, row[8] != BOX)
        gap = math.sqrt(dx * dx + dy * dy)
        if gap > length or gap >= gaps[most - 1]:
            continue
        if gap > _BESIDE and not _is_visible(shapes, row, x, y, eye, length, work):
            continue
        k = most - 1
        while k > 0 and gaps[k - 1] > gap:
            gaps[k] = gaps[k - 1]
            out[k] = out[k - 1]
            k -= 1
        gaps[k] = gap
        old = before[m]
        out[k, :9] = row
        out[k, 9] = (row[0] - old[0]) / dt
        out[k, 10] = (row[1] - old[1]) / dt
        out[k, 11] = (row[6] - old[6]) / dt
        out[k, 12] = (
            math.atan2(
                old[4] * row[5] - old[5] * row[4], old[4] * row[4] + old[5] * row[5]
            )
            / dt
        )
