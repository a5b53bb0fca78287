"""A small network, a walk and its trackers."""

from __future__ import annotations

import pytest

import ambulo.shipped
from ambulo.evaluate.generated_walks import generated_walks
from ambulo.ik.trackers.network import TrackerNetwork
from ambulo.motion.motion import Motion
from ambulo.policies.agents.body_tracker import load_tracker_network


@pytest.fixture(scope="session")
def shipped_network() -> TrackerNetwork:
    """The network of the shipped body tracker."""
    return load_tracker_network(ambulo.shipped.shipped_models()["ik_trackers"])[0]


@pytest.fixture(scope="session")
def walk() -> Motion:
    """Four seconds of a generated walk at 60 Hz."""
    return generated_walks(60.0, 4.0)[5]
