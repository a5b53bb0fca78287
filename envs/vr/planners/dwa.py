"""Dynamic window (Fox, Burgard and Thrun 1997) on the rays, under the same limits.

Candidate sticks are rolled out through the same smoothing for about a second, over the obstacle
points of the rays of the last few seconds. An env that gets no nearer to the goal for a while
first walks in some open direction, the usual recovery of local planners. There is no map and no
global plan, so dead ends and mazes remain hard.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from ambulo.configs.arrays import Bools, Floats, Ints
from ambulo.envs.vr.contract import BODY_RADIUS
from ambulo.envs.vr.planners.senses import Senses, senses, uniform
from ambulo.envs.vr.task.batch import NavigationBatch
from ambulo.envs.vr.task.observation import rotated
from ambulo.envs.vr.world.actions import stick

_SCANS = 30
"""Number of remembered scans."""
_HALF = 32
_CELL = 0.1
_BODY = BODY_RADIUS + 0.05
"""Clearance below which a roll-out ends, [m]."""
_COMFORTABLE = 0.7
"""Clearance beyond which the score does not grow, [m]."""
_JOIN = 0.9
"""Distance below which the ends of neighbouring rays are one surface, [m]."""
_STEPS = 12
"""Environment steps of a roll-out."""
_DIRECTIONS = 16
_SPEEDS = (0.45, 1.0)
_TURNS = (-1.0, -0.4, 0.0, 0.4, 1.0)

_W_PROGRESS = 1.0
_W_CLEARANCE = 0.35
_W_FACING = 0.05
_W_FREE = 1.0
_W_SAME = 0.1

_PATIENCE = 2.0
"""Seconds without getting nearer to the goal before a recovery, [s]."""
_NEARER = 0.3
"""Smallest approach to the goal that counts as progress, [m]."""
_RECOVERY = 4.0
"""Longest recovery, [s]."""
_ARRIVED = 0.8
"""Distance at which the target of a recovery counts as reached, [m]."""


class Motion(NamedTuple):
    """Motion of N envs."""

    position: Floats
    """Position, shape (N, 2), [m]."""
    yaw: Floats
    """Heading, shape (N,), [rad]."""
    velocity: Floats
    """Velocity ahead and to the left, shape (N, 2), [m/s]."""
    yaw_rate: Floats
    """Yaw rate, shape (N,), [rad/s]."""


class MotionLimits(NamedTuple):
    """Limits of a `WorldSpec` between sticks and motion."""

    max_speed: float
    max_yaw_rate: float
    smoothing: float
    dt: float
    """Duration of an environment step, [s]."""


class DynamicWindow:
    """Scores (speed, direction, turn) by progress, clearance and facing the goal."""

    name = "dwa"

    def __init__(self, num_envs: int) -> None:
        """Create it before any reset."""
        self._points = np.full((num_envs, _SCANS, 1, 2), np.nan)
        self._scan = np.zeros(num_envs, np.int64)
        self._last = np.zeros((num_envs, 3))
        self._candidates = _candidates()
        self._seed = np.zeros(num_envs, np.int64)
        self._best = np.full(num_envs, np.inf)
        self._patience = np.zeros(num_envs)
        self._recovery = np.zeros(num_envs)
        self._place = np.zeros((num_envs, 2))
        self._recoveries = np.zeros(num_envs, np.int64)

    def reset(self, envs: Ints, seeds: Ints) -> None:
        """Clear the scans of `envs`."""
        self._points[envs] = np.nan
        self._scan[envs] = 0
        self._last[envs] = 0.0
        self._seed[envs] = seeds
        self._best[envs] = np.inf
        self._patience[envs] = _PATIENCE
        self._recovery[envs] = 0.0
        self._recoveries[envs] = 0

    def act(self, batch: NavigationBatch) -> Floats:
        """The best candidate of every env."""
        now, spec = senses(batch), batch.spec
        if self._points.shape[2] != spec.num_rays:
            shape = (*self._points.shape[:2], spec.num_rays, 2)
            self._points = np.full(shape, np.nan)
        angle = now.yaw[:, None] + now.ray_angles
        ends = np.stack([np.cos(angle), np.sin(angle)], 2) * now.rays[:, :, None]
        ends += now.position[:, None]
        ends[now.rays >= spec.ray_length - 1e-3] = np.nan
        rows = np.arange(len(ends))
        self._points[rows, self._scan % _SCANS] = ends
        self._scan += 1
        target = self._target(now, spec.decision_dt)
        target = _best_commands(
            self._points, (self._scan - 1) % _SCANS,
            Motion(now.position, now.yaw, now.velocity, now.yaw_rate), target,
            self._last, self._candidates,
            MotionLimits(
                spec.max_speed, spec.max_yaw_rate, spec.smoothing, spec.decision_dt
            ),
        )  # fmt: skip
        self._last[:] = target
        return stick(target[:, :2], target[:, 2], spec, batch.world.state.cooldown)

    def _target(self, now: Senses, dt: float) -> Floats:
        """Goal, or the target of a recovery, in the head frame, shape (N, 2), [m]."""
        distance = np.hypot(now.goal[:, 0], now.goal[:, 1])
        nearer = distance < self._best - _NEARER
        self._best = np.where(nearer, distance, self._best)
        recovering = self._recovery > 0.0
        self._patience = np.where(nearer | recovering, _PATIENCE, self._patience - dt)
        self._recovery -= dt
        stuck = self._patience <= 0.0
        if stuck.any():
            self._begin_recovery(stuck, now)
        way = self._place - now.position
        x, y = rotated(way[:, 0], way[:, 1], -now.yaw)
        self._recovery[np.hypot(x, y) < _ARRIVED] = 0.0
        there = (self._recovery > 0.0)[:, None]
        return np.where(there, np.column_stack([x, y]), now.goal)

    def _begin_recovery(self, stuck: Bools, now: Senses) -> None:
        """Send the `stuck` to the end of a random long ray."""
        draws = uniform(self._seed, self._recoveries, now.rays.shape[1])
        ray = np.argmax(now.rays * (2.0 + draws), axis=1)
        rows = np.arange(len(ray))
        angle = now.yaw + now.ray_angles[rows, ray]
        way = np.maximum(now.rays[rows, ray] - BODY_RADIUS, 0.0)[:, None]
        place = now.position + way * np.column_stack([np.cos(angle), np.sin(angle)])
        self._place = np.where(stuck[:, None], place, self._place)
        self._recovery = np.where(stuck, _RECOVERY, self._recovery)
        self._patience = np.where(stuck, _PATIENCE, self._patience)
        self._best = np.where(stuck, np.inf, self._best)
        self._recoveries += stuck


def _candidates() -> Floats:
    """Speed to the goal, speed left of it, turn, as fractions of the limits, (K, 3)."""
    rows = [(0.0, 0.0, turn) for turn in _TURNS]
    for k in range(_DIRECTIONS):
        angle = 2.0 * math.pi * k / _DIRECTIONS
        for speed in _SPEEDS:
            for turn in _TURNS:
                rows.append((speed * math.cos(angle), speed * math.sin(angle), turn))
    return np.array(rows)


@njit(cache=True)
def _mark(cost, x, y):  # type: ignore[no-untyped-def]
    """Mark the cell of (x, y), metres from the centre, as an obstacle."""
    i = math.floor(x / _CELL + 0.5) + _HALF
    j = math.floor(y / _CELL + 0.5) + _HALF
    if 0 <= i < cost.shape[0] and 0 <= j < cost.shape[1]:
        cost[i, j] = 0.0


@njit(cache=True)
def _fill_clearance(cost, points, newest, x, y):  # type: ignore[no-untyped-def]
    """Distance to the nearest obstacle point in every cell around (x, y), [m]."""
    cost[:] = 1e3
    rays = points.shape[1]
    for s in range(points.shape[0]):
        for r in range(rays):
            if not math.isnan(points[s, r, 0]):
                _mark(cost, points[s, r, 0] - x, points[s, r, 1] - y)
    for r in range(rays):
        a = points[newest, r]
        b = points[newest, (r + 1) % rays]
        gap = math.hypot(b[0] - a[0], b[1] - a[1])
        if gap < _JOIN:
            steps = int(gap / _CELL) + 1
            for k in range(steps):
                t = k / steps
                px = a[0] + t * (b[0] - a[0])
                py = a[1] + t * (b[1] - a[1])
                _mark(cost, px - x, py - y)
    n = cost.shape[0]
    diagonal = math.sqrt(2.0) * _CELL
    for i in range(1, n):
        for j in range(1, n - 1):
            straight = min(cost[i - 1, j], cost[i, j - 1]) + _CELL
            slanted = min(cost[i - 1, j - 1], cost[i - 1, j + 1]) + diagonal
            cost[i, j] = min(cost[i, j], straight, slanted)
    for i in range(n - 2, -1, -1):
        for j in range(n - 2, 0, -1):
            straight = min(cost[i + 1, j], cost[i, j + 1]) + _CELL
            slanted = min(cost[i + 1, j + 1], cost[i + 1, j - 1]) + diagonal
            cost[i, j] = min(cost[i, j], straight, slanted)


@njit(cache=True)
def _score(cost, yaw, velocity, yaw_rate, goal, target, limits):  # type: ignore[no-untyped-def]
    """Score of the command `target` (forward, left, turn) from now on.

    Positions are metres from the body, in the axes of `cost`; so is `goal` (2,).
    """
    keep, dt = limits.smoothing, limits.dt
    x = 0.0
    y = 0.0
    ahead, left, rate = velocity[0], velocity[1], yaw_rate
    away = math.hypot(goal[0], goal[1])
    nearest = away
    room = _COMFORTABLE
    start = cost[_HALF, _HALF]
    free = _STEPS
    for step in range(_STEPS):
        ahead = keep * ahead + (1.0 - keep) * target[0]
        left = keep * left + (1.0 - keep) * target[1]
        rate = keep * rate + (1.0 - keep) * target[2]
        yaw += rate * dt
        cos = math.cos(yaw)
        sin = math.sin(yaw)
        x += (cos * ahead - sin * left) * dt
        y += (sin * ahead + cos * left) * dt
        i = math.floor(x / _CELL + 0.5) + _HALF
        j = math.floor(y / _CELL + 0.5) + _HALF
        gap = cost[min(max(i, 0), 2 * _HALF), min(max(j, 0), 2 * _HALF)]
        if gap < _BODY and gap <= start + 0.05:
            free = step
            break
        room = min(room, gap)
        nearest = min(nearest, math.hypot(goal[0] - x, goal[1] - y))
    reach = limits.max_speed * dt * _STEPS
    value = _W_PROGRESS * (away - nearest) / reach
    value += _W_CLEARANCE * room / _COMFORTABLE
    value -= _W_FREE * (1.0 - free / _STEPS)
    to = math.atan2(goal[1] - y, goal[0] - x)
    value += _W_FACING * math.cos(to - yaw)
    return value


@njit(cache=True)
def _best_commands(points, newest, motion, goal, last, candidates, limits):  # type: ignore[no-untyped-def]
    """Forward, left [m/s] and turn [rad/s] of the best candidate, shape (N, 3)."""
    position, yaw, velocity, yaw_rate = motion
    max_speed, max_yaw_rate = limits.max_speed, limits.max_yaw_rate
    n = position.shape[0]
    out = np.zeros((n, 3))
    cost = np.empty((2 * _HALF + 1, 2 * _HALF + 1))
    there = np.empty(2)
    target = np.empty(3)
    for i in range(n):
        _fill_clearance(cost, points[i], newest[i], position[i, 0], position[i, 1])
        cos = math.cos(yaw[i])
        sin = math.sin(yaw[i])
        there[0] = cos * goal[i, 0] - sin * goal[i, 1]
        there[1] = sin * goal[i, 0] + cos * goal[i, 1]
        away = max(math.hypot(goal[i, 0], goal[i, 1]), 1e-9)
        cos_goal = goal[i, 0] / away
        sin_goal = goal[i, 1] / away
        best = -np.inf
        for k in range(candidates.shape[0]):
            ahead = candidates[k, 0] * max_speed
            left = candidates[k, 1] * max_speed
            target[0] = cos_goal * ahead - sin_goal * left
            target[1] = sin_goal * ahead + cos_goal * left
            target[2] = candidates[k, 2] * max_yaw_rate
            value = _score(
                cost, yaw[i], velocity[i], yaw_rate[i], there, target, limits
            )
            change = (
                abs(target[0] - last[i, 0]) + abs(target[1] - last[i, 1])
            ) / max_speed + abs(target[2] - last[i, 2]) / max_yaw_rate
            value -= _W_SAME * change / 3.0
            if value > best:
                best = value
                out[i] = target
    return out
