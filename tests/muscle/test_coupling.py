"""Joint equalities as a projection: hand-computed slopes, MuJoCo's own constraints."""

from __future__ import annotations

from collections.abc import Callable

import mujoco
import numpy as np
import pytest

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import MuscleError
from ambulo.muscle.coupling import joint_coupling

Load = Callable[[str], mujoco.MjModel]
Move = Callable[[mujoco.MjModel, int], tuple[Floats, Floats]]


def dof(model: mujoco.MjModel, joint: str) -> int:
    return int(model.joint(joint).dofadr[0])


def test_independent_joints_and_columns(leg: mujoco.MjModel) -> None:
    coupling = joint_coupling(leg)
    assert coupling.size == 6 + 1 + 1 + 3  # root, hip, knee, ankle
    names = [leg.joint(int(leg.dof_jntid[i])).name for i in coupling.independent]
    assert names == ["root"] * 6 + ["hip", "knee"] + ["ankle"] * 3
    assert coupling.actuated.tolist() == [6, 7, 8, 9, 10]
    knee = coupling.column[dof(leg, "knee")]
    assert coupling.column[dof(leg, "twist")] == knee
    assert coupling.column[dof(leg, "cap")] == knee


def test_slopes_and_drift_by_hand(leg: mujoco.MjModel) -> None:
    coupling = joint_coupling(leg)
    qpos, qvel = np.array(leg.qpos0)[None], np.zeros((1, leg.nv))
    qpos[0, leg.joint("knee").qposadr[0]] = 0.5
    qvel[0, dof(leg, "knee")] = 2.0
    qpos = coupling.closed(qpos)
    twist = 0.3 * 0.5 - 0.2 * 0.25 + 0.1 * 0.125 + 0.05 * 0.0625
    assert qpos[0, leg.joint("twist").qposadr[0]] == pytest.approx(twist)
    cap = 0.01 + 0.2 * twist + 0.1 * twist**2
    assert qpos[0, leg.joint("cap").qposadr[0]] == pytest.approx(cap)
    slope = 0.3 - 0.4 * 0.5 + 0.3 * 0.25 + 0.2 * 0.125
    bend = -0.4 + 0.6 * 0.5 + 0.6 * 0.25
    outer = 0.2 + 0.2 * twist
    factor, drift = coupling.motion(qpos, qvel)
    assert factor[0, dof(leg, "twist")] == pytest.approx(slope)
    assert factor[0, dof(leg, "cap")] == pytest.approx(outer * slope)
    assert drift[0, dof(leg, "twist")] == pytest.approx(bend * 4.0)
    expected = outer * bend * 4.0 + 0.2 * (slope * 2.0) ** 2
    assert drift[0, dof(leg, "cap")] == pytest.approx(expected)
    assert factor[0, dof(leg, "hip")] == 1.0
    assert drift[0, dof(leg, "hip")] == 0.0


@pytest.mark.parametrize("name", ["myolegs", "myofullbody", "myotorso"])
def test_closed_poses_satisfy_mujoco(name: str, packaged: Load, moved: Move) -> None:
    model = packaged(name)
    coupling = joint_coupling(model)
    data = mujoco.MjData(model)
    qpos, qvel = moved(model, 0)
    data.qpos[:] = coupling.closed(qpos)
    data.qvel[:] = coupling.closed_velocity(data.qpos[None], qvel[None])[0]
    mujoco.mj_forward(model, data)
    equality = data.efc_type == int(mujoco.mjtConstraint.mjCNSTR_EQUALITY)
    assert equality.sum() == model.neq
    np.testing.assert_allclose(data.efc_pos[equality], 0.0, atol=1e-12)
    np.testing.assert_allclose(data.efc_vel[equality], 0.0, atol=1e-10)


def test_matrix_reduces_forces_by_virtual_work(
    leg: mujoco.MjModel, moved: Move
) -> None:
    coupling = joint_coupling(leg)
    qpos, qvel = moved(leg, 1)
    g = coupling.matrix(qpos[None])[0]
    moving = coupling.closed_velocity(qpos[None], qvel[None])[0]
    np.testing.assert_allclose(moving, g @ qvel[coupling.independent])
    force = np.random.default_rng(2).normal(size=leg.nv)
    reduced = coupling.reduced(force[None], coupling.factors(qpos[None]))[0]
    np.testing.assert_allclose(reduced, g.T @ force)
    assert reduced @ qvel[coupling.independent] == pytest.approx(force @ moving)


def test_locked_joint_moves_with_none(moved: Move, tied_leg: str) -> None:
    text = tied_leg.replace('joint1="cap" joint2="twist"', 'joint1="cap"')
    model = mujoco.MjModel.from_xml_string(text)
    coupling = joint_coupling(model)
    cap = dof(model, "cap")
    assert coupling.column[cap] == -1
    qpos, qvel = moved(model, 3)
    factor, drift = coupling.motion(qpos[None], qvel[None])
    assert (factor[0, cap], drift[0, cap]) == (0.0, 0.0)
    assert coupling.closed(qpos)[model.joint("cap").qposadr[0]] == pytest.approx(0.01)


def test_disabled_equalities_tie_nothing(leg: mujoco.MjModel) -> None:
    leg.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_EQUALITY
    assert joint_coupling(leg).size == leg.nv


def test_circle_and_double_ties_are_refused(tied_leg: str) -> None:
    circle = '<joint joint1="knee" joint2="cap"/></equality>'
    model = mujoco.MjModel.from_xml_string(tied_leg.replace("</equality>", circle))
    with pytest.raises(MuscleError, match=r"circle: cap, knee, twist"):
        joint_coupling(model)
    double = '<joint joint1="cap" joint2="hip"/></equality>'
    model = mujoco.MjModel.from_xml_string(tied_leg.replace("</equality>", double))
    with pytest.raises(MuscleError, match=r"'cap' follows two joints"):
        joint_coupling(model)
