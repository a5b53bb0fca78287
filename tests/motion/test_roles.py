"""Roles and mirror pairs: data for canonical skeletons, names for the others."""

from itertools import pairwise

import numpy as np
import pytest

from ambulo.motion.roles import ROLES, mirror_indices, roles_of
from ambulo.motion.skeleton import Skeleton
from ambulo.motion.skeletons import SKELETONS, load_skeleton


def tree(text: str) -> Skeleton:
    """A skeleton from "name>name>name" chains; a later chain starts at a known joint."""
    joints: list[str] = []
    parents: list[int] = []
    for chain in text.split("|"):
        names = [name.strip() for name in chain.split(">")]
        if not joints:
            joints, parents = [names[0]], [-1]
        for above, name in pairwise(names):
            parents.append(joints.index(above))
            joints.append(name)
    return Skeleton("named", tuple(joints), tuple(parents), np.zeros((len(joints), 3)))


def sided(text: str, left: str, right: str) -> str:
    """`text` for both sides, "@" being the side."""
    return "|".join(text.replace("@", side) for side in (left, right))


MIXAMO = tree(
    "mixamorig:Hips>mixamorig:Spine>mixamorig:Spine1>mixamorig:Spine2>mixamorig:Neck>"
    "mixamorig:Head>mixamorig:HeadTop_End|"
    + sided(
        "mixamorig:Spine2>mixamorig:@Shoulder>mixamorig:@Arm>mixamorig:@ForeArm>"
        "mixamorig:@Hand>mixamorig:@HandIndex1|"
        "mixamorig:Hips>mixamorig:@UpLeg>mixamorig:@Leg>mixamorig:@Foot>mixamorig:@ToeBase",
        "Left", "Right",
    )
)  # fmt: skip
MOTION_BUILDER = tree(
    "Hips>LowerBack>Spine>Spine1>Neck>Neck1>Head|"
    + sided(
        "Spine1>@Shoulder>@Arm>@ForeArm>@Hand>@FingerBase>@HandIndex1", "Left", "Right"
    )
    + "|Hips>LHipJoint>LeftUpLeg>LeftLeg>LeftFoot>LeftToeBase"
    + "|Hips>RHipJoint>RightUpLeg>RightLeg>RightFoot>RightToeBase"
    + "|LeftHand>LThumb|RightHand>RThumb"
)
BIPED = tree(
    "Bip01>Bip01 Pelvis>Bip01 Spine>Bip01 Spine1>Bip01 Neck>Bip01 Head|"
    + sided(
        "Bip01 Neck>Bip01 @ Clavicle>Bip01 @ UpperArm>Bip01 @ Forearm>Bip01 @ Hand|"
        "Bip01 Spine>Bip01 @ Thigh>Bip01 @ Calf>Bip01 @ Foot>Bip01 @ Toe0", "L", "R"
    )
)  # fmt: skip
STYLE = tree(
    "Hips>Chest>Chest2>Chest3>Chest4>Neck>Head|"
    + sided(
        "Chest4>@Collar>@Shoulder>@Elbow>@Wrist|Hips>@Hip>@Knee>@Ankle>@Toe",
        "Left",
        "Right",
    )
)
BODY_MODEL = tree(
    "Pelvis>Spine1>Spine2>Spine3>Neck>Head|"
    + sided(
        "Spine3>@_Collar>@_Shoulder>@_Elbow>@_Wrist>@_Hand|"
        "Pelvis>@_Hip>@_Knee>@_Ankle>@_Foot", "L", "R"
    )
)  # fmt: skip
SUFFIXED = tree(
    "root>pelvis>spine_01>spine_02>neck_01>head|"
    + sided(
        "spine_02>clavicle_@>upperarm_@>lowerarm_@>hand_@|"
        "pelvis>thigh_@>calf_@>foot_@>ball_@", "l", "r"
    )
)  # fmt: skip

LIMBS = ("thigh", "shin", "foot", "toe", "clavicle", "upper_arm", "forearm", "hand")


NAMED = {
    "mixamorig:{}": (
        MIXAMO, "Hips Spine Spine2 Neck Head",
        "LeftUpLeg LeftLeg LeftFoot LeftToeBase LeftShoulder LeftArm LeftForeArm LeftHand",
    ),
    "{}": (
        MOTION_BUILDER, "Hips LowerBack Spine1 Neck Head",
        "LeftUpLeg LeftLeg LeftFoot LeftToeBase LeftShoulder LeftArm LeftForeArm "
        "LeftFingerBase",
    ),
    "Bip01 {}": (
        BIPED, "Pelvis Spine Spine1 Neck Head",
        "L-Thigh L-Calf L-Foot L-Toe0 L-Clavicle L-UpperArm L-Forearm L-Hand",
    ),
    "{} ": (
        STYLE, "Hips Chest Chest4 Neck Head",
        "LeftHip LeftKnee LeftAnkle LeftToe LeftCollar LeftShoulder LeftElbow LeftWrist",
    ),
    " {}": (
        BODY_MODEL, "Pelvis Spine1 Spine3 Neck Head",
        "L_Hip L_Knee L_Ankle L_Foot L_Collar L_Shoulder L_Elbow L_Wrist",
    ),
    " {} ": (
        SUFFIXED, "pelvis spine_01 spine_02 neck_01 head",
        "thigh_l calf_l foot_l ball_l clavicle_l upperarm_l lowerarm_l hand_l",
    ),
}  # fmt: skip
"""Trees with the joints of trunk and left limbs; the key is what stands around a name."""


@pytest.mark.parametrize("around", NAMED)
def test_roles_are_found_by_names_and_where_limbs_hang(around):
    skeleton, trunk, limbs = NAMED[around]
    roles = roles_of(skeleton)
    wanted = ["hips", "spine", "chest", "neck", "head", *(f"left_{n}" for n in LIMBS)]
    found = [skeleton.joints[roles[role]] for role in wanted]
    names = [*trunk.split(), *limbs.split()]
    assert found == [around.strip().format(n.replace("L-", "L ")) for n in names]


@pytest.mark.parametrize("name", SKELETONS)
def test_canonical_skeletons_have_all_roles_but_daz_toes(name):
    roles = roles_of(load_skeleton(name))
    missing = [role for role in ROLES if role not in roles]
    assert missing == (["left_toe", "right_toe"] if name == "daz43" else [])
    assert list(roles) == [role for role in ROLES if role in roles]


def test_a_cmu_file_has_the_canonical_roles_whatever_its_name_and_order():
    known = load_skeleton("cmu31")
    again = known.replace(name="02", offsets=1.1 * known.offsets)
    assert roles_of(again) == roles_of(known)
    assert known.joints[roles_of(known)["left_hand"]] == "lhand"


def test_no_human_no_roles_but_hips():
    chair = tree("seat>leg1|seat>back")
    assert roles_of(chair) == {"hips": 0}


@pytest.mark.parametrize(
    "skeleton", [*(tree for tree, *_ in NAMED.values()), *map(load_skeleton, SKELETONS)]
)
def test_twins_are_each_others_twin_and_trunks_their_own(skeleton):
    twins = mirror_indices(skeleton)
    np.testing.assert_array_equal(twins[twins], np.arange(len(skeleton)))
    roles = roles_of(skeleton)
    for limb in LIMBS:
        if f"left_{limb}" in roles:
            assert twins[roles[f"left_{limb}"]] == roles[f"right_{limb}"]
    for role in ("hips", "spine", "chest", "neck", "head"):
        assert twins[roles[role]] == roles[role]


def test_every_sided_joint_of_cmu_has_its_twin():
    skeleton = load_skeleton("cmu31")
    alone = mirror_indices(skeleton) == np.arange(len(skeleton))
    trunk = "root lowerback upperback thorax lowerneck upperneck head"
    assert [skeleton.joints[j] for j in np.flatnonzero(alone)] == trunk.split()


def test_a_joint_without_a_twin_is_its_own():
    skeleton = tree("Hips>LeftUpLeg|Hips>RightArm")
    np.testing.assert_array_equal(mirror_indices(skeleton), [0, 1, 2])


def test_results_can_be_changed_without_harm():
    skeleton = load_skeleton("ik23")
    mirror_indices(skeleton)[0] = 5
    roles_of(skeleton).clear()
    assert mirror_indices(skeleton)[0] == 0
    assert roles_of(skeleton)
