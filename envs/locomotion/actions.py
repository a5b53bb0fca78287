"""Checks of actions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import ActionError


def checked_actions(actions: NDArray[np.generic], shape: tuple[int, int]) -> Floats:
    """Return actions (N, A) as floats.

    Raises:
        ActionError: They have another shape than `shape`, or are not finite.
    """
    values = np.asarray(actions, dtype=np.float64)
    if values.shape != shape:
        raise ActionError(f"actions: expected shape {shape}, got {values.shape}")
    if not np.isfinite(values).all():
        bad = int(np.flatnonzero(~np.isfinite(values).all(axis=1))[0])
        raise ActionError(f"actions of body {bad} are not finite")
    return values
