"""Confidence intervals of rates."""

from __future__ import annotations

import pytest
from scipy.stats import binomtest

from ambulo.evaluate.shared.intervals import wilson_interval


@pytest.mark.parametrize(("hits", "count"), [(0, 5), (5, 5), (3, 7), (98, 100), (1, 1)])
def test_wilson_is_that_of_scipy(hits: int, count: int) -> None:
    wanted = binomtest(hits, count).proportion_ci(0.95, method="wilson")
    assert wilson_interval(hits, count) == pytest.approx((wanted.low, wanted.high))


def test_all_of_five_leave_doubt() -> None:
    # 1 / (1 + 1.96^2 / 5)
    assert wilson_interval(5, 5) == (pytest.approx(0.5655, abs=1e-4), 1.0)
    with pytest.raises(ValueError, match="6 hits of 5"):
        wilson_interval(6, 5)
