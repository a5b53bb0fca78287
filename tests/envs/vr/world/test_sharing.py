"""Envs that share a level of the compiled world."""

from __future__ import annotations

import numpy as np
import pytest

from ambulo.configs.errors import ConfigError
from ambulo.envs.vr.body.body_world import BodyWorld
from ambulo.envs.vr.body.twin_world import TwinWorld
from ambulo.envs.vr.contract import BODY_RADIUS, WorldSpec
from ambulo.envs.vr.families import generate
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.levels.level_io import parse_level
from ambulo.envs.vr.world.base import BaseWorld
from ambulo.envs.vr.world.compiled_world import CompiledWorld
from ambulo.envs.vr.world.mujoco_world import MujocoWorld

FIELD = Level("field", np.array([-10.0, -10.0, 10.0, 10.0]))
AHEAD, IDLE = (0.0, 1.0, 0.0), (0.0, 0.0, 0.0)
WIDTH = 2 * BODY_RADIUS


def _world(
    level: Level, poses: list[list[float]], size: int | None = None
) -> CompiledWorld:
    world = CompiledWorld(len(poses), WorldSpec())
    world.share(len(poses) if size is None else size)
    world.set_levels([0], [level])
    envs = np.arange(len(poses))
    world.seed(envs, envs)
    world.reset(envs, 0 * envs, np.array(poses))
    return world


@pytest.mark.parametrize("family", ["clutter", "rooms", "maze", "slalom", "outdoor"])
def test_alone_in_a_shared_flat_level_all_is_as_in_the_level(family: str) -> None:
    rng = np.random.default_rng(1)
    for seed in range(2):
        level = generate(family, seed)
        start = [0.0, 0.0, 0.0] if level.start is None else level.start.tolist()
        shared, alone = (_world(level, [start, start], size) for size in (2, 1))
        shared.leave(np.array([1]))
        for step in range(60):
            if step % 15 == 0:
                actions = rng.uniform(-1, 1, (2, 3))
                actions[:, 1] = 1.0
            a, b = shared.step(actions), alone.step(actions)
            if b.position[0, 2] < 0.0:  # what stands at a hole pushes who falls
                break
            np.testing.assert_allclose(a.position[0], b.position[0], atol=1e-9)
            if step:  # the first rays still saw the other
                np.testing.assert_allclose(a.rays[0], b.rays[0], atol=1e-9)
            assert a.collisions[0] == b.collisions[0]


def test_rays_end_at_who_stands_ahead_and_go_on_when_it_has_left() -> None:
    world = _world(FIELD, [[0, 0, 0], [3, 0, 0], [0, -8, 0]])
    assert world.present().all()
    assert world.state.rays[0, 0] == pytest.approx(3 - BODY_RADIUS)
    assert world.state.rays[1, 8] == pytest.approx(3 - BODY_RADIUS)
    assert world.state.rays[2, 4] == pytest.approx(5.0)  # out of reach
    world.leave(np.array([1]))
    world.step(np.array([IDLE] * 3))
    assert world.state.rays[0, 0] == pytest.approx(5.0)
    assert world.present().tolist() == [True, False, True]


def test_two_who_walk_into_each_other_touch_and_do_not_pass() -> None:
    world = _world(FIELD, [[-2, 0, 0], [2, 0.05, np.pi]])
    actions = np.array([AHEAD, AHEAD])
    people = things = 0
    for _ in range(30):
        state = world.step(actions)
        apart = np.hypot(*(state.position[1] - state.position[0])[:2])
        assert apart >= WIDTH - 1e-3
        people += int(state.people_collisions.sum())
        things += int((state.collisions - state.people_collisions).sum())
    assert people >= 2
    assert things == 0


def test_who_has_left_is_walked_through() -> None:
    world = _world(FIELD, [[-2, 0, 0], [0, 0, 0]])
    world.leave(np.array([1]))
    touches = sum(
        int(world.step(np.array([AHEAD, IDLE])).contact_ticks[0]) for _ in range(20)
    )
    assert world.state.position[0, 0] > 1.0
    assert touches == 0


def test_groups_are_apart_and_do_not_depend_on_each_other() -> None:
    poses = [[-2, 0, 0], [2, 0, np.pi], [-2, 0, 0], [1, 1, np.pi]]
    both, first = _world(FIELD, poses, 2), _world(FIELD, poses[:2])
    rng = np.random.default_rng(0)
    for _ in range(20):
        actions = rng.uniform(-1, 1, (4, 3))
        both.step(actions)
        first.step(actions[:2])
        for name, array in first.state.arrays().items():
            np.testing.assert_array_equal(
                getattr(both.state, name)[:2], array, err_msg=name
            )


def test_who_begins_again_does_not_sweep_over_its_mates() -> None:
    """The mate stands between where it was and where it begins again."""
    world = _world(FIELD, [[-3, 0, 0], [0, 0, 0]])
    world.reset(np.array([0]), np.array([0]), np.array([[3.0, 0.0, 0.0]]))
    state = world.step(np.array([IDLE, IDLE]))
    assert state.people_ticks.tolist() == [0, 0]
    assert np.abs(state.position[1]).max() < 1e-9
    assert state.rays[1, 0] == pytest.approx(3 - BODY_RADIUS)


def test_a_crowd_goes_on_where_one_begins_again() -> None:
    data = {
        "name": "hall", "bounds": [-10, -10, 10, 10], "heights": True,
        "people": {"count": 10},
    }  # fmt: skip
    world = _world(parse_level(data, "x", solvable=False), [[-3, 0, 0], [3, 0, 0]])
    for _ in range(5):
        world.step(np.zeros((2, 3)))
    crowd = world.moving.crowd(0)[:, :2].copy()
    world.reset(np.array([0]), np.array([0]), np.array([[-6.0, -6.0, 0.0]]))
    np.testing.assert_array_equal(world.moving.crowd(0)[:, :2], crowd)
    np.testing.assert_array_equal(
        world.moving.people(0)[:10], world.moving.people(1)[:10]
    )
    world.reset(np.arange(2), np.zeros(2, int), np.array([[-3.0, 0, 0], [3.0, 0, 0]]))
    assert np.abs(world.moving.crowd(0)[:, :2] - crowd).max() > 0.5


def test_states_of_shared_levels_continue_exactly() -> None:
    poses = [[-2.0, 0, 0], [2, 0, np.pi], [0, 2, 0]]
    world, other = _world(FIELD, poses), _world(FIELD, [[5.0, k, 0] for k in range(3)])
    actions = np.random.default_rng(0).uniform(-1, 1, (40, 3, 3))
    world.leave(np.array([2]))
    for a in actions[:20]:
        world.step(a)
    other.load_state_dict(world.state_dict())
    for a in actions[20:]:
        one, two = world.step(a), other.step(a)
        np.testing.assert_array_equal(one.position, two.position)
        np.testing.assert_array_equal(one.rays, two.rays)


def test_groups_must_fill_the_envs_and_other_worlds_refuse() -> None:
    with pytest.raises(ValueError, match="5 envs cannot share levels in groups of 2"):
        CompiledWorld(5, WorldSpec()).share(2)
    for kind in (BaseWorld, MujocoWorld):
        with pytest.raises(ConfigError, match="agents = 2: they meet in world = comp"):
            kind(4, WorldSpec()).share(2)
    assert not BodyWorld.can_share
    assert not TwinWorld.can_share
