"""Waiting on a path: for lifts that are elsewhere, and for closed doors.

The paths of movers are known, so their future positions are, too. Those of people are not.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numba import njit

from ambulo.configs.arrays import Floats, Ints
from ambulo.envs.vr.contract import BODY_HEIGHT, BODY_RADIUS, CLIMB_HEIGHT
from ambulo.envs.vr.geometry.solid_kernels import in_box, nearest_of
from ambulo.envs.vr.levels.layers import LayeredGrid
from ambulo.envs.vr.levels.moving import CARRIERS, Mover
from ambulo.envs.vr.task.batch import NavigationBatch

LIFT, DOOR = 1, 2
"""Reason to wait: a lift (or platform) to come, or a mover to leave the path."""

_SAMPLE = 0.1
"""Time step of the prediction, [s]."""
_SAMPLES = 24
_AHEAD = 1.2
"""Distance ahead in which movers are awaited, [m]."""
_LEAVE = 0.6
"""Distance ahead in which the floor outside a lift must be level with it, [m]."""
_SOON = 0.5
"""Time after which a detour around doors begins, [s]."""
_BODY = BODY_RADIUS + 0.05
_LATE = 6
"""Time steps for which a lift must still be there on arrival."""
_REACH = 0.15
"""Distance to the path below which movers block it; bodies slide past others, [m]."""
_LEVEL = 0.2
"""Largest step onto a lift or off it, [m]."""
_TALL, _CLIMB = BODY_HEIGHT, CLIMB_HEIGHT


def blocked_by_movers(
    batch: NavigationBatch,
    paths: Floats,
    count: Ints,
    at: Ints,
    speed: Floats,
    spacing: float,
) -> Ints:
    """Reason of each env to wait now: `LIFT` or `DOOR`, else 0, shape (N,).

    Args:
        batch: The envs.
        paths: Points x, y, z every `spacing`, shape (N, P, 3), [m].
        count: Number of used points, shape (N,).
        at: Present path point of each env, shape (N,).
        speed: Walking speed, shape (N,), [m/s].
        spacing: Distance between two points, [m].
    """
    waits: Ints = np.zeros(len(at), np.int64)
    moving = batch.world.moving
    if not moving.some:
        return waits
    state = batch.world.state
    for env in range(len(at)):
        level = batch.bank.levels[int(batch.task.slot[env])]
        if not level.movers:
            continue
        rows = moving.forecast(
            env, int(batch.task.slot[env]), _SAMPLE * np.arange(_SAMPLES, dtype=float)
        )
        stops = _stops(level.movers)
        waits[env] = _must_wait(
            paths[env, at[env] : count[env]], spacing, state.position[env],
            max(float(speed[env]), 0.5), rows[:, : len(stops)], stops,
        )  # fmt: skip
    return waits


def _stops(movers: Sequence[Mover]) -> Floats:
    """Heights of the carriers' tops at their stops, NaN: no carrier, shape (M, K), [m]."""
    found = [
        mover.path[-1 if mover.loop == "once" else 0 :, 3] + mover.half_size[2]
        if mover.kind in CARRIERS
        else np.zeros(0)
        for mover in movers
    ]
    stops = np.full((len(found), max(1, *map(len, found))), np.nan)
    for row, heights in zip(stops, found, strict=True):
        row[: len(heights)] = heights
    return stops


def around_doors(batch: NavigationBatch, env: int, grid: LayeredGrid) -> LayeredGrid:
    """The cells of `grid` that doors and other movers leave free in a moment."""
    slot = int(batch.task.slot[env])
    rows = batch.world.moving.forecast(env, slot, np.array([_SOON]))[0]
    _, ny, nx = grid.free.shape
    x = grid.x0 + (np.arange(nx) + 0.5) * grid.resolution
    y = grid.y0 + (np.arange(ny) + 0.5)[:, None] * grid.resolution
    free = grid.free.copy()
    for mover, row in zip(batch.bank.levels[slot].movers, rows, strict=False):
        if mover.kind in CARRIERS:
            continue
        dx, dy = x - row[0], y - row[1]
        along, across = row[4] * dx + row[5] * dy, row[4] * dy - row[5] * dx
        gap = np.hypot(
            np.maximum(np.abs(along) - row[2], 0.0),
            np.maximum(np.abs(across) - row[3], 0.0),
        )
        tall = (row[6] < grid.height + _TALL) & (row[7] > grid.height + _CLIMB)
        free &= ~((gap < _BODY) & tall)
    return grid.restricted(free)


@njit(cache=True)
def _must_wait(  # type: ignore[no-untyped-def]
    path, spacing, position, speed, rows, stops
):
    """Reason to wait at the next points of `path` (P, 3) on arrival; 0: none."""
    x, y, z = position
    aboard = -1
    for m in range(len(stops)):
        row = rows[0, m]
        carries = not np.isnan(stops[m, 0])
        if carries and in_box(x, y, row) and abs(row[7] - z) < _LEVEL:
            aboard = m
    last = rows.shape[0] - 1
    for k in range(min(len(path), int(_AHEAD / spacing) + 1)):
        px, py, pz = path[k]
        look = min(int(k * spacing / speed / _SAMPLE), last)
        if aboard >= 0:
            if in_box(px, py, rows[0, aboard]):
                continue
            if k * spacing > _LEAVE or abs(rows[look, aboard, 7] - pz) <= _LEVEL:
                return 0
            return LIFT
        for m in range(len(stops)):
            row = rows[look, m]
            if np.nanmin(np.abs(stops[m] - pz)) <= _LEVEL:
                if in_box(px, py, row):  # the rest of the path is checked on board
                    later = rows[min(look + _LATE, last), m]
                    away = max(abs(row[7] - pz), abs(later[7] - pz))
                    return LIFT if away > _LEVEL else 0
            elif row[6] < pz + _TALL and row[7] > pz + _CLIMB:
                dx, dy = nearest_of(px, py, row, False)
                if dx * dx + dy * dy < _REACH * _REACH:
                    return DOOR
    return 0
