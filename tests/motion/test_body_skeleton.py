"""Skeletons of bodies from rigs: proportions, pose, what is left out, what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from fixtures.people import PEOPLE, POINTS, dog, only_arm, only_legs

from ambulo.configs.errors import SkeletonError
from ambulo.motion.body_skeleton import ARMS, body_skeleton
from ambulo.motion.landmarks import rest_points
from ambulo.motion.skeleton import Skeleton
from ambulo.motion.skeletons import load_skeleton

SAME = ("mixamo, A-pose, no fingers", "mixamo with a sword", "mixamo in a skirt", "unreal",
        "vroid", "mmd", "daz", "smpl", "biped with a triangle", "creator")  # fmt: skip


def unturned(skeleton: Skeleton) -> Skeleton:
    """A skeleton whose frames at rest are those of the world."""
    return skeleton.replace(rest=np.zeros((0, 4)))


def length(a: str, b: str) -> float:
    return float(np.linalg.norm(np.subtract(POINTS[a], POINTS[b])))


@pytest.mark.parametrize("name", ["mixamo", *SAME])
def test_bones_have_the_rigs_lengths_in_a_t_pose(name: str) -> None:
    skeleton = unturned(body_skeleton(PEOPLE[name]().skeleton()).skeleton)
    points = rest_points(skeleton)
    for side, sign in (("left", 1.0), ("right", -1.0)):
        at = {
            limb: points[skeleton.roles[f"{side}_{limb}"]]
            for limb in ("thigh", "shin", "foot", "upper_arm", "forearm", "hand")
        }
        for upper, lower, bone in (
            ("thigh", "shin", [0, 0, -length("thigh", "shin")]),
            ("shin", "foot", [0, 0, -length("shin", "foot")]),
            ("upper_arm", "forearm", [0, sign * length("upper_arm", "forearm"), 0]),
            ("forearm", "hand", [0, sign * length("forearm", "hand"), 0]),
        ):
            np.testing.assert_allclose(at[lower] - at[upper], bone, atol=1e-9)
    assert points[:, 2].min() == pytest.approx(0.0, abs=1e-9)
    assert points[skeleton.roles["left_thigh"], 1] > 0.0


def test_human23_keeps_its_own_lengths() -> None:
    plan = load_skeleton("human23")
    body = body_skeleton(plan)
    assert (body.stature, body.legs) == (pytest.approx(1.75, abs=2e-3), 1.0)
    ours, theirs = rest_points(unturned(body.skeleton)), rest_points(plan)
    for joint, name in enumerate(body.skeleton.joints):
        same = [0, 2] if "FootThumb" in name else [0, 1, 2]  # one toe, in the middle
        np.testing.assert_allclose(
            ours[joint, same], theirs[plan.index(name), same], atol=5e-3
        )
    assert body.merged == {"TalusR": ("FootPinkyR",), "TalusL": ("FootPinkyL",)}


def test_arms_hang_at_rest() -> None:
    skeleton = body_skeleton(PEOPLE["xsens"]().skeleton()).skeleton
    points, roles = rest_points(skeleton), skeleton.roles
    for side, sign in (("left", 1.0), ("right", -1.0)):
        arm = points[roles[f"{side}_hand"]] - points[roles[f"{side}_upper_arm"]]
        arm /= np.linalg.norm(arm)
        np.testing.assert_allclose(arm, [0.0, sign * np.cos(ARMS), -np.sin(ARMS)])


def test_height_scales_everything() -> None:
    rig = PEOPLE["unreal"]().skeleton()
    own, small = body_skeleton(rig), body_skeleton(rig, 1.2)
    assert small.stature == pytest.approx(1.2)
    factor = 1.2 / own.stature
    np.testing.assert_allclose(small.skeleton.offsets, own.skeleton.offsets * factor)
    np.testing.assert_allclose(small.skeleton.tips, own.skeleton.tips * factor)


def test_fingers_and_twist_bones_are_parts_of_the_body_above() -> None:
    body = body_skeleton(PEOPLE["unreal"]().skeleton())
    assert len(body.merged["hand_l"]) == 15
    assert "thigh_twist.L" in body.merged["thigh_l"]
    assert not any("ik_" in name for names in body.merged.values() for name in names)


def test_one_bone_of_trunk_is_enough() -> None:
    body = body_skeleton(PEOPLE["one bone of trunk"]().skeleton())
    assert "spine" not in body.skeleton.roles
    assert "chest" not in body.skeleton.roles
    assert len(body.skeleton) == 14


@pytest.mark.parametrize(
    ("rig", "rule"),
    [
        (dog, "four legs"), (only_legs, "legs only"), (only_arm, "one limb alone"),
        (PEOPLE["chibi"], r"legs of 0.381 m fit no person .* give the body's height"),
    ],
)  # fmt: skip
def test_refusals_name_the_rule_in_one_line(rig, rule: str) -> None:
    with pytest.raises(SkeletonError, match=rule) as caught:
        body_skeleton(rig().skeleton())
    assert "\n" not in str(caught.value)
