"""What each world of the contract does as the compiled one does it."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from fixtures.worlds import (
    COMPILED,
    FEW_RAYS,
    HALF,
    Make,
    begin,
    make,
    random_level,
    wandering,
)

from ambulo.configs.errors import ActionError, AmbuloError
from ambulo.envs.vr.contract import WorldSpec
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.levels.sample_levels import sample_level

__all__ = ["make"]


def test_free_motion_is_that_of_the_compiled_world(make: Make) -> None:
    empty = Level("empty", np.array([-500.0, -500.0, 500.0, 500.0]))
    ours, theirs = make.pair([empty] * 4, FEW_RAYS)
    for action in np.random.default_rng(0).uniform(-1.5, 1.5, (50, 4, 3)):
        ours.step(action)
        theirs.step(action)
    for name, array in ours.state.arrays().items():
        tolerance = make.position if name == "position" else make.numbers
        np.testing.assert_allclose(
            array, theirs.state.arrays()[name], atol=tolerance, err_msg=name
        )


@pytest.mark.parametrize("head", [False, True])
@pytest.mark.parametrize("edges", [False, True])
def test_rays_agree_at_equal_poses(make: Make, head: bool, edges: bool) -> None:
    levels = [random_level(seed, walls=seed % 2 == 0) for seed in range(20)]
    poses = np.random.default_rng(2).uniform(-6.0, 6.0, (20, 3))
    spec = WorldSpec(num_rays=24, rays_in_head_frame=head, rays_see_edges=edges)
    ours, theirs = make.pair(levels, spec, poses)
    np.testing.assert_allclose(ours.state.rays, theirs.state.rays, atol=make.rays)
    assert (ours.state.rays < spec.ray_length).any()


def test_falls_are_equal(make: Make) -> None:
    ours, theirs = make.pair([Level("island", np.array([-1.0, -1.0, 1.0, 1.0]))])
    for _ in range(20):
        for world in (ours, theirs):
            world.step(np.array([[0.2, 1.0, 0.1]]))
        np.testing.assert_allclose(
            ours.state.position, theirs.state.position, atol=1e-3
        )
        assert ours.state.fell[0] == theirs.state.fell[0]
    assert ours.state.fell[0]
    assert (ours.state.rays == WorldSpec().ray_length).all()


def test_discrete_actions_are_equal(make: Make) -> None:
    spec = WorldSpec(discrete=True, num_rays=1)
    ours, theirs = make.pair([random_level(seed) for seed in range(10)], spec)
    rng = np.random.default_rng(4)
    for _ in range(15):
        actions = rng.integers(0, 7, 10)
        ours.step(actions)
        theirs.step(actions)
        np.testing.assert_array_equal(ours.state.moves, theirs.state.moves)
        np.testing.assert_array_equal(ours.state.snaps, theirs.state.snaps)
        np.testing.assert_allclose(ours.state.yaw, theirs.state.yaw, atol=1e-6)
    apart = np.linalg.norm(ours.state.position - theirs.state.position, axis=1)
    assert np.median(apart) < 0.05
    with pytest.raises(ActionError, match=r"0\.\.6"):
        ours.step(np.full(10, 7))


def test_the_compiled_world_continues_bit_for_bit() -> None:
    test_continuation_is_bit_exact(COMPILED)


def test_continuation_is_bit_exact(make: Make) -> None:
    levels = [random_level(seed) for seed in range(3)]
    levels.append(Level("island", np.array([-0.5, -0.5, 0.5, 0.5])))
    if make.kind != "godot":
        levels.append(sample_level(1, moving=True))
    world = begin(make(len(levels)), levels)
    actions = wandering(5, 20, len(levels))
    actions[:, 3] = [0.0, 1.0, 0.0]
    for action in actions[:10]:
        world.step(action)
    assert world.state.position[3, 2] < 0.0
    saved = world.state_dict()
    for action in actions[10:]:
        world.step(action)
    expected = world.state_dict()
    assert not np.array_equal(expected["position"], saved["position"])
    fresh = make(len(levels))
    fresh.set_levels(range(len(levels)), levels)
    for other in (world, fresh):
        other.load_state_dict(saved)
        for action in actions[10:]:
            other.step(action)
        for name, array in other.state_dict().items():
            np.testing.assert_array_equal(array, expected[name], err_msg=name)


def test_envs_of_one_level_do_not_meet(make: Make) -> None:
    level, actions = random_level(0), wandering(6, 40, 1)
    alone, crowd = begin(make(1), [level]), make(8)
    expected = [alone.step(action).position[0].copy() for action in actions]
    crowd.set_levels([3], [level])
    crowd.reset(np.arange(8), np.full(8, 3), np.zeros((8, 3)))
    rng = np.random.default_rng(7)
    for action, position in zip(actions, expected, strict=True):
        others = rng.uniform(-1, 1, (8, 3))
        others[5] = action[0]
        np.testing.assert_array_equal(crowd.step(others).position[5], position)
    np.testing.assert_allclose(
        crowd.state.rays[5], alone.state.rays[0], atol=make.numbers
    )


@pytest.mark.parametrize("heights", [False, True])
def test_a_level_that_is_changed_in_play_is_physical_at_once(
    make: Make, heights: bool
) -> None:
    """The other env goes on in its level; a third that enters does not disturb either."""
    free = Level("free", np.array([-HALF, -HALF, HALF, HALF]), heights=heights)
    wall = replace(free, boxes=np.array([[1.5, 0.0, 1.0, 0.1, 3.0, 1.0, 0.0]]))
    ahead = np.array([[0.0, 1.0, 0.0]] * 3)
    ours, theirs = make.pair([free, free, free])
    for world, own in ((ours, wall), (theirs, make.compiled_level(wall))):
        world.step(ahead)
        world.set_levels([1], [own])
        world.reset(np.array([2]), np.array([1]), np.zeros((1, 3)))
        for _ in range(12):
            world.step(ahead)
        assert world.state.position[0, 0] > 1.8
        assert world.state.position[1:, 0] == pytest.approx([1.15, 1.15], abs=0.01)


def test_bad_calls_are_refused(make: Make) -> None:
    world = make(2)
    with pytest.raises(AmbuloError, match="is in no level"):
        world.step(np.zeros((2, 3)))
    with pytest.raises(AmbuloError, match="slot 9 holds no level"):
        world.reset(np.array([0]), np.array([9]), np.zeros((1, 3)))
    begin(world, [random_level(0), random_level(1)])
    with pytest.raises(ActionError, match="finite"):
        world.step(np.array([[0.0, math.nan, 0.0], [0, 0, 0]]))
    with pytest.raises(ActionError, match="shape"):
        world.step(np.zeros((3, 3)))
    world.step(np.zeros((2, 3)))
