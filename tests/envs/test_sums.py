"""Compiled sums against NumPy's and against the order that they promise."""

from __future__ import annotations

import numpy as np
import pytest

from ambulo.envs.sums import pairwise_sum, squared_length


@pytest.mark.parametrize("count", [0, 1, 3, 7, 8, 15, 50, 128, 129, 300])
def test_a_sum_has_the_bits_of_numpy(count: int) -> None:
    rows = (
        np.random.default_rng(count).normal(size=(20, count))
        * 10.0 ** np.arange(20)[:, None]
    )
    sums = [pairwise_sum(row) for row in rows]
    np.testing.assert_array_equal(sums, np.add.reduce(rows, axis=1))


def in_two_lanes(row: np.ndarray) -> float:
    """Squares of even and odd places apart; of each eight numbers the last pair first."""
    squares = (row * row).tolist()
    whole = len(squares) // 8 * 8
    order = [i + k for i in range(0, whole, 8) for k in (6, 4, 2, 0)]
    order += range(whole, len(squares), 2)
    lanes = [0.0, 0.0]
    for i in order:
        for lane, square in enumerate(squares[i : i + 2]):
            lanes[lane] += square
    return lanes[0] + lanes[1]


@pytest.mark.parametrize("count", [1, 2, 3, 8, 15, 50])
def test_a_squared_length_adds_even_and_odd_places_apart(count: int) -> None:
    rows = np.random.default_rng(count).normal(size=(50, count + 7))[:, 7:]
    for row in rows:
        assert squared_length(row) == in_two_lanes(row)
    lengths = [squared_length(row) for row in rows]
    np.testing.assert_allclose(lengths, (rows * rows).sum(axis=1), rtol=1e-14)
