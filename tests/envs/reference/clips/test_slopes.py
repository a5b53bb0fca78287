"""Slopes of control steps: anew for legs and trunk, kept for light limbs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ambulo.envs.characters.character import Character
from ambulo.envs.reference.clips.raw_clip import raw_clip
from ambulo.envs.reference.clips.slopes import Knot, Slopes, carries
from ambulo.motion.motion import Motion


def test_legs_and_trunk_move_the_rest(character: Character) -> None:
    heavy = carries(character)
    names = {
        character.model.joint(int(character.model.dof_jntid[dof])).name
        for dof in np.flatnonzero(heavy)
    }
    assert {"FemurL", "TibiaR", "TalusL", "FootPinkyR", "Spine", "Torso"} <= names
    assert not {"HandL", "ForeArmR", "ArmL", "Head"} & names
    assert heavy[:6].all()


@pytest.mark.integration
def test_slopes_nearby(character: Character, still: Motion) -> None:
    table = raw_clip(still, character).table
    model = character.model
    dofs = np.arange(6, model.nv)
    slopes = Slopes(character, table, dofs, 5, 0.5)
    qpos, qvel, torque = (part[0] for part in table.at(np.array([1.0])))
    here = Knot(1.0, qpos, qvel, torque, np.zeros(len(dofs)))
    moved = replace(here, offsets=np.full(len(dofs), 0.05))
    one, other = slopes.at(here), slopes.at(moved)
    for a, b in zip(slopes.near(one, here), one, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-9)
    near, heavy = slopes.near(one, moved), carries(character)
    both = np.r_[heavy, heavy]
    np.testing.assert_allclose(near[0][:, both], other[0][:, both], atol=1e-9)
    np.testing.assert_allclose(
        near[1][:, heavy[dofs]], other[1][:, heavy[dofs]], atol=1e-9
    )
    np.testing.assert_array_equal(near[0][:, ~both], one[0][:, ~both])
    # A target of the elbow moves the elbow, and hardly the root.
    elbow = int(model.joint("ForeArmL").dofadr[0])
    effect = one[1][:, elbow - 6]
    assert effect[elbow] > 0.15
    assert np.abs(effect[:6]).max() < 0.1
