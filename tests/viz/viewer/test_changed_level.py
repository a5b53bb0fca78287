from dataclasses import replace

import numpy as np
import pytest

from ambulo.configs.errors import LevelError
from ambulo.configs.vr import NavigationConfig
from ambulo.envs.vr.planners.oracle import Oracle
from ambulo.envs.vr.task.build import make_batch
from ambulo.viz.viewer.navigation_stage import change_level


@pytest.mark.integration
def test_a_wall_across_the_way_lengthens_it_at_once() -> None:
    """Distances and rays are those of the new level, the episode goes on."""
    config = NavigationConfig().override(
        "environment", levels=("open",), levels_per_family=1
    )
    batch = make_batch(config, 2, seed=0)
    batch.reset(np.arange(2))
    slot = int(batch.task.slot[0])
    level = batch.bank.levels[slot]
    player, goal = batch.world.state.position[0].copy(), batch.task.goal[0].copy()
    before, rays = batch.episode.distance.copy(), batch.world.state.rays[0].copy()
    steps = batch.episode.steps.copy()

    way = goal[:2] - player[:2]
    middle = player[:2] + 2.5 * way / np.linalg.norm(way)
    yaw = np.arctan2(way[1], way[0])
    wall = np.array([[*middle, 1.0, 0.1, 2.5, 1.0, yaw]])
    oracle = Oracle(2)
    oracle.act(batch)
    change_level(batch, 0, replace(level, boxes=np.vstack([level.boxes, wall])))
    around = Oracle(2).act(batch)
    np.testing.assert_array_equal(oracle.act(batch), around)

    assert batch.episode.distance[0] > before[0] + 0.2
    np.testing.assert_array_equal(batch.task.goal[0], goal)
    np.testing.assert_array_equal(batch.episode.steps, steps)
    np.testing.assert_array_equal(batch.world.state.position[0], player)
    _, _, terminated, truncated, _ = batch.step(np.zeros((2, 3)))
    assert not terminated[0]
    assert not truncated[0]
    assert (batch.world.state.rays[0] < rays - 0.1).any()

    change_level(batch, 0, level)
    assert batch.episode.distance[0] < before[0] + 0.2


def test_a_level_in_which_people_have_no_way_is_refused_and_nothing_changes() -> None:
    config = NavigationConfig().override(
        "environment", levels=("crowd",), levels_per_family=1
    )
    batch = make_batch(config, 1, seed=0)
    batch.reset(np.arange(1))
    level = batch.bank.levels[int(batch.task.slot[0])]
    before = batch.episode.distance.copy()
    _, y0, _, y1 = level.bounds
    middle = np.median(level.people.goals[:, 0])
    wall = np.array([[middle, (y0 + y1) / 2, 1.0, 0.3, (y1 - y0) / 2, 1.0, 0.0]])
    with pytest.raises(LevelError, match=r"people\.goals"):
        change_level(batch, 0, replace(level, boxes=np.vstack([level.boxes, wall])))
    assert batch.bank.levels[int(batch.task.slot[0])] is level
    batch.step(np.zeros((1, 3)))
    np.testing.assert_allclose(batch.episode.distance, before, atol=0.1)
