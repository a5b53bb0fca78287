"""A step of many simulations: motors, faults, power; arrays of the wrong shape."""

from __future__ import annotations

import numpy as np
import pytest

from ambulo.configs.errors import MuscleError
from ambulo.envs.characters.character import Character
from ambulo.envs.characters.registry import load_character
from ambulo.envs.simulation.power import JointPower
from ambulo.envs.simulation.simulation import (
    NOT_FINITE,
    TOO_FAST,
    CharacterSimulation,
    TorqueMotors,
)


def at_rest(character: Character, count: int) -> CharacterSimulation:
    simulation = CharacterSimulation(character, count)
    qpos = np.tile(simulation.model.qpos0, (count, 1))
    still = np.zeros((count, simulation.model.nv))
    simulation.reset(np.arange(count), np.zeros(count), qpos, still)
    return simulation


def test_motors_give_the_torque_within_their_limits(character: Character) -> None:
    simulation = at_rest(character, 3)
    low, high = simulation.model.actuator_forcerange.T
    wanted = np.random.default_rng(0).normal(0.0, 300.0, (3, len(low)))
    wanted[1, 4] = np.nan
    TorqueMotors(simulation.model).apply(wanted, simulation.ctrl)
    np.testing.assert_array_equal(simulation.ctrl, np.clip(wanted, low, high))
    assert (np.abs(wanted) > high).any()
    assert (np.abs(wanted) < high).any()


def test_feed_forward_is_added_to_what_the_controller_wants(
    character: Character,
) -> None:
    simulation = at_rest(character, 2)
    target, still = simulation.qpos.copy(), np.zeros_like(simulation.qvel)
    feed = np.zeros_like(still)
    feed[:, 10] = 5.0
    expected, solved = simulation._spd.torques(
        simulation._before, target, target_velocity=still, external=feed
    )
    assert solved.all()
    simulation.step(target, still, feed)
    np.testing.assert_array_equal(
        simulation.torque, expected[:, 6:] + feed[:, simulation.driven]
    )


@pytest.mark.parametrize("which", ["target", "velocity", "torque"])
def test_arrays_of_another_shape_are_named(character: Character, which: str) -> None:
    simulation = at_rest(character, 2)
    nq, nv = simulation.model.nq, simulation.model.nv
    arrays = {
        "target": np.zeros((2, nq)),
        "velocity": np.zeros((2, nv)),
        "torque": np.zeros((2, nv)),
    }
    arrays[which] = arrays[which][:1]
    with pytest.raises(MuscleError, match=r"expected shape \(2, \d+\) as q\w+, got"):
        simulation.step(**arrays)


def test_the_state_before_a_fault_is_kept_while_others_go_on(
    character: Character,
) -> None:
    simulation = at_rest(character, 3)
    target, still = simulation.qpos.copy(), np.zeros_like(simulation.qvel)
    simulation.step(target, still)
    simulation.qvel[2, 8] = np.nan
    simulation.push[0, 1, 2] = 1e7
    before = simulation.qpos.copy(), simulation.qvel.copy()
    for _ in range(3):
        simulation.step(target, still)
    assert simulation.fault.tolist() == [TOO_FAST, 0, NOT_FINITE]
    assert set(simulation.fault_state) == {0, 2}
    for sim, kept in simulation.fault_state.items():
        for array, expected in zip(kept, before, strict=True):
            np.testing.assert_array_equal(array, expected[sim])
    np.testing.assert_array_equal(simulation.qpos[0], simulation.model.qpos0)
    assert (simulation.qvel[[0, 2]] == 0.0).all()
    assert (simulation.qvel[1] != 0.0).any()


@pytest.mark.parametrize("name", ["human23", "myolegs"])
def test_power_is_that_of_the_independent_joints(name: str) -> None:
    body = load_character(name)
    simulation = at_rest(body, 2)
    power = JointPower(simulation)
    target, still = simulation.qpos.copy(), np.zeros_like(simulation.qvel)
    for _ in range(4):
        simulation.step(target, still)
    coupling = simulation._spd.coupling
    force, rate = simulation.bind("qfrc_actuator"), simulation.qvel
    factors = coupling.factors(simulation.qpos.copy())
    whole = (
        coupling.reduced(force, factors)[:, 6:] * rate[:, coupling.independent][:, 6:]
    )
    found = power.now()
    np.testing.assert_array_equal(found, np.abs(whole).sum(axis=1))
    assert (found > 0.0).all()
    assert (len(coupling.dof) > 0) == (name == "myolegs")
