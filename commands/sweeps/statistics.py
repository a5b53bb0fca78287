"""Statistics of few runs: interquartile mean, probability of improvement, profiles.

After Agarwal et al. 2021, "Deep RL at the edge of the statistical precipice". Scores are
matrices (runs, tasks). Intervals are 95 % percentile intervals of a bootstrap that draws
runs with replacement for each task on its own (stratified). The package `rliable` computes
the same, but brings an old `arch`, pandas and seaborn.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from math import comb

import numpy as np
from scipy.stats import trim_mean

from ambulo.configs.arrays import Floats

RESAMPLES = 20_000
"""Resamples of a bootstrap, and most rearrangements of a permutation test."""
DIGITS = 12
"""Decimals of an end of an interval: equal scores differ by rounding alone."""
_BLOCK = 4_000_000
"""Numbers that are drawn at the same time."""
Interval = tuple[float, float]


def interquartile_mean(scores: Floats) -> Floats:
    """Mean of the middle half of all scores. Shape (..., runs, tasks) -> (...)."""
    flat = np.reshape(scores, (*np.shape(scores)[:-2], -1))
    return np.asarray(trim_mean(flat, 0.25, axis=-1))


def optimality_gap(scores: Floats, ideal: float) -> Floats:
    """Mean distance to `ideal`, scores above it counting as it. (..., runs, tasks) -> (...)."""
    return np.asarray(ideal - np.minimum(scores, ideal).mean(axis=(-2, -1)))


def probability_of_improvement(better: Floats, worse: Floats) -> Floats:
    """Probability that a run of `better` has a higher score than one of `worse`.

    Mann-Whitney's U over its largest value, averaged over tasks; ties count one half.
    Shapes (..., n, tasks) and (..., m, tasks) -> (...).
    """
    x, y = np.asarray(better)[..., :, None, :], np.asarray(worse)[..., None, :, :]
    return np.asarray(((x > y) + 0.5 * (x == y)).mean(axis=(-3, -2, -1)))


def performance_profile(scores: Floats, thresholds: Floats) -> Floats:
    """Fraction of all scores above each threshold. (..., runs, tasks), (k,) -> (..., k)."""
    flat = np.reshape(scores, (*np.shape(scores)[:-2], -1))
    return np.asarray((flat[..., None] > thresholds).mean(axis=-2))


def bootstrap(
    statistic: Callable[..., Floats],
    *scores: Floats,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> Floats:
    """Return `statistic` of stratified resamples of independent samples.

    Args:
        statistic: of stacked matrices (block, runs, tasks), one for each sample.
        *scores: the samples, matrices (runs, tasks).
        seed: of the draws.
        resamples: how many.

    Returns:
        Shape (resamples, ...).
    """
    rng = np.random.default_rng(seed)
    size = max(np.size(matrix) for matrix in scores)
    block = max(1, min(resamples, _BLOCK // max(size, 1)))
    parts = []
    for begin in range(0, resamples, block):
        count = min(block, resamples - begin)
        drawn = [
            np.take_along_axis(
                np.broadcast_to(matrix, (count, *np.shape(matrix))),
                rng.integers(len(matrix), size=(count, *np.shape(matrix))),
                axis=1,
            )
            for matrix in scores
        ]
        parts.append(statistic(*drawn))
    return np.concatenate(parts)


def interval(values: Floats) -> Interval:
    """95 % percentile interval of resampled numbers (n,)."""
    low, high = np.percentile(values, [2.5, 97.5])
    return round(float(low), DIGITS) + 0.0, round(float(high), DIGITS) + 0.0


def permutation_p(first: Floats, second: Floats, seed: int = 0) -> float:
    """Two-sided p-value of a permutation test of the difference of the means of runs.

    Runs are exchanged whole. All rearrangements are tried where there are few, else
    `RESAMPLES` random ones. Shapes (n, tasks), (m, tasks).
    """
    means = np.concatenate([first.mean(axis=1), second.mean(axis=1)])
    n, total = len(first), len(means)
    if comb(total, n) <= RESAMPLES:
        rows = np.array(list(combinations(range(total), n)))
        extra = 0
    else:
        rng = np.random.default_rng(seed)
        rows = np.argsort(rng.random((RESAMPLES, total)), axis=1)[:, :n]
        extra = 1
    sums = means[rows].sum(axis=1)
    differences = sums / n - (means.sum() - sums) / (total - n)
    seen = abs(means[:n].mean() - means[n:].mean())
    hits = np.count_nonzero(np.abs(differences) >= seen - 1e-12 * max(1.0, seen))
    return float((hits + extra) / (len(rows) + extra))


def least_p(first: int, second: int) -> float:
    """Smallest p-value that `permutation_p` can give for these numbers of runs."""
    ways = comb(first + second, first)
    return (2.0 if first == second else 1.0) / ways if ways > 1 else 1.0
