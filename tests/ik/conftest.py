"""Fixtures of all IK tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import ambulo.shipped
from ambulo.ik.pool import workers
from ambulo.ik.pool.workers import NeuralIKPool
from ambulo.ik.rig import Rig, load_rig
from ambulo.ik.trackers.network import TrackerNetwork
from ambulo.policies.agents.body_tracker import load_tracker_network


@pytest.fixture(scope="module")
def pool() -> Iterator[NeuralIKPool]:
    """Two workers without a network, which share out jobs also on a single core."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(workers, "usable_cores", lambda: 2)
        made = NeuralIKPool(workers=2, capacity=8, slots=4, deadline=60.0)
    with made:
        yield made


@pytest.fixture(scope="session")
def rig() -> Rig:
    """The shipped rig."""
    return load_rig()


@pytest.fixture(scope="session")
def shipped_network() -> TrackerNetwork:
    """The network of the shipped body tracker."""
    return load_tracker_network(ambulo.shipped.shipped_models()["ik_trackers"])[0]
