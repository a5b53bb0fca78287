"""The four tasks, played in an empty level with scripted poses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ambulo.configs.errors import ConfigError
from ambulo.configs.vr import NavigationConfig, NavigationEnvironmentConfig
from ambulo.envs.vr.contract import WorldSpec
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.levels.level_io import parse_level
from ambulo.envs.vr.task.bank import LevelBank, Start
from ambulo.envs.vr.task.batch import NavigationBatch
from ambulo.envs.vr.task.build import make_batch
from ambulo.envs.vr.task.tasks import (
    FOLLOW,
    FOLLOW_HOLD,
    TaskState,
    advance_tasks,
    hand_distance,
)
from ambulo.envs.vr.world.compiled_world import CompiledWorld
from ambulo.envs.vr.world.state import WorldState
from tests.envs.vr.levels.test_moving import TWO_FLOORS
from tests.envs.vr.levels.test_surfaces import STOREYS

IDLE = np.zeros((1, 3))
FLOOR = np.array([-10.0, -10, 10, 10])


def batch_in(
    level: Level, pose: tuple[float, ...], goal: int = 0, **environment: object
) -> NavigationBatch:
    """A player at a pose of a level, on the way to one of its goals."""
    config = NavigationConfig().override("environment", **environment)
    bank = LevelBank([level], np.random.default_rng(3))
    world = CompiledWorld(1, WorldSpec.from_config(config))
    batch = NavigationBatch(config, bank, world, num_envs=1)
    batch.reset(np.zeros(1, np.int64), [Start(0, goal, np.array(pose, np.float64))])
    return batch


def one_env(task: str, pose: tuple[float, ...], **settings: object) -> NavigationBatch:
    """A player on an empty floor with the goal at (5, 0)."""
    level = Level("empty", FLOOR, start=np.array(pose), goal=np.array([5.0, 0]))
    return batch_in(level, pose, tasks=(task,), **settings)


def pit(goal: list[float]) -> Level:
    """A floor with a large hole ahead."""
    hole = np.array([[2.0, -9, 9, 9]])
    return Level("pit", FLOOR, holes=hole, goal=np.array(goal))


def test_navigate_ends_within_the_radius() -> None:
    """0.9 m from the goal is there, 1.1 m is not."""
    assert one_env("navigate", (4.1, 0, 0)).step(IDLE)[2][0]
    assert not one_env("navigate", (3.9, 0, 0)).step(IDLE)[2][0]


def test_follow_moves_the_goal_and_asks_to_stay() -> None:
    """The goal walks at its speed; standing still near its start does not solve it."""
    batch = one_env("follow", (5.0, 0, 0), follow_speed=0.6)
    before = batch.task.goal[0].copy()
    ended = [bool(batch.step(IDLE)[2][0]) for _ in range(10)]
    assert not any(ended)
    assert np.hypot(*(batch.task.goal[0] - before)[:2]) == pytest.approx(0.6, abs=0.05)
    slow = one_env("follow", (5.0, 0, 0), follow_speed=0.0)
    steps = 0
    while not slow.step(IDLE)[2][0]:
        steps += 1
    assert steps == round(FOLLOW_HOLD / 0.1) - 1


@pytest.mark.parametrize(
    ("data", "farthest", "top"), [(STOREYS, 8.0, 2.0), (TWO_FLOORS, 1.0, 0.0)]
)
def test_a_followed_goal_keeps_to_its_floor(
    data: dict[str, Any], farthest: float, top: float
) -> None:
    """It walks up ramps and back, and turns at lifts; who goes along is with it."""
    env = NavigationEnvironmentConfig(follow_speed=1.0)
    level = parse_level({**data, "goals": [[-4, 0, 0]]}, "x")
    bank = LevelBank([level], np.random.default_rng(0))
    one, task = np.zeros(1, np.int64), TaskState.zeros(1)
    task.begin(one, one + FOLLOW, one, one + 1, bank)
    state, track = WorldState.zeros(1, 16), []
    for k in range(300):
        track.append(task.goal[0].copy())
        state.position[:] = task.goal
        advance_tasks(task, state, bank, env, 0.1)
        assert task.held[0] == pytest.approx(0.1 * (k + 1))
    x, _, z = np.array(track).T
    slope = (x > 2.3) & (x < 5.7)
    np.testing.assert_allclose(z[slope], top * (x[slope] - 2.0) / 4.0, atol=0.05)
    assert (x.max(), z.max()) == pytest.approx((farthest, top), abs=0.7)
    assert x[x.argmax() :].min() == pytest.approx(-4.0, abs=0.7)


def test_reach_wants_the_hand_there() -> None:
    """Standing on the spot is not enough; with the right hand on it, it is."""
    assert not one_env("reach", (5.0, 0, 0)).step(IDLE)[2][0]
    assert one_env("reach", (5.0 - 0.35, 0.22, 0)).step(IDLE)[2][0]


def test_patrol_pays_its_goals_in_shares() -> None:
    """Each goal pays its share, the last one ends the episode."""
    batch = one_env("patrol", (5.0, 0, 0), patrol_goals=2)
    _, _, terminated, _, info = batch.step(IDLE)
    assert not terminated[0]
    assert info["reward/goal"][0] == 50.0
    assert info["reward/progress"][0] == 0.0
    second = batch.task.goal[0, :2]
    np.testing.assert_allclose(second, batch.bank.goals[0, 1, :2])
    pose = np.array([*second, 0.0])
    batch.world.reset(np.zeros(1, np.int64), np.zeros(1, np.int64), pose[None])
    _, _, terminated, _, info = batch.step(IDLE)
    assert terminated[0]
    assert info["is_success"][0]
    assert info["reward/goal"][0] == 50.0


def test_patrol_goes_by_the_waypoints_of_its_level() -> None:
    points = np.array([[3.0, 0, 0], [3, 3, 0], [-3, 3, 0], [-3, -3, 0]])
    level = Level("tour", FLOOR, waypoints=points)
    batch = batch_in(level, (0.0, 0, 0), 1, tasks=("patrol",))
    way = 3.0 + 3.0 + 6.0 + 6.0 - 3 * 2.0
    assert batch.episode.start_distance[0] == pytest.approx(way, rel=0.05)
    visited = []
    for k, point in enumerate(points):
        visited.append(batch.task.goal[0].copy())
        pose = np.array([[*point[:2], 0.0]])
        batch.world.reset(np.zeros(1, np.int64), np.zeros(1, np.int64), pose)
        _, _, terminated, _, info = batch.step(IDLE)
        assert info["reward/goal"][0] == 25.0
        assert terminated[0] == (k == 3)
    np.testing.assert_allclose(visited, points)


def test_the_way_of_a_patrol_is_that_to_all_of_its_goals() -> None:
    """To the first goal, and from disc to disc; what they cross is left out."""
    batch = one_env("patrol", (-5.0, 0, 0), patrol_goals=3)
    apart = np.hypot(*(batch.bank.goals[0, 1] - batch.bank.goals[0, 0])[:2])
    way = 10.0 + 2 * (apart - 2.0)
    assert batch.episode.start_distance[0] == pytest.approx(way, rel=0.03)
    assert batch.episode.distance[0] == pytest.approx(10.0, rel=0.03)
    one = one_env("patrol", (-5.0, 0, 0), patrol_goals=1)
    assert one.episode.start_distance[0] == one.episode.distance[0]


def test_falling_past_the_goal_is_no_success() -> None:
    """Below the floor nothing is reached, and the fall is no progress."""
    batch = batch_in(pit([9.5, 0.0]), (1.0, 0, 0))
    progress = 0.0
    for _ in range(40):
        _, _, terminated, _, info = batch.step(np.array([[0.0, 1.0, 0.0]]))
        progress += info["reward/progress"][0]
        if terminated[0]:
            break
    assert info["fell"][0]
    assert not info["is_success"][0]
    assert info["reward/fall"][0] == -50.0
    assert progress < 2.0


def test_task_id_is_appended_when_there_are_several() -> None:
    """One-hot of the drawn task, and every task is drawn."""
    config = NavigationConfig().override(
        "environment", tasks=("navigate", "reach", "patrol"), levels=("open",),
        levels_per_family=1,
    )  # fmt: skip
    batch = make_batch(config, 32)
    obs = batch.reset(np.arange(32))
    where = batch.layout.slices()["task"]
    assert batch.layout.size == 52
    assert (obs[:, where].sum(axis=1) == 1).all()
    assert set(np.argmax(obs[:, where], axis=1)) == {0, 2, 3}


def test_a_hand_that_falls_past_the_target_reached_nothing() -> None:
    """The body falls beside the target; the hand passes within the radius."""
    batch = batch_in(pit([2.9, -0.22]), (1.9, 0, 0), tasks=("reach",), reach_radius=0.4)
    nearest, ended = np.inf, False
    while not ended:
        _, _, terminated, _, info = batch.step(np.array([[0.0, 1.0, 0.0]]))
        nearest = min(nearest, hand_distance(batch.task, batch.world.state)[0])
        ended = bool(terminated[0])
    assert nearest < 0.4
    assert info["fell"][0]
    assert not info["is_success"][0]


def test_points_to_reach_have_heights_of_their_range() -> None:
    """Drawn for bodies; a capsule's hands are where they are."""
    config = NavigationConfig().override(
        "environment", body="twin", physics_ticks_per_second=30, ticks_per_decision=3,
        levels=("open",), levels_per_family=1, tasks=("reach",), reach_height=(0.5, 1.5),
    ).override("actions", max_movement_speed=0.6, max_rotation_speed=120.0)  # fmt: skip
    batch = make_batch(config, 40)
    batch.seed(range(40))
    batch.reset(np.arange(40))
    heights = batch.task.goal[:, 2]
    assert 0.5 <= heights.min() < 0.7
    assert 1.3 < heights.max() <= 1.5
    goal = batch.obs[:, batch.layout.slices()["goal_position"]]
    np.testing.assert_allclose(goal[:, 2], heights, rtol=1e-6)
    for values, rule in (
        ((0.5, 1.5), "a capsule's hands are at 1.1 m"),
        ((0.2, 1.0), "within 0.35 to 1.75 m"),
        ((1.2, 1.0), "must be .min, max."),
    ):
        with pytest.raises(ConfigError, match=rule):
            NavigationConfig().override("environment", reach_height=values)
