import copy
import math
import pickle
from dataclasses import replace

import numpy as np
import pytest
from fixtures.worlds import FEW_RAYS, HALF, MUJOCO, random_level, wandering
from hypothesis import given, settings
from hypothesis import strategies as st

from ambulo.configs.errors import AmbuloError
from ambulo.envs.vr.contract import BODY_RADIUS, WorldSpec
from ambulo.envs.vr.geometry.solid_kernels import nearest_of
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.levels.solids import Solids
from ambulo.envs.vr.levels.surfaces import Mesh
from ambulo.envs.vr.world.compiled_world import CompiledWorld
from ambulo.envs.vr.world.mujoco_level import Scene
from ambulo.envs.vr.world.mujoco_world import MujocoWorld

pair = MUJOCO.pair


@pytest.mark.integration
def test_walks_among_obstacles_are_those_of_the_compiled_world():
    ours, theirs = pair([random_level(seed) for seed in range(8)], FEW_RAYS)
    events = 0
    for action in wandering(1, 60, 8):
        ours.step(action)
        theirs.step(action)
        events += ours.state.collisions.sum()
        for name in ("collisions", "contact_ticks", "fell"):
            np.testing.assert_array_equal(
                getattr(ours.state, name), getattr(theirs.state, name)
            )
    assert events > 5
    np.testing.assert_allclose(ours.state.position, theirs.state.position, atol=1e-3)


def test_rays_after_a_step_are_those_of_the_new_pose():
    ours, theirs = pair([random_level(seed) for seed in range(5)])
    for action in wandering(3, 10, 5):
        ours.step(action)
        poses = np.column_stack([ours.state.position[:, :2], ours.state.yaw])
        theirs.reset(np.arange(5), np.arange(5), poses)
        np.testing.assert_allclose(ours.state.rays, theirs.state.rays, atol=1e-3)


def test_levels_come_and_go():
    world = MujocoWorld(2, WorldSpec(), cache_size=2)
    levels = [random_level(seed) for seed in range(6)]
    world.set_levels(range(6), levels)
    for slot in range(6):
        world.reset(np.array([slot % 2]), np.array([slot]), np.zeros((1, 3)))
    assert len(world._scenes) == 2
    world.step(np.zeros((2, 3)))
    world.set_levels([0], [levels[1]])
    world.reset(np.array([0, 1]), np.array([0, 1]), np.zeros((2, 3)))
    np.testing.assert_array_equal(world.state.rays[0], world.state.rays[1])
    world.close()
    with pytest.raises(AmbuloError, match="reset"):
        world.step(np.zeros((2, 3)))
    world.set_levels([0], [levels[1]])
    with pytest.raises(AmbuloError, match="call reset"):
        world.step(np.zeros((2, 3)))


@pytest.mark.parametrize("yaw", [0.0, 0.3, math.pi / 4])
def test_pressing_at_a_wall_neither_sinks_nor_drifts(yaw):
    wall = [2.0 * math.cos(yaw), 2.0 * math.sin(yaw), 1.0, 0.1, 20.0, 1.0, yaw]
    level = Level("wall", np.array([-50.0, -50, 50, 50]), boxes=np.array([wall]))
    world, _ = pair([level], FEW_RAYS, np.array([[0.0, 0.0, yaw]]))
    for _ in range(20):
        world.step(np.array([[0.0, 1.0, 0.0]]))
    x, y = world.state.position[0, :2]
    distance = math.hypot(*nearest_of(x, y, Solids.of(level).prisms[-1], False))
    assert abs(distance - BODY_RADIUS) < 1e-4
    assert abs(-math.sin(yaw) * x + math.cos(yaw) * y) < 1e-9
    for _ in range(15):  # until the command is too small to move it
        world.step(np.zeros((1, 3)))
    assert world.state.contact_ticks[0] == 0


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 9), st.integers(0, 1 << 30))
def test_penetration_stays_below_two_millimetres(level_seed, seed):
    level = random_level(level_seed)
    world, _ = pair([level], FEW_RAYS)
    for action in wandering(seed, 20, 1):
        world.step(action)
        if world.state.position[0, 2] < 0.0:
            return
        x, y = world.state.position[0, :2]
        prisms = Solids.of(level).prisms
        for prism in prisms[prisms[:, 7] > 0]:
            assert BODY_RADIUS - math.hypot(*nearest_of(x, y, prism, False)) < 2e-3


@pytest.mark.parametrize(
    "copied", [copy.deepcopy, lambda w: pickle.loads(pickle.dumps(w))]
)
def test_a_copy_has_scenes_of_its_own(copied):
    world = MujocoWorld(2, WorldSpec())
    world.set_levels([0], [random_level(3)])
    world.reset(np.arange(2), np.zeros(2, int), np.zeros((2, 3)))
    twin = copied(world)
    assert not twin._scenes
    actions = np.array([[0.0, 1.0, 0.2], [0.3, -1.0, 0.0]])
    expected = [world.step(actions).position.copy() for _ in range(10)]
    world.close()
    for position in expected:
        np.testing.assert_array_equal(twin.step(actions).position, position)


ROOM = Level("room", np.array([-HALF, -HALF, HALF, HALF]), heights=True)


def test_the_floor_below_what_stands_on_it_is_found():
    scene = Scene(replace(ROOM, boxes=np.array([[0, 0, 0.5, 1, 1, 0.5, 0]])), 1.75)
    assert scene.floor(0.0, 0.0, 0.25) == (0.0, -1)  # inside of the box
    assert scene.floor(0.0, 0.0, 1.25) == (1.0, -1)
    assert scene.floor(0.0, 9.0, 1.25) == (-math.inf, -1)


@pytest.mark.parametrize(
    ("bottom", "top", "clear"),
    [(0.2, 0.25, True), (0.2, 0.26, False), (1.74, 2.0, False), (1.75, 2.0, True)],
)
def test_what_is_at_the_height_of_a_body_keeps_it_from_standing(bottom, top, clear):
    rng = np.random.default_rng(0)
    half = np.array([2.0, 1.0, (top - bottom) / 2])
    slab = np.array([[0, 0, (bottom + top) / 2, *half, 0.7]])
    scene = Scene(replace(ROOM, boxes=slab), 1.75)
    for x, y in rng.uniform(-0.7, 0.7, (50, 2)):
        assert scene.is_clear(x, y, 0.0, scene.near(x, y, 0.0)) == clear


def wedge(slope, end=3.0):
    """A slope up along X from x = 2 on that is as wide as the room."""
    tall = slope * (end - 2.0)
    points = [[2, -4, 0], [2, 4, 0], [end, -4, tall], [end, 4, tall]]
    return Mesh(np.array(points, float), np.array([[0, 2, 1], [1, 2, 3]]))


@pytest.mark.parametrize(
    ("slope", "reading"), [(0.9, 5.0), (1.7, 2 + 0.25 / 1.7), (3.0, 2 + 0.25 / 3)]
)
def test_rays_go_up_slopes_and_end_on_steep_faces_at_the_height_of_a_climb(
    slope, reading
):
    level = replace(ROOM, meshes=(wedge(slope),), ground=True)
    world = MujocoWorld(1, WorldSpec(num_rays=1, rays_see_edges=False))
    world.set_levels([0], [level])
    world.reset(np.zeros(1, int), np.zeros(1, int), np.zeros((1, 3)))
    assert world.state.rays[0, 0] == pytest.approx(reading, abs=2e-3)


def test_rays_go_on_up_a_slope_that_rises_through_a_low_box():
    low = np.array([[2.5, 0.0, 0.05, 0.4, 2.0, 0.05, 0.0]])
    level = replace(ROOM, meshes=(wedge(0.3, 4.5),), boxes=low)
    world = MujocoWorld(1, WorldSpec(num_rays=1))
    world.set_levels([0], [level])
    world.reset(np.zeros(1, int), np.zeros(1, int), np.zeros((1, 3)))
    assert world.state.rays[0, 0] == pytest.approx(4.5, abs=2e-3)  # where it drops


@pytest.mark.parametrize("yaw", [0.0, 0.1, 0.5])
def test_rays_end_where_a_sloping_ceiling_comes_down(yaw):
    """Under a ramp, over a level floor: where it is as low as the body is tall."""
    ramp = [[4.0, 0.0, 0.0, -2.0, 0.0, 4.0, 3.0, 0.1]]
    bounds = np.array([-10.0, -10.0, 10.0, 10.0])
    level = Level("ramp", bounds, heights=True, ramps=np.array(ramp))
    spec = WorldSpec(ray_length=8.0)
    readings = []
    for kind in (CompiledWorld, MujocoWorld):
        world = kind(1, spec)
        world.set_levels([0], [level])
        world.reset([0], [0], np.array([[-1.5, 0.0, yaw, 0.0]]))
        readings.append(world.state.rays[0].copy())
    assert readings[0][0] < 4.0
    np.testing.assert_allclose(*readings, atol=2e-3)
