import numpy as np

from ambulo.configs.gait import gait_space
from ambulo.envs.characters.gait_body import gait_body, strength
from ambulo.envs.reference.balance import BalanceController
from ambulo.envs.reference.closed_loop import roll_out
from ambulo.envs.reference.configured import body_of
from ambulo.envs.reference.gait_reference import (
    gait_reference,
    healthy_gait,
    shipped_gait,
)
from ambulo.envs.reference.reference import matching_joints
from ambulo.envs.reference.robust_controller import (
    ROWS,
    mirrored,
    mirrored_axes,
    robust_controller,
)
from ambulo.envs.tasks.gait.batch import GaitBatch
from ambulo.envs.tasks.gait.joint_state import joint_states

SPACE = gait_space("human23")
BODY = gait_body(SPACE, SPACE.default)
DOFS = BODY.dofs(*matching_joints(BODY, ("Femur?", "Tibia?", "Talus?", "Spine")))


def test_axes_and_their_mirror_images():
    twin, sign = mirrored_axes(BODY)
    left, right = BODY.dofs("FemurL"), BODY.dofs("FemurR")
    np.testing.assert_array_equal(twin[left], right)
    np.testing.assert_array_equal(sign[left], [-1.0, 1.0, -1.0])
    assert sign[BODY.dofs("TibiaL")[0]] == 1.0  # about Y
    assert sign[BODY.dofs("ForeArmL")[0]] == -1.0  # about Z
    np.testing.assert_array_equal(sign[:6], [1.0, -1.0, 1.0, -1.0, 1.0, -1.0])


def test_mirroring_twice_is_nothing():
    gains = np.random.default_rng(0).normal(size=(8, len(DOFS), 2 * BODY.model.nv))
    again = mirrored(mirrored(gains, DOFS, BODY), DOFS, BODY)
    np.testing.assert_allclose(again, gains)


def test_the_common_law_is_symmetric_smooth_and_stronger():
    nv = int(BODY.model.nv)
    gains = np.zeros((10, len(DOFS), 2 * nv))
    gains[:, :, 4] = 0.5  # pitching of the root, alike on both sides
    controller = robust_controller(
        [BalanceController(gains, DOFS), BalanceController(3.0 * gains, DOFS)], BODY
    )
    assert len(controller.gains) == ROWS
    about_y = [i for i, dof in enumerate(DOFS) if mirrored_axes(BODY)[1][dof] > 0]
    np.testing.assert_allclose(controller.gains[:, about_y, 4], 2.0)
    others = [i for i in range(len(DOFS)) if i not in about_y]
    np.testing.assert_allclose(controller.gains[:, others, 4], 0.0, atol=1e-12)
    noisy = np.random.default_rng(0).normal(size=gains.shape)
    found = robust_controller([BalanceController(noisy, DOFS)], BODY).gains
    spectrum = np.abs(np.fft.rfft(found, axis=0))
    assert spectrum[4:].max() < 1e-9 * spectrum.max()
    np.testing.assert_allclose(mirrored(found, DOFS, BODY), found, atol=1e-12)


def test_the_shipped_law_holds_another_body(config):
    assert shipped_gait() is not None
    env = config.override("environment", balance_law=True).environment
    healthy = healthy_gait(env)
    values = SPACE.vector(
        **{"global": 0.9}, stride=0.85, femur_length_left=0.9, femur_torsion_right=0.4
    )

    body = gait_body(SPACE, values)
    body.model.opt.timestep = 1.0 / 150.0
    table = gait_reference(SPACE, values, body, healthy).table
    rolled = roll_out(body, table, healthy.controller, 2, 4.0, control_dt=1.0 / 30.0)
    assert rolled.share(4.0) == 1.0
    assert abs(rolled.speed / table.speed - 1.0) < 0.1
    fallen = roll_out(body, table, None, 2, 4.0, control_dt=1.0 / 30.0)
    assert fallen.share(4.0) == 0.0


def test_joint_states_go_with_strength(config, reference):
    small = SPACE.vector(**{"global": 0.85})
    batch = GaitBatch(
        config,
        reference,
        body_of(config.environment),
        num_envs=2,
        parameters=np.stack([SPACE.default, small]),
    )
    own = joint_states(batch, batch.parameters)
    limits = batch.groups[1].simulation.model.actuator_forcerange
    np.testing.assert_allclose(own[1, : len(limits)], 0.5 * limits[:, 0])
    healthy = joint_states(batch, np.tile(SPACE.default, (2, 1)))
    np.testing.assert_allclose(healthy[1], healthy[0], rtol=1e-9)
    assert np.isclose(strength(SPACE, small), 0.85**4)
    batch.close()
