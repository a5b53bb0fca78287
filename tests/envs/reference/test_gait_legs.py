import numpy as np
import pytest

from ambulo.configs.errors import ConfigError, GaitParameterError
from ambulo.configs.gait import gait_space
from ambulo.configs.healthy_gait import HEALTHY
from ambulo.envs.locomotion.env import locomotion_config
from ambulo.envs.reference.gait_legs import LegPoses, fixed_values, legs_body
from ambulo.envs.reference.reference import Reference, ReferenceMotion
from ambulo.envs.reference.reference_table import ReferenceTable
from ambulo.envs.tasks.gait.sampling import parameter_box, random_parameters
from ambulo.motion.human23 import position_slices
from ambulo.muscle.muscles import muscle_table

pytest.importorskip("myo_sim")
SPACE = gait_space("myolegs")


@pytest.fixture(scope="module")
def healthy():
    return legs_body(SPACE, SPACE.default)


@pytest.fixture
def walk():
    table = ReferenceTable(
        1.0,
        np.array([1.2, 0.0, 0.0]),
        np.zeros((4, 35)),
        np.zeros((4, 34)),
        np.zeros((4, 34)),
    )
    return Reference("walk", "myolegs", 1.0 / 30.0, (ReferenceMotion(table, None, {}),))


def test_parameters_make_their_muscles_weak_and_short(healthy):
    values = SPACE.vector(force_soleus_left=0.3, length_vasti_right=0.8)
    weak = muscle_table(legs_body(SPACE, values).model)
    base = muscle_table(healthy.model)
    names = list(base.names)
    force = weak.peak_force / base.peak_force
    length = weak.optimal_length / base.optimal_length
    assert force[names.index("soleus_l")] == pytest.approx(0.3)
    assert force[names.index("soleus_r")] == pytest.approx(1.0)
    for name in ("vasint_r", "vaslat_r", "vasmed_r"):
        assert length[names.index(name)] == pytest.approx(0.8)
    assert np.sum(~np.isclose(force, 1.0)) == 1
    assert np.sum(~np.isclose(length, 1.0)) == 3


def test_each_muscle_belongs_to_one_group(healthy):
    values = SPACE.default.copy()
    values[[name.startswith("force_") for name in SPACE.names]] = 0.5
    weak = muscle_table(legs_body(SPACE, values).model)
    np.testing.assert_allclose(
        weak.peak_force, 0.5 * muscle_table(healthy.model).peak_force
    )


def test_lengths_are_the_bodys_own():
    with pytest.raises(GaitParameterError, match="femur_length_left"):
        legs_body(SPACE, SPACE.vector(femur_length_left=0.95))


def test_gait_is_held_at_that_of_the_walk(walk):
    held = fixed_values(SPACE, walk.table)
    assert held["global"] == 1.0
    assert held["femur_torsion_left"] == 0.0
    assert "force_soleus_left" not in held
    # One cycle a second of 1.2 m on shorter legs; poses are scaled to the healthy ones.
    assert held["cadence"] == pytest.approx(1.0 / HEALTHY.cycle_rate)
    assert held["stride"] > 1.2 / HEALTHY.stride_length


def test_gait_that_is_held_cannot_be_fixed_to_another_value(walk):
    config = locomotion_config(
        "gait", character="myolegs", actuation="muscle", impaired=3,
        parameters={"stride": 0.8},
    )  # fmt: skip
    with pytest.raises(
        GaitParameterError, match=r"stride = 0\.8: myolegs walks its own"
    ):
        random_parameters(config, walk, np.random.default_rng(0), 1)


def test_few_muscles_are_impaired(walk):
    config = locomotion_config(
        "gait", character="myolegs", actuation="muscle", impaired=3
    )
    values = random_parameters(config, walk, np.random.default_rng(0), 5)
    changed = values[:, ~SPACE.known] != SPACE.default[~SPACE.known]
    np.testing.assert_array_equal(changed.sum(axis=1), 3)
    assert (values[:, :13] == values[0, :13]).all()
    other = locomotion_config("gait", impaired=3)
    with pytest.raises(ConfigError, match="no muscles"):
        random_parameters(other, walk, np.random.default_rng(0), 1)


def test_only_named_muscles_vary(walk):
    names = ("force_gluteus_medius_left", "length_soleus_right")
    config = locomotion_config(
        "gait", character="myolegs", actuation="muscle", impaired=2, vary=names
    )
    values = random_parameters(config, walk, np.random.default_rng(0), 50)
    low, high = parameter_box(config, walk)
    varies = np.isin(SPACE.names, names)
    np.testing.assert_array_equal(low < high, varies)
    assert (values[:, varies] < 1.0).all()
    assert (np.ptp(values[:, ~varies], axis=0) == 0.0).all()
    assert ((values >= low) & (values <= high)).all()
    for wrong, told in (("stride", "stride is no parameter of a muscle"),
                        ("force_nose_left", "force_nose_left")):  # fmt: skip
        other = config.override("gait", vary=(wrong,))
        with pytest.raises(GaitParameterError, match=told):
            random_parameters(other, walk, np.random.default_rng(0), 1)
    alone = config.override("gait", impaired=None)
    with pytest.raises(ConfigError, match=r"gait\.impaired draws; set that too"):
        random_parameters(alone, walk, np.random.default_rng(0), 1)


def test_its_rest_is_human23_at_rest_but_for_the_arms(healthy):
    import mujoco

    data = mujoco.MjData(healthy.model)
    mujoco.mj_kinematics(healthy.model, data)
    poses = LegPoses(healthy.model)
    positions = poses.positions(data.xpos[None], data.xquat[None])[0]
    where = position_slices()
    for joint in ("Pelvis", "FemurL", "TibiaR", "TalusL", "FootThumbR", "Torso"):
        np.testing.assert_allclose(positions[where[joint]], 0.0, atol=1e-9)
    assert positions[where["ArmL"]][0] == pytest.approx(-1.35)
    # Bent by the model's own hinge, the knee is bent as much.
    data.qpos[healthy.model.joint("hip_flexion_l").qposadr[0]] = 0.4
    mujoco.mj_kinematics(healthy.model, data)
    bent = poses.positions(data.xpos[None], data.xquat[None])[0]
    assert np.linalg.norm(bent[where["FemurL"]]) == pytest.approx(0.4, abs=1e-6)
    assert bent[where["FemurL"]][1] < -0.39  # flexion is a negative turn about +Y
    np.testing.assert_allclose(bent[where["TibiaL"]], 0.0, atol=1e-9)
