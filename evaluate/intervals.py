"""Confidence intervals of rates."""

from __future__ import annotations

import math

Z95 = 1.959963984540054
"""97.5 % quantile of the standard normal distribution."""


def wilson_interval(hits: int, count: int, z: float = Z95) -> tuple[float, float]:
    """Interval of a rate of which `hits` of `count` trials were seen (Wilson 1927).

    Unlike a bootstrap it is not of width 0 where all or none are hits.

    Args:
        hits: Successes, 0 to `count`.
        count: Trials, at least 1.
        z: Quantile of the normal distribution; the default gives 95 %.
    """
    if not 0 <= hits <= count or count < 1:
        raise ValueError(f"{hits} hits of {count} trials")
    rate, square = hits / count, z * z / count
    middle = rate + 0.5 * square
    half = z * math.sqrt(rate * (1.0 - rate) / count + 0.25 * square / count)
    scale = 1.0 / (1.0 + square)
    low = 0.0 if hits == 0 else (middle - half) * scale
    high = 1.0 if hits == count else (middle + half) * scale
    return low, high
