"""A simulated character in VR levels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ambulo.configs.errors import ConfigError
from ambulo.envs.vr.body.body_world import BodyWorld
from ambulo.envs.vr.body.level_window import LevelShapes
from ambulo.envs.vr.body.walker import Walker, find_walker
from ambulo.envs.vr.contract import WorldSpec
from ambulo.envs.vr.levels.level import Level

SPEC = WorldSpec(
    ticks_per_decision=3, dt=1.0 / 30.0, max_speed=1.6, max_yaw_rate=np.radians(30.0)
)
BOUNDS = np.array([-40.0, -40.0, 40.0, 40.0])
FREE = Level("free", BOUNDS)
WALL = Level("wall", BOUNDS, boxes=np.array([[1.5, 0.0, 1.0, 0.1, 8.0, 1.0, 0.0]]))
PIT = Level("pit", BOUNDS, holes=np.array([[1.0, -8.0, 4.0, 8.0]]))


@pytest.fixture(scope="module")
def walker() -> Walker:
    return find_walker("locomote", "human23")


def world_in(walker: Walker, *levels: Level) -> BodyWorld:
    """One body in each level, at the origin, facing +X."""
    count = len(levels)
    world = BodyWorld(count, SPEC, walker)
    world.set_levels(range(count), levels)
    world.seed(np.arange(count), np.arange(count))
    world.reset(np.arange(count), np.arange(count), np.zeros((count, 3)))
    return world


def walk(world: BodyWorld, steps: int, turn: float = 0.0) -> None:
    action = np.tile([0.0, 0.75, turn], (len(world.state.yaw), 1))
    for _ in range(steps):
        world.step(action)


def test_the_body_walks_on_free_ground_and_is_stopped_by_a_wall_and_a_pit(walker):
    free, wall, pit = range(3)
    world = world_in(walker, FREE, WALL, PIT)
    assert world.state.rays[wall, 0] == pytest.approx(1.4, abs=0.2)
    walk(world, 30)
    state = world.state
    assert 2.0 < state.position[free, 0] < 3.5
    assert abs(state.position[free, 1]) < 0.5
    assert not state.fell[free]
    assert state.since_contact[free] > 1000
    assert world.details()["head_height"][free] > 1.4
    assert state.position[wall, 0] < 1.4
    assert state.since_contact[wall] < 90
    assert state.fell[pit]


def test_a_wall_that_is_put_up_in_play_is_touched_at_once(walker):
    """Nearer than the stride after which the shapes around a body are looked up again."""
    world = world_in(walker, FREE)
    world.set_levels([0], [replace(WALL, boxes=WALL.boxes - [0.9, 0, 0, 0, 0, 0, 0])])
    while not world.state.contact_ticks[0]:
        walk(world, 1)
        assert world.state.position[0, 0] < 0.45


def test_the_way_is_that_of_the_pelvis(walker):
    world = world_in(walker, FREE)
    for _ in range(5):
        before = world.qpos[0, :2].copy()
        walk(world, 1)
        way = np.hypot(*(world.qpos[0, :2] - before))
        assert world.state.path[0] == pytest.approx(way)


def test_walls_that_are_turned_stand_as_turned(walker):
    box = [2.0, 1.2, 1.0, 0.1, 4.0, 1.0, 0.5 * np.pi]  # along the way, not across it
    world = world_in(walker, Level("along", BOUNDS, boxes=np.array([box])))
    walk(world, 30)
    assert world.state.position[0, 0] > 2.0
    assert world.state.since_contact[0] > 1000


def test_a_saved_state_goes_on_bit_for_bit(walker):
    one, other = world_in(walker, FREE, WALL), world_in(walker, FREE, WALL)
    walk(one, 8)
    walk(other, 2, turn=0.5)
    other.load_state_dict(one.state_dict())
    walk(one, 8)
    walk(other, 8)
    np.testing.assert_array_equal(one.qpos, other.qpos)
    np.testing.assert_array_equal(one.state.rays, other.state.rays)


@pytest.mark.integration
def test_windows_follow_the_body_to_shapes_that_were_far(walker):
    pillars = np.column_stack(
        [np.linspace(-30.0, 30.0, 200), np.full(200, 6.0), np.full((200, 2), 0.2)]
    )
    far = Level("far", BOUNDS, boxes=WALL.boxes + np.eye(7)[0] * 3.0, cylinders=pillars)
    world = world_in(walker, far)
    walk(world, 60)
    assert world.state.position[0, 0] < 4.4
    assert world.state.since_contact[0] < 180


def test_the_nearest_shapes_are_chosen_by_their_surface():
    boxes = np.array(
        [[9.0, 0.0, 1.0, 8.0, 0.1, 1.0, 0.0], [3.0, 0.0, 1.0, 0.1, 0.1, 1.0, 0]]
    )
    shapes = LevelShapes.obstacles(
        Level("two", BOUNDS, boxes=boxes, cylinders=np.array([[0.0, 4.0, 3.5, 1.0]]))
    )
    chosen = shapes.nearest(np.zeros(2), 2)
    assert set(chosen.tolist()) == {0, 2}  # 1 m and 0.5 m away; the small box 2.9 m


def test_walkers_of_other_bodies_and_tasks_are_refused():
    with pytest.raises(
        ConfigError, match=r"walker = muscle_walk: was trained for myolegs"
    ):
        find_walker("muscle_walk", "human23")
    with pytest.raises(
        ConfigError, match=r"walker = imitate_walk: its task, imitate, takes"
    ):
        find_walker("imitate_walk", "human23")
    with pytest.raises(ConfigError, match=r"walker = locomot: no such .*'locomote'"):
        find_walker("locomot", "human23")
