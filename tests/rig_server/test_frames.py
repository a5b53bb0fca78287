"""Frames of the wire, checked and in our units."""

from __future__ import annotations

import numpy as np
import pytest

from ambulo.rig_server.frames import (
    RigFrame,
    answer_floats,
    answer_rotations,
    floats_of,
    frame_of,
    up_of,
)
from ambulo.rig_server.layout import LEGS, RigError


def wire() -> np.ndarray:
    """Identity everywhere, the pelvis at 100 cm turned 90 degrees about X."""
    values = np.zeros(63, np.float32)
    values[[6, 13, 20, 27, 34, 41, 48]] = 1.0
    values[3], values[6] = np.sqrt(0.5), np.sqrt(0.5)
    values[2] = 100.0
    values[14:17] = (0.0, 0.0, -45.0)
    values[49:53] = (0.0, 2.0, 0.0, 1.0)
    values[53:57] = (1.0, 0.0, 0.0, 0.0)
    values[57:60] = (1.0, 2.0, 3.0)
    return values


def test_the_published_order_and_units() -> None:
    frame = frame_of(LEGS, wire())
    np.testing.assert_allclose(frame.root_position, [0, 0, 1.0])
    np.testing.assert_allclose(
        frame.root_rotation, [0.5**0.5, 0.5**0.5, 0, 0], atol=1e-7
    )
    np.testing.assert_allclose(frame.offsets[2], [0, 0, -0.45], atol=1e-7)
    np.testing.assert_allclose(frame.targets[0], [0.01, 0.02, 0.03], atol=1e-9)
    np.testing.assert_array_equal(frame.hits, [1, 0])
    np.testing.assert_array_equal(frame.offsets[0], 0.0)
    np.testing.assert_array_equal(frame.rotations[0], [1, 0, 0, 0])
    # World up in a frame that was turned by 90 degrees about X: its own Y axis.
    np.testing.assert_allclose(frame.up, [0, 1, 0], atol=1e-7)
    np.testing.assert_allclose(frame.normals[0], [0, 1, 0], atol=1e-7)
    np.testing.assert_allclose(frame.normals[1], frame.up)  # no hit: level ground
    np.testing.assert_allclose(up_of(frame.root_rotation), frame.up)


def test_floats_and_back(walk: list[RigFrame]) -> None:
    values = floats_of(LEGS, walk[17])
    np.testing.assert_allclose(
        floats_of(LEGS, frame_of(LEGS, values)), values, atol=2e-5
    )


@pytest.mark.parametrize(
    ("place", "value", "rule"),
    [
        (5, np.nan, "finite"),
        (62, np.inf, "finite"),
        (0, 1e9, "farther"),
        (57, -1e9, "farther"),
        (13, 0.1, "unit"),
        (13, 2.0, "unit"),
    ],
)
def test_values_that_cannot_be(place: int, value: float, rule: str) -> None:
    values = wire()
    values[place] = value
    with pytest.raises(RigError, match=rule):
        frame_of(LEGS, values)


def test_another_size_is_refused() -> None:
    with pytest.raises(RigError, match="63 numbers, got 62"):
        frame_of(LEGS, wire()[:62])


def test_answers_are_xyzw_without_the_root() -> None:
    local = np.tile([1.0, 0.0, 0.0, 0.0], (7, 1))
    local[1] = (0.5, 0.1, 0.2, 0.3)
    floats = answer_floats(local)
    np.testing.assert_allclose(floats[:4], [0.1, 0.2, 0.3, 0.5], rtol=1e-6)
    np.testing.assert_allclose(floats[4:8], [0, 0, 0, 1])
    np.testing.assert_allclose(answer_rotations(floats), local, atol=1e-7)
