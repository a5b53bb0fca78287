from __future__ import annotations

import numpy as np
import pytest

from ambulo.configs.errors import ActionError, ConfigError
from ambulo.configs.vr import NavigationConfig
from ambulo.envs.vr.contract import WorldSpec
from ambulo.envs.vr.families import FAMILIES
from ambulo.envs.vr.families.level_sets import split_level
from ambulo.envs.vr.levels.level_io import parse_level
from ambulo.envs.vr.navigator.steering import WALK
from ambulo.envs.vr.planners.planners import PLANNERS, make_planner
from ambulo.envs.vr.planners.senses import senses, uniform
from ambulo.envs.vr.task.bank import LevelBank, Start
from ambulo.envs.vr.task.batch import NavigationBatch
from ambulo.envs.vr.task.build import make_world
from ambulo.envs.vr.task.env import embodied_config
from ambulo.envs.vr.world.actions import follow_plan, motion_of, stick

CONFIG = NavigationConfig().override("environment", max_episode_steps=500)
WALKER = embodied_config(NavigationConfig()).override("environment", body="twin")


def play(name, levels, config=CONFIG, moves=None):
    """Success, path, collisions of each level's designed episode.

    `moves` makes other actions of (batch, actions).
    """
    n = len(levels)
    if name.startswith("planner"):
        config = config.override("observations", memory="navigator", plan_reach=10.0)
    bank = LevelBank(levels, np.random.default_rng(0))
    batch = NavigationBatch(config, bank, make_world(config, n), num_envs=n)
    envs = np.arange(n)
    batch.reset(envs, [Start(i, 0, levels[i].start) for i in envs])
    planner = make_planner(name, n)
    planner.reset(envs, envs)
    done, success = np.zeros(n, bool), np.zeros(n, bool)
    path, collisions = np.zeros(n), np.zeros(n)
    while not done.all():
        actions = planner.act(batch)
        if moves is not None:
            actions = moves(batch, actions)
        assert actions.shape == (n, 3)
        assert np.isfinite(actions).all()
        assert np.abs(actions).max() <= 1.0
        _, _, terminated, truncated, info = batch.step(actions)
        new = (terminated | truncated) & ~done
        success |= new & info["is_success"]
        path[new] = batch.episode.path[new]
        collisions[new] = batch.episode.collisions[new]
        done |= new
    return success, path, collisions


def levels_of(*families, count=2):
    return [split_level(f, "validation", i) for f in families for i in range(count)]


@pytest.mark.integration
def test_oracle_reaches_every_family_without_bumps():
    levels = levels_of(*FAMILIES)
    success, path, collisions = play("oracle", levels)
    assert success.all(), [lv.name for lv in np.array(levels)[~success]]
    assert collisions.sum() == 0
    assert (path > 0).all()


@pytest.mark.integration
def test_oracle_walks_the_longest_ways_in_the_time_that_bodies_have():
    levels = [split_level("corridors", "validation", i) for i in (30, 13, 25)]
    success, path, _ = play("oracle", levels, WALKER)
    assert success.all()
    assert (path > 80.0).all()


@pytest.mark.integration
def test_oracle_goes_faster_only_where_time_is_short():
    levels = [split_level("corridors", "validation", i) for i in (14, 0)]
    short = WALKER.override("environment", max_episode_steps=1000)
    success, path, _ = play("oracle", levels, short)
    comfortable = 100.0 * 0.8 * WALKER.actions.max_movement_speed
    assert success.all()
    assert path[0] > 1.05 * comfortable > path[1]


@pytest.mark.integration
@pytest.mark.parametrize("family", ["lifts", "doors"])
def test_oracle_waits_for_lifts_and_doors(family):
    config = CONFIG.override("environment", max_episode_steps=700)
    success, _, _ = play("oracle", levels_of(family, count=6), config)
    assert success.all()


@pytest.mark.parametrize("kind", ["platform", "lift"])
def test_nobody_waits_for_what_is_overhead(kind):
    stops = [[0, 0, 0, 4, 0], [1, 0, 0, 4, 0], [3, 0, 0, 5, 0], [4, 0, 0, 5, 0]]
    data = {
        "name": "hall", "bounds": [-6, -6, 6, 6], "heights": True,
        "movers": [{"kind": kind, "half_size": [1, 1, 0.1], "path": stops}],
        "start": {"position": [-5, 0, 0], "yaw": 0}, "goal": [5, 0, 0],
    }  # fmt: skip
    config = CONFIG.override("environment", max_episode_steps=100)
    success, _, _ = play("oracle", [parse_level(data, "x")], config)
    assert success.all()


@pytest.mark.integration
def test_planners_that_look_ahead_keep_a_late_body_off_walls():
    levels = [split_level("slalom", "validation", i) for i in range(4)]
    success, _, bumps = play("oracle", levels, WALKER)
    assert success.all()
    assert bumps.mean() < 6.0


def test_straight_line_solves_the_open_field():
    success, path, _ = play("straight", levels_of("open", count=4))
    assert success.all()
    assert (path > 0).all()


@pytest.mark.integration
def test_dynamic_window_beats_the_straight_line_in_clutter():
    levels = levels_of("clutter", count=6)
    success, _, bumps = play("dwa", levels)
    plain, _, plain_bumps = play("straight", levels)
    assert success.mean() >= plain.mean()
    assert bumps.sum() < plain_bumps.sum()


@pytest.mark.integration
def test_the_planner_leaves_dead_ends_that_hold_the_dynamic_window():
    levels = levels_of("utrap", "slalom", count=4)
    mapped, _, _ = play("planner", levels)
    reactive, _, _ = play("dwa", levels)
    assert mapped.mean() > 0.85
    assert mapped.sum() >= reactive.sum()


@pytest.mark.parametrize("name", PLANNERS)
@pytest.mark.parametrize("frame", ["head", "world"])
def test_planners_play_in_both_frames_with_other_rays(name, frame):
    config = CONFIG.override("environment", max_episode_steps=30)
    config = config.override("observations", frame=frame, num_ray_sensors=12)
    play(name, levels_of("pits", "maze", count=1), config)


def test_the_frame_of_the_observation_changes_nothing():
    levels = levels_of("open", count=2)
    world = CONFIG.override("observations", frame="world")
    _, from_head, _ = play("straight", levels)
    _, from_world, _ = play("straight", levels, world)
    np.testing.assert_allclose(from_head, from_world, rtol=1e-4)


@pytest.mark.integration
@pytest.mark.parametrize("task", ["follow", "patrol", "reach"])
def test_oracle_solves_the_other_tasks(task):
    config = CONFIG.override("environment", tasks=(task,), max_episode_steps=1000)
    success, _, _ = play("oracle", levels_of("open", count=2), config)
    assert success.all()


@pytest.mark.integration
@pytest.mark.parametrize("name", ["oracle", "planner"])
def test_planners_stop_where_bodies_with_legs_reach_at_any_height(name):
    config = WALKER.override(
        "environment", tasks=("reach",), reach_height=(0.4, 1.7), reach_radius=0.1
    )
    success, _, _ = play(name, levels_of("open", "rooms"), config)
    assert success.all()


def test_unknown_planner_gets_a_hint():
    with pytest.raises(ConfigError, match="did you mean 'oracle'"):
        make_planner("orakel", 1)


def test_stick_undoes_the_dead_zone():
    spec = WorldSpec()
    velocity = np.array([[1.0, 0.5], [0.0, 0.0], [-0.2, 1.9], [9.0, 0.0]])
    rate = np.array([0.3, 0.0, -1.2, 9.0])
    command = motion_of(stick(velocity, rate, spec), spec, np.zeros((4, 3))).target
    np.testing.assert_allclose(command[:3, 1], velocity[:3, 0] / 2.0, atol=1e-12)
    np.testing.assert_allclose(command[:3, 0], -velocity[:3, 1] / 2.0, atol=1e-12)
    np.testing.assert_allclose(
        command[:, 2], -np.clip(rate / spec.max_yaw_rate, -1, 1), atol=1e-12
    )
    assert command[3, 1] == pytest.approx(1.0)


def test_senses_are_the_state_seen_from_the_head():
    levels = levels_of("clutter", count=2)
    for frame in ("head", "world"):
        config = CONFIG.override("observations", frame=frame)
        bank = LevelBank(levels, np.random.default_rng(0))
        batch = NavigationBatch(config, bank, make_world(config, 2), num_envs=2)
        batch.reset(np.arange(2), [Start(i, 0, levels[i].start) for i in range(2)])
        for _ in range(5):
            batch.step(np.array([[0.3, 0.8, 0.5], [-0.4, 0.2, -0.7]]))
        state, now = batch.world.state, senses(batch)
        delta = (batch.task.goal - state.position)[:, :2]
        bearing = np.arctan2(delta[:, 1], delta[:, 0]) - state.yaw
        found = np.arctan2(now.goal[:, 1], now.goal[:, 0])
        np.testing.assert_allclose(np.exp(1j * found), np.exp(1j * bearing), atol=1e-5)
        way = state.yaw + now.ray_angles[:, 0]
        np.testing.assert_allclose(
            np.exp(1j * way),
            np.exp(1j * state.yaw) if frame == "head" else 1.0,
            atol=1e-5,
        )


def test_uniform_streams_are_independent_of_the_batch():
    seeds, steps = np.array([5, 6, 7]), np.array([0, 1, 2])
    whole = uniform(seeds, steps, 3)
    np.testing.assert_array_equal(whole[1:2], uniform(seeds[1:2], steps[1:2], 3))
    many = uniform(np.arange(4000), np.zeros(4000, np.int64), 3)
    assert np.abs(many).max() <= 1.0
    np.testing.assert_allclose(many.mean(axis=0), 0.0, atol=0.04)
    np.testing.assert_allclose(many.var(axis=0), 1 / 3, atol=0.02)


@pytest.mark.integration
def test_who_follows_the_plan_waits_and_rides_whatever_the_stick_says():
    levels = levels_of("lifts", count=6)
    waits = []

    def leave(batch, actions):
        walks = batch.memory.navigator.steering.state == WALK
        waits.append((~walks).mean())
        back = np.array([0.0, -1.0, 0.0])
        return np.where(walks[:, None], actions, back)

    follows = CONFIG.override("observations", memory="navigator", plan_reach=10.0)
    follows = follows.override("actions", follow_plan=True)
    success, _, _ = play("planner", levels, follows, leave)
    assert success.all()
    assert np.mean(waits) > 0.05
    success, _, _ = play("planner", levels, CONFIG, leave)
    assert not success.all()


def test_follow_plan_moves_where_the_plan_does_not_walk_or_the_stick_rests():
    spec = WorldSpec(dead_zone=0.2)
    actions = np.array([[0.5, -0.1, 0.9], [0.5, -0.5, 0.9], [0.1, -0.2, 0.9]])
    velocity = np.array([[1.0, 0.5]] * 3)
    out = follow_plan(actions, np.array([True, False, True]), velocity, spec)
    np.testing.assert_array_equal(out[0], actions[0])
    assert (out[:, 2] == 0.9).all()
    target = motion_of(out, spec, np.zeros((3, 3))).target
    np.testing.assert_allclose(spec.max_speed * target[1:, :2], [[-0.5, 1.0]] * 2)
    assert follow_plan(actions[:, :2], np.ones(3, bool), velocity, spec).shape == (3, 2)
    for wrong in (np.where(actions > 0.4, np.nan, actions), np.full((3, 3), "left")):
        given = follow_plan(wrong, np.zeros(3, bool), velocity, spec)
        with pytest.raises(ActionError):
            motion_of(given, spec, np.zeros((3, 3)))


@pytest.mark.parametrize(
    ("group", "changes", "named"),
    [
        ("observations", {"memory": "path"}, "needs observations.memory = navigator"),
        ("actions", {"teleport": 3.0}, "no teleport"),
        ("actions", {"mode": "discrete"}, "mode = continuous"),
    ],
)
def test_settings_that_follow_no_plan(group, changes, named):
    config = NavigationConfig().override("observations", memory="navigator")
    config = config.override("actions", follow_plan=True)
    with pytest.raises(ConfigError, match=named):
        config.override(group, **changes)
