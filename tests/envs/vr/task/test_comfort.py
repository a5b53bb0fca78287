"""The published comfort score and smoothness by hand; the index tells motions apart."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ambulo.envs.vr.task.comfort import (
    PARTS,
    HeadMotion,
    comfort_index,
    comfort_score,
    discomforts,
    head_motion,
    smoothness,
)

FLAT = np.zeros((1, 2))


def _moving(ahead: float, left: float = 0.0, **changes: float) -> float:
    """Index of a steady motion of a head that looks along +Y, with changes."""
    yaw = np.array([np.pi / 2])
    along = np.array([[-left, ahead]])
    motion = head_motion(
        along,
        FLAT + changes.get("acceleration", 0.0),
        FLAT + changes.get("jerk", 0.0),
        yaw,
        np.array([changes.get("yaw_rate", 0.0)]),
        np.array([changes.get("yaw_acceleration", 0.0)]),
        np.array([changes.get("head_bob", 0.0)]),
    )
    return float(comfort_index(motion)[0])


def test_ways_of_moving_are_told_apart() -> None:
    standing, ahead = _moving(0.0), _moving(1.2)
    strafing, back = _moving(0.0, 1.59), _moving(-1.59)
    jerking = _moving(1.2, acceleration=3.0, jerk=30.0)
    assert standing == 1.0
    assert ahead == 1.0
    assert strafing == pytest.approx(1.0 - 0.12 - 0.1 * 0.19 / 1.6)
    assert back == pytest.approx(strafing - 0.06)
    assert jerking < 0.85
    sides = discomforts(_of(0.0, 1.59)), discomforts(_of(-1.59, 0.0))
    assert sides[0]["sideways"][0] == 1.0
    assert sides[0]["backwards"][0] == 0.0
    assert sides[1]["sideways"][0] == 0.0
    assert sides[1]["backwards"][0] == 1.0


def _of(ahead: float, left: float) -> HeadMotion:
    one = np.zeros(1)
    return head_motion(np.array([[ahead, left]]), FLAT, FLAT, one, one, one)


@pytest.mark.parametrize(
    "name", [n for n in PARTS if n not in ("sideways", "backwards")]
)
def test_each_part_costs_its_weight_at_its_end(name: str) -> None:
    values = {part: np.zeros(1) for part in PARTS}
    values[name] = np.array([2.0 * PARTS[name].high])
    assert comfort_index(HeadMotion(**values))[0] == pytest.approx(
        1 - PARTS[name].weight
    )
    values[name] = np.array([PARTS[name].low])
    assert comfort_index(HeadMotion(**values))[0] == 1.0


def test_weights_sum_to_one() -> None:
    assert sum(part.weight for part in PARTS.values()) == pytest.approx(1.0)


@given(st.floats(-5, 5), st.floats(-5, 5), st.floats(-4, 4), st.floats(-20, 20))
def test_it_does_not_depend_on_where_one_looks(x, y, yaw, rate) -> None:
    turn = np.array([[np.cos(yaw), -np.sin(yaw)], [np.sin(yaw), np.cos(yaw)]])
    rates = np.array([rate])
    ahead = head_motion(np.array([[x, y]]), FLAT, FLAT, np.zeros(1), rates, rates)
    turned = (turn @ np.array([x, y]))[None]
    there = head_motion(turned, FLAT, FLAT, np.array([yaw]), rates, rates)
    assert comfort_index(there)[0] == pytest.approx(comfort_index(ahead)[0], abs=1e-6)
    assert 0.0 <= comfort_index(ahead)[0] <= 1.0


@pytest.mark.parametrize(
    ("yaw_rate", "speed", "expected"),
    [
        (0.0, 0.0, 1.0),
        (0.7, 1.6, 1.0),  # at both limits is still comfortable
        (0.71, 0.0, 0.7),
        (-0.71, 0.0, 0.7),
        (0.0, 1.61, 0.8),
        (1.5, 2.0, 0.5),
    ],
)
def test_published_score(yaw_rate: float, speed: float, expected: float) -> None:
    score = comfort_score(np.array([yaw_rate]), np.array([speed]), 2.0)
    assert score[0] == pytest.approx(expected)


def test_smoothness_falls_with_acceleration() -> None:
    change = np.array([[0.0, 0.0], [0.3, 0.4], [0.0, -1.0], [3.0, 0.0]])
    np.testing.assert_allclose(smoothness(change, 0.1), [1.0, 0.5, 0.0, 0.0])
