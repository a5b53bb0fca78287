"""Movements as MuJoCo's positions, and back."""

from __future__ import annotations

import numpy as np

from ambulo.envs.characters.character import Character
from ambulo.envs.reference.joint_positions import motion_of_positions, qpos_of


def test_there_and_back(character: Character) -> None:
    random = np.random.default_rng(3)
    model = character.model
    qpos = random.normal(size=(20, model.nq))
    for joint in range(model.njnt):
        if model.jnt_type[joint] <= 1:
            at = model.jnt_qposadr[joint] + 3 * (model.jnt_type[joint] == 0)
            quat = qpos[:, at : at + 4]
            quat /= np.linalg.norm(quat, axis=1, keepdims=True)
    motion = motion_of_positions(qpos, model, character.skeleton, 30.0)
    assert motion.fps == 30.0
    np.testing.assert_allclose(qpos_of(motion, model), qpos, atol=1e-12)
