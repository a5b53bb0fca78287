from __future__ import annotations

import numpy as np
import pytest

from ambulo.configs.vr import NavigationConfig
from ambulo.envs.vr.levels.geodesic import path_length
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.levels.level_check import level_problem
from ambulo.envs.vr.task.bank import LevelBank, Start
from ambulo.evaluate.vr.evaluation import run_episodes
from ambulo.evaluate.vr.subjects import planner_subject

WALL = 8.0
"""Length of each of the two walls beside a gap, [m]."""


def gap_level(gap: float, degrees: float, shift: float) -> Level:
    """Two walls with a gap; the straight line from start to goal hits one of them."""
    yaw = np.radians(degrees)
    turn = np.array([[np.cos(yaw), -np.sin(yaw)], [np.sin(yaw), np.cos(yaw)]])
    walls = [
        [*(turn @ [0.0, side * (gap + WALL) / 2] + shift), 1.0, 0.1, WALL / 2, 1.0, yaw]
        for side in (1.0, -1.0)
    ]
    return Level(
        f"gap {gap:g} m at {degrees:g} deg",
        np.array([-5.0, -5.0, 5.0, 5.0]),
        boxes=np.array(walls),
        start=np.array([*(turn @ [-2.0, -2.0]), yaw]),
        goal=turn @ [2.0, -2.0],
    )


@pytest.mark.integration
def test_oracle_walks_through_every_gap_that_levels_may_have() -> None:
    levels = [
        level
        for gap in (0.565, 0.57, 0.58, 0.6, 0.62)
        for degrees in (0.0, 7.0, 30.0, 45.0, 90.0)
        for shift in np.arange(-0.125, 0.125, 0.025)
        if level_problem(level := gap_level(gap, degrees, shift)) is None
    ]
    unseen = [lv for lv in levels if np.isinf(path_length(lv, lv.start[:2], lv.goal))]
    assert len(levels) > 50
    assert len(unseen) > 10  # cells of 0.1 m see no way there, coarser ones do
    config = NavigationConfig().override("environment", max_episode_steps=200)
    subject = planner_subject("oracle", config)
    bank = LevelBank(levels, np.random.default_rng(0), resolution=0.125)
    starts = [Start(slot, 0, level.start) for slot, level in enumerate(levels)]
    records = run_episodes(
        subject.make(32), subject.config, bank, starts, num_envs=32
    ).episodes
    assert [one.level.name for one in records if not one.success] == []
