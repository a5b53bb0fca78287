"""The compiled world with doors, sweeping walls, lifts and people."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ambulo.configs.errors import LevelError
from ambulo.envs.vr.contract import BODY_RADIUS, WorldSpec
from ambulo.envs.vr.levels.level_io import parse_level
from ambulo.envs.vr.world.compiled_world import CompiledWorld
from tests.envs.vr.levels.test_moving import DOOR, TWO_FLOORS

IDLE = np.zeros(3)
AHEAD = np.array([0.0, 1.0, 0.0])
WALL = {
    "kind": "wall", "half_size": [0.1, 3, 1],
    "path": [[0, -4, 0, 1, 0], [8, 4, 0, 1, 0]],
}  # fmt: skip


def _world(
    data: dict[str, Any], *pose: float, envs: int = 1, **spec: Any
) -> CompiledWorld:
    base = {"name": "l", "bounds": [-10, -10, 10, 10], "heights": True}
    level = parse_level({**base, **data}, "x", solvable=False)
    world = CompiledWorld(envs, WorldSpec(**spec))
    world.set_levels([0], [level])
    world.seed(np.arange(envs), np.arange(envs))
    world.reset(np.arange(envs), np.zeros(envs, np.int64), np.tile(pose, (envs, 1)))
    return world


def _walk(world: CompiledWorld, steps: int, action: np.ndarray = IDLE) -> np.ndarray:
    actions = np.tile(action, (len(world.state.yaw), 1))
    return np.array([world.step(actions).position[0].copy() for _ in range(steps)])


def test_a_sweeping_wall_pushes_and_never_tunnels() -> None:
    world = _world({"movers": [WALL]}, 0.0, 0.0, 0.0)
    assert world.state.rays[0, 8] == pytest.approx(3.9)
    track = _walk(world, 75)
    x = -4 + 0.1 * np.arange(1, 76)
    assert (track[:, 0] >= x + 0.1 + BODY_RADIUS - 1e-3).all()
    assert track[-1, 0] == pytest.approx(3.5 + 0.35, abs=0.01)
    assert world.state.contact_ticks[0] == 9
    assert world.state.people_ticks[0] == 0
    assert world.state.velocity[0, 0] == pytest.approx(1.0, abs=0.01)


@settings(max_examples=25, deadline=None)
@given(
    speed=st.floats(0.2, 3.9),
    thickness=st.floats(0.02, 0.3),
    yaw=st.floats(-math.pi, math.pi),
    side=st.floats(-1.0, 1.0),
    ticks=st.sampled_from([30, 60, 90]),
    action=st.tuples(*[st.floats(-1, 1)] * 3),
)
def test_no_sweeping_wall_passes_over_anybody_in_the_open(
    speed: float, thickness: float, yaw: float, side: float, ticks: int, action: Any
) -> None:
    path = [[0, -5, 0, 1, 0], [12 / speed, 7, 0, 1, 0]]
    # Long enough that nobody walks past its end in three seconds.
    wall = {"kind": "wall", "half_size": [thickness, 12, 1], "path": path}
    spec = {"ticks_per_decision": ticks // 10, "dt": 1 / ticks}
    world = _world({"movers": [wall]}, -1.0, side, yaw, **spec)
    for k in range(1, 31):
        x = world.step(np.array([action])).position[0, 0]
        where = min(-5 + speed * 0.1 * k, 7.0)
        if where == 7.0:
            break
        assert x > where + thickness + BODY_RADIUS - 2e-3


def test_who_is_pressed_to_a_wall_is_not_pushed_through_it() -> None:
    wall = {"center": [5, 0, 1], "half_size": [0.05, 8, 1]}
    path = [[0, 0, 0, 1, 0], [2, 5.5, 0, 1, 0]]
    press = {"kind": "wall", "half_size": [0.3, 3, 1], "path": path}
    world = _world({"boxes": [wall], "movers": [press]}, 4.0, 0.0, 0.0)
    track = _walk(world, 40, AHEAD)
    assert track[:, 0].max() <= 5 - 0.05 - BODY_RADIUS + 1e-3


def test_a_lift_carries() -> None:
    world = _world(TWO_FLOORS, 1.0, 0.0, 0.0)
    assert world.state.position[0, 2] == pytest.approx(0.2)
    track = _walk(world, 71)
    assert track[29, 2] == pytest.approx(0.2)
    assert track[49, 2] == pytest.approx(0.2 + 2.8 / 4 * 2.0)
    assert track[70, 2] == pytest.approx(3.0)
    assert np.abs(track[:, 0] - 1.0).max() < 1e-9
    assert not world.state.fell[0]
    track = _walk(world, 15, AHEAD)
    assert track[-1, 0] > 2.5
    assert track[-1, 2] == pytest.approx(3.0)
    assert world.state.contact_ticks[0] == 0


def test_without_the_lift_one_falls_into_the_shaft() -> None:
    world = _world(TWO_FLOORS, 3.0, 0.0, np.pi, 3.0)
    rays = world.state.rays[0].copy()
    assert rays[0] == pytest.approx(1.0)  # the edge of the upper floor
    track = _walk(world, 20, AHEAD)
    assert world.state.fell[0]
    assert track[-1, 2] < 1.0


def test_a_platform_carries_aside_over_a_pit() -> None:
    path = [[0, -3, 0, -0.1, 0], [4, 3, 0, -0.1, 0]]
    data = {
        "holes": [[-4, -4, 4, 4]],
        "movers": [{"kind": "platform", "half_size": [1, 1, 0.1], "path": path}],
    }
    world = _world(data, -3.0, 0.5, 0.3)
    track = _walk(world, 40)
    assert track[-1].tolist() == pytest.approx([3.0, 0.5, 0.0])
    assert not world.state.fell[0]


def test_a_door_swings_opens_the_way_and_shuts_it() -> None:
    frame = [
        {"center": [-5, 0, 1.1], "half_size": [5, 0.1, 1.1]},
        {"center": [6, 0, 1.1], "half_size": [5, 0.1, 1.1]},
    ]
    world = _world({"boxes": frame, "movers": [DOOR]}, 0.5, 3.0, -np.pi / 2)
    assert world.state.rays[0, 0] == pytest.approx(2.97)  # shut
    _walk(world, 41)  # open
    assert world.state.rays[0, 0] > 4.9
    track = _walk(world, 25, AHEAD)
    assert track[-1, 1] < -1.0


def test_phases_of_episodes_differ_where_they_are_drawn() -> None:
    cart = {**WALL, "phase": "random"}
    world = _world({"movers": [cart]}, 9.0, 9.0, 0.0, envs=8)
    assert world.stochastic
    first = world.moving.state.after[:, 0, 0].copy()
    assert len(np.unique(first)) == 8
    world.seed(np.arange(8), np.arange(8))
    world.reset(np.arange(8), np.zeros(8, np.int64), np.tile([9.0, 9, 0], (8, 1)))
    assert (world.moving.state.after[:, 0, 0] == first).all()
    assert not _world({"movers": [WALL]}, 9.0, 9.0, 0.0).stochastic


def test_recorded_people_go_their_way_and_are_counted_apart() -> None:
    walker = {"route": [[5, 0], [-5, 0]], "speed": 1.0, "loop": False}
    world = _world({"people": {"walkers": [walker]}}, 0.0, 0.0, 0.0)
    assert world.moving.people(0).tolist() == [[5.0, 0.0, 0.0, 0.25]]
    assert world.state.rays[0, 0] == pytest.approx(4.75)
    people = things = 0
    for _ in range(60):
        state = world.step(np.array([IDLE]))
        people += int(state.people_collisions[0])
        things += int(state.collisions[0] - state.people_collisions[0])
    assert world.state.position[0, 0] < -0.5
    assert people == 1
    assert things == 0


HALL: dict[str, Any] = {
    "boxes": [
        {"center": [0, 0, 1], "half_size": [0.1, 3, 1]},
        {"center": [3, 4, 1], "half_size": [1, 1, 1], "yaw": 0.5},
        {"center": [-4, -5, 1], "half_size": [2, 0.2, 1], "yaw": 1.0},
        *(
            {"center": [9.9 * np.cos(a), 9.9 * np.sin(a), 1], "yaw": a,
             "half_size": [0.1, 10, 1]}
            for a in np.arange(4) * np.pi / 2
        ),
    ],
    "cylinders": [{"center": [5, -4], "radius": 0.7, "height": 2}],
    "people": {"count": 15},
}  # fmt: skip


def _in_walls(world: CompiledWorld, spare: float) -> np.ndarray:
    """Whether the people of env 0 are nearer than `spare` to an obstacle of `HALL`."""
    x, y = world.moving.people(0)[:, :2].T
    inside = np.hypot(x - 5, y + 4) < 0.7 + spare
    for box in HALL["boxes"]:
        yaw = box.get("yaw", 0.0)
        dx, dy = x - box["center"][0], y - box["center"][1]
        u = np.abs(np.cos(yaw) * dx + np.sin(yaw) * dy) - box["half_size"][0]
        v = np.abs(np.cos(yaw) * dy - np.sin(yaw) * dx) - box["half_size"][1]
        inside |= np.hypot(np.maximum(u, 0), np.maximum(v, 0)) < spare
    return np.asarray(inside)


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 2**31), sees=st.booleans())
def test_nobody_ends_inside_a_wall(seed: int, sees: bool) -> None:
    people = {"count": 25, "speed": [1.5, 3.0], "see_agent": sees}
    world = _world({**HALL, "people": people}, -6.0, 6.0, 0.0)
    world.seed(np.zeros(1, np.int64), np.array([seed]))
    world.reset(np.zeros(1, np.int64), np.zeros(1, np.int64), np.array([[-6.0, 6, 0]]))
    rng = np.random.default_rng(seed)
    for _ in range(80):
        world.step(rng.uniform(-1, 1, (1, 3)))
        assert not _in_walls(world, BODY_RADIUS - 2e-3).any()
        assert np.abs(world.state.position[0, :2]).max() < 9.8 - BODY_RADIUS + 2e-3


def test_crowds_get_to_their_goals() -> None:
    world = _world(HALL, -8.5, 8.5, 0.0)
    before = world.moving.crowd(0)[:, 6].copy()
    arrived = np.zeros(15, np.bool_)
    speeds = []
    for _ in range(400):
        world.step(IDLE[None])
        crowd = world.moving.crowd(0)
        arrived |= crowd[:, 6] != before
        speeds.append(np.hypot(crowd[:, 3], crowd[:, 4]) / crowd[:, 5])
    assert arrived.mean() > 0.9
    assert np.mean(speeds) > 0.6
    assert np.max(speeds) <= 1.3 + 1e-6


def test_a_crowd_makes_way_for_the_agent_it_sees() -> None:
    touches = {}
    for sees in (True, False):
        people = {"count": 12, "see_agent": sees, "goals": [[-8, 0], [8, 0]]}
        world = _world({"people": people}, 0.0, 0.0, 0.0, envs=6)
        touches[sees] = 0
        for _ in range(250):
            touches[sees] += int(world.step(np.zeros((6, 3))).people_ticks.sum())
    assert touches[True] < 0.5 * touches[False]


def test_envs_do_not_depend_on_their_neighbours() -> None:
    alone, among = _world(HALL, 6.0, 0.0, 0.0), _world(HALL, 6.0, 0.0, 0.0, envs=5)
    for _ in range(40):
        alone.step(np.array([AHEAD]))
        among.step(np.tile(AHEAD, (5, 1)))
    assert (alone.moving.people(0) == among.moving.people(0)).all()
    assert (alone.state.position[0] == among.state.position[0]).all()
    assert (among.moving.people(1) != among.moving.people(0)).any()


def test_too_fast_for_the_ticks_is_refused() -> None:
    path = [[0, 0, 0, 1, 0], [2, 7.9, 0, 1, 0]]
    wall = {"kind": "wall", "half_size": [0.1, 1, 1], "path": path}
    with pytest.raises(LevelError, match=r"'l': movers\[0\] and the body move 0.5"):
        _world({"movers": [wall]}, 0.0, 5.0, 0.0, ticks_per_decision=1, dt=0.1)


@pytest.mark.parametrize(
    ("people", "error"),
    [
        ({"count": 2, "goals": [[0, 5], [5, 0.0]]}, "people.goals[1]: no way from"),
        ({"count": 150}, "people.count: 150 people need 120 m^2"),
    ],
)
def test_crowds_that_cannot_walk_are_refused(people: Any, error: str) -> None:
    cross = [
        {"center": [0, 0, 1], "half_size": [10, 0.2, 1], "yaw": np.pi / 4},
        {"center": [0, 0, 1], "half_size": [10, 0.2, 1], "yaw": -np.pi / 4},
    ]
    data = {"bounds": [-7, -7, 7, 7], "boxes": cross, "people": people}
    with pytest.raises(LevelError) as caught:
        _world(data, 0.0, 5.0, 0.0)
    assert error in str(caught.value)


def test_what_moved_in_the_level_before_is_gone() -> None:
    moving = parse_level(TWO_FLOORS, "x")
    still = dataclasses.replace(moving, movers=(), people=None)
    world, fresh = CompiledWorld(1, WorldSpec()), CompiledWorld(1, WorldSpec())
    world.set_levels([0], [moving])
    start = (np.array([0]), np.array([0]), np.array([[1.0, 0.0, 0.0]]))
    world.reset(*start)
    world.step(np.zeros((1, 3)))
    for one in (world, fresh):
        one.set_levels([0], [still])
        one.reset(*start)
    np.testing.assert_array_equal(world.state.rays, fresh.state.rays)
    assert len(world.moving.boxes(0)) == 0
