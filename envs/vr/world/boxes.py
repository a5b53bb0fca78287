"""Lines of sight and boxes."""

from __future__ import annotations

import numpy as np

from ambulo.configs.arrays import Bools, Floats

_TINY = 1e-12


def through_boxes(begin: Floats, way: Floats, half: Floats) -> Bools:
    """Whether segments from `begin` along `way` meet boxes about the origin, shape (n,).

    All are (n, 3), or (3,) for the same of each, in axes along the sides of the boxes, [m];
    `half` are half sizes.
    """
    inverse = 1.0 / np.where(np.abs(way) < _TINY, _TINY, way)
    one, other = (-half - begin) * inverse, (half - begin) * inverse
    enters = np.maximum(np.minimum(one, other).max(axis=1), 0.0)
    leaves = np.minimum(np.maximum(one, other).min(axis=1), 1.0)
    met: Bools = enters <= leaves
    return met
