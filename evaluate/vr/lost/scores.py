"""How good probabilities of being lost are: calibration, Brier score, AUROC.

Decisions of one episode are alike, so that intervals draw whole episodes again.

* Expected calibration error (ECE): over ten bins of equal width in p, the mean of
  |mean p - fraction lost|, weighted by the decisions in the bin (Naeini et al. 2015,
  "Obtaining well calibrated probabilities using Bayesian binning"; Guo et al. 2017, "On
  calibration of modern neural networks"). Few independent episodes make it larger, never
  smaller, and so do the draws of a bootstrap: its interval lies high.
* Brier score: mean of (p - lost)^2 (Brier 1950).
* AUROC: probability that a lost decision has a larger p than another one, ties by half.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata

from ambulo.configs.arrays import Bools, Floats, Ints
from ambulo.evaluate.shared.intervals import BOOTSTRAP_SAMPLES, Interval

BINS = 10
"""Bins of the calibration error and of the diagram."""
_STEPS = 1000
"""Steps of p of the intervals of AUROC."""
_TAILS = (2.5, 97.5)
"""Percentiles of an interval."""


@dataclass(frozen=True)
class Reliability:
    """The reliability diagram: one row a bin of p, NaN where a bin is empty."""

    count: Ints
    """Decisions. Shape (BINS,)."""
    mean: Floats
    """Mean p. Shape (BINS,)."""
    rate: Floats
    """Fraction of lost decisions. Shape (BINS,)."""
    low: Floats
    """Lower end of the 95 % interval of `rate`. Shape (BINS,)."""
    high: Floats
    """Upper end. Shape (BINS,)."""


@dataclass(frozen=True)
class LostScores:
    """Scores of one predictor of being lost."""

    ece: float
    """Expected calibration error."""
    ece_ci95: Interval
    """Of `ece`."""
    brier: float
    """Brier score; less is better."""
    brier_ci95: Interval
    """Of `brier`."""
    auroc: float
    """Area under the ROC curve; NaN where all decisions are of one kind."""
    auroc_ci95: Interval
    """Of `auroc`."""
    reliability: Reliability
    """Its diagram."""


def lost_scores(p: Floats, lost: Bools, episode: Ints, seed: int = 0) -> LostScores:
    """Return the scores of probabilities.

    Args:
        p: Probability of being lost at decisions. Shape (S,).
        lost: Whether the agent was lost. Shape (S,).
        episode: Episode of each decision. Shape (S,).
        seed: Of the bootstrap.
    """
    p = np.clip(np.asarray(p, np.float64), 0.0, 1.0)
    _, rows = np.unique(episode, return_inverse=True)
    draws = _draws(int(rows.max()) + 1, seed)
    bins = np.minimum((BINS * p).astype(np.int64), BINS - 1)
    sums = [
        _by_episode(rows, bins, BINS, w) for w in (None, p, lost.astype(np.float64))
    ]
    count, mean, rate = (draws @ part for part in sums)
    brier = _by_episode(rows, 0 * bins, 1, (p - lost) ** 2)
    with np.errstate(invalid="ignore", divide="ignore"):
        rates = rate / count
    total = [part.sum(axis=0, keepdims=True) for part in sums]
    return LostScores(
        ece=float(_ece(*total)[0]),
        ece_ci95=_interval(_ece(count, mean, rate)),
        brier=float(((p - lost) ** 2).mean()),
        brier_ci95=_interval((draws @ brier)[:, 0] / count.sum(axis=1)),
        auroc=auroc(p, lost),
        auroc_ci95=_interval(_drawn_auroc(p, lost, rows, draws)),
        reliability=_diagram(total, rates),
    )


def auroc(p: Floats, lost: Bools) -> float:
    """Return the area under the ROC curve; NaN where all decisions are of one kind."""
    hits, misses = int(lost.sum()), int((~lost).sum())
    if hits == 0 or misses == 0:
        return float("nan")
    ranks = rankdata(p)[lost].sum()
    return float((ranks - hits * (hits + 1) / 2) / (hits * misses))


def _draws(episodes: int, seed: int) -> Floats:
    """Return how often each episode is in each bootstrap sample. Shape (B, E)."""
    rng = np.random.default_rng(seed)
    chances = np.full(episodes, 1.0 / episodes)
    return rng.multinomial(episodes, chances, size=BOOTSTRAP_SAMPLES).astype(np.float64)


def _by_episode(rows: Ints, bins: Ints, width: int, weights: Floats | None) -> Floats:
    """Return sums by episode and bin. Shape (E, width)."""
    size = (int(rows.max()) + 1) * width
    flat = np.bincount(rows * width + bins, weights, minlength=size)
    return flat.reshape(-1, width).astype(np.float64)


def _ece(count: Floats, mean: Floats, rate: Floats) -> Floats:
    """Return the calibration error of each row of sums by bin. Shape (B,)."""
    return np.abs(mean - rate).sum(axis=1) / count.sum(axis=1)


def _drawn_auroc(p: Floats, lost: Bools, rows: Ints, draws: Floats) -> Floats:
    """Return the AUROC of each bootstrap sample, of p in `_STEPS` ranks. Shape (B,)."""
    order = rankdata(p, method="dense") - 1
    steps = (order * (_STEPS - 1) // max(int(order.max()), 1)).astype(np.int64)
    hits, misses = (
        draws @ _by_episode(rows, steps, _STEPS, kind.astype(np.float64))
        for kind in (lost, ~lost)
    )
    below = np.cumsum(misses, axis=1) - 0.5 * misses
    pairs = hits.sum(axis=1) * misses.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(pairs > 0, (hits * below).sum(axis=1) / pairs, np.nan)


def _diagram(total: list[Floats], rates: Floats) -> Reliability:
    """Return the diagram of the sums of all episodes; `rates` (B, BINS) are drawn ones."""
    count, mean, rate = (part[0] for part in total)
    full = count > 0
    low, high = np.full(BINS, np.nan), np.full(BINS, np.nan)
    if full.any():
        low[full], high[full] = np.nanpercentile(rates[:, full], _TAILS, axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return Reliability(
            count.astype(np.int64), mean / count, rate / count, low, high
        )


def _interval(values: Floats) -> Interval:
    """Return the percentiles of the values that are defined."""
    known = values[np.isfinite(values)]
    if len(known) == 0:
        return float("nan"), float("nan")
    low, high = np.percentile(known, _TAILS)
    return float(low), float(high)
