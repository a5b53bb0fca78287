"""Fixtures of all IK tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ambulo.ik.pool.workers import NeuralIKPool
from ambulo.ik.rig import Rig, load_rig


@pytest.fixture(scope="module")
def pool() -> Iterator[NeuralIKPool]:
    """Two workers without a network."""
    with NeuralIKPool(workers=2, capacity=8, slots=4, deadline=60.0) as made:
        yield made


@pytest.fixture(scope="session")
def rig() -> Rig:
    """The shipped rig."""
    return load_rig()
