"""Trees from MuJoCo models and lists of bones."""

from __future__ import annotations

from pathlib import Path

import gymnasium
import mujoco
import numpy as np
import pytest
from fixtures.people import person

from ambulo.configs.errors import SkeletonError
from ambulo.motion.roles.finder import FOUR_LEGS, RoleMap, find_roles
from ambulo.motion.roles.sources import Bone, bone_tree, model_tree
from ambulo.motion.roles.tree import RoleTree


def limb(name: str, sign: int, hinges: tuple[tuple[str, str, str], ...]) -> str:
    """Nested bodies with one hinge each: (position, axis, range)."""
    text = ""
    for n, (place, axis, limits) in reversed(list(enumerate(hinges))):
        x, y, z = (float(v) for v in place.split())
        text = (
            f'<body name="{name}{n}" pos="{x} {sign * y} {z}"><joint type="hinge" axis="{axis}"'
            f' range="{limits}"/><geom size=".04" mass="1"/>{text}</body>'
        )
    return text


def robot() -> mujoco.MjModel:
    """A humanoid of hinges whose names say nothing and whose feet are points."""
    leg = (
        ("0 .1 0", "0 0 1", "-90 90"), ("0 0 0", "1 0 0", "-45 45"),
        ("0 0 0", "0 1 0", "-120 90"), ("0 0 -.4", "0 1 0", "0 140"),
        ("0 0 -.4", "0 1 0", "-45 45"), ("0 0 0", "1 0 0", "-30 30"),
    )  # fmt: skip
    arm = (
        ("0 .2 .45", "0 1 0", "-180 90"), ("0 0 0", "1 0 0", "-90 90"),
        ("0 .28 0", "0 0 1", "-150 150"), ("0 .25 0", "1 0 0", "-60 60"),
    )  # fmt: skip
    limbs = "".join(
        limb(f"{part}{'ab'[sign < 0]}", sign, hinges)
        for sign in (1, -1)
        for part, hinges in (("p", leg), ("q", arm))
    )
    return mujoco.MjModel.from_xml_string(
        '<mujoco><compiler autolimits="true"/><worldbody><body name="root" pos="0 0 1">'
        f'<freejoint/><geom size=".1" mass="9"/>{limbs}</body></worldbody></mujoco>'
    )


def named(tree: RoleTree, found: RoleMap) -> dict[str, str]:
    return {role: tree.names[joint] for role, joint in found.joints.items()}


def test_hinge_chains_of_a_robot_are_roles_and_knees_show_the_front() -> None:
    tree = model_tree(robot())
    found = find_roles(tree)
    assert not found.refusal
    chain = [tree.names[j] for j in found.chains["left_thigh"]]
    assert chain == ["pa0", "pa1", "pa2"]
    assert [tree.names[j] for j in found.chains["left_foot"]] == ["pa4", "pa5"]
    assert named(tree, found)["left_shin"] == "pa3"
    assert found.is_facing_sure
    np.testing.assert_allclose(found.forward, [1.0, 0.0, 0.0], atol=1e-9)


@pytest.mark.parametrize("hidden", [False, True])
def test_the_humanoid_of_gymnasium(hidden: bool) -> None:
    """Its root is the chest, and its feet are balls without ankles."""
    path = Path(gymnasium.__file__).parent / "envs/mujoco/assets/humanoid.xml"
    tree = model_tree(mujoco.MjModel.from_xml_path(str(path)))
    blind = RoleTree(
        tree.parents, tree.positions, (), tree.ends, tree.still, tree.masses, tree.centers,
        tree.outlines, tree.hinges,
    )  # fmt: skip
    found = find_roles(blind if hidden else tree)
    assert not found.refusal
    assert named(tree, found) == {
        "hips": "pelvis", "spine": "lwaist", "chest": "torso",
        **{f"{s}_{r}": f"{s}_{n}" for s in ("left", "right") for r, n in (
            ("thigh", "thigh"), ("shin", "shin"), ("foot", "foot"),
            ("upper_arm", "upper_arm"), ("forearm", "lower_arm"))},
    }  # fmt: skip
    assert found.is_facing_sure
    np.testing.assert_allclose(found.forward, [1.0, 0.0, 0.0], atol=1e-9)


def test_a_model_without_bodies_is_refused() -> None:
    with pytest.raises(SkeletonError, match="no joints"):
        model_tree(mujoco.MjModel.from_xml_string("<mujoco/>"))


def test_bones_of_an_armature_begin_at_heads_and_end_at_tails() -> None:
    rig = person(fingers=False)
    bones = []
    for node, name in enumerate(rig.names):
        children = [c for c, p in enumerate(rig.parents) if p == node]
        tail = rig.places[children[0]] if children else rig.places[node] + (0, 0, 0.1)
        parent = rig.parents[node]
        above = rig.names[parent] if parent >= 0 else None
        bones.append(Bone(name, above, tuple(rig.places[node]), tuple(tail)))
    tree = bone_tree(bones)
    found = find_roles(tree)
    assert not found.refusal
    assert {role: {joint} for role, joint in found.joints.items()} == rig.truth


@pytest.mark.parametrize("half", [(0.35, 0.08), (0.2, 0.1)])
def test_a_body_that_is_mirrored_fore_and_aft_has_its_legs_across(
    half: tuple[float, float],
) -> None:
    """Legs that leave the trunk to the sides, and whose last joint is the knee."""
    legs = "".join(
        f"""<body name="{x}{y}a" pos="{x * half[0]} {y * half[1]} 0">
        <joint axis="1 0 0"/><geom size=".03"/>
        <body name="{x}{y}b" pos="0 {0.1 * y} 0"><joint axis="0 1 0"/><geom size=".03"/>
        <body name="{x}{y}c" pos="0 0 -.3"><joint axis="0 1 0"/>
        <geom type="capsule" fromto="0 0 0 0 0 -.3" size=".02"/></body></body></body>"""
        for x in (-1, 1)
        for y in (-1, 1)
    )
    xml = f"""<mujoco><worldbody><body name="trunk" pos="0 0 .6"><freejoint/>
      <geom type="box" size=".4 .1 .08"/>{legs}</body></worldbody></mujoco>"""
    found = find_roles(model_tree(mujoco.MjModel.from_xml_string(xml)))
    assert found.refusal == FOUR_LEGS
    assert np.abs(found.forward)[0] == 1.0
