"""Bodies of users: what is found and made of them, and what is refused with its reason."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import mujoco
import numpy as np
import pytest
from fixtures.own_bodies import dog_xml, humanoid_xml, without

from ambulo.configs.errors import ConfigError
from ambulo.envs.characters.own.prepare import prepare_body
from ambulo.envs.characters.own.record import character_of
from ambulo.envs.characters.own.settings import BodySettings
from ambulo.envs.characters.registry import load_character, load_spec
from ambulo.envs.simulation.simulation import CharacterSimulation
from ambulo.motion.retargeting.body import retarget_body
from ambulo.muscle.actuation import MuscleActuation


def urdf(mesh: str = "", mass: float = 3.0) -> str:
    """The humanoid's legs and arms as a URDF with mimic fingers; feet are a mesh if given."""
    links, joints = [], []

    def part(
        name: str, above: str, xyz: str, axis: str, size: str, more: str = ""
    ) -> None:
        shape = (
            f'<mesh filename="{mesh}"/>'
            if mesh and "foot" in name
            else f'<box size="{size}"/>'
        )
        z = 0.0 if "foot" in name else -0.5 * float(size.split()[2])
        z = -z if name == "torso" else z
        links.append(
            f'<link name="{name}"><inertial><origin xyz="0 0 {z}"/><mass value="{mass}"/>'
            '<inertia ixx=".02" iyy=".02" izz=".01" ixy="0" ixz="0" iyz="0"/></inertial>'
            f'<collision><origin xyz="0 0 {z}" rpy="0,0,0"/><geometry>{shape}</geometry>'
            "</collision></link>"
        )
        joints.append(
            f'<joint name="{name}_joint" type="revolute"><parent link="{above}"/>'
            f'<child link="{name}"/><origin xyz="{xyz}"/><axis xyz="{axis}"/>'
            f'<limit lower="-1.5" upper="1.5" effort="200" velocity="9"/>{more}</joint>'
        )

    for side, y in (("left", 0.1), ("right", -0.1)):
        part(f"{side}_hip_roll", "pelvis", f"0 {y} -.05", "1 0 0", ".05 .05 .02")
        part(f"{side}_thigh", f"{side}_hip_roll", "0 0 0", "0 1 0", ".1 .1 .4")
        part(f"{side}_shin", f"{side}_thigh", "0 0 -.42", "0 1 0", ".08 .08 .38")
        part(f"{side}_ankle", f"{side}_shin", "0 0 -.42", "0 1 0", ".03 .03 .02")
        part(f"{side}_foot", f"{side}_ankle", "0 0 -.05", "1 0 0", ".24 .09 .04")
        part(f"{side}_upper_arm", "torso", f"0 {2 * y} .4", "1 0 0", ".06 .06 .28")
        part(f"{side}_forearm", f"{side}_upper_arm", "0 0 -.3", "0 1 0", ".05 .05 .25")
        part(f"{side}_hand", f"{side}_forearm", "0 0 -.27", "1 0 0", ".04 .04 .08")
        part(
            f"{side}_thumb", f"{side}_hand", "0 0 -.08", "1 0 0", ".01 .01 .04",
            f'<mimic joint="{side}_hand_joint" multiplier="-.5" offset="0"/>',
        )  # fmt: skip
    part("torso", "pelvis", "0 0 .1", "0 0 1", ".2 .3 .45")
    links.append('<link name="pelvis"/><link name="imu"/>')
    joints.append(
        '<joint name="imu_joint" type="fixed"><parent link="pelvis"/>'
        '<child link="imu"/></joint>'
    )
    return f'<robot name="robot">{"".join(links)}{"".join(joints)}</robot>'


@pytest.fixture
def humanoid() -> str:
    """A humanoid as MJCF."""
    return humanoid_xml()


def test_chest_rooted_body_is_hung_on_its_hips_and_stands_level(humanoid: str) -> None:
    body = character_of(prepare_body(humanoid))
    skeleton, model = body.skeleton, body.model
    assert skeleton.joints[0] == "pelvis"
    assert skeleton.parents[skeleton.index("waist_z")] == skeleton.index("waist_y")
    assert skeleton.chains["left_thigh"] == tuple(
        skeleton.index(f"left_hip_{axis}") for axis in "xzy"
    )
    assert model.body_mass.sum() == pytest.approx(63.4, rel=1e-6)
    data = mujoco.MjData(model)
    data.qpos[:] = body.standing
    mujoco.mj_forward(model, data)
    balls = [g for g in range(model.ngeom) if model.geom(g).name.startswith("sole:")]
    heights = data.geom_xpos[balls, 2] - body.soles.radius
    assert len(balls) == 8
    assert np.ptp(heights) < 1e-3
    spread = data.geom_xpos[balls, :2]
    middle = 0.5 * (spread.min(axis=0) + spread.max(axis=0))
    assert np.abs(data.subtree_com[1, :2] - middle).max() < 0.01
    # The box foot is 24 cm long: the spheres lie within it and reach its ends.
    assert np.ptp(spread[:4, 0]) == pytest.approx(
        0.24 - 2 * body.soles.radius, abs=0.01
    )


def test_limits_that_say_nothing_leave_knees_and_elbows_as_peoples(
    humanoid: str,
) -> None:
    even = humanoid.replace('range="-2 150"', "").replace(
        'range="0 140"', 'range="-140 140"'
    )
    body = character_of(prepare_body(even))
    assert body.standing is not None
    knee = int(body.model.jnt_qposadr[body.model.joint("left_knee").id])
    assert body.standing[knee] == pytest.approx(0.15, abs=0.05)
    parts = retarget_body(body.skeleton)
    knees, elbows = parts.hinge("left_shin"), parts.hinge("left_forearm")
    assert knees is not None
    assert elbows is not None
    assert knees[1] == pytest.approx(1.0)
    assert elbows[1] == pytest.approx(-1.0)


def test_sensors_on_one_leg_do_not_hide_it(humanoid: str) -> None:
    start = '<body name="left_shin" pos="0 0 -0.42">'
    frames = "".join(f'<body pos="0.05 0 {-0.005 * i}"/>' for i in range(60))
    record = prepare_body(humanoid.replace(start, start + frames))
    assert record.roles["left_foot"] == "left_ankle_x"


@pytest.mark.parametrize("axes", ["z", "y"])
def test_body_in_other_axes_is_the_same_body(humanoid: str, axes: str) -> None:
    here = character_of(prepare_body(humanoid))
    other = character_of(prepare_body(humanoid_xml(axes=axes)))
    assert here.standing is not None
    assert other.standing is not None
    np.testing.assert_allclose(other.model.body_pos, here.model.body_pos, atol=1e-6)
    np.testing.assert_allclose(other.standing, here.standing, atol=1e-3)


def test_urdf_gets_a_free_root_its_efforts_and_its_mimic_joints(tmp_path: Path) -> None:
    file = tmp_path / "robot.urdf"
    file.write_text(urdf())
    body = load_character(str(file))
    assert body.model.jnt_type[0] == mujoco.mjtJoint.mjJNT_FREE
    assert body.model.neq == 2
    assert "left_thumb_joint" not in body.skeleton.joints
    assert body.model.nu == len(body.skeleton) - 1
    assert set(body.model.actuator_forcerange[:, 1]) == {200.0}


HANDS = r'<body name="(left|right)_hand" pos="0 0 -0.27">.*?</body>'
TWISTS = {
    "of the forearm, without a hand": (
        HANDS,
        r'<body name="\1_roll" pos="0 0 -0.1"><joint name="\1_roll" axis="0 0 1"/>'
        r'<geom type="capsule" fromto="0 0 0 0 0 -.15" size=".03" mass="1"/></body>',
        "{}_elbow",
    ),
    "of the upper arm, beside the shoulder": (
        r'<body name="(left|right)_forearm" pos="0 0 -0.3">(.*?)'
        + HANDS.replace("left|right", "?:left|right"),
        r'<body name="\1_turn" pos="0 0 -0.1"><joint name="\1_turn" axis="0 0 1"/>'
        r'<geom size=".02" mass=".1"/><body name="\1_forearm" pos="0 0 -0.2">\2</body>',
        "{}_elbow",
    ),
}


@pytest.mark.parametrize("case", TWISTS)
def test_hinges_along_a_bone_are_no_elbows(case: str, humanoid: str) -> None:
    pattern, replacement, elbow = TWISTS[case]
    changed = re.sub(pattern, replacement, humanoid, flags=re.DOTALL)
    assert changed.count('axis="0 0 1"') == humanoid.count('axis="0 0 1"') + 2
    skeleton = character_of(prepare_body(changed)).skeleton
    for side in ("left", "right"):
        forearm = skeleton.joints[skeleton.roles[f"{side}_forearm"]]
        assert forearm == elbow.format(side)


def test_a_joint_that_an_equality_holds_is_locked_there(humanoid: str) -> None:
    held = '<equality><joint joint1="left_ankle_x" polycoef="0.2 0 0 0 0"/></equality>'
    record = prepare_body(humanoid.replace("<actuator>", f"{held}<actuator>"))
    body = character_of(record)
    assert "left_ankle_x" not in body.skeleton.joints
    assert any("left_ankle_x" in note for note in record.notes)
    free = character_of(prepare_body(humanoid))
    turns = []
    for one, angle in ((body, 0.0), (free, 0.2)):
        data = mujoco.MjData(one.model)
        if angle:
            data.joint("left_ankle_x").qpos[:] = angle
        mujoco.mj_kinematics(one.model, data)
        feet = np.isclose(one.model.geom_size, [0.12, 0.045, 0.02]).all(axis=1)
        left = max(np.flatnonzero(feet), key=lambda g: data.geom_xpos[g, 1])
        turns.append(data.geom_xmat[left])
    np.testing.assert_allclose(*turns, atol=1e-9)
    assert abs(turns[0][8]) < 0.99


def test_muscles_drive_their_joints_and_motors_the_others(humanoid: str) -> None:
    tendons = muscles = ""
    for side in ("left", "right"):
        for name, x in (("front", 0.07), ("back", -0.07)):
            for part, z in (("thigh", -0.2), ("shin", -0.1)):
                start = f'<body name="{side}_{part}" '
                head, tail = humanoid.split(start)
                place, rest = tail.split(">", 1)
                site = f'<site name="{side}_{part}_{name}" pos="{x} 0 {z}"/>'
                humanoid = f"{head}{start}{place}>{site}{rest}"
            ends = "".join(
                f'<site site="{side}_{part}_{name}"/>' for part in ("thigh", "shin")
            )
            tendons += f'<spatial name="{side}_{name}">{ends}</spatial>'
            muscle = "knee" if name == "front" else name  # the name of a joint
            muscles += (
                f'<muscle name="{side}_{muscle}" tendon="{side}_{name}" force="4000"'
                ' lengthrange="0.1 0.5"/>'
            )
    humanoid = humanoid.replace("<actuator>", f"<tendon>{tendons}</tendon><actuator>")
    record = prepare_body(humanoid.replace("</actuator>", f"{muscles}</actuator>"))
    assert record.has_muscles
    plain, driven = character_of(record), character_of(record, muscles=True)
    assert load_spec("my.xml", record).compile().nu == plain.model.nu
    assert plain.model.nu == plain.model.nv - 6
    assert plain.model.ntendon == 0
    assert driven.model.nu == plain.model.nu - 2 + 4
    simulation = CharacterSimulation(driven, 3)
    assert driven.standing is not None
    qpos = np.tile(driven.standing, (3, 1))
    simulation.reset(np.arange(3), np.zeros(3), qpos, np.zeros((3, driven.model.nv)))
    torque = np.random.default_rng(0).uniform(-20.0, 20.0, (3, plain.model.nu))
    controls = np.full((3, driven.model.nu), np.nan)
    assert isinstance(simulation.actuation, MuscleActuation)
    simulation.actuation.apply(torque, controls)
    for u in range(driven.model.nu):
        name = driven.model.actuator(u).name
        if name in driven.skeleton.joints:
            column = controls[:, u]
            row = [plain.model.actuator(k).name for k in range(plain.model.nu)].index(
                name
            )
            np.testing.assert_array_equal(column, torque[:, row])
        else:
            assert ((controls[:, u] >= 0.0) & (controls[:, u] <= 1.0)).all()
    knees = [
        simulation.actuation.layer.dofs.tolist().index(d)
        for d in driven.dofs("left_knee")
    ]
    assert np.abs(simulation.actuation.residual[:, knees]).max() < 0.5


def test_weak_ankles_carry_the_body_nearer_above_them() -> None:
    ahead = []
    for gear in (300.0, 30.0, 12.0):
        body = character_of(prepare_body(humanoid_xml(gear=gear)))
        data = mujoco.MjData(body.model)
        data.qpos[:] = body.standing
        mujoco.mj_forward(body.model, data)
        ankles = [
            data.joint(f"{side}_ankle_y").xanchor[0] for side in ("left", "right")
        ]
        ahead.append(data.subtree_com[1, 0] - np.mean(ankles))
    assert ahead[0] == pytest.approx(0.05, abs=0.01)  # the middle of the soles
    assert ahead[0] > ahead[1] + 0.005 > ahead[2] + 0.01 > 0.0


def test_gains_of_drives_are_no_springs(humanoid: str) -> None:
    springs = humanoid.replace(
        'axis="0 -1 0" range="0 140"', 'axis="0 -1 0" stiffness="500" damping="50"'
    )
    record = prepare_body(springs.replace('gear="300.0"', 'gear="90"'))
    elbow = character_of(record).model.joint("left_elbow")
    assert float(elbow.stiffness[0]) == float(elbow.damping[0]) == 0.0
    assert any("gains of a drive" in note for note in record.notes)
    weak = humanoid.replace(
        'axis="0 -1 0" range="0 140"', 'axis="0 -1 0" stiffness="5" damping="1"'
    )
    elbow = character_of(prepare_body(weak)).model.joint("left_elbow")
    assert float(elbow.stiffness[0]) == 5.0


def test_own_settings_give_limits_roles_and_feet(tmp_path: Path) -> None:
    file = tmp_path / "weak.xml"
    file.write_text(humanoid_xml(gear=2.5))
    with pytest.raises(ConfigError, match=r"weak\.xml: too weak to stand: \w+ needs"):
        load_character(str(file))
    corners = [[x, y, -0.08] for x in (-0.1, 0.2) for y in (-0.05, 0.05)]
    rules = {"torque_limits": {"*": 250}, "feet": {"left": corners, "right": corners}}
    (tmp_path / "weak.body.json").write_text(json.dumps(rules))
    body = load_character(str(file))
    assert set(body.model.actuator_forcerange[:, 1]) == {250.0}
    places = body.soles.offsets[np.array(body.soles.sides) == 0]
    assert np.ptp(places[:, 0]) == pytest.approx(0.3 - 2 * body.soles.radius, abs=0.005)


def _cm(xml: str) -> str:
    spec = mujoco.MjSpec.from_string(xml)
    for body in spec.bodies[1:]:
        body.pos = 100.0 * np.array(body.pos)
    return spec.to_xml() if spec.compile() else ""


HAND = (
    """<mujoco><worldbody><body name="palm"><freejoint/><geom size=".03"/>"""
    + "".join(
        f"""<body name="f{i}a" pos=".05 {y} 0"><joint axis="0 1 0"/><geom size=".008"/>
    <body name="f{i}b" pos=".04 0 0"><joint axis="0 1 0"/><geom size=".008"/>
    <body name="f{i}c" pos=".03 0 0"><joint axis="0 1 0"/><geom size=".008"/></body></body>
    </body>"""
        for i, y in enumerate((-0.045, -0.015, 0.015, 0.045))
    )
    + "</body></worldbody></mujoco>"
)
MANY = (
    """<mujoco><worldbody><body><freejoint/><geom size=".1"/>"""
    + ('<body pos=".01 0 0"><joint axis="0 1 0"/><geom size=".01"/></body>' * 500)
    + "</body></worldbody></mujoco>"
)
BAD: dict[str, tuple[Callable[[], str], str]] = {
    "no feet": (lambda: humanoid_xml(feet="none"), "no feet: its legs end at the shin"),
    "a loop": (
        lambda: humanoid_xml().replace(
            "</mujoco>",
            '<equality><connect body1="left_hand" body2="right_hand" anchor="0 0 0"/>'
            "</equality></mujoco>",
        ),
        "'left_hand' and 'right_hand' close a loop",
    ),
    "negative mass": (
        lambda: humanoid_xml().replace('mass="15"', 'mass="-15"'),
        "mass",
    ),
    "negative mass in URDF": (lambda: urdf(mass=-3.0), "its mass -3 kg is negative"),
    "500 joints": (lambda: MANY, "500 joint axes; a body has at most 250"),
    "two bodies": (
        lambda: _twice(humanoid_xml()),
        "two bodies, 'chest' and 'b_chest': a file holds one",
    ),
    "a foot's mesh": (
        lambda: urdf(mesh="package://robot/foot.stl"),
        "foot.stl is not there",
    ),
    "a mesh that has mass": (
        lambda: (
            humanoid_xml()
            .replace("<worldbody>", '<asset><mesh file="a.stl"/></asset><worldbody>')
            .replace('type="box" size="0.12 0.045 0.02"', 'type="mesh" mesh="a"')
        ),
        "without a.stl, a mesh that is not there: MuJoCo",
    ),
    "macros": (
        lambda: urdf().replace(
            "</robot>", '<x:if xmlns:x="http://www.ros.org/wiki/xacro"/></robot>'
        ),
        "xacro macros",
    ),
    "a hand": (lambda: HAND, "no humanoid"),
    "centimetres": (
        lambda: _cm(humanoid_xml()),
        "lengths are metres; these look like centim",
    ),
    "weak motors": (lambda: humanoid_xml(gear=2.0), r"too weak to stand: .* times\)"),
    "an arm": (
        lambda: without(HAND, '<body name="f[123]a.*(?=</body></worldbody>)'),
        "no humanoid",
    ),
    "no XML": (lambda: "<mujoco", "is no XML"),
    "another format": (lambda: "<sdf/>", "neither MJCF"),
    "entities": (lambda: '<!DOCTYPE a [<!ENTITY b "c">]><mujoco/>', "entities"),
    "nothing that moves": (lambda: "<mujoco/>", "there are no joints"),
}


def _twice(xml: str) -> str:
    spec, other = mujoco.MjSpec.from_string(xml), mujoco.MjSpec.from_string(xml)
    frame = spec.worldbody.add_frame(pos=[0, 3, 0])
    spec.attach(other, prefix="b_", frame=frame)
    spec.compile()
    return str(spec.to_xml())


@pytest.mark.parametrize("case", BAD)
def test_unusable_body_is_refused_in_one_line_with_its_reason(case: str) -> None:
    make, rule = BAD[case]
    with pytest.raises(ConfigError, match=rule) as caught:
        prepare_body(make(), label="my.xml")
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith("my.xml: ")


@pytest.mark.parametrize("given", [False, True])
def test_a_dog_stands_on_its_front_feet_too(given: bool) -> None:
    record = prepare_body(dog_xml())
    assert any(note.startswith("four legs") for note in record.notes)
    if given:
        bodies = {"hips": "trunk"}
        for y, side in ((-0.1, "right"), (0.1, "left")):
            for part, front in (
                ("thigh", "upper_arm"),
                ("shin", "forearm"),
                ("foot", "hand"),
            ):
                bodies[f"{side}_{part}"] = f"-0.3{y}_{part}"
                bodies[f"{side}_{front}"] = f"0.3{y}_{part}"
        roles = {"roles": bodies, "forward": [1, 0, 0]}
        settings = BodySettings.model_validate({"roles": roles})
        record = prepare_body(dog_xml(), settings=settings)
    body = character_of(record)
    points = [body.skeleton.joints[joint] for joint in body.soles.joints]
    assert len(points) == len(set(points)) == 4
    assert sorted(body.soles.sides) == [0, 0, 1, 1]
    data = mujoco.MjData(body.model)
    data.qpos[:] = body.standing
    mujoco.mj_forward(body.model, data)
    assert data.ncon == 4
    gains = {row.joints: row.stiffness for row in record.gains.joints}
    front, hind = record.roles["left_forearm"], record.roles["left_shin"]
    assert gains[front] == gains[hind] > 0.0


def test_chains_are_those_that_retargeting_turns() -> None:
    skeleton = character_of(prepare_body(urdf())).skeleton
    several = {role: row for role, row in skeleton.chains.items() if len(row) > 1}
    assert {
        r: tuple(row) for r, row in retarget_body(skeleton).chains.items()
    } == several
    assert {"left_thigh", "right_foot"} <= set(several)
    turned = [joint for row in skeleton.chains.values() for joint in row]
    assert sorted(turned) == list(range(len(skeleton)))  # each joint once


def test_given_chains_count_and_must_be_rows() -> None:
    roles = dict(prepare_body(urdf()).roles)
    roles = {role: name for role, name in roles.items() if not role.endswith("hand")}

    def given(*chain: str) -> BodySettings:
        roles_file = {"roles": roles, "chains": {"left_forearm": chain}}
        return BodySettings.model_validate({"roles": roles_file})

    forearm = ("left_forearm_joint", "left_hand_joint")
    record = prepare_body(urdf(), settings=given(*forearm))
    assert record.chains["left_forearm"] == forearm
    assert record.chains["right_forearm"] == ("right_forearm_joint",)
    with pytest.raises(ConfigError, match="left_forearm must be joints in a row"):
        prepare_body(urdf(), settings=given("left_forearm_joint", "right_hand_joint"))


def test_roles_that_name_a_joint_twice_are_refused(humanoid: str) -> None:
    roles = {"hips": "pelvis", "left_thigh": "left_thigh", "right_thigh": "left_hip_x"}
    settings = BodySettings.model_validate({"roles": {"roles": roles}})
    with pytest.raises(ConfigError, match="left_thigh and right_thigh are one body"):
        prepare_body(humanoid, settings=settings)
    with pytest.raises(ValueError, match="'a' is named twice: hips and head"):
        BodySettings.model_validate({"roles": {"roles": {"hips": "a", "head": "a"}}})


def make_body() -> mujoco.MjSpec:
    """What `package:function` names."""
    return mujoco.MjSpec.from_string(humanoid_xml())


def test_function_of_a_package_makes_the_body_and_bad_ones_are_named() -> None:
    here = f"{__name__}:make_body"
    assert load_character(here).name.startswith("make_body-")
    with pytest.raises(ConfigError, match="has no 'no_body'"):
        load_character(f"{__name__}:no_body")
    with pytest.raises(ConfigError, match="cannot be imported"):
        load_character("no_such_package:body")
    with pytest.raises(ConfigError, match="returned int; expected MjSpec"):
        load_character(f"{__name__}:no_model")
    with pytest.raises(ConfigError, match=r"arguments failed: TypeError: .*factor"):
        load_character(f"{__name__}:tall_body")
    with pytest.raises(ConfigError, match="returned the name of a function"):
        load_character(f"{__name__}:other_name")


def no_model() -> int:
    """No body."""
    return 3


def tall_body(factor: float) -> str:
    """A body that needs an argument."""
    return humanoid_xml() * round(factor)


def other_name() -> str:
    """Points to itself."""
    return f"{__name__}:other_name"


def test_prepared_body_is_a_file_that_needs_no_other(
    tmp_path: Path, humanoid: str
) -> None:
    record = prepare_body(humanoid, label="my.xml")
    file = tmp_path / "mine.body.json"
    file.write_text(record.to_json())
    assert load_character(str(file)).name == record.name


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        (("<worldbody>", '<include file="/etc/passwd"/><worldbody>'), "<include>"),
        (("<worldbody>", '<asset><mesh file="a.stl"/></asset><worldbody>'), "<asset>"),
        (
            ("<worldbody>", '<extension><plugin plugin="x"/></extension><worldbody>'),
            "extension",
        ),
        (('type="plane"', 'type="plane" mesh="a"'), "names another file"),
        (
            (
                "</actuator>",
                '<general name="x" joint="left_knee" dyntype="user" actdim="9"/></actuator>',
            ),
            "no muscle",
        ),
        (("<mujoco", '<!DOCTYPE a [<!ENTITY b "c">]><mujoco'), "declarations"),
        (('name="pelvis"', 'name="hips"'), "is damaged|not called"),
        (("<worldbody>", "<worldbody" + "><site/>" * 10_001), "is no XML|elements"),
    ],
)
def test_edited_record_is_refused(
    change: tuple[str, str], rule: str, humanoid: str
) -> None:
    record = prepare_body(humanoid)
    xml = record.xml.replace(*change, 1)
    assert xml != record.xml
    with pytest.raises(ConfigError, match=rule):
        character_of(record.replace(xml=xml))
