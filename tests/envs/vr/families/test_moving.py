"""Families with people, doors and lifts."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from ambulo.configs.vr import NavigationConfig
from ambulo.envs.vr.families import MOVING_FAMILIES, generate
from ambulo.envs.vr.families.level_sets import resolve
from ambulo.envs.vr.families.moving import PEOPLE
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.levels.level_check import level_problem
from ambulo.envs.vr.levels.level_io import level_data, parse_level
from ambulo.envs.vr.task.bank import LevelBank, Start
from ambulo.envs.vr.task.batch import NavigationBatch
from ambulo.envs.vr.task.build import make_world

SEEDS = range(2_000_000, 2_000_030)
FEW = SEEDS[:10]


@cache
def made(family: str, seed: int) -> Level:
    return generate(family, seed)


def _batch(levels: list[Level]) -> NavigationBatch:
    config = NavigationConfig().override("environment", max_episode_steps=900)
    bank = LevelBank(levels, np.random.default_rng(0))
    world = make_world(config, len(levels))
    batch = NavigationBatch(config, bank, world, num_envs=len(levels))
    assert all(level.start is not None for level in levels)
    starts = [
        Start(k, 0, level.start, level.start_height)  # type: ignore[arg-type]
        for k, level in enumerate(levels)
    ]
    batch.reset(np.arange(len(levels)), starts)
    return batch


def _careful_walk(
    batch: NavigationBatch, steps: int, room: float = 0.45
) -> dict[str, np.ndarray]:
    """Walk down the distance field; wait where a ray ahead is shorter than `room` [m].

    Who does not get on for three seconds goes back for a while.
    """
    n = batch.num_envs
    done, solved, fell = (np.zeros(n, np.bool_) for _ in range(3))
    people = np.zeros(n, np.int64)
    before, back = batch.world.state.position[:, :2].copy(), np.zeros(n, np.int64)
    rng = np.random.default_rng(1)
    for step in range(steps):
        state = batch.world.state
        way = batch.bank.direction(batch.task.slot, batch.task.index, state.position)
        turn = np.arctan2(way[:, 1], way[:, 0])
        ray = np.round((turn - state.yaw) / (2 * np.pi) * 16).astype(int) % 16
        clear = np.minimum(state.rays[np.arange(n), ray], 1.0)
        speed = np.where(clear > room, 0.6, 0.0) * np.hypot(*way.T)
        if room == 0.0 and step % 30 == 29:
            stuck = np.hypot(*(state.position[:, :2] - before).T) < 0.5
            back = np.where(stuck, rng.integers(5, 25, n), 0)
            before = state.position[:, :2].copy()
        speed = np.where(back > 0, -0.6, speed)
        back = np.maximum(back - 1, 0)
        ahead, left = np.cos(turn - state.yaw), np.sin(turn - state.yaw)
        actions = np.column_stack([-left * speed, ahead * speed, np.zeros(n)])
        _, _, terminated, truncated, info = batch.step(actions)
        now = terminated & ~done
        solved |= now & info["is_success"].astype(bool)
        fell |= now & info["fell"].astype(bool)
        people += np.where(done, 0, info["people_collisions"])
        done |= terminated | truncated
    return {"solved": solved, "fell": fell, "people": people}


@pytest.mark.parametrize("family", MOVING_FAMILIES)
def test_levels_are_good_and_the_same_each_time(family: str) -> None:
    for seed in FEW[:5]:
        level = made(family, seed)
        assert level_problem(level) is None
        assert level.moving
        assert level.family == family
        data = level_data(level)
        assert data == level_data(generate(family, seed))
        assert level_data(parse_level(data, "x")) == data


def test_the_set_moving_has_all_of_them_in_every_split() -> None:
    for split in ("train", "validation", "heldout"):
        assert resolve(["moving"], split) == MOVING_FAMILIES


def test_families_have_what_they_are_called_after() -> None:
    crowds = [made("crowd", seed).people for seed in FEW]
    counts = [people.count for people in crowds if people is not None]
    assert len(counts) == len(FEW)
    assert PEOPLE[0] <= min(counts) < 9
    assert 16 < max(counts) <= PEOPLE[1]
    for seed in FEW[:5]:
        kinds = {mover.kind for mover in made("doors", seed).movers}
        assert "door" in kinds
        lift = made("lifts", seed)
        assert [mover.kind for mover in lift.movers] == ["lift"]
        assert abs(lift.start_height - lift.goal_height) > 2.4


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "room", "least"), [("doors", 0.0, 0.5), ("lifts", 0.45, 0.8)]
)
def test_who_waits_for_doors_and_lifts_arrives(
    family: str, room: float, least: float
) -> None:
    batch = _batch([generate(family, seed) for seed in SEEDS])
    walk = _careful_walk(batch, 900, room)
    assert walk["solved"].mean() >= least
    assert walk["fell"].mean() <= 0.15


def test_people_are_in_the_way() -> None:
    batch = _batch([made("crowd", seed) for seed in FEW])
    walk = _careful_walk(batch, 300)
    assert walk["solved"].mean() > 0.5
    assert walk["people"].sum() > 0
