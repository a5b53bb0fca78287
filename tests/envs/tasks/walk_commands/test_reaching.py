"""Hands, heights and gazes that are led, with the shipped walker on free ground."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ambulo.configs.errors import ConfigError
from ambulo.envs.characters.character import human23
from ambulo.envs.reference.crouches import Crouches, depth_for
from ambulo.envs.simulation.variants import NOMINAL
from ambulo.envs.tasks.walk_commands.arms import nearer_hand
from ambulo.envs.tasks.walk_commands.batch import WalkCommandsBatch
from ambulo.envs.vr.body.walker import Walker, find_walker

COUNT = 3


@pytest.fixture(scope="module")
def walker() -> Walker:
    return find_walker("walk_commands", "human23")


def standing(walker: Walker, command: float = 0.0) -> WalkCommandsBatch:
    """Bodies that stand, and are commanded to stand or to walk."""
    batch = walker.make_batch(COUNT, NOMINAL.ground)
    assert isinstance(batch, WalkCommandsBatch)
    batch.seed(range(COUNT))
    batch.reset(np.arange(COUNT))
    walk(walker, batch, 0.0, 45)
    assert batch.standing.all()
    return batch


def walk(walker: Walker, batch: WalkCommandsBatch, speed: float, steps: int) -> None:
    """Follow a speed, [m/s], for control steps."""
    every, zero = np.arange(COUNT), np.zeros(COUNT)
    for _ in range(steps):
        batch.set_command(every, np.full(COUNT, speed), zero, zero)
        batch.step(walker.act(batch.obs))


def points(batch: WalkCommandsBatch, height: float) -> np.ndarray:
    """Points 0.35 m ahead of the shoulders, more and more to the left."""
    yaw = batch.reference_frame[:, 2] + batch.state.yaw
    place = batch.arms.shoulders().mean(axis=1)
    left = np.array([-0.15, 0.05, 0.2])
    place[:, 0] += 0.35 * np.cos(yaw) - left * np.sin(yaw)
    place[:, 1] += 0.35 * np.sin(yaw) + left * np.cos(yaw)
    place[:, 2] = height
    return place


def distance(batch: WalkCommandsBatch, goal: np.ndarray) -> np.ndarray:
    return np.linalg.norm(batch.arms.palms() - goal[:, None], axis=2).min(axis=1)


@pytest.mark.integration
@pytest.mark.parametrize(("height", "depth"), [(1.4, 0.0), (0.6, 0.6)])
def test_a_palm_goes_to_its_point_and_the_body_stays_up(
    walker: Walker, height: float, depth: float
) -> None:
    batch = standing(walker)
    goal, hips = points(batch, height), batch.simulation.qpos[:, 2].copy()
    batch.reach(np.arange(COUNT), goal)
    assert (distance(batch, goal) > 0.3).all()
    walk(walker, batch, 0.0, 105)
    assert (distance(batch, goal) < 0.01).all()
    assert batch.standing.all()
    np.testing.assert_allclose(batch.depth, depth, atol=0.03)
    sunk = hips - batch.simulation.qpos[:, 2]
    np.testing.assert_allclose(sunk, 0.45 * depth, atol=0.03)
    assert batch.arms.led.sum(axis=1).tolist() == [1, 1, 1]
    assert not batch.arms.led[0, 0]
    assert batch.arms.led[2, 0]


@pytest.mark.integration
def test_a_body_that_shall_walk_rises_first_and_its_arms_hang_again(
    walker: Walker,
) -> None:
    batch = standing(walker)
    batch.reach(np.arange(COUNT), points(batch, 0.6))
    walk(walker, batch, 0.0, 60)
    assert (batch.depth > 0.4).all()
    start = batch.simulation.qpos[:, :2].copy()
    batch.reach(np.arange(COUNT), np.full((COUNT, 3), np.nan))
    walk(walker, batch, 0.5, 15)
    assert batch.standing.all()
    walk(walker, batch, 0.5, 105)
    assert not batch.standing.any()
    assert not batch.depth.any()
    assert not batch.arms.away.any()
    gone = np.linalg.norm(batch.simulation.qpos[:, :2] - start, axis=1)
    assert (gone > 0.5).all()
    assert not batch.state.fallen(0.3, 0.8).any()


@pytest.mark.integration
def test_what_is_not_led_is_as_it_was(walker: Walker) -> None:
    one, other = standing(walker), standing(walker)
    other.reach(np.arange(COUNT), np.full((COUNT, 3), np.nan))
    other.look_at(np.arange(COUNT), np.full((COUNT, 3), np.nan))
    walk(walker, one, 0.4, 20)
    walk(walker, other, 0.4, 20)
    np.testing.assert_array_equal(one.simulation.qpos, other.simulation.qpos)


@pytest.mark.integration
def test_a_saved_state_reaches_on_bit_for_bit(walker: Walker) -> None:
    batch, fresh = standing(walker), standing(walker)
    goal = points(batch, 0.7)
    batch.reach(np.arange(COUNT), goal)
    batch.look_at(np.arange(COUNT), goal)
    walk(walker, batch, 0.0, 25)
    assert (batch.depth > 0.0).any()
    fresh.load_state_dict(batch.state_dict())
    walk(walker, batch, 0.0, 12)
    walk(walker, fresh, 0.0, 12)
    np.testing.assert_array_equal(batch.simulation.qpos, fresh.simulation.qpos)
    np.testing.assert_array_equal(batch.obs, fresh.obs)


@pytest.mark.integration
def test_the_head_turns_to_a_point_and_back(walker: Walker) -> None:
    batch = standing(walker)
    yaw = batch.reference_frame[:, 2] + batch.state.yaw
    head = batch.arms.shoulders().mean(axis=1) + np.array([0.0, 0.0, 0.1])
    aside = np.stack([np.cos(yaw + 0.8), np.sin(yaw + 0.8), 0.0 * yaw], axis=1)
    batch.look_at(np.arange(COUNT), head + 2.0 * aside)
    walk(walker, batch, 0.0, 30)
    np.testing.assert_allclose(batch.gaze.angles[:, 0], 0.8, atol=0.08)
    batch.look_at(np.arange(COUNT), np.full((COUNT, 3), np.nan))
    walk(walker, batch, 0.0, 30)
    assert not batch.gaze.angles.any()
    assert batch.standing.all()


@pytest.mark.integration
def test_the_policy_sees_arms_and_head_of_the_gait(walker: Walker) -> None:
    batch = standing(walker)
    before = batch.obs.copy()
    goal = points(batch, 1.3)
    batch.reach(np.arange(COUNT), goal)
    batch.look_at(np.arange(COUNT), goal)
    walk(walker, batch, 0.0, 60)
    parts, at = {}, 0
    for part in batch.layout.parts:
        parts[part.name] = slice(at, at + part.size)
        at += part.size
    arms = batch._led_dofs - 6
    seen = (batch.obs - before)[:, parts["joint_positions"]][:, arms]
    moved = batch.simulation.tangent.difference(
        batch.simulation.qpos, np.tile(batch.simulation.model.qpos0, (COUNT, 1))
    )[:, 6:][:, arms]
    assert np.abs(seen).max() < 0.05
    assert np.abs(moved).max() > 0.5


@pytest.mark.integration
def test_a_reset_lets_hands_go(walker: Walker) -> None:
    batch = standing(walker)
    batch.reach(np.arange(COUNT), points(batch, 0.6))
    walk(walker, batch, 0.0, 30)
    batch.reset(np.array([1]))
    assert batch.depth[1] == 0.0 < batch.depth[0]
    assert not batch.arms.away[1].any()
    assert batch.arms.away[0].any()


@pytest.mark.integration
def test_points_of_another_shape_are_refused(walker: Walker) -> None:
    batch = standing(walker)
    with pytest.raises(ConfigError, match=r"points have shape .3, 2., expected .3, 3."):
        batch.reach(np.arange(COUNT), np.zeros((COUNT, 2)))


@pytest.mark.integration
def test_a_crouch_keeps_its_feet_and_its_centre_of_mass(walker: Walker) -> None:
    batch = standing(walker)
    crouches = Crouches(batch.character, batch.reference, batch.config.environment)
    depth = np.linspace(0.0, 1.0, 9)
    qpos, rates, torque = crouches.at(depth, np.full(9, 0.5))
    np.testing.assert_allclose(qpos[0, 2] - qpos[:, 2], 0.45 * depth, atol=0.01)
    assert not torque[:, :6].any()
    np.testing.assert_allclose(rates[:, 2], -0.5 * 0.45, atol=0.02)


@pytest.mark.integration
def test_postures_are_solved_once_for_a_body(
    walker: Walker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = walker.make_batch(1, NOMINAL.ground)
    environment, reference = batch.config.environment, batch.reference
    gaits = tuple(replace(gait, controller=None) for gait in reference.gaits)
    free = replace(reference, gaits=gaits)
    monkeypatch.setenv("AMBULO_REFERENCE_CACHE", str(tmp_path))
    solved = [Crouches(batch.character, free, environment) for _ in range(2)]
    assert len(list(tmp_path.glob("*.npz"))) == 1
    np.testing.assert_array_equal(solved[0].postures, solved[1].postures)
    small = human23(height=1.6)
    small.model.opt.timestep = batch.character.model.opt.timestep
    Crouches(small, free, environment)
    assert len(list(tmp_path.glob("*.npz"))) == 2


def test_rules_of_reaching() -> None:
    np.testing.assert_allclose(
        depth_for(np.array([2.0, 1.0, 0.675, 0.35, 0.1])), [0, 0, 0.5, 1, 1]
    )
    shoulders = np.tile([[0.0, 0.2, 1.4], [0.0, -0.2, 1.4]], (2, 1, 1))
    sides = nearer_hand(shoulders, np.array([[0.5, 0.1, 1.0], [0.5, -0.1, 1.0]]))
    assert sides.tolist() == [0, 1]


@pytest.mark.integration
def test_elbows_point_as_captured_people_have_them(walker: Walker) -> None:
    """The prior's direction is followed, and another than without it."""
    batch, plain = standing(walker), standing(walker)
    bends = []
    for one, prior in ((batch, True), (plain, False)):
        one.reach(np.arange(COUNT), points(one, 1.2))
        if not prior:
            one.elbows = lambda envs, hands: np.tile(
                [0.0, 0.0, -1.0], (len(envs), 2, 1)
            )
        walk(walker, one, 0.0, 75)
        side = np.argmax(one.arms.led, axis=1)
        joints = one.simulation.bind("xpos")[np.arange(COUNT)[:, None], _ARMS[side]]
        bends.append(joints[:, 1] - 0.5 * (joints[:, 0] + joints[:, 2]))
    wanted = batch.elbows(np.arange(COUNT), batch.arms.palms())
    side = np.argmax(batch.arms.led, axis=1)
    along = np.einsum("ki,ki->k", bends[0], wanted[np.arange(COUNT), side])
    size = np.linalg.norm(bends[0], axis=1)
    size *= np.linalg.norm(wanted[np.arange(COUNT), side], axis=1)
    assert (along / size > 0.8).all()
    assert (bends[1][:, 2] < bends[0][:, 2]).all()


_ARMS = np.array([[21, 22, 23], [17, 18, 19]])
"""Bodies of upper arm, forearm and hand, left and right."""
