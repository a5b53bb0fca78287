"""Paths of muscles around bones, as lines of equally many points."""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Floats

PATH_POINTS = 10
"""Points of each line."""


def muscle_paths(
    model: mujoco.MjModel, data: mujoco.MjData, origin: Floats
) -> NDArray[np.int16]:
    """Return the paths of all tendons as (tendons, `PATH_POINTS`, 3) from `origin`, [mm]."""
    wraps = data.wrap_xpos.reshape(-1, 3)
    out = np.zeros((model.ntendon, PATH_POINTS, 3))
    for k in range(model.ntendon):
        first, count = data.ten_wrapadr[k], data.ten_wrapnum[k]
        out[k] = resampled(wraps[first : first + count], PATH_POINTS)
    return np.round(1000.0 * (out - origin)).astype(np.int16)


def resampled(path: Floats, points: int) -> Floats:
    """Return `points` points at equal distances along a polyline (n, 3)."""
    lengths = np.linalg.norm(np.diff(path, axis=0), axis=1)
    along = np.concatenate([[0.0], np.cumsum(lengths)])
    at = np.linspace(0.0, along[-1], points)
    return np.stack([np.interp(at, along, path[:, axis]) for axis in range(3)], axis=1)
