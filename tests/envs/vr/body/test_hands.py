"""Bodies and twins that reach: when they do, and that both get there alike."""

from __future__ import annotations

import numpy as np
import pytest

from ambulo.configs.errors import ConfigError
from ambulo.configs.twin import find_twin
from ambulo.envs.vr.body.body_world import BodyWorld
from ambulo.envs.vr.body.hands import TwinHands, at_rest, from_origin, in_reach
from ambulo.envs.vr.body.twin_world import TwinWorld
from ambulo.envs.vr.body.walker import find_walker
from ambulo.envs.vr.contract import WorldSpec
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.world.state import HANDS, WorldState

SPEC = WorldSpec(
    ticks_per_decision=3, dt=1.0 / 30.0, max_speed=0.6, max_yaw_rate=np.radians(120.0)
)
FREE = Level("free", np.array([-20.0, -20.0, 20.0, 20.0]))
HEIGHTS = np.array([0.6, 1.1, 1.5])
COUNT = len(HEIGHTS)


def world_of(body: str) -> BodyWorld | TwinWorld:
    """Bodies at the origin, facing +X."""
    if body == "twin":
        world = TwinWorld(COUNT, SPEC, find_twin("walk_commands"))
    else:
        world = BodyWorld(COUNT, SPEC, find_walker("walk_commands", body))
    world.set_levels(range(COUNT), [FREE] * COUNT)
    world.seed(np.arange(COUNT), np.arange(COUNT))
    world.reset(np.arange(COUNT), np.arange(COUNT), np.zeros((COUNT, 3)))
    return world


def nearest(world: BodyWorld | TwinWorld, points: np.ndarray) -> np.ndarray:
    """Distance of the nearer hand from its point, [m]."""
    local = from_origin(world.state, np.repeat(points[:, None], 2, axis=1))
    return np.linalg.norm(world.state.hands - local, axis=2).min(axis=1)


@pytest.mark.integration
@pytest.mark.parametrize("body", ["twin", "human23"])
def test_a_body_walks_up_to_its_point_and_reaches_it(body: str) -> None:
    world = world_of(body)
    points = np.stack([np.full(COUNT, 1.5), np.full(COUNT, 0.15), HEIGHTS], axis=1)
    world.reach(points)
    steps = np.full(COUNT, 120)
    for step in range(120):
        away = points[:, 0] - world.state.position[:, 0]
        stick = np.zeros((COUNT, 3))
        stick[:, 1] = np.where(away > 0.5, 1.0, 0.0)
        world.step(stick)
        hit = nearest(world, points) < 0.05
        steps = np.where(hit & (steps == 120), step, steps)
    assert (steps < 100).all()
    assert steps[0] > steps[1]  # a crouch takes longer
    assert not world.state.fell.any()
    world.reach(np.full((COUNT, 3), np.nan))
    before = world.state.position[:, 0].copy()
    for _ in range(45):
        world.step(np.tile([0.0, 1.0, 0.0], (COUNT, 1)))
    assert (world.state.position[:, 0] > before + 0.5).all()
    assert (world.state.hands[..., 2] < 0.9).all()


def test_only_points_near_and_ahead_are_reached_for_and_only_at_rest() -> None:
    state = WorldState.zeros(4, 16)
    state.yaw[:] = np.pi / 2.0
    points = np.array(
        [[0.0, 0.5, 1.0], [0.0, 0.7, 1.0], [0.0, -0.3, 1.0], [np.nan] * 3]
    )
    no, yes = np.zeros(4, np.bool_), np.ones(4, np.bool_)
    assert in_reach(state, points, no, yes).tolist() == [True, False, False, False]
    # At rest a crouch may have moved the head beyond the point.
    assert in_reach(state, points, yes, yes).tolist() == [True, True, True, False]
    assert in_reach(state, points, yes, no).tolist() == [True, True, False, False]
    points[:, 2] = 0.6
    assert not in_reach(state, points, yes, no).any()
    assert in_reach(state, points, no, yes).tolist() == [True, False, False, False]
    sticks = np.array([[0.0, 0.29, 0.0], [0.31, 0.0, 0.0], [0.0, 0.0, -0.4]])
    assert at_rest(sticks).tolist() == [True, False, False]
    np.testing.assert_array_equal(state.hands[0], HANDS)


@pytest.mark.integration
def test_bodies_that_reach_near_their_feet_and_turn_away_stay_up() -> None:
    """Arms that hang from a bent trunk weigh behind it; led ones do not."""
    rng, many = np.random.default_rng(0), 64
    ranges = ((0.2, 0.45), (-0.3, 0.3), (0.4, 0.55))
    near = np.stack([rng.uniform(*ends, many) for ends in ranges], axis=1)
    seeds = np.array(
        [8, 17, 48, 51]
    )  # tipped over within 6 s when arms were not counted
    world = BodyWorld(len(seeds), SPEC, find_walker("walk_commands", "human23"))
    every = np.arange(len(seeds))
    world.set_levels(every, [FREE] * len(seeds))
    world.seed(every, seeds)
    world.reset(every, every, np.zeros((len(seeds), 3)))
    world.reach(near[seeds])
    fell = np.zeros(len(seeds), np.bool_)
    for step in range(100):
        turns = step >= 70
        world.step(np.tile([0.0, 0.0, 0.36 * turns], (len(seeds), 1)))
        fell |= world.state.fell
        if step == 60:
            assert (nearest(world, near[seeds]) < 0.08).all()
    assert not fell.any()


def test_hands_of_a_twin_stay_within_the_arm_and_go_home() -> None:
    hands, state = TwinHands(1), WorldState.zeros(1, 16)
    home = hands.palms.copy()
    far = np.array([[0.59, 0.2, 1.75]])
    yes, no = np.ones(1, np.bool_), np.zeros(1, np.bool_)
    for _ in range(40):
        hands.advance(state, far, yes, yes, 0.1)
    assert np.linalg.norm(hands.palms[0, 0] - [0.0, 0.198, 1.385]) < 0.62
    np.testing.assert_array_equal(hands.palms[0, 1], home[0, 1])
    low = np.array([[0.4, 0.2, 0.35]])
    for _ in range(40):
        hands.advance(state, low, yes, yes, 0.1)
    assert hands.depth[0] == 1.0
    for _ in range(40):
        hands.advance(state, low, no, no, 0.1)
    np.testing.assert_allclose(hands.palms, home)
    assert hands.depth[0] == 0.0


def test_twins_that_reach_are_saved_whole() -> None:
    world, fresh = world_of("twin"), world_of("twin")
    points = np.tile([0.4, 0.1, 0.6], (COUNT, 1))
    for one in (world, fresh):
        one.reach(points)
    still = np.zeros((COUNT, 3))
    for _ in range(12):
        world.step(still)
    fresh.load_state_dict(world.state_dict())
    np.testing.assert_array_equal(world.step(still).hands, fresh.step(still).hands)
    assert (world.state.hands[:, :, 2] < 0.74).any()


def test_walkers_whose_hands_cannot_be_led_are_refused() -> None:
    world = BodyWorld(1, SPEC_OF_LOCOMOTE, find_walker("locomote", "human23"))
    with pytest.raises(ConfigError, match="walker locomote has no hands"):
        world.reach(np.zeros((1, 3)))


SPEC_OF_LOCOMOTE = WorldSpec(
    ticks_per_decision=3, dt=1.0 / 30.0, max_speed=1.6, max_yaw_rate=np.radians(30.0)
)
