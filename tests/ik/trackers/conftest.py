"""A small network, a walk and its trackers."""

from __future__ import annotations

import pytest

from ambulo.motion.gaits.generated_walks import generated_walks
from ambulo.motion.motion import Motion


@pytest.fixture(scope="session")
def walk() -> Motion:
    """Four seconds of a generated walk at 60 Hz."""
    return generated_walks(60.0, 4.0)[5]
