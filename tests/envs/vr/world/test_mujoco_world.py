import copy
import math
import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ambulo.configs.errors import ActionError, AmbuloError
from ambulo.envs.vr.contract import BODY_RADIUS, WorldSpec
from ambulo.envs.vr.geometry.solid_kernels import nearest_of
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.levels.sample_levels import sample_level
from ambulo.envs.vr.levels.solids import Solids, obstacles_of
from ambulo.envs.vr.levels.surfaces import Mesh
from ambulo.envs.vr.world.compiled_world import CompiledWorld
from ambulo.envs.vr.world.mujoco_level import Scene
from ambulo.envs.vr.world.mujoco_world import MujocoWorld

HALF = 5.0
FEW_RAYS = WorldSpec(num_rays=1)


def random_level(seed, boxes=12, cylinders=5, walls=True):
    """Obstacles that keep 1 m from the origin, a hole, and walls around all."""
    rng = np.random.default_rng(seed)
    n = boxes + cylinders
    angle, far = rng.uniform(-np.pi, np.pi, n), rng.uniform(1.5, HALF, n)
    x, y = far * np.cos(angle), far * np.sin(angle)
    half = rng.uniform(0.1, 0.5, (boxes, 2))
    rows = np.column_stack(
        [x[:boxes], y[:boxes], np.full(boxes, 0.6), half, np.full(boxes, 0.6)]
    )
    rows = np.column_stack([rows, rng.uniform(-np.pi, np.pi, boxes)])
    sides = [
        [0, HALF, 1, HALF, 0.1, 1, 0],
        [0, -HALF, 1, HALF, 0.1, 1, 0],
        [HALF, 0, 1, 0.1, HALF, 1, 0],
        [-HALF, 0, 1, 0.1, HALF, 1, 0],
    ]
    return Level(
        f"random-{seed}",
        np.array([-HALF, -HALF, HALF, HALF]),
        holes=np.array([[2.0, 2.0, 2.8, 3.0]]),
        boxes=np.vstack([sides, rows]) if walls else rows,
        cylinders=np.column_stack(
            [x[boxes:], y[boxes:], rng.uniform(0.1, 0.4, cylinders), np.ones(cylinders)]
        ),
    )


def pair(levels, spec=None, poses=None):
    """A MuJoCo and a compiled world in equal states, one env a level.

    The compiled one gets flat levels as levels with heights, as which MuJoCo takes them.
    """
    n = len(levels)
    envs = np.arange(n)
    worlds = []
    for kind, own in (
        (MujocoWorld, levels),
        (CompiledWorld, [obstacles_of(level) for level in levels]),
    ):
        world = kind(n, spec or WorldSpec())
        world.set_levels(range(n), own)
        world.reset(envs, envs, np.zeros((n, 3)) if poses is None else poses)
        worlds.append(world)
    return worlds


def wandering(rng, steps, n):
    """Commands that mostly walk ahead and change every ten decisions."""
    actions = np.repeat(rng.uniform(-1, 1, (steps // 10, n, 3)), 10, axis=0)
    actions[..., 1] = np.abs(actions[..., 1])
    return actions


def test_free_motion_is_that_of_the_compiled_world():
    empty = Level("empty", np.array([-500.0, -500.0, 500.0, 500.0]))
    ours, theirs = pair([empty] * 4, FEW_RAYS)
    for action in np.random.default_rng(0).uniform(-1.5, 1.5, (50, 4, 3)):
        ours.step(action)
        theirs.step(action)
    for name, array in ours.state.arrays().items():
        np.testing.assert_allclose(
            array, theirs.state.arrays()[name], atol=1e-6, err_msg=name
        )


@pytest.mark.integration
def test_walks_among_obstacles_are_those_of_the_compiled_world():
    ours, theirs = pair([random_level(seed) for seed in range(8)], FEW_RAYS)
    events = 0
    for action in wandering(np.random.default_rng(1), 60, 8):
        ours.step(action)
        theirs.step(action)
        events += ours.state.collisions.sum()
        for name in ("collisions", "contact_ticks", "fell"):
            np.testing.assert_array_equal(
                getattr(ours.state, name), getattr(theirs.state, name)
            )
    assert events > 5
    np.testing.assert_allclose(ours.state.position, theirs.state.position, atol=1e-3)


@pytest.mark.parametrize("head", [False, True])
@pytest.mark.parametrize("edges", [False, True])
def test_rays_agree_at_equal_poses(head, edges):
    levels = [random_level(seed, walls=seed % 2 == 0) for seed in range(20)]
    poses = np.random.default_rng(2).uniform(-6.0, 6.0, (20, 3))
    spec = WorldSpec(num_rays=24, rays_in_head_frame=head, rays_see_edges=edges)
    ours, theirs = pair(levels, spec, poses)
    np.testing.assert_allclose(ours.state.rays, theirs.state.rays, atol=1e-3)
    assert (ours.state.rays < spec.ray_length).any()


def test_rays_after_a_step_are_those_of_the_new_pose():
    ours, theirs = pair([random_level(seed) for seed in range(5)])
    for action in wandering(np.random.default_rng(3), 10, 5):
        ours.step(action)
        poses = np.column_stack([ours.state.position[:, :2], ours.state.yaw])
        theirs.reset(np.arange(5), np.arange(5), poses)
        np.testing.assert_allclose(ours.state.rays, theirs.state.rays, atol=1e-3)


def test_falls_are_equal():
    island = Level("island", np.array([-1.0, -1.0, 1.0, 1.0]))
    ours, theirs = pair([island])
    for _ in range(20):
        ours.step(np.array([[0.2, 1.0, 0.1]]))
        theirs.step(np.array([[0.2, 1.0, 0.1]]))
        np.testing.assert_allclose(
            ours.state.position, theirs.state.position, atol=1e-5
        )
        assert ours.state.fell[0] == theirs.state.fell[0]
    assert ours.state.fell[0]
    assert (ours.state.rays == ours.spec.ray_length).all()


def test_discrete_actions_are_equal():
    spec = WorldSpec(discrete=True, num_rays=1)
    ours, theirs = pair([random_level(seed) for seed in range(10)], spec)
    rng = np.random.default_rng(4)
    for _ in range(15):
        actions = rng.integers(0, 7, 10)
        ours.step(actions)
        theirs.step(actions)
        np.testing.assert_array_equal(ours.state.moves, theirs.state.moves)
        np.testing.assert_array_equal(ours.state.snaps, theirs.state.snaps)
        np.testing.assert_array_equal(ours.state.yaw, theirs.state.yaw)
    apart = np.linalg.norm(ours.state.position - theirs.state.position, axis=1)
    assert np.median(apart) < 0.05


def test_continuation_is_bit_exact():
    levels = [random_level(0), sample_level(1, moving=True)]
    world, _ = pair(levels)
    actions = wandering(np.random.default_rng(5), 20, 2)
    for action in actions[:10]:
        world.step(action)
    saved = world.state_dict()
    for action in actions[10:]:
        world.step(action)
    expected = world.state_dict()
    fresh, _ = pair(levels)
    for other in (world, fresh):
        other.load_state_dict(saved)
        for action in actions[10:]:
            other.step(action)
        for name, array in other.state_dict().items():
            np.testing.assert_array_equal(array, expected[name], err_msg=name)


def test_envs_of_one_level_do_not_meet():
    level = random_level(0)
    alone, _ = pair([level])
    crowd = MujocoWorld(4, WorldSpec())
    crowd.set_levels([3], [level])
    crowd.reset(np.arange(4), np.full(4, 3), np.zeros((4, 3)))
    for action in wandering(np.random.default_rng(6), 10, 1):
        alone.step(action)
        others = np.random.default_rng(7).uniform(-1, 1, (4, 3))
        others[2] = action[0]
        crowd.step(others)
    np.testing.assert_array_equal(alone.state.position[0], crowd.state.position[2])
    np.testing.assert_array_equal(alone.state.rays[0], crowd.state.rays[2])


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


@pytest.mark.parametrize("heights", [False, True])
def test_a_level_that_is_changed_in_play_is_physical_at_once(heights):
    free = Level("free", np.array([-HALF, -HALF, HALF, HALF]), heights=heights)
    wall = replace(free, boxes=np.array([[1.5, 0.0, 1.0, 0.1, 3.0, 1.0, 0.0]]))
    ours, theirs = pair([free, free])
    for world, own in ((ours, wall), (theirs, obstacles_of(wall))):
        world.set_levels([1], [own])
        for _ in range(12):
            world.step(np.array([[0.0, 1.0, 0.0]] * 2))
        assert world.state.position[0, 0] > 1.8
        assert world.state.position[1, 0] == pytest.approx(1.15, abs=1e-3)
    ours.close()
    ours.set_levels([1], [free])
    with pytest.raises(AmbuloError, match="call reset"):
        ours.step(np.zeros((2, 3)))


def test_unknown_slots_and_bad_actions_are_refused():
    world, _ = pair([random_level(0)])
    with pytest.raises(ActionError, match="finite"):
        world.step(np.array([[0.0, math.nan, 0.0]]))
    with pytest.raises(ActionError, match="shape"):
        world.step(np.zeros((2, 3)))
    with pytest.raises(AmbuloError, match="slot 9"):
        world.reset(np.array([0]), np.array([9]), np.zeros((1, 3)))


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
    for action in wandering(np.random.default_rng(seed), 20, 1):
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
