"""The body human23: masses, degrees of freedom, soles and names."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from ambulo.configs.errors import ConfigError
from ambulo.envs.characters.anthropometry import inertials
from ambulo.envs.characters.character import human23
from ambulo.envs.characters.registry import load_character
from ambulo.motion.human23 import from_sixdof, position_slices
from ambulo.motion.skeletons import load_skeleton


def test_counts_mass_and_height() -> None:
    character = load_character("human23")
    model = character.model
    assert (model.nbody - 1, model.nv, model.nu) == (23, 56, 50)
    assert model.body_mass.sum() == pytest.approx(75.0)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    assert data.subtree_com[1][1] == pytest.approx(0.0, abs=1e-9)
    assert 0.5 * 1.75 < data.subtree_com[1][2] < 0.62 * 1.75
    soles = [g for g in range(model.ngeom) if model.geom_type[g] == 2]
    assert np.allclose(data.geom_xpos[soles, 2], character.soles.radius, atol=1e-6)


def test_segment_masses_are_de_levas() -> None:
    bodies = inertials(load_skeleton("human23"), 100.0)
    # de Leva 1996, table 4, men: thigh 14.16 %, shank 4.33 %, foot 1.37 % of body mass.
    assert bodies["FemurR"].mass == pytest.approx(14.16, rel=0.01)
    assert bodies["TibiaL"].mass == pytest.approx(4.33, rel=0.01)
    foot = sum(bodies[f"{name}R"].mass for name in ("Talus", "FootPinky", "FootThumb"))
    assert foot == pytest.approx(1.37, rel=0.01)
    for own in bodies.values():
        assert (own.inertia > 0.0).all()
        assert own.inertia.max() <= own.inertia.sum() - own.inertia.max() + 1e-12


def test_scales_with_height_and_mass() -> None:
    tall = human23(height=1.925, mass=90.0)
    assert tall.model.body_mass.sum() == pytest.approx(90.0)
    assert tall.standing_height == pytest.approx(1.1 * human23().standing_height)


def test_degrees_of_freedom_by_name() -> None:
    character = load_character("human23")
    dofs = character.dofs("FemurR", "TibiaR")
    names = [
        character.model.joint(int(character.model.dof_jntid[d])).name for d in dofs
    ]
    assert names == ["FemurR"] * 3 + ["TibiaR"]
    with pytest.raises(ConfigError, match="did you mean 'FemurR'"):
        character.dofs("FemurRR")


def test_motors_are_the_joints() -> None:
    character = load_character("human23")
    model, data = character.model, mujoco.MjData(character.model)
    data.ctrl[:] = np.arange(50) * 0.1
    mujoco.mj_forward(model, data)
    np.testing.assert_allclose(data.qfrc_actuator[6:], data.ctrl, atol=1e-12)
    np.testing.assert_allclose(data.qfrc_actuator[:6], 0.0)


def test_published_numbers_of_a_pose() -> None:
    character = load_character("human23")
    qpos = np.tile(character.model.qpos0, (2, 1))
    qpos[1, :3] = 1.0, 2.0, 3.0
    qpos[1, 3:7] = np.cos(0.2), 0.0, 0.0, np.sin(0.2)  # 0.4 rad about Z
    ball = int(character.model.joint("FemurL").qposadr[0])
    qpos[1, ball : ball + 4] = np.cos(0.15), np.sin(0.15), 0.0, 0.0  # 0.3 about X
    qpos[1, int(character.model.joint("TibiaR").qposadr[0])] = 0.7
    found = character.get_positions(qpos)
    assert found.shape == (2, 56)
    expected = np.zeros(56)
    expected[3:6] = 0.0, 0.0, character.standing_height
    np.testing.assert_allclose(found[0], expected, atol=1e-12)
    where = position_slices()
    np.testing.assert_allclose(found[1, where["Pelvis"]], [0.0, 0.0, 0.4])
    np.testing.assert_allclose(found[1, 3:6], [1.0, 2.0, 3.0])
    np.testing.assert_allclose(found[1, where["FemurL"]], [0.3, 0.0, 0.0])
    np.testing.assert_allclose(found[1, where["TibiaR"]], [0.7])
    pose = character.pos_to_sixdof(found)
    assert pose.shape == (2, 101)
    # The first two rows of a turn by 0.4 about Z, then the root's place.
    c, s = np.cos(0.4), np.sin(0.4)
    np.testing.assert_allclose(pose[1, :9], [c, -s, 0, s, c, 0, 1, 2, 3], atol=1e-12)
    np.testing.assert_allclose(from_sixdof(pose), found, atol=1e-9)


def test_another_skeleton_has_no_published_numbers() -> None:
    legs = load_character("myolegs")
    with pytest.raises(ConfigError, match="only bodies with the skeleton human23"):
        legs.get_positions(legs.model.qpos0)
