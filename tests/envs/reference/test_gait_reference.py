import numpy as np

from ambulo.configs.gait import gait_space
from ambulo.envs.characters.gait_body import gait_body, strength
from ambulo.envs.reference.clips.survival import Disturbance, survival
from ambulo.envs.reference.configured import configured_character
from ambulo.envs.reference.gait_reference import (
    gait_reference,
    healthy_gait,
    shipped_gait,
)
from ambulo.envs.tasks.gait.batch import GaitBatch
from ambulo.envs.tasks.gait.joint_state import joint_states

SPACE = gait_space("human23")


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
    held, open_loop = (
        survival(
            body, table, controller, Disturbance("none"),
            control_dt=1.0 / 30.0, bodies=2, seconds=4.0,
        )
        for controller in (healthy.controller, None)
    )  # fmt: skip
    assert held == 1.0
    assert open_loop == 0.0


def test_joint_states_go_with_strength(config, reference):
    small = SPACE.vector(**{"global": 0.85})
    batch = GaitBatch(
        config,
        reference,
        configured_character(config.environment),
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
