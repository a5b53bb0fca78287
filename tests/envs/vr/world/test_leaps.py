"""Snap turns, teleports and the height of the body in the compiled world."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from ambulo.envs.vr.contract import BODY_HEIGHT, WorldSpec
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.levels.level_io import parse_level
from ambulo.envs.vr.levels.sample_levels import sample_level
from ambulo.envs.vr.world.actions import motion_of
from ambulo.envs.vr.world.compiled_world import CompiledWorld

OPEN = Level("open", np.array([-50.0, -50.0, 50.0, 50.0]))
PLAIN = WorldSpec(smoothing=0.0, dead_zone=0.0)
STAIRS = {
    "name": "stairs",
    "bounds": [-5, -5, 12, 5],
    "heights": True,
    "stairs": [{"from": [1, 0, 0], "to": [4, 0, 1.5], "width": 4, "steps": 9}],
    "boxes": [{"center": [6, 0, 1.4], "half_size": [2, 2, 0.1]}],
}


def _world(spec: WorldSpec, level: Level = OPEN, envs: int = 1) -> CompiledWorld:
    world = CompiledWorld(envs, spec)
    world.set_levels([0], [level])
    world.reset(np.arange(envs), np.zeros(envs, int), np.zeros((envs, 3)))
    return world


def _act(*values: float) -> np.ndarray:
    return np.array([values])


def test_the_stick_walks_and_the_rotation_snaps() -> None:
    world = _world(dataclasses.replace(PLAIN, snap_turn=0.5))
    turns = []
    for _ in range(7):
        state = world.step(_act(0.0, 0.5, 1.0))
        assert state.yaw_rate[0] == 0.0
        turns.append((state.yaw[0], state.snaps[0]))
    steps = np.diff([0.0, *(yaw for yaw, _ in turns)])
    np.testing.assert_allclose(steps, [-0.5, 0, 0, -0.5, 0, 0, -0.5], atol=1e-12)
    np.testing.assert_array_equal([made for _, made in turns], steps != 0.0)
    assert state.path[0] == pytest.approx(0.1)
    for _ in range(5):  # the least that snaps is above 0.7
        before = state.yaw[0]
        world.step(_act(0.0, 0.0, -0.7))
        assert state.yaw[0] == before
    world.step(_act(0.0, 0.0, -0.71))
    assert state.yaw[0] == pytest.approx(before + 0.5)


def test_teleports_move_at_once_and_wait() -> None:
    world = _world(dataclasses.replace(PLAIN, teleport=4.0))
    state = world.step(_act(0.0, 0.5, 0.0))
    np.testing.assert_allclose(state.position[0], [2.0, 0.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(
        state.velocity[0], [20.0, 0.0, 0.0]
    )  # as a discrete move
    assert (state.path[0], state.moves[0]) == (pytest.approx(2.0), 1)
    for _ in range(4):
        state = world.step(_act(0.0, 1.0, 0.0))
        assert state.moves[0] == 0
        np.testing.assert_array_equal(state.velocity[0], 0.0)
    state = world.step(_act(1.0, 0.0, 0.0))
    np.testing.assert_allclose(state.position[0, :2], [2.0, -4.0], atol=1e-12)
    for _ in range(6):
        state = world.step(_act(0.0, 0.3, 0.0))  # too short a stick
        assert state.moves[0] == 0


def test_limits_and_facing_shape_the_aim() -> None:
    spec = dataclasses.replace(
        PLAIN, teleport=2.0, facing=math.radians(45.0), max_acceleration=0.1
    )
    motion = motion_of(_act(1.0, 0.0, 0.0), spec, np.zeros((1, 3)))
    aside = math.cos(math.radians(45.0)) * 2.0 * math.sqrt(0.5)
    np.testing.assert_allclose(motion.jump, [[-aside, aside]])  # not slowed down
    np.testing.assert_array_equal(motion.target, 0.0)


def test_teleports_follow_the_floor() -> None:
    level = parse_level(STAIRS, "x")
    world = _world(dataclasses.replace(PLAIN, teleport=20.0), level)
    state = world.step(_act(0.0, 1.0, 0.0))
    assert state.position[0, 0] == pytest.approx(8.0, abs=2e-3)  # before the drop
    assert state.position[0, 2] == pytest.approx(1.5)
    assert not state.fell[0]
    assert state.contact_ticks[0] == 0
    world = _world(dataclasses.replace(PLAIN, teleport=2.0), level)
    state = world.step(_act(0.0, 1.0, 0.0))
    assert 0.3 < state.position[0, 2] < 0.7  # on the stairs


def test_a_leap_down_a_flight_is_no_fall() -> None:
    """It goes along the floor, farther down than a fall may be deep."""
    spec = dataclasses.replace(PLAIN, teleport=4.5)
    world = _world(spec, parse_level(STAIRS, "stairs"))
    world.reset(np.array([0]), np.array([0]), np.array([[5.0, 0.0, math.pi, 1.5]]))
    state = world.step(_act(0.0, 1.0, 0.0))
    np.testing.assert_allclose(state.position[0], [0.5, 0.0, 0.0], atol=1e-6)
    assert spec.fall_depth < 1.5
    assert not state.fell[0]


def test_nothing_steers_a_fall() -> None:
    level = Level("edge", np.array([-1.0, -1.0, 1.0, 1.0]))
    world = CompiledWorld(1, dataclasses.replace(PLAIN, teleport=3.0))
    world.set_levels([0], [level])
    world.reset(np.zeros(1, int), np.zeros(1, int), np.array([[0.9, 0.0, 0.0]]))
    state = world.step(_act(0.0, 1.0, 0.0))
    assert state.position[0, 0] == pytest.approx(1.0, abs=2e-3)
    world.state.position[0, 0] = 1.5  # as if it were pushed off
    for _ in range(12):
        state = world.step(_act(0.0, -1.0, 0.0))
    assert state.fell[0]
    assert state.position[0, 0] == pytest.approx(1.5)
    assert state.moves[0] == 0


def test_a_continuation_keeps_the_delays() -> None:
    spec = WorldSpec(snap_turn=0.6, teleport=2.0)
    world = _world(spec, sample_level(3), 4)
    rng = np.random.default_rng(0)
    actions = rng.uniform(-1.0, 1.0, (30, 4, 3))
    for action in actions[:7]:
        world.step(action)
    saved = world.state_dict()
    assert saved["cooldown"].any()
    ends = []
    for _ in range(2):
        for action in actions[7:]:
            state = world.step(action)
        ends.append((state.position.copy(), state.yaw.copy()))
        world.load_state_dict(saved)
    np.testing.assert_array_equal(ends[0][0], ends[1][0])
    np.testing.assert_array_equal(ends[0][1], ends[1][1])


def test_the_body_scales_with_the_eyes() -> None:
    assert WorldSpec().body_height == BODY_HEIGHT
    assert WorldSpec().hand_offset == (0.35, 0.22, 1.1)
    child = WorldSpec(eye_height=0.8)
    assert child.body_height == pytest.approx(0.875)
    assert child.hand_offset == pytest.approx((0.175, 0.11, 0.55))
    assert [WorldSpec().steps_of(s) for s in (1e-3, 0.1, 0.3, 0.31)] == [1, 1, 3, 4]


GOLDEN = {
    1: (
        5.151939752085809,
        -0.05131375691359515,
        0.0,
        0.25180622323863955,
        35.661706048778306,
    ),
    2: (
        4.593057979648076,
        0.5720169683462731,
        0.0,
        0.12481735572157385,
        34.97851780882121,
    ),
}
"""x, y, z, yaw of the first env and the sum of its rays, as they were before these options."""


@pytest.mark.parametrize("seed", [1, 2])
def test_defaults_change_nothing(seed: int) -> None:
    world = _world(WorldSpec(), sample_level(seed, moving=seed == 1), 2)
    rng = np.random.default_rng(seed)
    for _ in range(60):
        state = world.step(rng.uniform([-0.3, 0.0, -0.4], [0.3, 1.0, 0.4], (2, 3)))
    found = [*state.position[0], state.yaw[0], state.rays[0].sum()]
    np.testing.assert_allclose(found, GOLDEN[seed], atol=1e-9)
