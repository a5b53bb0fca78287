"""Compiled updates of the memory of an agent."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from numba import njit
from numpy.typing import NDArray

EXTENT = 64
VISIT_DIRECTIONS = 8
VISIT_RINGS = (1.0, 2.0, 3.0, 4.0)
CELLS_PER_METRE = 4
GRID = EXTENT * CELLS_PER_METRE
EXTENT_MASK, GRID_MASK = EXTENT - 1, GRID - 1  # powers of two: wrap by masking
MAP_DIRECTIONS = 24
MAP_RANGE = 10.0
FREE, BLOCKED = 1, 2
MAP_SECTORS = 16
SECTOR_EDGES = (0.5, 1.25, 2.25, 3.5, 5.5, 8.5)
_SPOTS_PER_RING = ((1, 2), (2, 2), (2, 3), (3, 3), (4, 3))
VISITS = VISIT_DIRECTIONS * len(VISIT_RINGS) + 2
_RINGS = np.array(VISIT_RINGS)


def _sector_spots() -> NDArray[np.float64]:
    """Sample points of the sectors: x, y in the head frame and sector, shape (n, 3)."""
    spots = []
    width = 2.0 * math.pi / MAP_SECTORS
    rings = list(pairwise(SECTOR_EDGES))
    for d in range(MAP_SECTORS):
        for r, ((inner, outer), (radial, angular)) in enumerate(
            zip(rings, _SPOTS_PER_RING, strict=True)
        ):
            for i in range(radial):
                distance = inner + (outer - inner) * (i + 0.5) / radial
                for j in range(angular):
                    angle = width * (d - 0.5 + (j + 0.5) / angular)
                    x, y = distance * math.cos(angle), distance * math.sin(angle)
                    spots.append((x, y, float(d * len(rings) + r)))
    return np.array(spots)


_SPOTS = _sector_spots()
CELLS = MAP_SECTORS * (len(SECTOR_EDGES) - 1)
_SPOTS_IN = np.bincount(_SPOTS[:, 2].astype(int), minlength=CELLS).astype(float)


@njit(cache=True)
def update_visits(envs, position, yaw, distance, visits, best, stale, out):
    """Count a visit of each agent, and write what is around it to `out`."""
    for i in envs:
        x = position[i, 0]
        y = position[i, 1]
        column = int(math.floor(x)) & EXTENT_MASK
        row = int(math.floor(y)) & EXTENT_MASK
        if visits[i, row, column] < 65535:
            visits[i, row, column] += 1
        if distance[i] < best[i] - 0.1:
            best[i] = distance[i]
            stale[i] = 0
        else:
            stale[i] += 1
        at = 0
        for d in range(VISIT_DIRECTIONS):
            angle = yaw[i] + 2.0 * math.pi * d / VISIT_DIRECTIONS
            cos = math.cos(angle)
            sin = math.sin(angle)
            for r in range(_RINGS.shape[0]):
                c = int(math.floor(x + cos * _RINGS[r])) & EXTENT_MASK
                w = int(math.floor(y + sin * _RINGS[r])) & EXTENT_MASK
                out[i, at] = 0.2 * math.log1p(visits[i, w, c])
                at += 1
        out[i, at] = 0.2 * math.log1p(visits[i, row, column])
        out[i, at + 1] = min(0.01 * stale[i], 3.0)


@njit(cache=True)
def update_map(envs, position, yaw, rays, ray_angle, ray_length, cells, visits, out):
    """Draw the rays of each agent on its map `cells`, and write its view to `out`."""
    step = 1.0 / CELLS_PER_METRE
    num_rays = rays.shape[1]
    for i in envs:
        x = position[i, 0]
        y = position[i, 1]
        grid = cells[i]
        for r in range(num_rays):
            angle = ray_angle[i] + 2.0 * math.pi * r / num_rays
            cos = math.cos(angle)
            sin = math.sin(angle)
            reading = rays[i, r]
            t = 0.0
            while t < reading - 0.5 * step:
                c = int(math.floor((x + cos * t) * CELLS_PER_METRE)) & GRID_MASK
                w = int(math.floor((y + sin * t) * CELLS_PER_METRE)) & GRID_MASK
                if grid[w, c] == 0:
                    grid[w, c] = FREE
                t += step
            if reading < ray_length - 1e-6:
                t = reading + 0.02
                c = int(math.floor((x + cos * t) * CELLS_PER_METRE)) & GRID_MASK
                w = int(math.floor((y + sin * t) * CELLS_PER_METRE)) & GRID_MASK
                grid[w, c] = BLOCKED
        c = int(math.floor(x * CELLS_PER_METRE)) & GRID_MASK
        w = int(math.floor(y * CELLS_PER_METRE)) & GRID_MASK
        grid[w, c] = FREE
        for d in range(MAP_DIRECTIONS):
            angle = yaw[i] + 2.0 * math.pi * d / MAP_DIRECTIONS
            cos = math.cos(angle)
            sin = math.sin(angle)
            blocked = MAP_RANGE
            known = 0
            walked = 0.0
            t = step
            while t < MAP_RANGE:
                px = x + cos * t
                py = y + sin * t
                c = int(math.floor(px * CELLS_PER_METRE)) & GRID_MASK
                w = int(math.floor(py * CELLS_PER_METRE)) & GRID_MASK
                value = grid[w, c]
                if value == BLOCKED:
                    blocked = t
                    break
                if value == FREE:
                    known += 1
                count = visits[
                    i,
                    int(math.floor(py)) & EXTENT_MASK,
                    int(math.floor(px)) & EXTENT_MASK,
                ]
                if count > 0:
                    walked += math.log1p(count)
                t += step
            out[i, VISITS + d] = blocked / MAP_RANGE
            out[i, VISITS + MAP_DIRECTIONS + d] = known * step / MAP_RANGE
            out[i, VISITS + 2 * MAP_DIRECTIONS + d] = 0.2 * walked * step
        at = VISITS + 3 * MAP_DIRECTIONS
        out[i, at : at + 2 * CELLS] = 0.0
        cos = math.cos(yaw[i])
        sin = math.sin(yaw[i])
        for k in range(_SPOTS.shape[0]):
            px = x + cos * _SPOTS[k, 0] - sin * _SPOTS[k, 1]
            py = y + sin * _SPOTS[k, 0] + cos * _SPOTS[k, 1]
            c = int(math.floor(px * CELLS_PER_METRE)) & GRID_MASK
            w = int(math.floor(py * CELLS_PER_METRE)) & GRID_MASK
            value = grid[w, c]
            sector = int(_SPOTS[k, 2])
            if value == BLOCKED:
                out[i, at + sector] += 1.0 / _SPOTS_IN[sector]
            elif value == 0:
                out[i, at + CELLS + sector] += 1.0 / _SPOTS_IN[sector]
