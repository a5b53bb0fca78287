"""Muscles driven towards a target pose: tracking, capacity, both ways to MuJoCo."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import mujoco
import mujoco.batch
import numpy as np
import pytest

from ambulo.configs.muscle import ActivationCost, MuscleNNConfig, SpdGains
from ambulo.muscle.control import Effort, MuscleControl
from ambulo.muscle.dynamics import dynamics_of_batch, transmission_of_batch
from ambulo.muscle.errors import MuscleError
from ambulo.muscle.muscles import MuscleLayer
from ambulo.train.muscle.training import train_muscle_nn

Load = Callable[[str], mujoco.MjModel]
GAINS = SpdGains(stiffness=30.0, damping=2.0)
CHEAP = ActivationCost(effort=0.01)


def bent(model: mujoco.MjModel) -> mujoco.MjData:
    """The elbow at rest in its first pose."""
    data = mujoco.MjData(model)
    mujoco.mj_resetData(model, data)
    return data


@pytest.mark.parametrize("mode", ["direct", "inverse"])
def test_elbow_reaches_its_target(
    packaged: Load, mode: Literal["direct", "inverse"]
) -> None:
    model = packaged("myoelbow")
    control = MuscleControl(model, GAINS, cost=CHEAP, mode=mode)
    data, effort = bent(model), None
    target = np.array([1.2])
    for _ in range(40):
        effort = control.step(data, target, 10, effort)
    # Gravity leaves what stiffness allows: torque / 30 N m a radian.
    assert abs(data.qpos[0] - 1.2) < 0.1
    assert abs(data.qvel[0]) < 0.05
    assert effort is not None
    assert 0.0 <= effort.activation.min() <= effort.activation.max() <= 1.0
    assert np.abs(effort.residual).max() < 0.1


def test_direct_activations_are_held(packaged: Load) -> None:
    model = packaged("myoelbow")
    control = MuscleControl(model, GAINS, cost=CHEAP, refresh=4)
    data = bent(model)
    effort = control.step(data, np.array([1.0]), 4)
    # The control range of this model ends at .001, so resting muscles drift a little.
    np.testing.assert_allclose(data.act, effort.activation[0], atol=1e-3)
    assert data.time == pytest.approx(4 * model.opt.timestep)


def test_torque_stays_in_the_capacity(packaged: Load) -> None:
    model = packaged("myoelbow")
    stiff = SpdGains(stiffness=1e5, damping=100.0)
    control = MuscleControl(model, stiff, cost=CHEAP)
    data = bent(model)
    effort = control.step(data, np.array([2.2]), 1)
    mujoco.mj_resetData(model, data)
    low, high = MuscleLayer(model).at(data).capacity()
    assert low[0, 0] <= effort.wanted[0, 0] <= high[0, 0] + 1e-9
    assert abs(effort.residual[0, 0]) < 1.0


def test_batch_equals_single_and_bad_rows_stay_alone(packaged: Load) -> None:
    model = packaged("myoelbow")
    control = MuscleControl(model, GAINS)
    batch = mujoco.batch.Batch(model, 3, 1, persistent=True)
    batch.reset()
    qpos = batch.bind("qpos")
    qpos[:] = [[0.3], [0.6], [0.9]]
    batch.forward(stage=mujoco.mjtStage.mjSTAGE_VEL)
    targets = np.array([[1.0], [1.5], [np.nan]])
    arms = transmission_of_batch(batch)
    many = control.effort(dynamics_of_batch(batch), arms, targets)
    assert many.solved.tolist() == [True, True, False]
    assert (many.activation[2] == 0.0).all()
    for i in range(2):
        data = bent(model)
        data.qpos[:] = qpos[i]
        # No forward of the accelerations, as in the batch: no constraint forces yet.
        one: Effort = control.step(data, targets[i], 1)
        np.testing.assert_allclose(many.activation[i], one.activation[0], atol=1e-9)


def test_a_network_can_replace_the_solver(packaged: Load) -> None:
    model = packaged("myoelbow")
    layer = MuscleLayer(model)
    config = MuscleNNConfig(
        hidden=(16,), steps=100, poses=100, batch_size=32, torque_scale=10.0
    )
    network = train_muscle_nn(layer, config, 0)
    control = MuscleControl(model, GAINS, network=network)
    data, effort = bent(model), None
    for _ in range(40):
        effort = control.step(data, np.array([1.2]), 10, effort)
    assert abs(data.qpos[0] - 1.2) < 0.15
    with pytest.raises(MuscleError, match="made for 6 other muscles than the 5"):
        MuscleControl(packaged("myofinger"), GAINS, network=network)


def test_bad_input_is_named(packaged: Load, leg: mujoco.MjModel) -> None:
    model = packaged("myoelbow")
    with pytest.raises(MuscleError, match="no muscle actuators"):
        MuscleControl(leg, GAINS)
    with pytest.raises(MuscleError, match="refresh: expected 1 or more steps, got 0"):
        MuscleControl(model, GAINS, refresh=0)
    control = MuscleControl(model, GAINS)
    with pytest.raises(MuscleError, match="steps: expected 1 or more, got 0"):
        control.step(bent(model), np.array([1.0]), 0)
    with pytest.raises(MuscleError, match="not finite"):
        control.step(bent(model), np.array([np.nan]), 1)
