"""The level bank: what is drawn, and what the distance fields say."""

from __future__ import annotations

import numpy as np
import pytest

from ambulo.configs.errors import LevelError
from ambulo.envs.vr.families.level_sets import split_level
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.task.bank import LevelBank


def empty(**parts: object) -> Level:
    """A 20 m square floor."""
    return Level("empty", np.array([-10.0, -10, 10, 10]), **parts)


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
        reach = np.hypot(*(bank.goals[start.slot, start.goal, :2] - start.pose[:2]))
        assert 4.9 <= reach <= 9.1
        slot, goal = np.array([start.slot]), np.array([start.goal])
        assert np.isfinite(
            bank.distance(slot, goal, np.append(start.pose[:2], start.height)[None])
        )[0]


def test_replacing_a_level_replaces_its_fields() -> None:
    """A larger level fits too, and the other slots keep theirs."""
    rng = np.random.default_rng(0)
    bank = LevelBank([empty(goal=np.array([5.0, 0.0]))] * 2, rng)
    big = Level("big", np.array([-30.0, -30, 30, 30]), goal=np.array([20.0, 0.0]))
    bank.replace(1, big, rng)
    zero = np.zeros(1, np.int64)
    here = np.array([[-5.0, 0.0, 0.0]])
    assert bank.distance(zero, zero, here)[0] == pytest.approx(10.0, rel=0.03)
    assert bank.distance(zero + 1, zero, here)[0] == pytest.approx(25.0, rel=0.03)
    assert bank.names.tolist() == ["empty", "big"]


def test_a_goal_on_another_storey_is_restored_with_its_distances() -> None:
    """Its x and y are those of the goal that it replaces."""
    deck = np.array([[0.0, 0, 2.9, 3, 3, 0.1, 0]])
    bank = LevelBank([empty(boxes=deck, heights=True)], np.random.default_rng(0))
    zero = np.zeros(1, np.int64)
    for height in (0.0, 3.0):
        places = bank.goals.copy()
        places[0, 0] = 1.0, 0.0, height
        assert bank.restore(bank.levels, places) == []
        for z in (0.0, 3.0):
            way = bank.distance(zero, zero, np.array([[-1.0, 0.0, z]]))[0]
            assert way == (pytest.approx(2.0, rel=0.03) if z == height else np.inf)


def test_no_free_floor_is_an_error() -> None:
    """A level without room for the body is named."""
    box = np.array([[0.0, 0, 1, 20, 20, 1, 0]])
    with pytest.raises(LevelError, match="no free floor"):
        LevelBank([empty(boxes=box)], np.random.default_rng(0))


def reaches(bank: LevelBank, count: int = 40) -> np.ndarray:
    """Straight and walking distance of drawn episodes, shape (count, 2)."""
    rng, rows = np.random.default_rng(1), []
    for _ in range(count):
        start = bank.draw(rng)
        straight = np.hypot(*(bank.goals[start.slot, start.goal, :2] - start.pose[:2]))
        slot, goal = np.array([start.slot]), np.array([start.goal])
        rows.append(
            [
                straight,
                bank.distance(
                    slot, goal, np.append(start.pose[:2], start.height)[None]
                )[0],
            ]
        )
    return np.array(rows)


@pytest.mark.parametrize(
    ("start", "goal"), [((20.0, 20.0, 0.0), None), (None, (20.0, 20.0)), (None, None)]
)
def test_what_is_left_to_chance_keeps_a_narrow_range(
    start: tuple[float, ...] | None, goal: tuple[float, ...] | None
) -> None:
    """A ring that a blind draw rarely hits is hit, whichever end is drawn."""
    level = Level(
        "wide", np.array([0.0, 0, 40, 40]),
        start=None if start is None else np.array(start),
        goal=None if goal is None else np.array(goal), goal_distance=(2.0, 2.3),
    )  # fmt: skip
    for seed in range(2):
        bank = LevelBank([level], np.random.default_rng(seed), resolution=0.125)
        found = reaches(bank, 20)
        assert (found[:, 0] >= 2.0).all()
        assert (found[:, 0] <= 2.3).all()


def test_a_drawn_goal_can_be_reached_from_a_small_room() -> None:
    """The start's room is 4 % of the floor; no goal is drawn in the rest."""
    wall = np.array([[5.0, 30, 1, 0.1, 30, 1, 0]])
    level = Level(
        "room", np.array([0.0, 0, 120, 60]), boxes=wall, start=np.array([2.0, 30, 0])
    )
    for seed in range(5):
        bank = LevelBank([level], np.random.default_rng(seed))
        assert np.isfinite(reaches(bank, 3)).all()
        assert (bank.goals[0, :, 0] < 5.0).all()


def test_a_door_that_only_fine_cells_see_is_a_way() -> None:
    """Levels are accepted on 0.1 m cells; then the bank measures on them too."""
    walls = np.array([[10, 2.33, 1, 0.1, 2.33, 1, 0], [10, 7.64, 1, 0.1, 2.36, 1, 0]])
    level = Level(
        "door", np.array([0.0, 0, 20, 10]), boxes=walls,
        start=np.array([3.0, 5, 0]), goal=np.array([18.0, 5]),
    )  # fmt: skip
    for resolution in (0.25, 0.125):
        levels = [empty(goal=np.array([5.0, 0.0])), level]
        bank = LevelBank(levels, np.random.default_rng(0), resolution=resolution)
        one, zero = np.ones(1, np.int64), np.zeros(1, np.int64)
        way = bank.distance(one, zero, np.append(level.start[:2], 0.0)[None])[0]
        assert way == pytest.approx(15.0, rel=0.03)
        again = LevelBank(
            [levels[0]] * 2, np.random.default_rng(1), resolution=resolution
        )
        assert again.restore(levels, bank.goals.copy()) == [1]
        assert (
            again.distance(one, zero, np.append(level.start[:2], 0.0)[None])[0] == way
        )
        here = np.array([[-5.0, 0.0, 0.0]])
        assert bank.distance(zero, zero, here)[0] == pytest.approx(10.0, rel=0.03)


def test_a_large_level_costs_its_own_size_only() -> None:
    """One level of 120 m among forty of 20 m does not blow the others up."""
    big = Level("big", np.array([-60.0, -60, 60, 60]), goal=np.array([20.0, 0.0]))
    levels = [empty(goal=np.array([5.0, 0.0]))] * 40 + [big]
    bank = LevelBank(levels, np.random.default_rng(0))
    small, large = bank.fields.view(0, 0).size, bank.fields.view(40, 0).size
    assert large == 36 * small
    assert bank.fields._data.nbytes < 3 * 4 * 1.3 * (40 * small + large)
