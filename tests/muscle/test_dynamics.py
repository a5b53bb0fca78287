"""Inertia and views of the dynamics, also right after a reset."""

from __future__ import annotations

from collections.abc import Callable

import mujoco
import mujoco.batch
import numpy as np
import pytest

from ambulo.configs.arrays import Floats
from ambulo.muscle import dynamics

Load = Callable[[str], mujoco.MjModel]
Move = Callable[[mujoco.MjModel, int], tuple[Floats, Floats]]


def test_mass_matrix_right_after_reset(leg: mujoco.MjModel) -> None:
    data = mujoco.MjData(leg)
    mujoco.mj_resetData(leg, data)
    assert not data.M.any()
    fresh = dynamics.mass_matrix(leg, data)
    # The free joint's linear part carries the whole mass.
    np.testing.assert_allclose(fresh[:3, :3], 41.2 * np.eye(3), atol=1e-12)
    np.testing.assert_allclose(fresh, fresh.T)
    assert np.linalg.eigvalsh(fresh).min() > 0.0


def test_mass_matrix_gives_kinetic_energy(leg: mujoco.MjModel, moved: Move) -> None:
    leg.opt.enableflags |= mujoco.mjtEnableBit.mjENBL_ENERGY
    data = mujoco.MjData(leg)
    data.qpos[:], data.qvel[:] = moved(leg, 0)
    mujoco.mj_forward(leg, data)
    inertia = dynamics.mass_matrix(leg, data)
    assert 0.5 * data.qvel @ inertia @ data.qvel == pytest.approx(data.energy[1])


def test_views_follow_the_simulation(leg: mujoco.MjModel) -> None:
    data = mujoco.MjData(leg)
    views = dynamics.dynamics_of_data(data)
    mujoco.mj_forward(leg, data)
    before = views.bias.copy()
    data.qvel[:] = 1.0
    mujoco.mj_forward(leg, data)
    assert np.abs(views.bias - before).max() > 0.1
    np.testing.assert_array_equal(views.bias[0], data.qfrc_bias)


def test_batch_views_equal_single_ones(packaged: Load) -> None:
    model = packaged("myoelbow")
    batch = mujoco.batch.Batch(model, 2, 1, persistent=True)
    batch.reset()
    state = batch.bind("qpos")
    state[1] = 0.7
    batch.forward(stage=mujoco.mjtStage.mjSTAGE_VEL)
    many = dynamics.dynamics_of_batch(batch)
    arms = dynamics.transmission_of_batch(batch)
    data = mujoco.MjData(model)
    for i, angle in enumerate((model.qpos0[0], 0.7)):
        data.qpos[:] = angle
        mujoco.mj_forward(model, data)
        one = dynamics.dynamics_of_data(data)
        np.testing.assert_allclose(many.inertia[i], one.inertia[0])
        np.testing.assert_allclose(many.bias[i], one.bias[0], atol=1e-12)
        single = dynamics.transmission_of_data(data)
        np.testing.assert_allclose(arms.length[i], single.length[0])
        np.testing.assert_allclose(arms.moment[i], single.moment[0])
