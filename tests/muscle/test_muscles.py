"""Muscle forces and torques: equal to MuJoCo's, on every packaged model."""

from __future__ import annotations

from collections.abc import Callable

import mujoco
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ambulo.configs.errors import MuscleError
from ambulo.muscle.coupling import joint_coupling
from ambulo.muscle.muscles import MuscleLayer, fibre_state, gain_and_bias, muscle_table

Load = Callable[[str], mujoco.MjModel]
Pose = Callable[[MuscleLayer, int], mujoco.MjData]

MODELS = (
    "myoelbow", "myofinger", "myolegs", "myolegs26", "myotorso", "myoarms",
    "myofullbody",
)  # fmt: skip

PULLED = """
<mujoco>
  <worldbody>
    <site name="wall" pos="0 0 0"/>
    <body pos="0 0 0">
      <joint name="rail" type="slide" axis="1 0 0"/>
      <geom type="sphere" size=".05" mass="1"/>
      <site name="end" pos=".3 0 0"/>
    </body>
  </worldbody>
  <tendon><spatial name="cord"><site site="wall"/><site site="end"/></spatial></tendon>
  <actuator>
    <muscle name="pull" tendon="cord" force="100" range="0.5 1.5" lengthrange="0.2 0.4"
      lmin="0.5" lmax="1.6" vmax="2" fpmax="1.4" fvmax="1.2"/>
  </actuator>
</mujoco>
"""
"""One muscle of 100 N: optimal length .2 m, tendon .1 m; at rest 1 optimal length."""


@pytest.mark.integration
@pytest.mark.parametrize("name", MODELS)
def test_affine_torque_equals_mujoco(name: str, packaged: Load, posed: Pose) -> None:
    model = packaged(name)
    layer = MuscleLayer(model)
    for seed in range(3):
        data = posed(layer, seed)
        muscles = layer.at(data)
        force = muscles.gain[0] * data.act + muscles.bias[0]
        np.testing.assert_allclose(force, data.actuator_force, rtol=0, atol=1e-9)
        made = data.qfrc_actuator @ layer.coupling.matrix(data.qpos[None])[0]
        expected = made[None, layer.coupling.actuated]
        assert np.abs(expected).max() > 0.1
        torque = muscles.torque(data.act[None])
        np.testing.assert_allclose(torque, expected, rtol=0, atol=1e-9)


def test_curves_by_hand() -> None:
    table = muscle_table(mujoco.MjModel.from_xml_string(PULLED))
    assert table.optimal_length[0] == pytest.approx(0.2)
    assert table.tendon_length[0] == pytest.approx(0.1)
    length = np.array([[0.3], [0.25], [0.2], [0.36], [0.3], [0.3], [0.3], [0.42]])
    speed = np.array([[0.0], [0.0], [0.0], [0.0], [-0.2], [0.4], [-0.4], [0.0]])
    fibre, rate = fibre_state(table, length, speed)
    np.testing.assert_allclose(fibre[:4, 0], [1.0, 0.75, 0.5, 1.3])
    np.testing.assert_allclose(rate[4:7, 0], [-1.0, 2.0, -2.0])
    gain, bias = gain_and_bias(table, length, speed)
    # Parabolas meet at half force; half the top speed leaves a quarter of the force.
    np.testing.assert_allclose(
        gain[:, 0], [-100.0, -50.0, 0.0, -50.0, -25.0, -120.0, 0.0, 0.0], atol=1e-9
    )
    # Passive force: fpmax / 2 in the middle of [1, lmax], then straight on.
    np.testing.assert_allclose(bias[[0, 1, 3, 7], 0], [0.0, 0.0, -70.0, -210.0])


@settings(max_examples=80, deadline=None)
@given(
    st.floats(0.05, 0.7), st.floats(-3.0, 3.0), st.floats(0.0, 1.0), st.floats(1.0, 2.0),
    st.floats(1.0, 1.8),
)  # fmt: skip
def test_forces_equal_mujoco_everywhere(
    length: float, speed: float, lmin: float, lmax: float, fvmax: float
) -> None:
    """Also with lmin = 1, lmax = 1 and fvmax = 1, where a side of a curve is missing."""
    model = mujoco.MjModel.from_xml_string(PULLED)
    for numbers in (model.actuator_gainprm, model.actuator_biasprm):
        numbers[0, [4, 5, 8]] = lmin, lmax, fvmax
    table = muscle_table(model)
    gain, bias = gain_and_bias(table, np.array([[length]]), np.array([[speed]]))
    reach, ease = model.actuator_lengthrange[0], model.actuator_acc0[0]
    prm = model.actuator_gainprm[0, :9]
    expected = mujoco.mju_muscleGain(length, speed, reach, ease, prm)
    assert gain[0, 0] == pytest.approx(expected, rel=1e-9, abs=1e-9)
    expected = mujoco.mju_muscleBias(length, reach, ease, prm)
    assert bias[0, 0] == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_capacity_bounds_every_activation(packaged: Load, posed: Pose) -> None:
    model = packaged("myolegs")
    layer = MuscleLayer(model)
    muscles = layer.at(posed(layer, 1))
    low, high = muscles.capacity()
    rng = np.random.default_rng(0)
    for _ in range(50):
        torque = muscles.torque(rng.random((1, layer.table.size)))
        assert ((torque >= low) & (torque <= high)).all()
    knee = 3
    best = (muscles.active[:, knee] > 0.0).astype(float)
    assert muscles.torque(best)[0, knee] == pytest.approx(high[0, knee])


def test_tied_joints_pass_their_torque_on(packaged: Load, posed: Pose) -> None:
    """Moment arms of the knee cap count for the knee: virtual work by differences."""
    model = packaged("myolegs")
    layer = MuscleLayer(model)
    coupling = joint_coupling(model)
    data = posed(layer, 2)
    muscles = layer.at(data)
    knee = model.joint("knee_angle_r")
    row = layer.dofs.tolist().index(int(knee.dofadr[0]))
    lengths = []
    start = np.array(data.qpos)
    for shift in (-1e-5, 1e-5):
        data.qpos[:] = start
        data.qpos[knee.qposadr[0]] += shift
        data.qpos[:] = coupling.closed(data.qpos)
        mujoco.mj_fwdPosition(model, data)
        lengths.append(np.array(data.actuator_length))
    arm = (lengths[1] - lengths[0]) / 2e-5
    np.testing.assert_allclose(
        muscles.active[0, row], arm * muscles.gain[0], rtol=1e-4, atol=1e-3
    )


def test_models_without_usable_muscles_are_refused(leg: mujoco.MjModel) -> None:
    with pytest.raises(MuscleError, match="no muscle actuators"):
        MuscleLayer(leg)
    model = mujoco.MjModel.from_xml_string(PULLED)
    model.actuator_biastype[0] = int(mujoco.mjtBias.mjBIAS_NONE)
    with pytest.raises(MuscleError, match=r"'pull': its bias"):
        muscle_table(model)
