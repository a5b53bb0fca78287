"""Levels with heights and moving things in all worlds of the contract."""

from __future__ import annotations

import numpy as np
import pytest
from fixtures.worlds import FEW_RAYS, begin, make

from ambulo.envs.vr.contract import WorldSpec
from ambulo.envs.vr.families import generate
from ambulo.envs.vr.levels.level_io import parse_level
from ambulo.envs.vr.levels.sample_levels import sample_level
from ambulo.envs.vr.world.compiled_world import CompiledWorld

__all__ = ["make"]

STEPS = 100
FORWARD = np.array([0.0, 0.5, 0.0])


@pytest.mark.integration
def test_walks_end_where_the_compiled_world_has_them(make) -> None:
    levels = [sample_level(seed, moving=seed % 2 == 1) for seed in range(16)]
    worlds = make.pair(levels, FEW_RAYS)
    rng = np.random.default_rng(3)
    now = np.zeros((16, 3))
    events = np.zeros((2, 3))
    for _ in range(STEPS):
        now = 0.9 * now + 0.25 * rng.normal(size=(16, 3))
        action = np.clip(now + FORWARD, -1.0, 1.0)
        for k, world in enumerate(worlds):
            state = world.step(action)
            events[k] += (
                state.collisions.sum(),
                state.people_collisions.sum(),
                state.contact_ticks.sum(),
            )
    apart = np.linalg.norm(worlds[0].state.position - worlds[1].state.position, axis=1)
    assert np.sum(apart <= 0.05) >= 15
    assert events[1, 1] > 0
    np.testing.assert_allclose(events[0], events[1], rtol=0.1, atol=1.0)


LIFT = {
    "name": "lift",
    "bounds": [-4, -4, 4, 4],
    "heights": True,
    "movers": [
        {
            "kind": "lift",
            "half_size": [0.8, 0.8, 0.05],
            "path": [[0, 0, 0, 0, 0], [1, 0, 0, 0, 0], [3, 0, 0, 1.5, 0], [4, 0, 0, 1.5, 0]],
        },
        {
            "kind": "wall",
            "half_size": [0.1, 1.5, 1.0],
            "path": [[0, -3.5, 2.5, 1, 0], [4, 3.5, 2.5, 1, 0]],
        },
    ],
    "people": {"walkers": [{"route": [[3, -3, 0], [-3, -3, 0]], "speed": 1.0}]},
}  # fmt: skip


def test_lifts_carry_walls_push_and_people_are_touched(make) -> None:
    level = parse_level(LIFT, "x")
    poses = np.array([[0.2, 0.1, 0.0], [0.0, 2.5, 0.0], [0.0, -3.0, 0.0]])
    world = begin(make(3, FEW_RAYS), [level] * 3, poses)
    assert world.state.position[0, 2] == pytest.approx(0.05, abs=1e-3)
    people = 0
    for _ in range(35):
        people += world.step(np.zeros((3, 3))).people_collisions[2]
    lifted, pushed, met = world.state.position
    np.testing.assert_allclose(lifted, [0.2, 0.1, 1.55], atol=2e-3)
    assert pushed[0] > 2.5
    assert people == 1
    assert abs(met[1] + 3.0) > 0.1 or met[0] < -0.3


def test_a_continuation_keeps_what_moves_and_carries(make) -> None:
    levels = [sample_level(1, moving=True), parse_level(LIFT, "x")]
    world = begin(make(2, FEW_RAYS), levels)
    action = np.array([[0.0, 0.6, 0.2], [0.0, 0.0, 0.0]])
    for _ in range(20):
        world.step(action)
    assert 0.3 < world.state.position[1, 2] < 1.3  # on its way up
    saved = world.state_dict()
    ends = []
    for _ in range(2):
        rows = [world.step(action).position.copy() for _ in range(20)]
        ends.append(rows)
        world.load_state_dict(saved)
    np.testing.assert_allclose(ends[1], ends[0], atol=1e-3)


def test_what_moved_in_the_level_before_is_gone(make) -> None:
    still = parse_level(
        {"name": "still", "bounds": LIFT["bounds"], "heights": True}, "x"
    )
    pose = np.array([[-1.8, 2.5, 0.0]])
    world = begin(make(1), [parse_level(LIFT, "x")], pose)
    for _ in range(3):
        world.step(np.zeros((1, 3)))
    begin(world, [still], pose)
    alone = begin(CompiledWorld(1, WorldSpec()), [still], pose)
    for _ in range(12):
        states = [w.step(np.array([[0.0, 1.0, 0.0]])) for w in (world, alone)]
    np.testing.assert_allclose(states[0].position, states[1].position, atol=1e-3)
    np.testing.assert_allclose(states[0].rays, states[1].rays, atol=1e-2)


@pytest.mark.parametrize("dials", [None, (0.0, 0.5, 1.0)])
def test_limits_of_the_action_model_are_those_of_the_compiled_world(
    make, dials: tuple[float, ...] | None
) -> None:
    levels = [sample_level(2)] * 3
    spec = WorldSpec(
        max_acceleration=1.5, max_yaw_acceleration=3.0, facing=0.7, comfort_speed=1.2,
        num_rays=1,
    )  # fmt: skip
    worlds = make.pair(levels, spec)
    rng = np.random.default_rng(5)
    for step in range(60):
        if dials is not None:  # a dial may be turned while agents walk
            comfort = np.roll(dials, step // 40)
            for world in worlds:
                world.comfort = comfort
        if step == 20:  # an engine is configured anew, and told again
            worlds[0].load_state_dict(worlds[0].state_dict())
        action = np.tile(rng.uniform(-1.0, 1.0, 3), (3, 1))
        commands = [world.step(action).command.copy() for world in worlds]
        np.testing.assert_allclose(commands[1], commands[0], atol=1e-9)
        if step == 30 and dials is not None:
            assert len(np.unique(commands[0], axis=0)) == 3


FAST = WorldSpec(snap_turn=0.5, teleport=3.0, teleport_delay=0.2, num_rays=1)


@pytest.mark.integration
def test_snaps_and_teleports_are_those_of_the_compiled_world(make) -> None:
    levels = [sample_level(seed, moving=seed % 2 == 1) for seed in range(16)]
    worlds = make.pair(levels, FAST)
    rng = np.random.default_rng(7)
    counts = np.zeros((2, 2))
    for _ in range(STEPS // 2):
        action = rng.uniform(-1.0, 1.0, (16, 3))
        for k, world in enumerate(worlds):
            state = world.step(action)
            counts[k] += state.moves.sum(), state.snaps.sum()
        first, second = (world.state for world in worlds)
        np.testing.assert_array_equal(first.cooldown, second.cooldown)
        np.testing.assert_allclose(first.yaw, second.yaw, atol=1e-9)
    assert counts[0].min() > 100
    np.testing.assert_allclose(counts[1], counts[0], atol=2.0)
    apart = np.linalg.norm(first.position - second.position, axis=1)
    assert np.sum(apart <= 0.05) >= 14


def test_teleports_end_at_walls_and_pits_alike(make) -> None:
    level = parse_level(
        {
            "name": "walls",
            "bounds": [-6, -6, 6, 6],
            "holes": [[-4, -1, -2, 1]],
            "boxes": [{"center": [3, 0, 1], "half_size": [0.1, 2, 1], "yaw": 0.3}],
            "cylinders": [{"center": [0, 3], "radius": 0.4, "height": 2}],
        },
        "x",
    )
    spec = WorldSpec(teleport=5.0, teleport_delay=0.1, num_rays=1)
    poses = np.column_stack([np.zeros((8, 2)), np.arange(8) * np.pi / 4])
    worlds = make.pair([level] * 8, spec, poses)
    for world in worlds:
        state = world.step(np.tile([0.0, 1.0, 0.0], (8, 1)))
        assert not state.collisions.any()
    first, second = (world.state for world in worlds)
    np.testing.assert_allclose(first.position, second.position, atol=3e-3)
    np.testing.assert_allclose(first.velocity, second.velocity, atol=0.03)
    assert first.position[4, 0] == pytest.approx(-2.0, abs=2e-3)  # before the pit
    assert first.position[2, 1] == pytest.approx(2.35, abs=2e-3)  # before the cylinder
    np.testing.assert_allclose(first.path, np.linalg.norm(first.position, axis=1))
    for world in worlds:  # it stands where it came to
        state = world.step(np.zeros((8, 3)))
        np.testing.assert_allclose(state.velocity, 0.0, atol=1e-3)


BEAM = {
    "name": "beam",
    "bounds": [-4, -4, 4, 4],
    "heights": True,
    "boxes": [{"center": [2, 0, 1.5], "half_size": [0.2, 2, 0.1]}],
}


@pytest.mark.parametrize(
    ("eyes", "passes"), [(1.05, True), (1.2, True), (1.6, False), (1.75, False)]
)
def test_low_beams_stop_bodies_by_their_height(make, eyes: float, passes: bool) -> None:
    spec = WorldSpec(eye_height=eyes)
    level = parse_level(BEAM, "x")
    for world in make.pair([level], spec):
        assert (world.state.rays[0, 0] > 3.0) == passes
        for _ in range(20):
            state = world.step(np.array([[0.0, 1.0, 0.0]]))
        assert (state.position[0, 0] > 3.0) == passes
        assert (state.contact_ticks[0] == 0) == passes
        scale = eyes / 1.6
        np.testing.assert_allclose(
            state.hands[0, 0], np.array([0.35, 0.22, 1.1]) * scale
        )


SENSES = WorldSpec(surroundings=True)


@pytest.mark.integration
@pytest.mark.parametrize(
    "family",
    ["storeys", "doors", "lifts", "clutter", "crowd", "outdoor", "pits", "sample"],
)
def test_worlds_tell_the_same_senses(make, family: str) -> None:
    level = sample_level(1, moving=True)
    poses = np.random.default_rng(2).uniform(-3.0, 3.0, (4, 4)) * [1, 1, 1, 0]
    if family != "sample":
        level = generate(family, 1_000_003)
        poses = np.array([[*level.start, level.start_height or 0.0]])
    count = len(poses)
    worlds = make.pair([level] * count, SENSES, poses)
    other, fast = (world.state for world in worlds)
    same = close = total = seen = 0
    for step in range(20):
        alike = np.abs(other.rays - fast.rays) < 5e-3
        total += int(alike.sum())
        same += int((alike & (other.ray_ends == fast.ray_ends)).sum())
        off = np.abs(other.ray_floors - fast.ray_floors).max(axis=-1)
        close += int((alike & (off < 0.03)).sum())
        near = np.abs(fast.position - other.position).max(axis=-1) < 1e-3
        seen += int((fast.movers[near, :, 8] != 0.0).sum())
        np.testing.assert_allclose(other.movers[near], fast.movers[near], atol=5e-3)
        for world in worlds:
            action = [0.3, 0.8 if step % 12 < 8 else -0.5, 0.2]
            world.step(np.tile(action, (count, 1)))
    assert total >= 0.95 * 20 * count * SENSES.num_rays
    assert same >= 0.98 * total
    assert close >= 0.95 * total
    assert (seen > 0) == (family in ("doors", "lifts", "crowd", "sample"))
