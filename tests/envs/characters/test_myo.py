"""The body myolegs: where it faces, its independent axes, soles and motors."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from ambulo.configs.errors import ConfigError
from ambulo.envs.characters.character import Character
from ambulo.envs.characters.myo import myolegs, sole_balls
from ambulo.envs.characters.registry import load_character
from ambulo.motion.kinematics import forward_kinematics
from ambulo.motion.rotations import quat_from_rotvec
from ambulo.muscle.coupling import joint_coupling


@pytest.fixture(scope="module")
def legs() -> Character:
    return load_character("myolegs")


def at_rest(character: Character) -> mujoco.MjData:
    data = mujoco.MjData(character.model)
    mujoco.mj_forward(character.model, data)
    return data


def test_faces_x_with_its_left_at_plus_y(legs: Character) -> None:
    data = at_rest(legs)
    toes, heel = data.body("toes_r").xpos, data.body("calcn_r").xpos
    assert toes[0] - heel[0] > 0.15
    assert data.body("femur_l").xpos[1] > 0.05
    assert data.body("femur_r").xpos[1] < -0.05
    assert data.body("head").xpos[2] > data.body("pelvis").xpos[2]


def test_flat_floor_at_zero(legs: Character) -> None:
    floor = legs.model.geom("floor")
    np.testing.assert_array_equal(floor.pos, 0.0)
    statics = np.flatnonzero(legs.model.geom_bodyid == 0)
    assert len(statics) == 1


def test_soles_are_level_at_rest(legs: Character) -> None:
    data = at_rest(legs)
    lowest = [
        (data.xpos[b] + data.xmat[b].reshape(3, 3) @ place)[2] - radius
        for b, place, radius in sole_balls(legs.model)
    ]
    assert len(lowest) == 16
    assert np.ptp(lowest) < 0.003


def test_skeleton_moves_the_thigh_as_the_model(legs: Character) -> None:
    angles = {"hip_flexion_r": 0.5, "hip_adduction_r": -0.2, "hip_rotation_r": 0.3}
    data = mujoco.MjData(legs.model)
    count = len(legs.skeleton.joints)
    turns = np.tile([1.0, 0.0, 0.0, 0.0], (1, count, 1))
    for name, angle in angles.items():
        joint = legs.model.joint(name)
        data.qpos[joint.qposadr[0]] = angle
        axis = legs.model.jnt_axis[joint.id]
        turns[0, legs.skeleton.index(name)] = quat_from_rotvec(angle * axis)
    mujoco.mj_kinematics(legs.model, data)
    places, _ = forward_kinematics(legs.skeleton, data.qpos[None, :3].copy(), turns)
    knee = places[0, legs.skeleton.index("knee_angle_r")]
    np.testing.assert_allclose(knee, data.body("tibia_r").xpos, atol=1e-9)


def test_motors_drive_the_independent_axes() -> None:
    body = myolegs(muscles=False)
    free = joint_coupling(body.model).independent[6:]
    assert body.model.nu == len(free) == 14
    assert body.actuation is None
    driven = body.model.jnt_dofadr[body.model.actuator_trnid[:, 0]]
    np.testing.assert_array_equal(driven, free)


def test_another_myolegs_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The range of versions is wide: the model decides, not its number."""
    import myo_sim

    load = myo_sim.load_spec

    def heavier(name: str) -> mujoco.MjSpec:
        spec = load(name)
        spec.body("pelvis").mass *= 1.001
        return spec

    monkeypatch.setattr(myo_sim, "load_spec", heavier)
    with pytest.raises(
        ConfigError, match=r"another body .* pip install 'myo-sim>=0\.2\.3"
    ):
        myolegs()
