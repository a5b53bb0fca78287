"""What tests of the pool and of its jobs share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ambulo.ik.pool.workers import NeuralIKPool


@pytest.fixture(scope="module")
def pool() -> Iterator[NeuralIKPool]:
    """Two workers without a network."""
    with NeuralIKPool(workers=2, capacity=8, slots=4, deadline=60.0) as made:
        yield made
