"""Offsets that arrive late."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ambulo.envs.simulation.disturbance import DelayLine


def sent(step: int) -> np.ndarray:
    """The offsets of a control step, which tell its number."""
    return np.full((2, 3), float(step))


@given(st.integers(0, 13), st.integers(1, 6))
def test_what_acts_is_what_was_sent_so_many_substeps_before(
    delay: int, substeps: int
) -> None:
    line = DelayLine(delay, substeps, (2, 3))
    for step in range(1, 6):
        line.send(sent(step))
        for substep in range(substeps):
            chosen = (step - 1) * substeps + substep - delay
            expected = 1 + chosen // substeps if chosen >= 0 else 0
            np.testing.assert_array_equal(line.arrived(substep), sent(expected))


def test_an_episode_begins_with_nothing_on_its_way() -> None:
    line = DelayLine(3, 5, (2, 3))
    line.send(sent(1))
    line.begin(np.array([1]))
    line.send(sent(2))
    assert line.arrived(2)[:, 0].tolist() == [1.0, 0.0]
    assert line.arrived(3)[:, 0].tolist() == [2.0, 2.0]


def test_state_is_what_is_on_its_way() -> None:
    line, other = DelayLine(6, 5, (2, 3)), DelayLine(6, 5, (2, 3))
    line.send(sent(1))
    line.send(sent(2))
    other.load_state_dict(line.state_dict())
    for one in (line, other):
        one.send(sent(3))
        assert [one.arrived(i)[0, 0] for i in range(5)] == [1.0, 2.0, 2.0, 2.0, 2.0]
    assert DelayLine(0, 5, (2, 3)).state_dict() == {}
    with pytest.raises(KeyError, match="sent"):
        other.load_state_dict({})
