"""Paths of muscles around bones, as lines."""

from __future__ import annotations

import mujoco
import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.viz.page.recording import resampled


def muscle_paths(model: mujoco.MjModel, data: mujoco.MjData) -> Floats:
    """Return the paths of all tendons, shape (tendons, `LINE_POINTS`, 3), [m]."""
    wraps = data.wrap_xpos.reshape(-1, 3)
    return np.array(
        [
            resampled(wraps[first : first + count])
            for first, count in zip(data.ten_wrapadr, data.ten_wrapnum, strict=True)
        ]
    )
