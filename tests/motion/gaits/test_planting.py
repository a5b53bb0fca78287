"""Feet that stand are at rest, on the ground; the rest of the movement is as it was."""

from __future__ import annotations

import numpy as np
import pytest

from ambulo.envs.characters.character import Character, human23
from ambulo.motion.gaits.cycle import Cycle, derivative
from ambulo.motion.gaits.plain_walk import plain_walk
from ambulo.motion.gaits.planting import (
    planted,
    planted_cycle,
    slide,
    standing,
    touching_soles,
)
from ambulo.motion.gaits.soles import DEPTH, flat_soles, grounded, no_slip
from ambulo.motion.gaits.variants import standing_cycle
from ambulo.motion.kinematics import joint_positions
from ambulo.motion.motion import Motion
from ambulo.motion.operations import resample


@pytest.fixture(scope="module")
def character() -> Character:
    return human23()


@pytest.fixture(scope="module")
def cycle(character: Character) -> Cycle:
    soles = character.soles
    flat, _ = flat_soles(plain_walk(character.skeleton), soles)
    return grounded(no_slip(flat, soles)[0], soles)


@pytest.fixture(scope="module")
def walk(cycle: Cycle) -> Motion:
    return resample(cycle.motion(3), 150.0)


def sliding(walk: Motion, speed: float) -> Motion:
    """`walk` with `speed` more than its feet make, [m/s]."""
    ahead = speed * walk.times[:, None] * [1.0, 0.0, 0.0]
    return walk.replace(root_positions=walk.root_positions + ahead)


def firm_slides(
    before: Motion, after: Motion, character: Character
) -> tuple[float, float]:
    """Mean slide of both where feet of `before` stand firmly, [m/s]."""
    height, velocity = touching_soles(before, character.soles)
    firm = standing(before, height, velocity) > 0.9
    assert firm.mean() > 0.05
    moved = touching_soles(after, character.soles)[1]
    first, second = (np.linalg.norm(v[..., :2], axis=-1) for v in (velocity, moved))
    return float(first[firm].mean()), float(second[firm].mean())


def test_the_material_that_touches_decides(character: Character) -> None:
    still = standing_cycle(character.skeleton, character.soles).motion(5)
    height, velocity = touching_soles(still, character.soles)
    np.testing.assert_allclose(height, -DEPTH, atol=0.003)
    np.testing.assert_allclose(velocity, 0.0, atol=1e-12)
    np.testing.assert_array_equal(standing(still, height, velocity), 1.0)
    across = 0.1 * still.times[:, None] * [0.0, 1.0, 0.0]
    moving = still.replace(root_positions=still.root_positions + across)
    _, velocity = touching_soles(moving, character.soles)
    np.testing.assert_allclose(velocity[..., 1], 0.1, atol=1e-9)
    assert slide(moving, character.soles) == pytest.approx(0.1)


@pytest.mark.parametrize("speed", [0.0, 0.1, -0.15])
def test_slide_is_taken_out(character: Character, walk: Motion, speed: float) -> None:
    before = sliding(walk, speed)
    after = planted(before, character.soles)
    slid, slides = firm_slides(before, after, character)
    assert slides < 0.6 * slid
    assert slides < 0.05
    moved = np.linalg.norm(joint_positions(after) - joint_positions(before), axis=-1)
    assert moved.max() < 0.06
    upper = [character.skeleton.index(name) for name in ("Head", "HandR", "Torso")]
    assert moved[:, upper].max() < 0.01


def test_feet_that_hover_or_sink_are_set_on_the_ground(
    character: Character, walk: Motion
) -> None:
    for lift in (0.008, -0.02):
        raised = walk.root_positions + np.array([0.0, 0.0, lift])
        after = planted(walk.replace(root_positions=raised), character.soles)
        height, velocity = touching_soles(after, character.soles)
        on_ground = height[standing(after, height, velocity) > 0.9]
        assert len(on_ground) > 100
        assert np.abs(on_ground + DEPTH).mean() < 0.003
        assert height.min() > -0.01


def test_feet_that_are_dragged_are_left(character: Character, walk: Motion) -> None:
    height, velocity = touching_soles(walk, character.soles)
    firm = standing(walk, height, velocity) > 0.9
    dragged = planted(sliding(walk, 1.0), character.soles)
    velocity = touching_soles(dragged, character.soles)[1]
    speeds = np.linalg.norm(velocity[..., :2], axis=-1)
    assert np.median(speeds[firm]) == pytest.approx(1.0, abs=0.1)


def test_a_planted_cycle_is_a_cycle(character: Character, cycle: Cycle) -> None:
    soles = character.soles
    before = cycle.lengthened(np.array([0.08, 0.0, 0.0]))
    after = planted_cycle(before, soles)
    slid, slides = firm_slides(before.motion(3), after.motion(3), character)
    assert slides < 0.6 * slid
    np.testing.assert_array_equal(after.stride, before.stride)
    assert after.period == before.period
    # Smooth over its seam: as in the rest of it.
    root = after.root_positions - after.progress
    bend = np.abs(derivative(derivative(root, after.period), after.period))
    assert bend[[0, -1]].max() <= bend.max()
    np.testing.assert_allclose(np.linalg.norm(after.rotations, axis=-1), 1.0, atol=1e-9)
