"""Stable PD: against a dense solution, against MuJoCo's next step, and in stiff cases."""

from __future__ import annotations

from collections.abc import Callable

import mujoco
import numpy as np
import pytest

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import ConfigError, MuscleError
from ambulo.configs.muscle import JointGain, SpdGains
from ambulo.muscle.dynamics import Dynamics, dynamics_of_data
from ambulo.muscle.spd import SpdController, implicit_damping

Load = Callable[[str], mujoco.MjModel]
Move = Callable[[mujoco.MjModel, int], tuple[Floats, Floats]]

GAINS = SpdGains(
    stiffness=300.0,
    damping=24.5,
    joints=(JointGain(joints="knee", stiffness=500.0, damping=40.0),),
)


def started(model: mujoco.MjModel, moved: Move, seed: int = 0) -> mujoco.MjData:
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = moved(model, seed)
    mujoco.mj_forward(model, data)
    return data


def dense_torque(
    spd: SpdController, data: mujoco.MjData, error: Floats, force: Floats
) -> Floats:
    """The formula of Tan et al. with dense matrices, on the independent coordinates."""
    model, coupling = spd.model, spd.coupling
    inertia = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, inertia)
    g = coupling.matrix(data.qpos[None])[0]
    _, drift = coupling.motion(np.array(data.qpos)[None], np.array(data.qvel)[None])
    dt = model.opt.timestep
    velocity = data.qvel[coupling.independent]
    pull = spd.stiffness * error - spd.damping * velocity
    left = g.T @ (inertia + dt * np.diag(implicit_damping(model))) @ g
    right = g.T @ (force - inertia @ drift[0]) + pull
    acceleration = np.linalg.solve(left + dt * np.diag(spd.damping), right)
    return pull - dt * spd.damping * acceleration


def test_torque_equals_the_dense_formula(leg: mujoco.MjModel, moved: Move) -> None:
    data = started(leg, moved)
    spd = SpdController(leg, GAINS)
    target = moved(leg, 7)[0]
    dt = leg.opt.timestep
    after = np.array(data.qpos)
    mujoco.mj_integratePos(leg, after, np.array(data.qvel), dt)
    full = np.zeros(leg.nv)
    mujoco.mj_differentiatePos(leg, full, 1.0, after, target)
    full[:6] = 0.0
    force = data.qfrc_passive - data.qfrc_bias + data.qfrc_constraint
    expected = dense_torque(spd, data, full[spd.coupling.independent], force)
    torque = spd.torque(data, target)
    assert np.abs(torque).max() > 50.0
    np.testing.assert_allclose(
        torque[spd.coupling.independent], expected, rtol=1e-9, atol=1e-9
    )


def test_root_and_tied_joints_get_no_torque(leg: mujoco.MjModel, moved: Move) -> None:
    spd = SpdController(leg, GAINS)
    torque = spd.torque(started(leg, moved), moved(leg, 8)[0])
    assert (torque[:6] == 0.0).all()
    for joint in ("cap", "twist"):
        assert torque[leg.joint(joint).dofadr[0]] == 0.0


@pytest.mark.parametrize("integrator", ["EULER", "IMPLICITFAST"])
def test_torque_is_that_of_pd_after_the_step(
    leg: mujoco.MjModel, integrator: str, moved: Move
) -> None:
    """Without ties, the velocity that stable PD foresees is the one MuJoCo reaches."""
    leg.opt.integrator = getattr(mujoco.mjtIntegrator, f"mjINT_{integrator}")
    flags = mujoco.mjtDisableBit
    leg.opt.disableflags |= flags.mjDSBL_EQUALITY | flags.mjDSBL_CONTACT
    data = started(leg, moved, 3)
    spd = SpdController(leg, GAINS)
    hip = leg.joint("hip")
    dof, at, dt = int(hip.dofadr[0]), int(hip.qposadr[0]), leg.opt.timestep
    target = np.array(leg.qpos0)
    target[at] = 0.8
    torque = spd.torque(data, target)
    foreseen = data.qpos[at] + dt * data.qvel[dof]
    data.qfrc_applied[:] = torque
    mujoco.mj_step(leg, data)
    expected = -300.0 * (foreseen - 0.8) - 24.5 * data.qvel[dof]
    assert torque[dof] == pytest.approx(expected, rel=1e-9)


def test_target_velocity_and_external_force(leg: mujoco.MjModel, moved: Move) -> None:
    data = started(leg, moved, 4)
    spd = SpdController(leg, GAINS)
    target = np.array(data.qpos)
    goal = np.zeros(leg.nv)
    hip = int(leg.joint("hip").dofadr[0])
    goal[hip] = 1.0
    still = spd.torque(data, target)
    moving = spd.torque(data, target, target_velocity=goal)
    assert moving[hip] > still[hip]
    # A force that will accelerate the joint is met before it has moved it.
    push = np.zeros(leg.nv)
    push[hip] = 100.0
    assert spd.torque(data, target, external=push)[hip] < still[hip] - 1.0


def test_right_after_reset_equals_after_forward(
    leg: mujoco.MjModel, moved: Move
) -> None:
    data = mujoco.MjData(leg)
    mujoco.mj_resetData(leg, data)
    spd = SpdController(leg, GAINS)
    target = moved(leg, 5)[0]
    first = spd.torque(data, target)
    mujoco.mj_forward(leg, data)
    np.testing.assert_array_equal(first, spd.torque(data, target))
    assert np.isfinite(first).all()


def test_contact_forces_are_known() -> None:
    """A standing body that is held in its pose needs the torque of its weight."""
    model = mujoco.MjModel.from_xml_string("""
    <mujoco><option timestep="0.002"/><worldbody>
      <geom type="plane" size="5 5 .1"/>
      <body pos="0 0 .99">
        <freejoint/><geom type="box" size=".1 .1 .1" mass="10" pos="0.05 0 0"/>
        <body pos="0 0 -.1"><joint name="knee" axis="0 1 0"/>
          <geom type="box" size=".03 .03 .3" pos="0 0 -.3" mass="1"
            contype="0" conaffinity="0"/>
          <geom type="box" size=".2 .2 .1" pos="0 0 -.79" mass="1"/></body>
      </body></worldbody></mujoco>""")
    data = mujoco.MjData(model)
    spd = SpdController(model, SpdGains(stiffness=20000.0, damping=500.0))
    target = np.array(model.qpos0)
    torque = np.zeros(model.nv)
    for _ in range(1000):
        mujoco.mj_step1(model, data)
        torque = spd.torque(data, target)
        data.qfrc_applied[:] = torque
        mujoco.mj_step2(model, data)
    # Ten kilograms five centimetres off the axis.
    assert abs(torque[6]) == pytest.approx(10 * 9.81 * 0.05, rel=0.02)


@pytest.mark.parametrize("dt", [0.002, 0.01])
def test_stiff_gains_stay_stable_where_explicit_ones_burst(dt: float) -> None:
    gains = SpdGains(stiffness=20000.0, damping=500.0)
    assert tracking_error(dt, gains, explicit=False) < 0.04
    assert tracking_error(dt, gains, explicit=True) > 1.0


def tracking_error(dt: float, gains: SpdGains, *, explicit: bool) -> float:
    """Mean distance of two light links from a swinging target, [rad]; capped at 100."""
    model = mujoco.MjModel.from_xml_string(f"""
    <mujoco><option timestep="{dt}"/><worldbody><body>
      <joint name="a" axis="0 1 0"/>
      <geom type="capsule" fromto="0 0 0 0 0 -.3" size=".03" mass="1"/>
      <body pos="0 0 -.3"><joint name="b" axis="0 1 0"/>
        <geom type="capsule" fromto="0 0 0 0 0 -.2" size=".02" mass=".3"/></body>
      </body></worldbody></mujoco>""")
    data = mujoco.MjData(model)
    spd = SpdController(model, gains)
    total = 0.0
    for step in range(int(1.0 / dt)):
        target = np.full(2, 0.3 * np.sin(2.0 * np.pi * step * dt))
        mujoco.mj_step1(model, data)
        if explicit:
            error = target - data.qpos
            data.qfrc_applied[:] = gains.stiffness * error - gains.damping * data.qvel
        else:
            data.qfrc_applied[:] = spd.torque(data, target)
        mujoco.mj_step2(model, data)
        total += min(100.0, float(np.abs(data.qpos - target).mean()))
    return total * dt


def test_batch_equals_single_and_bad_rows_stay_alone(
    packaged: Load, moved: Move
) -> None:
    model = packaged("myolegs")
    spd = SpdController(model, SpdGains())
    rows, single, targets = [], [], []
    for seed in range(3):
        data = started(model, moved, seed)
        target = moved(model, 10 + seed)[0]
        single.append(spd.torque(data, target))
        targets.append(target)
        view = dynamics_of_data(data)
        rows.append([np.array(getattr(view, name)) for name in vars(view)])
    batch = Dynamics(*(np.concatenate(parts) for parts in zip(*rows, strict=True)))
    batch.qvel[1, 8] = np.nan
    torques, solved = spd.torques(batch, np.array(targets))
    assert solved.tolist() == [True, False, True]
    assert (torques[1] == 0.0).all()
    for i in (0, 2):
        np.testing.assert_allclose(spd.coupling.expanded(torques)[i], single[i])


def test_limits_clip(leg: mujoco.MjModel, moved: Move) -> None:
    spd = SpdController(leg, GAINS)
    low, high = np.full(spd.coupling.size, -5.0), np.full(spd.coupling.size, 3.0)
    torque = spd.torque(started(leg, moved), moved(leg, 9)[0], limits=(low, high))
    assert (torque.min(), torque.max()) == (-5.0, 3.0)


def test_bad_input_is_named(leg: mujoco.MjModel, moved: Move) -> None:
    rule = JointGain(joints="elbow*", stiffness=1.0, damping=1.0)
    with pytest.raises(MuscleError, match=r"no independent joint matches 'elbow\*'"):
        SpdController(leg, SpdGains(joints=(rule,)))
    with pytest.raises(ConfigError, match=r"stiffness = -1"):
        SpdGains().replace(stiffness=-1.0)
    spd = SpdController(leg, GAINS)
    data = started(leg, moved)
    with pytest.raises(MuscleError, match=r"target: expected shape \(1, 15\)"):
        spd.torque(data, np.zeros(3))
    with pytest.raises(MuscleError, match="not finite"):
        spd.torque(data, np.full(leg.nq, np.nan))
    leg.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
    with pytest.raises(MuscleError, match="RK4"):
        SpdController(leg, GAINS)
