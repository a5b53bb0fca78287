"""The world in a real engine, beside the compiled world of the same contract."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from fixtures.worlds import begin, random_level, wandering

from ambulo.configs.errors import AmbuloError, BridgeError
from ambulo.envs.godot import link as link_module
from ambulo.envs.godot.link import split_envs
from ambulo.envs.godot.settings import BridgeSettings
from ambulo.envs.godot.world import GodotWorld
from ambulo.envs.vr.contract import WorldSpec
from ambulo.envs.vr.levels.level import Level


@pytest.fixture
def attach(engine):
    """Makes worlds in the shared engine."""
    worlds = []

    def make(num_envs: int, spec: WorldSpec | None = None) -> GodotWorld:
        settings = BridgeSettings(url=f"http://127.0.0.1:{engine.port}", timeout=20.0)
        worlds.append(GodotWorld(num_envs, spec or WorldSpec(), settings))
        return worlds[-1]

    yield make
    for world in worlds:
        assert not world.faults
        world.close()
    assert engine.running


def walk_digest(world, levels, seed: int) -> str:
    """SHA-256 of everything that 60 decisions of one env a level return."""
    digest = hashlib.sha256()
    begin(world, levels, np.random.default_rng(seed).uniform(-1, 1, (len(levels), 3)))
    for action in wandering(seed, 60, len(levels)):
        world.step(action)
        for array in world.state.arrays().values():
            digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def test_equal_actions_give_equal_bits_in_every_process_and_after_resets(
    program, tmp_path
) -> None:
    levels = [random_level(seed) for seed in range(6)]
    digests = []
    for k in range(3):
        settings = BridgeSettings(binary=str(program), log_folder=tmp_path / str(k))
        world = GodotWorld(6, WorldSpec(), settings)
        digests.append(walk_digest(world, levels, 7))
        if k == 0:
            assert walk_digest(world, levels, 8) != digests[0]
            digests.append(walk_digest(world, levels, 7))
        world.close()
    assert len(set(digests)) == 1


def test_envs_spread_over_engines_play_as_in_one(program, tmp_path, attach) -> None:
    levels = [random_level(seed) for seed in range(5)]
    logs = tmp_path / "logs"
    settings = BridgeSettings(binary=str(program), engines=2, log_folder=logs)
    world = GodotWorld(5, WorldSpec(), settings)
    assert len(world.pids) == 2
    assert walk_digest(world, levels, 3) == walk_digest(attach(5), levels, 3)
    world.close()
    assert world.pids == []
    assert sorted(f.name for f in logs.iterdir()) == ["engine-0.log", "engine-1.log"]


def test_two_worlds_share_an_attached_engine(attach) -> None:
    """As a training and its evaluation do: each finds its envs where they were."""
    levels = [random_level(seed) for seed in range(3)]
    actions = wandering(9, 20, 3)
    alone = begin(attach(3), levels)
    expected = [alone.step(action).position.copy() for action in actions]
    first = begin(attach(3), levels)
    second = begin(attach(2), levels[:2])
    for action, position in zip(actions, expected, strict=True):
        np.testing.assert_array_equal(first.step(action).position, position)
        np.testing.assert_array_equal(second.step(action[:2]).position, position[:2])


def test_only_the_reset_envs_begin_anew(attach) -> None:
    world = begin(attach(3), [random_level(seed) for seed in range(3)])
    for action in wandering(1, 10, 3):
        world.step(action)
    before = world.state_dict()
    world.reset(np.array([1]), np.array([2]), np.array([[0.5, 0.25, 1.0]]))
    for name, array in world.state_dict().items():
        np.testing.assert_array_equal(array[[0, 2]], before[name][[0, 2]], err_msg=name)
    np.testing.assert_array_equal(world.state.position[1], [0.5, 0.25, 0.0])
    assert world.state.yaw[1] == 1.0
    assert world.state.path[1] == 0.0
    assert (world.state.command[1] == 0.0).all()
    assert world.state.since_contact[1] >= 1 << 30


def test_a_replaced_level_is_sent_again_and_others_are_not(attach) -> None:
    world = attach(2)
    sent = []
    link = world._links[0]
    original = link._must

    def spy(path, body):
        if path == "/rl/levels":
            sent.append(body)
        return original(path, body)

    link._must = spy
    levels = [random_level(seed) for seed in range(4)]
    world.set_levels(range(4), levels)
    assert sent == []
    env = np.array([0])
    for slot in (0, 1, 0, 1):
        world.reset(env, np.array([slot]), np.zeros((1, 3)))
    world.reset(np.array([1]), np.array([0]), np.zeros((1, 3)))
    assert len(sent) == 2
    rays = world.state.rays[1].copy()
    world.set_levels([0, 1], [levels[3], levels[1]])
    for slot in (0, 1):
        world.reset(env, np.array([slot]), np.zeros((1, 3)))
        if slot == 0:
            assert not np.array_equal(world.state.rays[0], rays)
    assert len(sent) == 3


def test_a_closed_world_starts_no_engine(program, tmp_path) -> None:
    settings = BridgeSettings(binary=str(program), log_folder=tmp_path)
    world = begin(GodotWorld(1, WorldSpec(), settings), [random_level(0)])
    world.close()
    world.close()
    with pytest.raises(AmbuloError, match="closed"):
        world.step(np.zeros((1, 3)))
    with pytest.raises(AmbuloError, match="closed"):
        world.reset(np.array([0]), np.array([0]), np.zeros((1, 3)))
    assert world.pids == []


def test_an_engine_with_a_token_is_driven_with_it(
    program, tmp_path, monkeypatch
) -> None:
    monkeypatch.setenv("AMBULO_TOKEN", "secret")
    settings = BridgeSettings(binary=str(program), log_folder=tmp_path)
    world = begin(GodotWorld(1, WorldSpec(), settings), [random_level(0)])
    port = world._links[0]._process.port
    with pytest.raises(BridgeError, match=r"HTTP 401.*AMBULO_TOKEN"):
        GodotWorld(
            1, WorldSpec(), BridgeSettings(url=f"http://127.0.0.1:{port}", token="no")
        )
    world.step(np.zeros((1, 3)))
    world.close()
    assert not world.faults


def test_levels_are_sent_in_messages_of_bounded_size(attach, monkeypatch) -> None:
    monkeypatch.setattr(link_module, "LEVELS_PER_REQUEST", 3)
    monkeypatch.setattr(link_module, "OBSTACLES_PER_REQUEST", 30)
    small = [Level(f"small-{k}", np.array([-9.0, -9, 9, 9])) for k in range(7)]
    world = begin(attach(9), [*small, random_level(0), random_level(1)])
    world.step(np.zeros((9, 3)))
    alone = begin(attach(1), [random_level(1)])
    np.testing.assert_array_equal(world.state.rays[8], alone.state.rays[0])


@pytest.mark.parametrize(
    ("envs", "engines", "sizes"),
    [(4, 1, [4]), (4, 2, [2, 2]), (5, 2, [3, 2]), (2, 8, [1, 1])],
)
def test_envs_are_spread_evenly(envs, engines, sizes) -> None:
    parts = split_envs(envs, engines)
    assert [len(part) for part in parts] == sizes
    np.testing.assert_array_equal(np.concatenate(parts), np.arange(envs))
