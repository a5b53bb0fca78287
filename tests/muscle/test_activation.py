"""Activation dynamics: equal to MuJoCo's, and inverted."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from ambulo.configs.errors import MuscleError
from ambulo.muscle.activation import control_for, next_activation, time_constants

MODEL = """
<mujoco><worldbody><body><joint name="j" axis="0 1 0" range="-1 1" limited="true"/>
  <geom size=".1" mass="1"/></body></worldbody>
  <actuator>
    <muscle name="a" joint="j" timeconst="0.01 0.04"/>
    <muscle name="b" joint="j" timeconst="0.015 0.05" tausmooth="0.2"/>
    <motor name="c" joint="j"/>
  </actuator></mujoco>
"""
CONSTANTS = np.array([[0.01], [0.04]])


@pytest.mark.parametrize("activation", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("control", [-0.5, 0.0, 0.3, 0.8, 2.0])
def test_step_equals_mujoco(activation: float, control: float) -> None:
    rate = mujoco.mju_muscleDynamics(control, activation, np.array([0.01, 0.04, 0.0]))
    after = next_activation(
        np.array([activation]), np.array([control]), CONSTANTS, 0.002
    )
    assert after[0] == pytest.approx(activation + 0.002 * rate, abs=1e-12)


def test_inverse_reaches_what_is_in_reach() -> None:
    rng = np.random.default_rng(0)
    now = rng.random((200, 1))
    control = rng.random((200, 1))
    wanted = next_activation(now, control, CONSTANTS, 0.002)
    found = control_for(now, wanted, CONSTANTS, 0.002)
    np.testing.assert_allclose(found, control, atol=1e-12)
    far = control_for(np.zeros((1, 1)), np.ones((1, 1)), CONSTANTS, 0.002)
    assert far[0, 0] == 1.0


def test_inverse_moves_a_simulated_muscle() -> None:
    model = mujoco.MjModel.from_xml_string(MODEL)
    data = mujoco.MjData(model)
    data.act[:] = 0.2
    constants = time_constants(model, np.array([0]))
    np.testing.assert_allclose(constants, CONSTANTS)
    data.ctrl[0] = control_for(
        np.array([0.2]), np.array([0.25]), constants, model.opt.timestep
    )[0]
    mujoco.mj_step(model, data)
    assert data.act[0] == pytest.approx(0.25)


def test_other_dynamics_are_refused() -> None:
    model = mujoco.MjModel.from_xml_string(MODEL)
    with pytest.raises(MuscleError, match="'b': set tausmooth to 0"):
        time_constants(model, np.array([0, 1]))
    with pytest.raises(MuscleError, match="'c' has no muscle activation dynamics"):
        time_constants(model, np.array([2]))
