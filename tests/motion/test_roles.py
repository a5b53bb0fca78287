"""Roles and mirror pairs: data for canonical skeletons, names for the others."""

from itertools import pairwise

import numpy as np
import pytest
from fixtures.people import Person, person
from fixtures.rig_names import (
    BIPED,
    LAFAN,
    LIMBS,
    MIXAMO,
    RIGIFY,
    ROKOKO,
    SMPL,
    UNITY,
    UNREAL,
    XSENS,
    names,
)

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


STYLE = names(
    "SN", "Hips Chest Chest4 Neck Head",
    "Collar Shoulder Elbow Wrist Hip Knee Ankle Toe", ("Left", "Right"),
)  # fmt: skip
PLAIN = names(
    "S_N", "root spine spine_02 neck head",
    "clavicle upperarm lowerarm hand thigh calf foot ball", ("l", "r"),
)  # fmt: skip
MAKERS = {
    "mixamo": MIXAMO, "unreal": UNREAL, "unity": UNITY, "rokoko": ROKOKO, "xsens": XSENS,
    "lafan": LAFAN, "rigify": RIGIFY, "smpl": SMPL, "style": STYLE, "plain": PLAIN,
    "biped": {**BIPED, "hips": "Bip01 Pelvis"},
}  # fmt: skip
"""Names of joints by role."""


def shapeless(maker: str) -> tuple[Skeleton, Person]:
    """A person whose joints all lie in one place: only names and the tree are known."""
    rig = person(MAKERS[maker], fingers=False)
    skeleton = rig.skeleton()
    return skeleton.replace(offsets=np.zeros_like(skeleton.offsets)), rig


@pytest.mark.parametrize("maker", MAKERS)
def test_roles_are_found_by_names_and_where_limbs_hang(maker):
    skeleton, rig = shapeless(maker)
    roles = roles_of(skeleton)
    found = {role: {rig.names.index(skeleton.joints[j])} for role, j in roles.items()}
    assert found == rig.truth


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


@pytest.mark.parametrize("name", [*MAKERS, *SKELETONS])
def test_twins_are_each_others_twin_and_trunks_their_own(name):
    skeleton = shapeless(name)[0] if name in MAKERS else load_skeleton(name)
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
