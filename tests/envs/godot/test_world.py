"""The world in a real engine, beside the compiled world of the same contract."""

from __future__ import annotations

import hashlib
import math
from dataclasses import replace

import numpy as np
import pytest

from ambulo.configs.errors import ActionError, AmbuloError, BridgeError
from ambulo.envs.godot import link as link_module
from ambulo.envs.godot.link import split_envs
from ambulo.envs.godot.locate import find_project
from ambulo.envs.godot.settings import BridgeSettings
from ambulo.envs.godot.world import GodotWorld
from ambulo.envs.vr.contract import WorldSpec
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.world.climbing import walled
from ambulo.envs.vr.world.kernel_world import KernelWorld

HALF = 5.0


def random_level(seed: int, *, walls: bool = True) -> Level:
    """Obstacles that keep 1 m from the origin, a hole, and walls around all."""
    rng = np.random.default_rng(seed)
    boxes, cylinders = 10, 4
    angle, far = rng.uniform(-np.pi, np.pi, 14), rng.uniform(1.5, HALF, 14)
    x, y = far * np.cos(angle), far * np.sin(angle)
    half = rng.uniform(0.1, 0.5, (boxes, 2))
    yaw = rng.uniform(-np.pi, np.pi, boxes)
    size = np.full(boxes, 0.6)
    rows = np.column_stack([x[:boxes], y[:boxes], size, half, size, yaw])
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


def wandering(seed: int, steps: int, n: int) -> np.ndarray:
    """Commands that mostly walk ahead and change every ten decisions."""
    rng = np.random.default_rng(seed)
    actions = np.repeat(rng.uniform(-1, 1, (steps // 10, n, 3)), 10, axis=0)
    actions[..., 1] = np.abs(actions[..., 1])
    return actions


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


def begin(world, levels, poses=None):
    """One env a level."""
    n = len(levels)
    world.set_levels(range(n), levels)
    world.reset(
        np.arange(n), np.arange(n), np.zeros((n, 3)) if poses is None else poses
    )
    return world


def pair(attach, levels, spec=None, poses=None):
    ours = begin(attach(len(levels), spec), levels, poses)
    levels = [walled(level) for level in levels]
    return ours, begin(KernelWorld(len(levels), spec or WorldSpec()), levels, poses)


def test_free_motion_is_that_of_the_compiled_world(attach) -> None:
    empty = Level("empty", np.array([-300.0, -300.0, 300.0, 300.0]))
    ours, theirs = pair(attach, [empty] * 4)
    for action in np.random.default_rng(0).uniform(-1.5, 1.5, (200, 4, 3)):
        ours.step(action)
        theirs.step(action)
    for name, array in ours.state.arrays().items():
        tolerance = 0.05 if name == "position" else 1e-3
        np.testing.assert_allclose(
            array, theirs.state.arrays()[name], atol=tolerance, err_msg=name
        )


def test_walks_among_obstacles_end_where_the_compiled_world_says(attach) -> None:
    ours, theirs = pair(attach, [random_level(seed) for seed in range(20)])
    events = np.zeros(2)
    for action in wandering(1, 200, 20):
        for k, world in enumerate((ours, theirs)):
            world.step(action)
            events[k] += world.state.collisions.sum()
    apart = np.linalg.norm(ours.state.position - theirs.state.position, axis=1)
    assert np.median(apart) < 0.15
    assert events.min() > 20
    assert abs(events[0] - events[1]) <= 0.2 * events[1]
    assert np.mean(ours.state.fell == theirs.state.fell) >= 0.9


@pytest.mark.parametrize("head", [False, True])
@pytest.mark.parametrize("edges", [False, True])
def test_rays_agree_at_equal_poses(attach, head: bool, edges: bool) -> None:
    levels = [random_level(seed, walls=seed % 2 == 0) for seed in range(30)]
    poses = np.random.default_rng(2).uniform(-6.0, 6.0, (30, 3))
    spec = WorldSpec(num_rays=24, rays_in_head_frame=head, rays_see_edges=edges)
    ours, theirs = pair(attach, levels, spec, poses)
    np.testing.assert_allclose(ours.state.rays, theirs.state.rays, atol=0.01)
    assert (ours.state.rays < spec.ray_length).any()


def test_falls_are_equal(attach) -> None:
    ours, theirs = pair(attach, [Level("island", np.array([-1.0, -1.0, 1.0, 1.0]))])
    for _ in range(20):
        for world in (ours, theirs):
            world.step(np.array([[0.2, 1.0, 0.1]]))
        np.testing.assert_allclose(
            ours.state.position, theirs.state.position, atol=1e-3
        )
        assert ours.state.fell[0] == theirs.state.fell[0]
    assert ours.state.fell[0]
    assert (ours.state.rays == ours.spec.ray_length).all()


def test_discrete_actions_are_equal(attach) -> None:
    spec = WorldSpec(discrete=True)
    ours, theirs = pair(attach, [random_level(seed) for seed in range(10)], spec)
    rng = np.random.default_rng(4)
    for _ in range(30):
        actions = rng.integers(0, 7, 10)
        ours.step(actions)
        theirs.step(actions)
        np.testing.assert_array_equal(ours.state.moves, theirs.state.moves)
        np.testing.assert_array_equal(ours.state.snaps, theirs.state.snaps)
        np.testing.assert_allclose(ours.state.yaw, theirs.state.yaw, atol=1e-6)
    apart = np.linalg.norm(ours.state.position - theirs.state.position, axis=1)
    assert np.median(apart) < 0.15
    with pytest.raises(ActionError, match=r"0\.\.6"):
        ours.step(np.full(10, 7))


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
    assert sorted(f.name for f in logs.iterdir()) == [
        "engine-0.log",
        "engine-1.log",
    ]


def test_continuation_is_bit_exact(attach) -> None:
    levels = [random_level(seed) for seed in range(6)]
    levels.append(Level("island", np.array([-0.5, -0.5, 0.5, 0.5])))
    world = begin(attach(7), levels)
    actions = wandering(5, 40, 7)
    for action in actions[:20]:
        world.step(action)
    assert world.state.position[6, 2] < 0.0
    saved = world.state_dict()
    for action in actions[20:]:
        world.step(action)
    expected = world.state_dict()
    assert not np.array_equal(expected["position"], saved["position"])
    fresh = attach(7)
    fresh.set_levels(range(7), levels)
    for other in (world, fresh):
        other.load_state_dict(saved)
        for action in actions[20:]:
            other.step(action)
        for name, array in other.state_dict().items():
            np.testing.assert_array_equal(array, expected[name], err_msg=name)


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


def test_envs_of_one_level_do_not_meet(attach) -> None:
    level = random_level(0)
    alone = begin(attach(1), [level])
    expected = [alone.step(a).position[0].copy() for a in wandering(6, 40, 1)]
    crowd = attach(8)
    crowd.set_levels([3], [level])
    crowd.reset(np.arange(8), np.full(8, 3), np.zeros((8, 3)))
    rng = np.random.default_rng(7)
    for action, position in zip(wandering(6, 40, 1), expected, strict=True):
        others = rng.uniform(-1, 1, (8, 3))
        others[5] = action[0]
        np.testing.assert_array_equal(crowd.step(others).position[5], position)


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


def test_a_level_that_is_changed_in_play_is_physical_at_once(attach) -> None:
    """The other env goes on in its level; a third that enters does not disturb either."""
    free = Level("free", np.array([-9.0, -9.0, 9.0, 9.0]))
    wall = replace(free, boxes=np.array([[1.5, 0.0, 1.0, 0.1, 3.0, 1.0, 0.0]]))
    for world in pair(attach, [free, free, free]):
        ahead = np.array([[0.0, 1.0, 0.0]] * 3)
        world.step(ahead)
        world.set_levels([1], [wall])
        world.reset(np.array([2]), np.array([1]), np.zeros((1, 3)))
        for _ in range(12):
            world.step(ahead)
        assert world.state.position[0, 0] > 1.8
        assert world.state.position[1:, 0] == pytest.approx([1.15, 1.15], abs=0.01)


def test_bad_calls_are_refused_before_the_engine_is_asked(attach) -> None:
    world = attach(2)
    with pytest.raises(AmbuloError, match="environment 0 is in no level"):
        world.step(np.zeros((2, 3)))
    with pytest.raises(AmbuloError, match="slot 9 holds no level"):
        world.reset(np.array([0]), np.array([9]), np.zeros((1, 3)))
    begin(world, [random_level(0), random_level(1)])
    with pytest.raises(ActionError, match="finite"):
        world.step(np.array([[0.0, math.nan, 0.0], [0, 0, 0]]))
    with pytest.raises(ActionError, match="shape"):
        world.step(np.zeros((3, 3)))
    world.step(np.zeros((2, 3)))


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


def test_the_checkout_holds_the_project() -> None:
    assert (find_project() / "project.godot").is_file()
