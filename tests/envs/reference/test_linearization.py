"""Linear maps of a control step: of all coordinates, and anew for legs and trunk alone."""

from __future__ import annotations

from dataclasses import replace

import mujoco
import numpy as np
import pytest

from ambulo.envs.characters.character import Character
from ambulo.envs.reference.linearization import (
    Knot,
    Slopes,
    carries,
    deviations,
    follow,
    start,
)
from ambulo.envs.reference.reference import Reference
from ambulo.envs.simulation.simulation import CharacterSimulation


@pytest.fixture(scope="module")
def dofs(character: Character) -> np.ndarray:
    return character.dofs("FemurL", "FemurR")


def simulated(
    character: Character, standing: Reference, state: np.ndarray, targets: np.ndarray
) -> np.ndarray:
    """Deviation (2 nv,) after a control step that begins beside standing."""
    simulation, nv = CharacterSimulation(character, 1), character.model.nv
    qpos, qvel, torque = standing.table.at(np.zeros(1))
    qpos = simulation.tangent.moved(qpos, state[None, :nv])
    start(simulation, np.zeros(1), qpos, qvel + state[None, nv:], torque)
    follow(simulation, standing.table, targets[None])
    return np.concatenate(deviations(simulation, standing.table), axis=1)[0]


def test_a_deviation_and_a_target_end_where_the_map_says(
    character: Character, standing: Reference, dofs: np.ndarray
) -> None:
    nv = int(character.model.nv)
    slopes = Slopes(character, standing.table, dofs, 5, 0.5)
    a, b = slopes.at(Knot.on(standing.table, 0.0, len(dofs)))
    assert a.shape == (2 * nv, 2 * nv)
    assert b.shape == (2 * nv, len(dofs))
    state, targets = np.zeros(2 * nv), np.zeros(nv)
    still = simulated(character, standing, state, targets)
    shoulder = character.dofs("ArmL")[0]
    state[shoulder], targets[dofs[1]] = 0.005, 0.01
    expected = a @ state + b @ targets[dofs]
    change = simulated(character, standing, state, targets) - still
    for watched in (shoulder, dofs[1], 0, 4):
        assert change[watched] == pytest.approx(expected[watched], rel=0.3, abs=2e-5)


def test_contact_forces_are_those_under_the_torque(
    character: Character, standing: Reference
) -> None:
    model, simulation = character.model, CharacterSimulation(character, 1)
    qpos, qvel, torque = standing.table.at(np.zeros(1))
    torque[0, character.dofs("TalusL")[1]] += 40.0
    start(simulation, np.zeros(1), qpos, qvel, torque)
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:], data.ctrl[:] = qpos[0], qvel[0], torque[0, 6:]
    mujoco.mj_forward(model, data)
    expected = data.qfrc_constraint
    np.testing.assert_allclose(simulation.constraint[0], expected, rtol=0.02, atol=2.0)
    simulation.reset(np.arange(1), np.zeros(1), qpos, qvel)
    assert np.abs(simulation.constraint[0] - expected).max() > 20.0


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
def test_slopes_nearby(character: Character, standing: Reference) -> None:
    table, model = standing.table, character.model
    dofs = np.arange(6, model.nv)
    slopes = Slopes(character, table, dofs, 5, 0.5)
    here = Knot.on(table, 0.0, len(dofs))
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
