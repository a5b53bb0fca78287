"""The oracle among things that move: it waits for lifts and doors."""

from __future__ import annotations

import numpy as np
import pytest

from ambulo.configs.vr import NavigationConfig
from ambulo.envs.vr.families.level_sets import split_level
from ambulo.envs.vr.levels.layers import LayeredGrid
from ambulo.envs.vr.planners.oracle import Oracle
from ambulo.envs.vr.task.bank import LevelBank
from ambulo.envs.vr.task.build import make_batch

LEVELS = 6


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
