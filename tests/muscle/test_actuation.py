"""Muscles as an actuation: the torque that they make, resets, and reachable bounds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import MuscleError
from ambulo.configs.locomotion import LocomotionConfig
from ambulo.configs.muscle import MuscleNNConfig
from ambulo.envs.characters.character import Character
from ambulo.envs.characters.registry import load_character
from ambulo.envs.locomotion.batch import LocomotionBatch
from ambulo.envs.locomotion.build import make_batch
from ambulo.envs.reference.reference import Reference, ReferenceMotion
from ambulo.envs.reference.reference_table import ReferenceTable
from ambulo.envs.simulation.simulation import CharacterSimulation
from ambulo.muscle.actuation import MuscleActuation
from ambulo.muscle.coupling import joint_coupling
from ambulo.muscle.muscle_nn import MuscleNN
from ambulo.train.muscle.training import train_muscle_nn


@pytest.fixture(scope="module")
def legs() -> Character:
    return load_character("myolegs")


def standing(character: Character, count: int) -> CharacterSimulation:
    simulation = CharacterSimulation(character, count, substeps=8)
    qpos = np.tile(character.model.qpos0, (count, 1))
    qpos[:, 2] = 0.945
    qpos = joint_coupling(character.model).closed(qpos)
    speeds = np.zeros((count, character.model.nv))
    simulation.reset(np.arange(count), np.zeros(count), qpos, speeds)
    return simulation


def muscles_of(simulation: CharacterSimulation) -> MuscleActuation:
    assert isinstance(simulation.actuation, MuscleActuation)
    return simulation.actuation


def test_muscles_make_the_wanted_torque(legs: Character) -> None:
    simulation = standing(legs, 2)
    target, still = simulation.qpos.copy(), np.zeros_like(simulation.qvel)
    for _ in range(4):
        simulation.step(target, still)
    muscles = muscles_of(simulation)
    assert np.abs(muscles.residual).max() < 1.0
    assert muscles.activation.min() >= 0.0
    assert muscles.activation.max() <= 1.0
    np.testing.assert_array_less(simulation.ctrl, 1.0 + 1e-9)
    np.testing.assert_array_less(-simulation.ctrl, 1e-9)


def test_standing_needs_little_activation(legs: Character) -> None:
    simulation = standing(legs, 1)
    target, still = simulation.qpos.copy(), np.zeros_like(simulation.qvel)
    for _ in range(60):
        simulation.step(target, still)
    assert not simulation.fault.any()
    assert simulation.qpos[0, 2] == pytest.approx(0.945, abs=0.03)
    assert muscles_of(simulation).activation.mean() < 0.3


def test_reset_rows_do_not_change_the_others(legs: Character) -> None:
    one, two = standing(legs, 2), standing(legs, 2)
    target, still = one.qpos.copy(), np.zeros_like(one.qvel)
    target[:, 10] += 0.1
    for k in range(5):
        if k == 3:  # between two refreshes
            ids = np.array([1])
            two.reset(ids, two.time[ids], target[ids], still[ids])
        one.step(target, still)
        two.step(target, still)
    np.testing.assert_array_equal(one.qpos[0], two.qpos[0])
    assert np.abs(one.qpos[1] - two.qpos[1]).max() > 1e-6


def test_a_body_does_not_depend_on_when_the_others_began(legs: Character) -> None:
    alone, late = standing(legs, 1), standing(legs, 2)
    start, still = late.qpos.copy(), np.zeros_like(late.qvel)
    target = start.copy()
    target[:, 10] += 0.1
    for _ in range(3):  # between two refreshes of the other body
        late.step(target, still)
    late.reset(np.array([1]), np.zeros(1), start[1:], still[1:])
    for _ in range(5):
        alone.step(target[:1], still[:1])
        late.step(target, still)
    np.testing.assert_array_equal(alone.qpos[0], late.qpos[1])


def test_a_muscle_lets_go_no_faster_than_its_dynamics(legs: Character) -> None:
    simulation = standing(legs, 1)
    muscles = muscles_of(simulation)
    still = np.zeros_like(simulation.qvel)
    bent = simulation.qpos.copy()
    address = legs.model.joint("knee_angle_r").qposadr[0]
    bent[:, address] += 0.3
    for _ in range(8):
        simulation.step(bent, still)
    before = simulation.bind("act").copy()
    straight = bent.copy()
    straight[:, address] -= 0.3
    simulation.step(straight, still)
    # 40 ms divided by (0.5 + 1.5 a) at most: 2 for a full muscle, in two steps of 4.2 ms.
    fastest = 1.0 - 2.0 * (2.0 * (1.0 / 240.0) / 0.040)
    assert (muscles.activation >= fastest * before - 1e-9).all()
    strongest = int(before[0].argmax())
    assert before[0, strongest] > 0.05


@pytest.mark.parametrize("steps", [4, 5])  # after and before a refresh
def test_a_restored_simulation_goes_on_bit_for_bit(legs: Character, steps: int) -> None:
    one, two = standing(legs, 2), standing(legs, 2)
    target, still = one.qpos.copy(), np.zeros_like(one.qvel)
    target[:, 10] += 0.1
    for _ in range(steps):
        one.step(target, still)
    two.step(still[:, :1] + target, still)  # anywhere else
    two.load_state_dict(one.state_dict())
    for _ in range(5):
        one.step(target, still)
        two.step(target, still)
    for field in ("qpos", "qvel", "act", "ctrl"):
        np.testing.assert_array_equal(one.bind(field), two.bind(field))
    np.testing.assert_array_equal(muscles_of(one).residual, muscles_of(two).residual)


def test_a_state_without_muscles_is_refused(legs: Character) -> None:
    simulation = standing(legs, 1)
    arrays = simulation.state_dict()
    del arrays["actuation.dual"]
    with pytest.raises(KeyError, match="dual"):
        simulation.load_state_dict(arrays)
    arrays["actuation.dual"] = np.zeros((2, 14))
    with pytest.raises(ValueError, match=r"dual has shape \(2, 14\), not \(1, 14\)"):
        simulation.load_state_dict(arrays)


def still_legs(**settings: Any) -> LocomotionBatch:
    """Two bodies of muscles that follow a reference that stands still."""
    model = load_character("myolegs").model
    qpos = joint_coupling(model).closed(np.tile(model.qpos0, (8, 1)))
    qpos[:, 2] = 0.945
    still = np.zeros((8, model.nv))
    table = ReferenceTable(1.0, np.zeros(3), qpos, still, still)
    reference = Reference(
        "still", "myolegs", 1.0 / 30.0, (ReferenceMotion(table, None, {}),)
    )
    legs = {"character": "myolegs", "actuation": "muscle", "balance_law": False}
    config = LocomotionConfig().override("environment", **legs, **settings)
    batch = make_batch(config, 2, seed=0, reference=reference)
    batch.reset(np.arange(2))
    return batch


@pytest.mark.integration
def test_power_is_that_of_the_torque_on_the_independent_axes(legs: Character) -> None:
    batch = still_legs(substeps=8)
    action = np.tile([1.0, -1.0], (2, batch.action_size // 2))
    powers, sums = [], []
    coupling, simulation = joint_coupling(legs.model), batch.simulation
    step = simulation.step

    def watched(*arguments: np.ndarray) -> None:
        step(*arguments)
        force, rate = simulation.bind("qfrc_actuator"), simulation.qvel
        tied = coupling.matrix(simulation.qpos)
        reduced = np.einsum("nvr,nv->nr", tied, force)
        sums.append(np.abs(reduced[:, 6:] * rate[:, simulation.driven]).sum(axis=1))

    simulation.step = watched  # type: ignore[method-assign]
    for _ in range(3):
        sums.clear()
        powers.append(batch.step(action)[4]["power"])
        np.testing.assert_allclose(powers[-1], np.mean(sums, axis=0))
    assert np.min(powers) > 1.0


@pytest.mark.integration
def test_weak_muscles_are_a_setting() -> None:
    healthy = still_legs(conditions=[])
    ill = still_legs(
        conditions=[
            {"muscles": "*_r", "force": 0.1},
            {"muscles": "psoas_l", "length": 0.9},
        ]
    )
    one, two = (muscles_of(batch.simulation).layer.table for batch in (healthy, ill))
    right = np.array([name.endswith("_r") for name in one.names])
    np.testing.assert_allclose(two.peak_force[right], 0.1 * one.peak_force[right])
    np.testing.assert_allclose(two.peak_force[~right], one.peak_force[~right])
    psoas = one.names.index("psoas_l")
    assert two.optimal_length[psoas] == pytest.approx(0.9 * one.optimal_length[psoas])
    # The right side asks more of its muscles for the same torque.
    for batch in (healthy, ill):
        for _ in range(3):
            batch.step(np.zeros((2, batch.action_size)))
    used = [muscles_of(b.simulation).activation.mean(axis=0) for b in (healthy, ill)]
    assert used[1][right].sum() > 2.0 * used[0][right].sum()
    assert (healthy.simulation.qpos != ill.simulation.qpos).any()
    with pytest.raises(MuscleError, match="did you mean 'soleus_r'"):
        still_legs(conditions=[{"muscles": "solus_r", "force": 0.3}])


@pytest.mark.integration
def test_a_conditioned_network_is_told_of_weak_muscles(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    batch = still_legs(conditions=[{"muscles": "soleus_r", "force": 0.3}])
    muscles = muscles_of(batch.simulation)
    config = MuscleNNConfig(steps=1, poses=8, hidden=(4,), weakness=(0.3, 1.0))
    network = train_muscle_nn(muscles.layer, config, 0)
    muscles.use(network)
    told = []

    def activations(
        network: MuscleNN, active: Floats, wanted: Floats, factors: Floats
    ) -> Floats:
        told.append(factors)
        return np.zeros((len(wanted), active.shape[2]))

    monkeypatch.setattr(MuscleNN, "activations", activations)
    batch.step(np.zeros((2, batch.action_size)))
    groups = network.groups
    expected = np.ones((2, 2 * len(groups)))
    expected[:, groups.index("soleus_r")] = 0.3
    np.testing.assert_allclose(told[0], expected)
