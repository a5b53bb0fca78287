"""The oracle among things that move: it waits for lifts and doors."""

from __future__ import annotations

import numpy as np
import pytest

from ambulo.configs.vr import NavigationConfig
from ambulo.envs.vr.families.level_sets import split_level
from ambulo.envs.vr.levels.layers import LayeredGrid
from ambulo.envs.vr.levels.level_io import parse_level
from ambulo.envs.vr.planners.oracle import Oracle
from ambulo.envs.vr.task.bank import LevelBank
from ambulo.envs.vr.task.build import make_batch

LEVELS = 6


@pytest.mark.integration
@pytest.mark.parametrize("family", ["lifts", "doors"])
def test_the_oracle_arrives_in_time(family: str) -> None:
    levels = [split_level(family, "validation", seed) for seed in range(LEVELS)]
    config = NavigationConfig().override("environment", num_environments=LEVELS)
    bank = LevelBank(levels, np.random.default_rng(0))
    batch = make_batch(config, LEVELS, seed=0, bank=bank)
    every = np.arange(LEVELS)
    batch.reset(every)
    oracle = Oracle(LEVELS)
    oracle.reset(every, every)
    arrived = np.zeros(LEVELS, bool)
    for _ in range(600):
        batch.step(oracle.act(batch))
        away = batch.task.goal - batch.world.state.position
        arrived |= (np.hypot(*away[:, :2].T) < 1.0) & (np.abs(away[:, 2]) < 0.6)
        if arrived.all():
            break
    assert arrived.all()


def test_paths_ride_lifts() -> None:
    level = split_level("lifts", "validation", 0)
    grid = LayeredGrid.of(level, 0.1, 0.28)
    assert level.start is not None
    assert level.goal is not None
    begin = np.append(level.start[:2], level.start_height)
    end = np.append(level.goal[:2], level.goal_height)
    path = grid.path(grid.field(end), begin, end)
    lift = level.movers[0]
    on = np.abs(path[:, :2] - lift.path[0, 1:3]).max(axis=1) <= lift.half_size[0]
    heights = path[on, 2]
    assert np.ptp(heights) > 2.0


@pytest.mark.parametrize("kind", ["platform", "lift"])
def test_nobody_waits_for_what_is_overhead(kind: str) -> None:
    stops = [[0, 0, 0, 4, 0], [1, 0, 0, 4, 0], [3, 0, 0, 5, 0], [4, 0, 0, 5, 0]]
    data = {
        "name": "hall", "bounds": [-6, -6, 6, 6], "heights": True,
        "movers": [{"kind": kind, "half_size": [1, 1, 0.1], "path": stops}],
        "start": {"position": [-5, 0, 0], "yaw": 0}, "goal": [5, 0, 0],
    }  # fmt: skip
    level = parse_level(data, "x")
    config = NavigationConfig().override("environment", num_environments=1)
    bank = LevelBank([level], np.random.default_rng(0))
    batch = make_batch(config, 1, seed=0, bank=bank)
    batch.reset(np.arange(1))
    oracle = Oracle(1)
    for _ in range(100):
        _, _, solved, _, _ = batch.step(oracle.act(batch))
        if solved[0]:
            return
    raise AssertionError("it never arrives")
