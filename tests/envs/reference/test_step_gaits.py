"""Gaits that leg IK makes: level feet that stand, and a body that needs no other force."""

from __future__ import annotations

import numpy as np
import pytest

from ambulo.configs.arrays import Floats
from ambulo.envs.characters.character import Character
from ambulo.envs.reference.cycles.prepare import report_of
from ambulo.envs.reference.inverse_dynamics import inverse_dynamics
from ambulo.envs.reference.legs import WIDTH
from ambulo.envs.reference.step_gaits import (
    LIFT,
    posture_of,
    standing_steps,
    stepping_cycle,
)
from ambulo.motion.gaits.cycle import PHASES, Cycle
from ambulo.motion.gaits.plain_walk import plain_walk
from ambulo.motion.gaits.soles import DEPTH, sole_places
from ambulo.motion.kinematics import forward_kinematics
from ambulo.motion.mass import center_of_mass
from ambulo.motion.roles import SIDES, roles_of


@pytest.fixture(scope="module")
def posture(character: Character) -> Floats:
    return posture_of(plain_walk(character.skeleton), character)


@pytest.fixture(scope="module")
def steps(character: Character, posture: Floats) -> Cycle:
    return stepping_cycle(character, posture, 0.2, 1.1, 0.3)


def test_the_ground_alone_explains_the_movement(
    character: Character, steps: Cycle
) -> None:
    dynamics = inverse_dynamics(steps, character.model, character.soles)
    report = report_of(steps, steps, dynamics, character.model, character.soles)
    assert report.speed == pytest.approx(0.2)
    assert report.residual_force < 5.0
    assert report.residual_moment < 1.0
    assert report.slip < 1e-3
    assert report.ground_force == pytest.approx(1.0, abs=0.01)


def test_feet_are_level_apart_and_lifted(character: Character, steps: Cycle) -> None:
    places, sides = sole_places(steps, character.soles), np.array(character.soles.sides)
    left, right = (places[:, sides == side] for side in (0, 1))
    for foot in (left, right):
        assert np.ptp(foot[..., 2], axis=1).max() < 1e-9  # level
        assert foot[..., 2].min() == pytest.approx(-DEPTH, abs=1e-9)
        assert foot[..., 2].max() == pytest.approx(LIFT - DEPTH, abs=2e-3)
    apart = left[..., 1].mean(axis=1) - right[..., 1].mean(axis=1)
    np.testing.assert_allclose(apart, WIDTH, atol=1e-9)
    # The left foot is in mid-stance at the phase that was asked for.
    assert left[round(0.3 * len(steps)), :, 2].max() < 0.0
    assert right[round(0.3 * len(steps)), :, 2].min() > 0.5 * LIFT


def test_standing_has_its_weight_between_its_feet(
    character: Character, posture: Floats
) -> None:
    still = standing_steps(character, posture)
    assert np.ptp(still.rotations, axis=0).max() < 1e-12
    places = sole_places(still, character.soles)[0]
    com = center_of_mass(still.motion())[0]
    heel, toe = places[:, 0].min(), places[:, 0].max()
    assert (com[0] - heel) / (toe - heel) == pytest.approx(0.45, abs=1e-3)
    assert com[1] == pytest.approx(0.0, abs=1e-6)


def test_the_posture_is_alike_on_both_sides(character: Character) -> None:
    walk = plain_walk(character.skeleton)
    assert len(walk) == PHASES
    posture = posture_of(walk, character)
    index = character.skeleton.index
    left, right = posture[index("ArmL")], posture[index("ArmR")]
    np.testing.assert_allclose(left, right * [1.0, -1.0, 1.0, -1.0], atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(posture, axis=1), 1.0)


def test_arms_hang_beside_the_trunk(character: Character, posture: Floats) -> None:
    skeleton = character.skeleton
    roles = roles_of(skeleton)
    places, _ = forward_kinematics(skeleton, np.zeros(3), posture)
    for side in SIDES:
        arm, hand = places[roles[f"{side}_upper_arm"]], places[roles[f"{side}_hand"]]
        assert hand[1] == pytest.approx(arm[1], abs=1e-9)
        assert hand[2] < arm[2] - 0.4
