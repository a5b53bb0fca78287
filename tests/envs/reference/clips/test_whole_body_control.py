"""Torques of whole-body control: gravity of a body at rest, ground forces, its bounds."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from ambulo.configs.arrays import Floats
from ambulo.envs.characters.character import Character
from ambulo.envs.reference.clips.whole_body_control import (
    WholeBodyControl,
    largest_torque,
)


@pytest.fixture
def standing(character: Character) -> Floats:
    qpos = character.model.qpos0[None].copy()
    qpos[:, 2] = character.standing_height
    return qpos


def test_the_torque_of_a_body_that_stands_is_that_of_gravity(
    character: Character, standing: Floats
) -> None:
    still = np.zeros((1, character.model.nv))
    torque = WholeBodyControl(character).torque(
        standing, still, (standing, still, still)
    )
    data = mujoco.MjData(character.model)
    data.qpos[:] = standing[0]
    mujoco.mj_forward(character.model, data)
    for joint in ("ArmR", "ForeArmL"):  # no ground force passes them
        dofs = character.dofs(joint)
        np.testing.assert_allclose(torque[0, dofs], data.qfrc_bias[dofs], atol=1e-6)
    assert not torque[:, :6].any()


def test_ankles_push_back_a_body_that_is_ahead_of_its_clip(
    character: Character, standing: Floats
) -> None:
    still = np.zeros((2, character.model.nv))
    two = np.repeat(standing, 2, axis=0)
    ahead = two.copy()
    ahead[1, 0] += 0.03
    torque = WholeBodyControl(character).torque(ahead, still, (two, still, still))
    moved = torque[1] - torque[0]
    right, left = (moved[character.dofs(f"Talus{side}")] for side in "RL")
    assert np.abs(right).max() > 2.0
    np.testing.assert_allclose(np.abs(right).max(), np.abs(left).max(), rtol=1e-3)


def test_no_torque_is_larger_than_its_motor(
    character: Character, standing: Floats
) -> None:
    still = np.zeros((1, character.model.nv))
    far = standing.copy()
    far[:, :2] += 5.0
    torque = WholeBodyControl(character).torque(
        far, still, (standing, still, 100 + still)
    )
    bound = largest_torque(character.model)
    assert np.all(np.abs(torque) <= bound)
    assert np.any(np.abs(torque) == bound)
