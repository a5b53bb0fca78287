import mujoco
import numpy as np
import pytest

from ambulo.configs.errors import GaitParameterError
from ambulo.configs.gait import gait_space
from ambulo.envs.characters.character import human23
from ambulo.envs.characters.gait_body import gait_body
from ambulo.motion.gaits.skeleton import gait_skeleton
from ambulo.motion.kinematics import rest_positions

SPACE = gait_space("human23")


def test_the_healthy_body_is_human23():
    ours, base = gait_body(SPACE, SPACE.default).model, human23().model
    np.testing.assert_allclose(ours.body_mass, base.body_mass)
    np.testing.assert_allclose(ours.body_inertia, base.body_inertia)
    np.testing.assert_allclose(ours.actuator_forcerange, base.actuator_forcerange)
    np.testing.assert_allclose(ours.dof_armature, base.dof_armature)


def test_a_small_body_has_cubed_mass_and_motors_for_its_weight():
    small = gait_body(SPACE, SPACE.vector(**{"global": 0.9}))
    base = human23()
    assert small.model.body_mass.sum() == pytest.approx(75.0 * 0.9**3)
    # Toes are as thick as before.
    bodies = [small.model.body(name).id for name in ("FemurL", "Torso", "TalusR")]
    np.testing.assert_allclose(
        small.model.body_inertia[bodies],
        base.model.body_inertia[bodies] * 0.9**5,
        rtol=1e-6,
    )
    np.testing.assert_allclose(
        small.model.actuator_forcerange, base.model.actuator_forcerange * 0.9**4
    )


def test_bodies_of_the_model_are_where_the_skeleton_says():
    values = SPACE.vector(
        femur_length_left=0.9, femur_torsion_left=0.4, tibia_length_right=0.93
    )
    body = gait_body(SPACE, values)
    data = mujoco.MjData(body.model)
    mujoco.mj_kinematics(body.model, data)
    places = rest_positions(gait_skeleton(SPACE, values))
    for joint, name in enumerate(body.skeleton.joints):
        np.testing.assert_allclose(
            data.xpos[body.model.body(name).id], places[joint], atol=1e-9
        )
    # The shin is turned inwards in the thigh, its centre of mass lies along the bone.
    shin = data.xmat[body.model.body("TibiaL").id].reshape(3, 3)
    np.testing.assert_allclose(shin[:, 0], [np.cos(0.4), -np.sin(0.4), 0.0], atol=1e-9)


def test_out_of_range_is_refused_by_name():
    values = SPACE.default.copy()
    values[SPACE.index("tibia_length_left")] = 1.2
    with pytest.raises(GaitParameterError, match=r"tibia_length_left = 1\.2"):
        gait_body(SPACE, values)
