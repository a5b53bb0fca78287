"""Numbers of rliable 1.2.0 (50,000 resamples; 2,000 for profiles and comparisons)."""

import numpy as np
import pytest

from ambulo.commands.sweeps.statistics import (
    bootstrap,
    interquartile_mean,
    interval,
    least_p,
    optimality_gap,
    performance_profile,
    permutation_p,
    probability_of_improvement,
)

A = np.array(
    [
        [0.852, 0.788, 0.728],
        [0.8, 0.949, 0.713],
        [0.618, 0.691, 0.872],
        [0.872, 0.816, 0.694],
        [0.964, 0.776, 0.912],
    ]
)
B = np.array(
    [
        [0.8, 0.51, 0.877],
        [0.579, 0.446, 0.668],
        [0.8, 0.653, 0.696],
        [0.925, 0.314, 0.548],
    ]
)
THRESHOLDS = np.array([0.3, 0.5, 0.6, 0.7, 0.8 - 1e-9, 0.9, 1.0])


def test_points_are_those_of_rliable() -> None:
    assert interquartile_mean(A) == pytest.approx(0.801888888888889, abs=1e-12)
    assert interquartile_mean(B) == pytest.approx(0.6573333333333333, abs=1e-12)
    assert optimality_gap(A, 1.0) == pytest.approx(0.19699999999999984, abs=1e-12)
    assert optimality_gap(B, 1.0) == pytest.approx(0.3486666666666667, abs=1e-12)
    assert probability_of_improvement(A, B) == pytest.approx(0.8, abs=1e-12)
    profile = performance_profile(A, THRESHOLDS)
    assert profile == pytest.approx([1, 1, 1, 0.8, 8 / 15, 0.2, 0])


def test_intervals_are_those_of_rliable() -> None:
    """Within the noise of two different draws."""
    expected = {"a": (0.745667, 0.863111), "b": (0.572, 0.746333)}
    for name, scores in (("a", A), ("b", B)):
        ends = interval(bootstrap(interquartile_mean, scores))
        assert ends == pytest.approx(expected[name], abs=0.004)
    ends = interval(bootstrap(lambda x: optimality_gap(x, 1.0), B))
    assert ends == pytest.approx((0.28025, 0.417250), abs=0.004)
    ends = interval(bootstrap(probability_of_improvement, A, B))
    assert ends == pytest.approx((0.608333, 0.95), abs=0.02)
    bands = bootstrap(lambda x: performance_profile(x, np.array([0.7])), A)
    assert np.percentile(bands, [2.5, 97.5]) == pytest.approx((0.6, 1.0))


def test_draws_repeat_and_blocks_do_not_matter() -> None:
    first = bootstrap(interquartile_mean, A, seed=3, resamples=50)
    assert np.array_equal(first, bootstrap(interquartile_mean, A, seed=3, resamples=50))
    assert not np.array_equal(first, bootstrap(interquartile_mean, A, resamples=50))


def test_a_permutation_test_counts_rearrangements() -> None:
    """Of the 70 ways to split 8 runs, two are as far apart as complete separation."""
    low, high = np.arange(4.0)[:, None], np.arange(4.0)[:, None] + 10.0
    assert permutation_p(low, high) == pytest.approx(2 / 70)
    assert permutation_p(low, low) == 1.0
    assert least_p(4, 4) == pytest.approx(2 / 70)
    assert least_p(3, 3) == pytest.approx(0.1)
    assert least_p(3, 4) == pytest.approx(1 / 35)
    many = np.arange(20.0)[:, None]
    assert permutation_p(many, many + 40.0) < 1e-3
