"""Scores of probabilities, against values by hand and by brute force."""

from __future__ import annotations

import numpy as np
import pytest

from ambulo.evaluate.vr.lost.scores import auroc, lost_scores


def test_values_by_hand() -> None:
    p = np.array([0.05, 0.05, 0.95, 0.95])
    lost = np.array([False, True, True, True])
    scores = lost_scores(p, lost, np.arange(4))
    # Bins of 2: |0.05 - 0.5| and |0.95 - 1|, half the decisions each.
    assert scores.ece == pytest.approx(0.5 * 0.45 + 0.5 * 0.05)
    assert scores.brier == pytest.approx((3 * 0.05**2 + 0.95**2) / 4)
    assert scores.auroc == pytest.approx((2 + 0.5) / 3)
    assert scores.reliability.count.tolist() == [2, 0, 0, 0, 0, 0, 0, 0, 0, 2]
    assert scores.reliability.rate[[0, 9]].tolist() == [0.5, 1.0]
    assert np.isnan(scores.reliability.rate[1:9]).all()


def test_auroc_counts_pairs() -> None:
    rng = np.random.default_rng(0)
    p, lost = rng.integers(5, size=60) / 4, rng.random(60) < 0.4
    pairs = [(x > y) + 0.5 * (x == y) for x in p[lost] for y in p[~lost]]
    assert auroc(p, lost) == pytest.approx(np.mean(pairs))
    assert np.isnan(auroc(p, np.ones(60, np.bool_)))


def test_calibrated_probabilities_have_a_small_error() -> None:
    rng = np.random.default_rng(0)
    p = rng.random(20_000)
    lost = rng.random(20_000) < p
    scores = lost_scores(p, lost, np.arange(20_000) // 20)
    assert scores.ece < 0.02
    assert scores.brier == pytest.approx(1 / 6, abs=0.01)
    low, high = scores.auroc_ci95
    assert low < scores.auroc < high
    assert high - low < 0.03
    rows = scores.reliability
    assert ((rows.low <= rows.rate) & (rows.rate <= rows.high)).all()


@pytest.mark.integration
def test_intervals_draw_whole_episodes() -> None:
    """The same decisions in few episodes have wider intervals."""
    rng = np.random.default_rng(1)
    lost = np.repeat(rng.random(40) < 0.5, 100)
    p = np.full(len(lost), 0.5)
    few = lost_scores(p, lost, np.repeat(np.arange(40), 100)).ece_ci95
    many = lost_scores(p, lost, np.arange(4000)).ece_ci95
    assert few[1] - few[0] > 3 * (many[1] - many[0])


def test_one_kind_of_decision_has_no_auroc() -> None:
    scores = lost_scores(np.full(10, 0.2), np.zeros(10, np.bool_), np.arange(10))
    assert np.isnan(scores.auroc)
    assert np.isnan(scores.auroc_ci95).all()
    assert scores.ece == pytest.approx(0.2)
