"""Linear maps of a control step beside standing."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from ambulo.envs.characters.character import Character
from ambulo.envs.reference.linearization import (
    LinearSteps,
    deviations,
    follow,
    linear_steps,
    start,
)
from ambulo.envs.reference.reference import Reference
from ambulo.envs.simulation.simulation import CharacterSimulation

DT = 1.0 / 30.0


@pytest.fixture(scope="module")
def dofs(character: Character) -> np.ndarray:
    return character.dofs("FemurL", "FemurR")


@pytest.fixture(scope="module")
def steps(character: Character, standing: Reference, dofs: np.ndarray) -> LinearSteps:
    return linear_steps(character, standing.table, dofs, control_dt=DT)


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


def test_one_phase_with_all_states_and_the_given_targets(
    steps: LinearSteps, character: Character, dofs: np.ndarray
) -> None:
    nv = character.model.nv
    assert steps.a.shape == (1, 2 * nv, 2 * nv)
    assert steps.b.shape == (1, 2 * nv, len(dofs))
    kept = steps.only(np.array([4, 1]))
    np.testing.assert_array_equal(kept.b, steps.b[:, :, [4, 1]])
    assert kept.a is steps.a


def test_the_defect_is_what_one_body_does(
    steps: LinearSteps, character: Character, standing: Reference
) -> None:
    nv = character.model.nv
    found = simulated(character, standing, np.zeros(2 * nv), np.zeros(nv))
    np.testing.assert_allclose(steps.defect[0], found, atol=1e-6)


def test_a_deviation_and_a_target_end_where_the_map_says(
    steps: LinearSteps, character: Character, standing: Reference, dofs: np.ndarray
) -> None:
    nv = character.model.nv
    state, targets = np.zeros(2 * nv), np.zeros(nv)
    shoulder = character.dofs("ArmL")[0]
    state[shoulder], targets[dofs[1]] = 0.005, 0.01
    expected = steps.defect[0] + steps.a[0] @ state + steps.b[0] @ targets[dofs]
    found = simulated(character, standing, state, targets)
    for watched in (shoulder, dofs[1], 0, 4):
        change = found[watched] - steps.defect[0][watched]
        assert change == pytest.approx(
            expected[watched] - steps.defect[0][watched], rel=0.3, abs=2e-5
        )


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
