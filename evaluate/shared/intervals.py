"""Confidence intervals of rates and means."""

from __future__ import annotations

import math

import numpy as np

from ambulo.configs.arrays import Floats, Ints

Interval = tuple[float, float]
"""Lower and upper end."""
BOOTSTRAP_SAMPLES = 2000
"""Resamples of a bootstrap."""
_TAIL = 50.0 * (1.0 - 0.95)
"""Percentage of means on each side of an interval."""
_MIN_WEIGHT = 1e-10
"""Least sum of weights that a mean is divided by."""
Z95 = 1.959963984540054
"""97.5 % quantile of the standard normal distribution."""


def wilson_interval(hits: int, count: int) -> Interval:
    """95 % interval of a rate of which `hits` of `count` trials were seen (Wilson 1927).

    Unlike a bootstrap it is not of width 0 where all or none are hits.

    Args:
        hits: Successes, 0 to `count`.
        count: Trials, at least 1.
    """
    if not 0 <= hits <= count or count < 1:
        raise ValueError(f"{hits} hits of {count} trials")
    rate, square = hits / count, Z95 * Z95 / count
    middle = rate + 0.5 * square
    half = Z95 * math.sqrt(rate * (1.0 - rate) / count + 0.25 * square / count)
    scale = 1.0 / (1.0 + square)
    low = 0.0 if hits == 0 else (middle - half) * scale
    high = 1.0 if hits == count else (middle + half) * scale
    return low, high


def bootstrap_interval(
    values: Floats, seed: int, samples: int = BOOTSTRAP_SAMPLES
) -> Interval:
    """95 % percentile bootstrap interval of the mean of `values` (n,)."""
    data = np.asarray(values, np.float64)
    rng = np.random.default_rng(seed)
    rows = max(1, int(1e6) // len(data))
    means = [
        data[rng.integers(len(data), size=(min(rows, samples - k), len(data)))].mean(1)
        for k in range(0, samples, rows)
    ]
    low, high = np.percentile(np.concatenate(means), [_TAIL, 100.0 - _TAIL])
    return float(low), float(high)


def clip_intervals(
    values: Floats, clips: Ints, seed: int, weights: Floats | None = None
) -> Floats:
    """95 % bootstrap intervals of the mean of each column. Shape (B, K) -> (K, 2).

    Whole clips are resampled with replacement: windows of one clip are correlated, so that
    an interval over windows would be far too narrow.

    Args:
        values: One row per window.
        clips: The clip of each window. Shape (B,).
        seed: Of the resampling; one seed gives the same samples for every method, so that the
            interval of a difference is a paired one.
        weights: Means are `values` over `weights` (B,), both summed; ones if None.
    """
    values = np.asarray(values, np.float64).reshape(len(values), -1)
    weights = np.ones(len(values)) if weights is None else weights
    names, rows = np.unique(clips, return_inverse=True)
    sums = np.zeros((len(names), values.shape[1]))
    counts = np.zeros(len(names))
    np.add.at(sums, rows, values)
    np.add.at(counts, rows, weights)
    rng = np.random.default_rng(seed)
    drawn = rng.integers(len(names), size=(BOOTSTRAP_SAMPLES, len(names)))
    total = np.maximum(counts[drawn].sum(axis=1), _MIN_WEIGHT)
    means = sums[drawn].sum(axis=1) / total[:, None]
    return np.percentile(means, [2.5, 97.5], axis=0).T


def clip_interval(
    values: Floats, clips: Ints, seed: int, weights: Floats | None = None
) -> Interval:
    """Return `clip_intervals` of one column, `values` (B,)."""
    low, high = clip_intervals(values, clips, seed, weights)[0].tolist()
    return low, high
