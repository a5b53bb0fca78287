"""Functions of rows that give the same bits for any number of rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = tuple[NDArray[Any], ...]
ROWS = 16
"""Rows that a function is given at once."""


def in_blocks(function: Callable[..., Arrays], *arrays: NDArray[Any]) -> Arrays:
    """Results of `function` for arrays of N rows, which it is given `ROWS` at a time.

    A matrix product rounds differently with the number of rows, so it has a fixed one: the
    last block is filled with zeros.
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
    """`rows` (k, ...) and zeros behind them, (ROWS, ...)."""
    out = np.zeros((ROWS, *rows.shape[1:]), rows.dtype)
    out[: len(rows)] = rows
    return out
