"""What a game shows: whether the agent says that it is lost, with hysteresis."""

from __future__ import annotations

import numpy as np

from ambulo.configs.arrays import Bools, Floats

ABOVE, BELOW = 0.6, 0.4
"""Probabilities above which it is said, and below which it is taken back."""


def said(p: Floats, above: float = ABOVE, below: float = BELOW) -> Bools:
    """Return whether it is said at each decision of one episode. Shape (T,)."""
    marks = np.where(p > above, 1, np.where(p < below, 0, -1))
    rows = np.maximum.accumulate(np.where(marks >= 0, np.arange(len(p)), -1))
    return np.where(rows >= 0, marks[rows] == 1, False)
