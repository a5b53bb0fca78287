import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ambulo.configs.errors import AmbuloError, ConfigError
from ambulo.configs.vr import NavigationConfig
from ambulo.envs.vr.contract import BODY_RADIUS, WorldSpec
from ambulo.envs.vr.geometry.push_kernels import push_from_box, push_from_cylinder
from ambulo.envs.vr.geometry.solid_kernels import nearest_of
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.levels.solids import Solids
from ambulo.envs.vr.world.compiled_world import CompiledWorld

R = BODY_RADIUS
WIDE = np.array([-50.0, -50.0, 50.0, 50.0])


def box(x, y, a, b, yaw=0.0):
    return [x, y, 0.9, a, b, 0.9, yaw]


def world_at(level, pose, **spec):
    world = CompiledWorld(1, WorldSpec(**spec))
    world.set_levels([0], [level])
    world.reset(np.array([0]), np.array([0]), np.array([pose], float))
    return world


def prism(x, y, a, b, yaw=0.0):
    return np.array([x, y, a, b, math.cos(yaw), math.sin(yaw)])


def penetration(level, position):
    """How deep the body is in the worst obstacle, [m]."""
    x, y = position[:2]
    solids = Solids.of(level)
    walls = solids.prisms[solids.prisms[:, 7] > 0]
    deep = [R - math.hypot(*nearest_of(x, y, b, False)) for b in walls]
    deep += [R + c[2] - math.hypot(x - c[0], y - c[1]) for c in solids.cylinders]
    return max(deep, default=0.0)


@pytest.mark.parametrize(
    ("point", "expected"),
    [
        ((1.2, 0.0), (1.25, 0.0)),  # face
        ((1.3, 0.0), (1.3, 0.0)),  # clear
        ((0.9, 0.1), (1.25, 0.1)),  # centre inside, out of the nearest side
        ((1.0 + 0.06, 2.0 + 0.08), (1.0 + 0.15, 2.0 + 0.2)),  # corner, 3-4-5
    ],
)
def test_push_from_box(point, expected):
    x, y, depth = push_from_box(*point, prism(0.0, 0.0, 1.0, 2.0), BODY_RADIUS)
    assert (x, y) == pytest.approx(expected)
    assert depth == pytest.approx(math.dist(point, expected))


def test_push_from_a_turned_box():
    # turned by 90 degrees, the half sizes change places
    x, y, _ = push_from_box(
        2.1, 0.0, prism(0.0, 0.0, 1.0, 2.0, math.pi / 2), BODY_RADIUS
    )
    assert (x, y) == pytest.approx((2.25, 0.0))


def test_push_from_cylinder():
    x, y, depth = push_from_cylinder(0.3, 0.4, np.array([0.0, 0.0, 0.5]), BODY_RADIUS)
    assert (x, y, depth) == pytest.approx((0.45, 0.6, 0.25))
    x, y, depth = push_from_cylinder(0.0, 0.0, np.array([0.0, 0.0, 0.5]), BODY_RADIUS)
    assert math.hypot(x, y) == pytest.approx(0.75)


@pytest.mark.parametrize("rays", [4, 8])
def test_rays_end_at_obstacles_ahead_and_beside(rays):
    boxes = [box(3.0, 0.0, 1.0, 1.0), box(-3.0, 0.0, 1.0, 1.0, math.pi / 4)]
    level = Level(
        "shapes", WIDE, boxes=np.array(boxes), cylinders=np.array([[-0.3, 4, 0.5, 1]])
    )
    world = world_at(level, (0.0, 0.0, 0.0), num_rays=rays)
    ahead, left, behind, right = world.state.rays[0, :: rays // 4]
    assert ahead == pytest.approx(2.0)
    assert left == pytest.approx(3.6)
    assert behind == pytest.approx(3.0 - math.sqrt(2.0))
    assert right == 5.0


@pytest.mark.parametrize("edges", [True, False])
def test_rays_end_at_the_edge_of_the_floor_and_of_holes(edges):
    level = Level(
        "floor",
        np.array([-1.0, -2.0, 3.0, 4.0]),
        holes=np.array([[1.0, -0.5, 2.0, 0.5]]),
    )
    world = world_at(level, (0.0, 0.0, 0.0), num_rays=8, rays_see_edges=edges)
    found = world.state.rays[0, [0, 2, 4, 7]]
    ways = (1.0, 4.0, 1.0, 2.0 * math.sqrt(2.0))
    assert found == pytest.approx(ways if edges else (5.0,) * 4)


@pytest.mark.parametrize(
    ("x", "y", "falls"),
    [
        (0.0, 0.0, False),
        (1.0, 1.0, False),
        (1.01, 0.0, True),
        (0.4, 0.4, True),
        (0.2, 0.4, False),  # on the edge of the hole
    ],
)
def test_no_floor_outside_bounds_and_inside_holes(x, y, falls):
    holes = np.array([[0.2, 0.2, 0.6, 0.6]])
    level = Level("floor", np.array([-1.0, -1.0, 1.0, 1.0]), holes=holes)
    world = world_at(level, (x, y, 0.0))
    world.step(np.zeros((1, 3)))
    assert (world.state.position[0, 2] < 0.0) == falls


def test_slides_along_a_wall_at_45_degrees():
    level = Level("wall", WIDE, boxes=np.array([box(2.0, 0.0, 0.1, 20.0)]))
    world = world_at(level, (1.9 - R, 0.0, math.pi / 4), smoothing=0.0)
    for _ in range(10):
        world.step(np.array([[0.0, 1.0, 0.0]]))
    x, y, _ = world.state.position[0]
    assert x == pytest.approx(1.9 - R, abs=1e-9)
    assert y == pytest.approx(2.0 * math.sqrt(0.5), abs=1e-9)  # 1 s at 2 m/s
    assert world.state.velocity[0, :2] == pytest.approx((0.0, math.sqrt(2.0)), abs=1e-9)
    assert world.state.contact_ticks[0] == 9


def test_stops_in_a_right_corner():
    level = Level(
        "corner",
        WIDE,
        boxes=np.array([box(2.0, 0.0, 0.1, 20.0), box(0.0, 2.0, 20.0, 0.1)]),
    )
    world = world_at(level, (0.0, 0.5, 0.3))
    for _ in range(40):
        world.step(np.array([[0.0, 1.0, 0.0]]))
    assert world.state.position[0, :2] == pytest.approx((1.65, 1.65), abs=1e-9)
    assert world.state.velocity[0] == pytest.approx(np.zeros(3), abs=1e-6)


def test_standing_at_a_wall_is_no_contact():
    level = Level("wall", WIDE, boxes=np.array([box(2.0, 0.3, 0.1, 20.0, 0.1)]))
    world = world_at(level, (1.0, 0.0, 0.0))
    for _ in range(20):
        world.step(np.array([[0.0, 1.0, 0.0]]))
    for _ in range(20):
        world.step(np.zeros((1, 3)))
    assert world.state.contact_ticks[0] == 0


@pytest.mark.parametrize("discrete", [False, True])
@pytest.mark.parametrize("degrees", [5, 10, 20, 30, 45, 60, 90, 120, 170])
def test_a_wedge_holds_the_body_at_its_throat(degrees, discrete):
    half = math.radians(degrees) / 2
    walls = [
        box(
            -10 * math.cos(half) + math.sin(half),
            side * (10 * math.sin(half) + math.cos(half)),
            1.0,
            10.0,
            math.atan2(side * math.sin(half), -math.cos(half)) - math.pi / 2,
        )
        for side in (1.0, -1.0)
    ]
    level = Level("wedge", WIDE, boxes=np.array(walls))
    throat = -R / math.sin(half)
    world = world_at(level, (throat - 0.5, 0.0, 0.0), discrete=discrete)
    for _ in range(20):
        world.step(np.array([0]) if discrete else np.array([[0.0, 1.0, 0.0]]))
        assert penetration(level, world.state.position[0]) < 2e-3
    assert world.state.position[0, :2] == pytest.approx((throat, 0.0), abs=0.02)


finite = st.floats(-1.0, 1.0)


@st.composite
def walks(draw):
    """A crowded level that is free around the origin, and commands."""
    shapes = draw(
        st.lists(
            st.tuples(
                st.floats(-math.pi, math.pi),
                st.floats(0.0, 1.5),
                st.floats(0.05, 0.8),
                st.floats(0.05, 0.8),
                st.floats(-math.pi, math.pi),
                st.booleans(),
            ),
            min_size=1,
            max_size=8,
        )
    )
    boxes, cylinders = [], []
    for angle, gap, a, b, yaw, is_box in shapes:
        far = R + 0.05 + gap + (math.hypot(a, b) if is_box else a)
        x, y = far * math.cos(angle), far * math.sin(angle)
        if is_box:
            boxes.append(box(x, y, a, b, yaw))
        else:
            cylinders.append([x, y, a, 1.0])
    level = Level(
        "crowd",
        WIDE,
        boxes=np.array(boxes).reshape(-1, 7),
        cylinders=np.array(cylinders).reshape(-1, 4),
    )
    return level, draw(
        st.lists(st.tuples(finite, finite, finite), min_size=1, max_size=12)
    )


@settings(max_examples=60, deadline=None)
@given(walks(), st.booleans())
def test_never_deep_in_an_obstacle(walk, discrete):
    level, commands = walk
    world = world_at(level, (0.0, 0.0, 0.0), discrete=discrete)
    for command in commands:
        index = int((command[0] + 1.0) * 2.99)
        for _ in range(4):
            world.step(np.array([index]) if discrete else np.array([command]))
            assert penetration(level, world.state.position[0]) <= 1e-3 + 1e-9


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(finite, finite, finite), min_size=1, max_size=25))
def test_thin_walls_are_never_crossed(commands):
    walls = [box(1, 0, 0.05, 1.05), box(-1, 0, 0.05, 1.05)]
    walls += [box(0, 1, 1.05, 0.05), box(0, -1, 1.05, 0.05)]
    world = world_at(Level("cell", WIDE, boxes=np.array(walls)), (0.0, 0.0, 0.0))
    jumps = world_at(
        Level("cell", WIDE, boxes=np.array(walls)), (0, 0, 0), discrete=True
    )
    for command in commands:
        world.step(np.array([command]))
        jumps.step(np.array([int((command[0] + 1.0) * 2.99)]))
        for one in (world, jumps):
            assert np.abs(one.state.position[0, :2]).max() <= 0.95 - R + 1.1e-3


def test_an_env_in_no_level_cannot_be_stepped():
    world = CompiledWorld(2, WorldSpec())
    world.set_levels([0], [Level("wide", WIDE)])
    world.reset(np.array([0]), np.array([0]), np.zeros((1, 3)))
    with pytest.raises(AmbuloError, match="environment 1 is in no level"):
        world.step(np.zeros((2, 3)))
    # A level given later does not help: the env has no place in it.
    world.set_levels([1], [Level("other", WIDE)])
    with pytest.raises(AmbuloError, match="reset before step"):
        world.step(np.zeros((2, 3)))


def test_a_touch_is_an_event_after_rearm_ticks_without_one():
    """Contact in ticks 1, 4 and 8 with `rearm_ticks=3`: only the last is new."""
    wall = Level("wall", WIDE, boxes=np.array([box(2.0, 0.0, 0.1, 20.0)]))
    world = world_at(
        wall, (1.9 - R, 0.0, 0.0), ticks_per_decision=1, smoothing=0.0, rearm_ticks=3
    )
    into, idle = np.array([[0.0, 1.0, 0.0]]), np.zeros((1, 3))
    seen = []
    for tick in range(1, 9):
        world.step(into if tick in {1, 4, 8} else idle)
        seen.append(int(world.state.collisions[0]))
    assert seen == [1, 0, 0, 0, 0, 0, 0, 1]


@pytest.mark.parametrize(
    ("group", "changes", "words"),
    [
        (
            "environment",
            {"ticks_per_decision": 1},
            "actions.move_distance = 1: moves 1 m",
        ),
        ("actions", {"max_movement_speed": 30.0}, "actions.max_movement_speed = 30"),
    ],
)
def test_settings_that_pass_through_walls_are_refused(group, changes, words):
    mode = "discrete" if group == "environment" else "continuous"
    config = (
        NavigationConfig().override("actions", mode=mode).override(group, **changes)
    )
    with pytest.raises(ConfigError, match=words):
        WorldSpec.from_config(config)
