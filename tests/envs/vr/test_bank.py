"""The level bank: what is drawn, and what the distance fields say."""

from __future__ import annotations

import numpy as np
import pytest

from ambulo.configs.errors import LevelError
from ambulo.envs.vr.bank import LevelBank
from ambulo.envs.vr.level import Level
from ambulo.envs.vr.level_sets import split_level


def empty(**parts: object) -> Level:
    """A 20 m square floor."""
    return Level("empty", np.array([-10.0, -10, 10, 10]), **parts)


def test_straight_distance_on_an_empty_floor() -> None:
    """Fields agree with the ruler."""
    bank = LevelBank([empty(goal=np.array([5.0, 0.0]))], np.random.default_rng(0))
    here = np.array([[-3.0, 6.0]])
    zero = np.zeros(1, np.int64)
    assert bank.distance(zero, zero, here)[0] == pytest.approx(10.0, rel=0.03)
    way = bank.direction(zero, zero, here)[0]
    np.testing.assert_allclose(way, [0.8, -0.6], atol=0.25)


def test_designed_start_and_goal_are_kept() -> None:
    """With designed=1 a level's own start and goal are always used."""
    start = np.array([-4.0, 1.0, 0.5])
    bank = LevelBank(
        [empty(goal=np.array([5.0, 0.0]), start=start)], np.random.default_rng(0)
    )
    for seed in range(5):
        drawn = bank.draw(np.random.default_rng(seed))
        np.testing.assert_array_equal(drawn.pose, start)
        assert drawn.goal == 0


def test_drawn_starts_keep_their_distance() -> None:
    """Starts lie within the asked range of the goal, on free floor."""
    levels = [
        split_level(family, "train", 0) for family in ("clutter", "pits", "rooms")
    ]
    bank = LevelBank(levels, np.random.default_rng(0), designed=0.0)
    rng = np.random.default_rng(1)
    for _ in range(100):
        start = bank.draw(rng, goal_distance=(5.0, 9.0))
        reach = np.hypot(*(bank.goals[start.slot, start.goal] - start.pose[:2]))
        assert 4.9 <= reach <= 9.1
        slot, goal = np.array([start.slot]), np.array([start.goal])
        assert np.isfinite(bank.distance(slot, goal, start.pose[None]))[0]


def test_replacing_a_level_replaces_its_fields() -> None:
    """A larger level fits too, and the other slots keep theirs."""
    rng = np.random.default_rng(0)
    bank = LevelBank([empty(goal=np.array([5.0, 0.0]))] * 2, rng)
    big = Level("big", np.array([-30.0, -30, 30, 30]), goal=np.array([20.0, 0.0]))
    bank.replace(1, big, rng)
    zero = np.zeros(1, np.int64)
    here = np.array([[-5.0, 0.0]])
    assert bank.distance(zero, zero, here)[0] == pytest.approx(10.0, rel=0.03)
    assert bank.distance(zero + 1, zero, here)[0] == pytest.approx(25.0, rel=0.03)


def test_no_free_floor_is_an_error() -> None:
    """A level without room for the body is named."""
    box = np.array([[0.0, 0, 1, 20, 20, 1, 0]])
    with pytest.raises(LevelError, match="no free floor"):
        LevelBank([empty(boxes=box)], np.random.default_rng(0))
