"""The canonical skeletons: trees, sizes, stance, symmetry, limits; rigs by file."""

import json
from importlib.resources import files

import numpy as np
import pytest

from ambulo.configs.errors import ConfigError, SkeletonError
from ambulo.motion.euler import quat_from_euler
from ambulo.motion.kinematics import forward_kinematics, rest_positions
from ambulo.motion.landmarks import rest_points
from ambulo.motion.operations import mirror_skeleton
from ambulo.motion.rotations import quat_rotate
from ambulo.motion.skeletons import SKELETONS, load_skeleton, skeleton_file

STATURE = 1.75


def test_every_file_is_listed_and_named_as_itself():
    folder = files("ambulo.configs.skeletons")
    names = {
        f.name.removesuffix(".json")
        for f in folder.iterdir()
        if f.name.endswith("json")
    }
    assert names == set(SKELETONS)
    assert all(load_skeleton(name).name == name for name in SKELETONS)
    assert all(skeleton_file(name).source for name in SKELETONS)


@pytest.mark.parametrize("name", SKELETONS)
def test_at_rest_the_lowest_point_stands_on_the_ground(name):
    assert rest_points(load_skeleton(name))[:, 2].min() == pytest.approx(0.0, abs=1e-4)


@pytest.mark.parametrize("name", SKELETONS)
def test_at_rest_the_left_hand_is_at_plus_y_and_toes_point_to_plus_x(name):
    skeleton = load_skeleton(name)
    roles = skeleton_file(name).roles
    rest = rest_positions(skeleton)
    at = {role: rest[skeleton.index(joint)] for role, joint in roles.items()}
    assert at["left_hand"][1] > 0.5 > -0.5 > at["right_hand"][1]
    assert at["head"][2] > at["chest"][2] > at["spine"][2] - 1e-9
    toes = rest_points(skeleton)[len(skeleton) :]
    for side in ("left", "right"):
        foot = skeleton.index(roles[f"{side}_foot"])
        ahead = [tip for owner, tip in zip(skeleton.tip_parents, toes, strict=True) if
                 owner == foot or skeleton.parents[owner] == foot]  # fmt: skip
        assert max(tip[0] for tip in ahead) > rest[foot][0] + 0.1


@pytest.mark.parametrize("name", ["human23", "ik23", "cmu31"])
def test_left_and_right_are_equal(name):
    skeleton = load_skeleton(name)
    assert mirror_skeleton(skeleton) is skeleton


@pytest.mark.parametrize("name", ["human23", "ik23"])
def test_own_bodies_have_the_stature_and_its_parts(name):
    skeleton = load_skeleton(name)
    points = rest_points(skeleton)
    roles = skeleton_file(name).roles
    height = {role: points[skeleton.index(joint), 2] for role, joint in roles.items()}
    assert points[:, 2].max() == pytest.approx(STATURE, abs=1e-3)
    assert height["left_thigh"] == pytest.approx(0.530 * STATURE, abs=1e-3)
    assert height["left_shin"] == pytest.approx(0.285 * STATURE, abs=1e-3)
    assert height["left_foot"] == pytest.approx(0.039 * STATURE, abs=1e-3)
    assert height["left_upper_arm"] == pytest.approx(0.818 * STATURE, abs=1e-3)
    wrist, elbow = (skeleton.index(roles[r]) for r in ("right_hand", "right_forearm"))
    forearm = np.linalg.norm(points[wrist] - points[elbow])
    assert forearm == pytest.approx(0.146 * STATURE, abs=1e-3)


def test_human23_soles_are_flat():
    skeleton = load_skeleton("human23")
    tips = rest_points(skeleton)[len(skeleton) :]
    feet = [
        k
        for k, tip in enumerate(skeleton_file("human23").tips)
        if tip.name in ("heel", "toe")
    ]
    assert len(feet) == 6
    np.testing.assert_allclose(tips[feet, 2], 0.0, atol=1e-9)


def test_ik23_bones_lie_along_their_y_axes():
    skeleton = load_skeleton("ik23")
    still = np.zeros((23, 4))
    still[:, 0] = 1.0
    places, turns = forward_kinematics(skeleton, skeleton.offsets[0], still)
    for child, parent in (
        (1, 0),
        (8, 7),
        (9, 8),
        (13, 12),
        (16, 15),
        (17, 16),
        (22, 21),
    ):
        along = places[child] - places[parent]
        axis = quat_rotate(turns[parent], np.array([0.0, 1.0, 0.0]))
        np.testing.assert_allclose(axis, along / np.linalg.norm(along), atol=1e-5)
    forward = quat_rotate(turns[:17], np.array([0.0, 0.0, 1.0]))
    np.testing.assert_allclose(forward, np.tile([1.0, 0, 0], (17, 1)), atol=1e-12)


def bent(name: str, joint: str, angles: list[float]) -> np.ndarray:
    """How far each joint moved when `joint` turns by `angles` [deg], from rest, [m]."""
    skeleton = load_skeleton(name)
    rotations = np.zeros((len(skeleton), 4))
    rotations[:, 0] = 1.0
    j = skeleton.index(joint)
    rotations[j] = quat_from_euler(np.deg2rad(angles), skeleton.orders[j])
    moved = forward_kinematics(skeleton, skeleton.offsets[0], rotations)[0]
    return moved - rest_positions(skeleton)


@pytest.mark.parametrize(
    ("name", "joint", "angles", "watched", "axis", "sign"),
    [
        ("human23", "TibiaR", [60], "TalusR", 0, -1),  # knees bend backwards
        ("human23", "TibiaL", [60], "TalusL", 0, -1),
        ("human23", "ForeArmR", [60], "HandR", 0, 1),  # elbows bend forwards
        ("human23", "ForeArmL", [-60], "HandL", 0, 1),
        ("human23", "FemurR", [-60, 0, 0], "TibiaR", 0, 1),  # hips bend forwards
        ("human23", "FemurR", [0, -30, 0], "TibiaR", 1, -1),  # and abduct outwards
        ("human23", "FemurL", [0, 30, 0], "TibiaL", 1, 1),
        ("human23", "Spine", [30, 0, 0], "Head", 0, 1),  # the trunk bends forwards
        ("human23", "ArmR", [0, -60, 0], "HandR", 2, 1),  # arms go up
        ("human23", "ArmL", [0, 60, 0], "HandL", 2, 1),
        ("ik23", "LeftShin", [-60, 0, 0], "LeftFoot", 0, -1),
        ("ik23", "RightThigh", [60, 0, 0], "RightShin", 0, 1),
        ("ik23", "LeftThigh", [0, 30, 0], "LeftShin", 1, 1),
        ("ik23", "RightThigh", [0, -30, 0], "RightShin", 1, -1),
        ("ik23", "LeftForeArm", [60, 0, 0], "LeftHand", 0, 1),
        ("ik23", "RightForeArm", [60, 0, 0], "RightHand", 0, 1),
        ("ik23", "LeftArm", [0, 60, 0], "LeftHand", 2, 1),
        ("ik23", "RightArm", [0, -60, 0], "RightHand", 2, 1),
    ],
)  # fmt: skip
def test_signs_of_angles_are_as_stated(name, joint, angles, watched, axis, sign):
    skeleton = load_skeleton(name)
    j = skeleton.index(joint)
    low, high = np.rad2deg(skeleton.limits[skeleton.angle_slices[j]]).T
    assert (low - 1e-9 <= angles).all() and (angles <= high + 1e-9).all()  # noqa: PT018
    assert sign * bent(name, joint, angles)[skeleton.index(watched), axis] > 0.05


@pytest.mark.parametrize("name", ["human23", "ik23"])
def test_the_rest_pose_lies_inside_the_limits(name):
    limits = load_skeleton(name).limits
    assert (limits[:, 0] <= 0.0).all()
    assert (limits[:, 1] >= 0.0).all()


def test_cmu31_angles_are_the_files(cmu):
    text = (cmu / "asfamc" / "02" / "02.asf").read_text(encoding="utf-8")
    skeleton = load_skeleton("cmu31")
    block = text.split("name lfoot")[1].split("end")[0]
    assert "dof rx rz" in block
    assert "axis -90" in block
    # rx, rz about file axes are our Y and X; R = Rz Rx.
    assert skeleton.orders[skeleton.index("lfoot")] == "XY"


def test_masses_add_up_to_one_body():
    twice = {"upper_arm", "forearm", "hand", "thigh", "shank", "foot"}
    segments = skeleton_file("human23").segments
    total = sum(s.mass * (2 if s.name in twice else 1) for s in segments)
    assert total == pytest.approx(1.0, abs=1e-9)


def rig(tmp_path, **changes) -> str:
    data = {
        "name": "rig",
        "source": ["made here"],
        "joints": [
            {"name": "a", "parent": None, "offset": [0, 0, 1]},
            {
                "name": "b", "parent": "a", "offset": [0, 0, 1],
                "order": "Y", "limits_deg": [[0, 90]],
            },
        ],
        "tips": [{"joint": "b", "name": "end", "offset": [0, 0, 0.5]}],
    }  # fmt: skip
    path = tmp_path / "rig.json"
    path.write_text(json.dumps({**data, **changes}), encoding="utf-8")
    return str(path)


def test_a_rig_by_file(tmp_path):
    skeleton = load_skeleton(rig(tmp_path))
    assert skeleton.joints == ("a", "b")
    np.testing.assert_allclose(skeleton.limits[-1], [0.0, np.pi / 2])
    assert skeleton.tip_parents == (1,)
    assert load_skeleton(rig(tmp_path, name="other")).name == "other"  # not kept


def joint(**changes):
    return {"name": "a", "parent": None, "offset": [0, 0, 1], **changes}


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"joints": [joint(parent="z")]}, SkeletonError, "'z'"),
        ({"joints": [joint(), joint(name="b")]}, SkeletonError, "'b'"),
        (
            {"joints": [joint(limits_deg=[[0, 1]])], "tips": []},
            SkeletonError,
            "1 limits",
        ),
        ({"joints": [joint(order="ZZ")], "tips": []}, SkeletonError, "rotation order"),
        (
            {"tips": [{"joint": "c", "name": "t", "offset": [0, 0, 0]}]},
            SkeletonError,
            "'c'",
        ),
        ({"joints": []}, ConfigError, "joints"),
        ({"joints": [joint(offset=[0, 1])]}, ConfigError, "offset"),
        ({"extra": 1}, ConfigError, "extra"),
    ],
)
def test_a_wrong_rig_is_named(tmp_path, changes, error, message):
    with pytest.raises(error, match=message):
        load_skeleton(rig(tmp_path, **changes))


def test_an_unknown_name_gets_a_hint():
    with pytest.raises(SkeletonError, match="did you mean 'human23'"):
        load_skeleton("human32")


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ConfigError, match="no such"):
        load_skeleton(str(tmp_path / "none.json"))


def test_hands_turn_as_far_to_either_side_from_palms_down():
    for name, joints in (
        ("human23", ("HandL", "HandR")),
        ("ik23", ("LeftForeArm", "RightForeArm")),
    ):
        skeleton = load_skeleton(name)
        for j in map(skeleton.index, joints):
            twist = skeleton.angle_slices[j].start + skeleton.orders[j].index("Y")
            np.testing.assert_allclose(
                np.rad2deg(skeleton.limits[twist]), [-80.0, 80.0]
            )
