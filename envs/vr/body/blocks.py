"""Row-wise functions whose results do not depend on the number of rows, to the bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = tuple[NDArray[Any], ...]
ROWS = 16
"""Rows per call of the function."""


def in_blocks(function: Callable[..., Arrays], *arrays: NDArray[Any]) -> Arrays:
    """Results of `function` for arrays of N rows, computed `ROWS` rows at a time.

    A matrix product rounds differently for other numbers of rows, so the number is fixed: the
    last block is padded with zeros.
    """
    count = len(arrays[0])
    parts = []
    for first in range(0, max(count, 1), ROWS):
        block = [array[first : first + ROWS] for array in arrays]
        if len(block[0]) < ROWS:
            block = [_filled(array) for array in block]
        parts.append(function(*block))
    return tuple(np.concatenate(rows)[:count] for rows in zip(*parts, strict=True))


def _filled(rows: NDArray[Any]) -> NDArray[Any]:
    """`rows` (k, ...) padded with zeros to (ROWS, ...)."""
    out = np.zeros((ROWS, *rows.shape[1:]), rows.dtype)
    out[: len(rows)] = rows
    return out
