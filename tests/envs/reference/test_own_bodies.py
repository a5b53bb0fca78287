"""Bodies of the user's own in references: motions, legs, steps, soles and pushes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pytest
from fixtures.own_bodies import dog_xml, humanoid_xml, without
from pydantic import ValidationError

from ambulo.configs.errors import ConfigError, MotionError
from ambulo.configs.locomotion import LocomotionConfig
from ambulo.configs.locomotion_env import LocomotionEnvironmentConfig
from ambulo.envs.characters.character import Character
from ambulo.envs.characters.own.prepare import prepare_body
from ambulo.envs.characters.own.record import character_of
from ambulo.envs.characters.registry import skeleton_of
from ambulo.envs.locomotion.build import make_batch
from ambulo.envs.reference.balance import cycle_steps
from ambulo.envs.reference.clips.clip_reference import clip_reference, fitted_body
from ambulo.envs.reference.clips.raw_clip import lifted_clip, lowest_points
from ambulo.envs.reference.clips.survival import (
    PERSON,
    STANDARD,
    STANDING,
    best_feedback,
    push_scale,
)
from ambulo.envs.reference.cycles.captured import source_cycle
from ambulo.envs.reference.cycles.prepare import physical_cycle, report_of
from ambulo.envs.reference.inverse_dynamics import inverse_dynamics
from ambulo.envs.reference.joint_positions import motion_of_positions, motion_states
from ambulo.envs.reference.legs import ankle_places, legs_of, set_feet
from ambulo.envs.reference.standing import standing_reference
from ambulo.envs.reference.step_gaits import (
    standing_posture,
    standing_steps,
    stepping_cycle,
)
from ambulo.motion.gaits.healthy_walk import healthy_walk
from ambulo.motion.gaits.soles import sole_places, with_level_soles
from ambulo.motion.motion import Motion
from ambulo.motion.retargeting.retarget import retarget
from ambulo.motion.rotations import quat_from_rotvec, quat_rotate

WALK = LocomotionEnvironmentConfig(task="walk_commands", character="walker.xml")


@pytest.fixture(scope="module")
def walker() -> Character:
    return character_of(prepare_body(humanoid_xml()))


@pytest.fixture(scope="module")
def balls() -> Character:
    return character_of(prepare_body(humanoid_xml(feet="ball")))


@pytest.mark.integration
@pytest.mark.parametrize("feet", ["box", "ball"])
def test_a_walk_is_retargeted_to_hinges(feet: str) -> None:
    body = character_of(prepare_body(humanoid_xml(feet=feet)))
    done = retarget(healthy_walk(64).motion(2), body.skeleton)
    assert done.error.direction_deg < 6.0
    assert done.error.rotation_deg < 8.0


@pytest.mark.integration
def test_a_foot_with_a_high_heel_stands_on_its_sole(walker: Character) -> None:
    walk = retarget(healthy_walk(64).motion(2), walker.skeleton).motion
    lean = quat_from_rotvec(np.array([0.0, 0.2, 0.0]))
    high = replace(walker.soles, offsets=quat_rotate(lean, walker.soles.offsets))

    def tilt(motion: Motion) -> float:
        """Mean slope of the soles where both ends of a foot are near the ground."""
        heights = sole_places(motion, high)[..., 2]
        slopes = [
            np.ptp(heights[:, np.array(high.sides) == side], axis=1) for side in (0, 1)
        ]
        return float(np.mean([np.quantile(slope, 0.2) for slope in slopes]))

    assert tilt(walk) > 0.03
    assert tilt(with_level_soles(walk, high)) < 0.01
    same = with_level_soles(walk, walker.soles)
    np.testing.assert_allclose(same.rotations, walk.rotations, atol=1e-9)


@pytest.mark.integration
def test_a_skeleton_is_that_of_a_file(tmp_path: Path, walker: Character) -> None:
    file = tmp_path / "walker.xml"
    file.write_text(humanoid_xml())
    assert skeleton_of(str(file)).joints == walker.skeleton.joints
    assert skeleton_of("human23").name == "human23"


@pytest.mark.integration
def test_legs_of_hinges_reach_ankles_with_level_feet(walker: Character) -> None:
    legs = legs_of(walker)
    assert not legs.closed
    assert legs.size == pytest.approx(0.84 / 0.8593, rel=0.02)
    qpos = np.tile(walker.standing, (3, 1))
    still = ankle_places(legs, qpos)
    wanted = still + np.array([
        [[0.1, 0.02, 0.05], [-0.1, -0.02, 0.08]],
        [[0.0, 0.05, 0.1], [0.2, 0.0, 0.1]],
        [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]],
    ])  # fmt: skip
    set_feet(legs, qpos, wanted)
    np.testing.assert_allclose(ankle_places(legs, qpos), wanted, atol=2e-4)
    data = mujoco.MjData(walker.model)
    for row in qpos:
        data.qpos[:] = row
        mujoco.mj_kinematics(walker.model, data)
        for side, level in zip(("left", "right"), legs.level, strict=True):
            foot = data.body(f"{side}_ankle_x").xquat
            assert abs(foot @ level) > 1.0 - 1e-6


def test_legs_without_feet_reach_with_their_soles(balls: Character) -> None:
    legs = legs_of(balls)
    qpos = np.repeat(np.asarray(balls.standing)[None], 2, axis=0)
    still = ankle_places(legs, qpos)
    data = mujoco.MjData(balls.model)
    data.qpos[:] = balls.standing
    mujoco.mj_kinematics(balls.model, data)
    radius = balls.soles.radius
    assert (np.abs(still[0, :, 2] - radius) < 0.005).all()  # the balls stand
    wanted = still + np.array([
        [[0.1, 0.02, 0.05], [-0.1, -0.02, 0.08]], [[0.0, 0.0, 0.1], [0.1, 0.0, 0.1]],
    ])  # fmt: skip
    set_feet(legs, qpos, wanted)
    np.testing.assert_allclose(ankle_places(legs, qpos), wanted, atol=2e-4)


def test_steps_are_those_of_two_legs() -> None:
    with pytest.raises(ConfigError, match="four legs"):
        legs_of(character_of(prepare_body(dog_xml())))


@pytest.mark.integration
def test_the_ground_alone_explains_steps_of_any_body(walker: Character) -> None:
    posture = standing_posture(walker)
    for cycle in (
        standing_steps(walker, posture),
        stepping_cycle(walker, posture, 0.2, 1.0, 0.3),
    ):
        dynamics = inverse_dynamics(cycle, walker.model, walker.soles)
        report = report_of(cycle, cycle, dynamics, walker.model, walker.soles)
        assert report.ground_force == pytest.approx(1.0, abs=0.01)
        assert report.residual_force < 0.03 * report.weight
        assert report.slip < 0.01


@pytest.mark.integration
def test_a_body_without_a_gait_gets_the_suites_walk(walker: Character) -> None:
    raw, name, captured = source_cycle(None, walker.skeleton)
    assert name == "healthy walk"
    assert captured is not None
    made = physical_cycle(raw, walker.model, walker.soles, captured=captured)
    assert 0.6 < made.report.speed < 1.6
    assert made.report.slip < 0.3
    low, high = made.report.lowest, made.report.highest
    assert -0.03 < low < high < 0.03


def test_pushes_go_by_the_mass_of_a_users_body(
    character: Character, walker: Character
) -> None:
    mass = float(walker.model.body_mass.sum())
    assert push_scale(character) == 1.0
    assert push_scale(walker) == pytest.approx(mass / PERSON)


def test_boxes_have_a_lowest_point(walker: Character) -> None:
    spec = mujoco.MjSpec()
    body = spec.worldbody.add_body(name="box")
    body.add_freejoint()
    body.add_geom(
        type=mujoco.mjtGeom.mjGEOM_BOX, size=[0.3, 0.2, 0.1], pos=[0.0, 0.0, 0.05]
    )
    turned = np.array([0.0, 0.0, 1.0, np.cos(0.3), np.sin(0.3), 0.0, 0.0])
    boxed = replace(walker, model=spec.compile())
    low = lowest_points(turned[None], boxed)[0]
    assert low == pytest.approx(1.0 - (0.1 - 0.05) * np.cos(0.6) - 0.2 * np.sin(0.6))


@pytest.mark.integration
def test_feet_of_one_ball_have_all_parts(tmp_path: Path) -> None:
    file = tmp_path / "balls.xml"
    file.write_text(humanoid_xml(feet="ball"))
    config = LocomotionConfig.model_validate(
        {"environment": {"task": "stand", "character": str(file), "balance_law": False}}
    )
    batch = make_batch(config, 2, seed=0)
    assert np.isfinite(batch.reset(np.arange(2))).all()
    soles = batch.state.soles.reshape(2, 2, 3)
    assert (soles == soles[..., :1]).all()


def _squat(body: Character, depth: float) -> Motion:
    """Knees that bend by twice `depth`, [rad], and back in 2 s, soles on the ground."""
    phase = np.arange(0.0, 2.0, 1.0 / 30.0)
    qpos = np.tile(body.standing, (len(phase), 1))
    bend = 0.5 * depth * (1.0 - np.cos(np.pi * phase))
    for limb, share in (
        ("thigh", -1.0),
        ("shin", 2.0),
        ("upper_arm", -1.0),
        ("forearm", 2.0),
    ):
        for side in ("left", "right"):
            joint = body.skeleton.joints[body.skeleton.roles[f"{side}_{limb}"]]
            qpos[:, body.model.joint(joint).qposadr[0]] += share * bend
    qpos[:, 2] -= lowest_points(qpos, body) + 0.001
    return motion_of_positions(qpos, body.model, body.skeleton, 30.0)


@pytest.mark.integration
def test_a_dog_takes_clips_of_its_own_and_no_persons(tmp_path: Path) -> None:
    file = tmp_path / "dog.xml"
    file.write_text(dog_xml())
    dog = fitted_body(str(file))
    found = clip_reference(_squat(dog, 0.4), dog, bodies=20)
    assert found.falls_at is None
    assert found.report["error_world"] < 0.01
    assert found.report["survives 20 N s for 70 kg"] >= 0.9
    with pytest.raises(
        MotionError, match="has four legs, and takes clips of such bodies"
    ):
        clip_reference(healthy_walk(64).motion(2), dog)


def whirling(body: Character, joint: str, hertz: float) -> Motion:
    """A body that stands for 2 s while one hinge bends and stretches by 1 rad."""
    dt = float(body.model.opt.timestep)
    qpos = np.tile(body.standing, (round(2.0 / dt), 1))
    wave = 0.5 * (1.0 - np.cos(2.0 * np.pi * hertz * dt * np.arange(len(qpos))))
    hinge = body.model.joint(joint)
    qpos[:, hinge.qposadr[0]] = wave * np.sign(hinge.range.sum())
    return motion_of_positions(qpos, body.model, body.skeleton, 1.0 / dt)


def test_arms_move_no_faster_than_their_motors_can(walker: Character) -> None:
    weak = without(
        humanoid_xml(), 'joint="left_elbow" gear="300', 'joint="left_elbow" gear="3'
    )
    speed = {}
    for name, body in (("strong", walker), ("weak", character_of(prepare_body(weak)))):
        lifted = lifted_clip(whirling(body, "left_elbow", 4.0), body)[0]
        qvel = motion_states(lifted, body.model)[1]
        dof = body.model.joint("left_elbow").dofadr[0]
        speed[name] = float(np.abs(qvel[:, dof]).max())
    assert speed["strong"] > 8.0
    assert speed["weak"] < 0.4 * speed["strong"]
    slow = lifted_clip(whirling(body, "left_elbow", 0.5), body)[0]
    qvel = motion_states(slow, body.model)[1]
    assert np.abs(qvel[:, dof]).max() == pytest.approx(0.5 * np.pi, rel=0.05)


@pytest.mark.integration
def test_the_feedback_of_a_standing_body_is_the_best_of_several(
    walker: Character,
) -> None:
    dofs, dt = walker.dofs(*walker.skeleton.joints[1:]), 1.0 / 30.0
    table = standing_reference(walker, joints=["*"], balance=False).gaits[0].table
    steps = cycle_steps(walker, table, dofs, control_dt=dt)
    hard = replace(STANDING, bodies=12, seconds=2.0, disturbances=STANDARD[3:])
    held = {
        weights: best_feedback(
            walker, table, [steps], dofs, dt, replace(hard, choices=(weights,))
        )[1]
        for weights in hard.choices
    }
    assert best_feedback(walker, table, [steps], dofs, dt, hard)[1] == max(
        held.values()
    )
    first = replace(hard, enough=0.0)
    _, taken = best_feedback(walker, table, [steps], dofs, dt, first)
    assert taken == held[hard.choices[0]]


@pytest.mark.parametrize("task", ["get_up", "track_body", "gait"])
def test_tasks_of_the_suites_bodies_say_so(task: str) -> None:
    with pytest.raises(ValidationError, match="needs character = human23"):
        LocomotionEnvironmentConfig(task=task, character="walker.xml")
    assert WALK.task == "walk_commands"
