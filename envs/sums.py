"""Compiled sums of rows, in NumPy's order of addition.

Floating-point sums depend on their order. Models were trained and results published with
NumPy's `sum` and `einsum` on x86-64; compiled loops that add in the same order give the same
bits on all machines.
"""

from __future__ import annotations

from numba import njit

from ambulo.configs.arrays import Floats


@njit(cache=True)
def pairwise_sum(row: Floats) -> float:
    """Sum in the order of `np.add.reduce`: eight partial sums for each 128 numbers."""
    count = len(row)
    if count < 8:
        total = 0.0
        for i in range(count):
            total += row[i]
        return total
    if count > 128:
        half = count // 2 - count // 2 % 8
        return pairwise_sum(row[:half]) + pairwise_sum(row[half:])
    parts = row[:8].copy()
    whole = count - count % 8
    for i in range(8, whole):
        parts[i % 8] += row[i]
    total = ((parts[0] + parts[1]) + (parts[2] + parts[3])) + (
        (parts[4] + parts[5]) + (parts[6] + parts[7])
    )
    for i in range(whole, count):
        total += row[i]
    return total


@njit(cache=True)
def squared_length(row: Floats) -> float:
    """Sum of squares in the order of `einsum("ni,ni->n")`: even and odd indices apart.

    Of each eight numbers the last pair is added first.
    """
    count = len(row)
    even = odd = 0.0
    whole = count - count % 8
    for start in range(0, whole, 8):
        for i in range(start + 6, start - 1, -2):
            even += row[i] * row[i]
            odd += row[i + 1] * row[i + 1]
    for i in range(whole, count - 1, 2):
        even += row[i] * row[i]
        odd += row[i + 1] * row[i + 1]
    if count % 2:
        even += row[count - 1] * row[count - 1]
    return even + odd
