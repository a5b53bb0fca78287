"""Twins answer commands, slide, fall, and repeat themselves."""

from __future__ import annotations

import numpy as np
import pytest

from ambulo.configs.errors import ConfigError
from ambulo.configs.twin import ContactRule, Envelope, Response, TwinConfig, find_twin
from ambulo.envs.vr.body.twin_world import TwinWorld
from ambulo.envs.vr.contract import WorldSpec
from ambulo.envs.vr.levels.level import Level

SPEC = WorldSpec(
    ticks_per_decision=3, dt=1.0 / 30.0, max_speed=1.6, max_yaw_rate=0.5, smoothing=0.0,
    dead_zone=0.0,
)  # fmt: skip
WALL = Level(
    "wall",
    np.array([-50.0, -50.0, 50.0, 50.0]),
    boxes=np.array([[3.0, 0.0, 1.0, 0.1, 20.0, 1.0, 0.0]]),
    holes=np.array([[-4.0, -2.0, -2.0, 2.0]]),
)


def twin(**changes: object) -> TwinConfig:
    """A walker that is 0.1 m/s slower than asked, and never falls."""
    settings = {
        "walker": "w",
        "character": "human23",
        "control_rate": 30,
        "envelope": Envelope(speed=(0.0, 1.6), turn=(-40.0, 40.0)),
        "speed": Response(gain=0.9, offset=-0.01, lag=0.3, change=1.0, delay=0.2),
        "side": Response(lag=1.0, change=1.0),
        "turn": Response(lag=0.2, change=2.0),
        "radius": 0.3,
        "contact": ContactRule(still=-50.0, speed=0.0),
    }
    return TwinConfig(**{**settings, **changes})


def world_with(config: TwinConfig, poses: list[list[float]], spec: WorldSpec = SPEC):
    world, count = TwinWorld(len(poses), spec, config), len(poses)
    world.set_levels([0], [WALL])
    world.seed(np.arange(count), np.arange(count))
    world.reset(np.arange(count), np.zeros(count, np.int64), np.array(poses))
    return world


def forward(world: TwinWorld, steps: int, stick: float = 1.0) -> list[np.ndarray]:
    """Walk ahead; positions after each step."""
    action = np.tile([0.0, stick, 0.0], (len(world.state.yaw), 1))
    return [world.step(action).position.copy() for _ in range(steps)]


def test_speed_settles_where_the_response_says_after_its_delay():
    world = world_with(twin(), [[-20.0, 10.0, 0.0]])
    first = forward(world, 2)[-1]
    assert first[0, 0] == pytest.approx(-20.0, abs=0.01)  # 0.2 s: nothing yet
    forward(world, 60)
    assert world.state.velocity[0, 0] == pytest.approx(0.9 * 1.6 - 0.01, abs=1e-3)


def test_a_touch_slides_at_the_radius_and_is_counted():
    world = world_with(twin(), [[2.0, 0.0, 0.0]])
    forward(world, 30)
    assert world.state.position[0, 0] == pytest.approx(2.9 - 0.3, abs=1e-6)
    assert world.state.contact_ticks[0] == 3
    assert world.details()["touched"].tolist() == [True]
    assert not world.state.fell[0]


def test_falls_come_as_often_as_the_contact_rule_says():
    count, rate = 2000, 0.7
    rule = ContactRule(still=float(np.log(rate)), speed=0.0, after=0.0)
    world = world_with(twin(contact=rule), [[2.59, 0.0, 0.0]] * count)
    forward(world, 20, stick=0.2)
    begun = world.state.since_contact == 0
    assert begun.mean() > 0.5
    seconds = 2.0 - 0.5  # the walker is at the wall after about half a second
    expected = 1.0 - np.exp(-rate * seconds)
    assert world.state.fell.mean() == pytest.approx(expected, abs=0.06)


def test_there_is_no_way_back_from_a_hole():
    world = world_with(twin(), [[-5.0, 0.0, 0.0]])
    forward(world, 40)
    assert world.state.fell[0]


def test_equal_seeds_and_saved_states_go_on_alike():
    noisy = twin(speed=Response(lag=0.3, change=1.0, noise=0.1))
    first, second = (world_with(noisy, [[-20.0, 5.0, 0.3]] * 2) for _ in range(2))
    np.testing.assert_array_equal(forward(first, 20), forward(second, 20))
    assert not np.array_equal(first.state.position[0], first.state.position[1])
    second.load_state_dict(first.state_dict())
    np.testing.assert_array_equal(forward(first, 20), forward(second, 20))


def test_ticks_are_control_steps_of_the_walker():
    spec = WorldSpec(max_speed=1.6, max_yaw_rate=0.5)
    with pytest.raises(ConfigError, match="ticks_per_second = 90: walker w takes 30"):
        TwinWorld(1, spec, twin())


def test_twins_are_found_by_name():
    assert find_twin("locomote").walker == "locomote"
    with pytest.raises(ConfigError, match=r"twin = locomot: .*'locomote'"):
        find_twin("locomot")
