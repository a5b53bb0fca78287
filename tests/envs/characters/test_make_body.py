"""Bodies from rigs: masses, inertias, soles, joints, limits, and what is refused."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest
from fixtures.gltf_files import Z_UP_TO_Y_UP, glb, gltf_of
from fixtures.people import PEOPLE, dog

from ambulo.configs.errors import AmbuloError, CharacterError
from ambulo.envs.characters.anthropometry import body_parts, inertials
from ambulo.envs.characters.character import human23
from ambulo.envs.characters.make_body import MadeBody, make_body
from ambulo.motion.body_skeleton import body_skeleton
from ambulo.motion.skeletons import load_skeleton

RIGS = [name for name in PEOPLE if name != "chibi"]


def model_of(made: MadeBody) -> tuple[mujoco.MjModel, mujoco.MjData]:
    model = mujoco.MjModel.from_xml_string(made.xml)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    return model, data


@pytest.mark.parametrize("name", RIGS)
def test_bodies_of_all_rigs_are_sound(name: str) -> None:
    made = make_body(PEOPLE[name]().skeleton(), mass=70.0)
    model, data = model_of(made)
    assert model.body_mass.sum() == pytest.approx(70.0, rel=1e-5)
    assert model.body_mass[1:].min() > 0.0
    inertia = model.body_inertia[1:]
    assert (2.0 * inertia.max(axis=1) <= inertia.sum(axis=1) * (1.0 + 1e-6)).all()
    height = data.subtree_com[1, 2] / made.height
    assert 0.5 < height < 0.62
    assert data.subtree_com[1, 1] == pytest.approx(0.0, abs=1e-6)
    balls = model.geom_type == mujoco.mjtGeom.mjGEOM_SPHERE
    bottoms = data.geom_xpos[balls, 2] - model.geom_size[balls, 0]
    np.testing.assert_allclose(bottoms, 0.0, atol=1e-5)
    # The centre of mass is over the soles.
    ahead = data.geom_xpos[balls, 0]
    assert ahead.min() + 0.02 < data.subtree_com[1, 0] < ahead.max() - 0.02


def test_masses_of_parts_do_not_depend_on_how_many_bodies_they_are() -> None:
    """The whole trunk's mass, whatever its joints; feet with and without toes."""
    shares = []
    for name in ("mixamo", "no chest", "one bone of trunk", "legs on the root"):
        skeleton = make_body(PEOPLE[name]().skeleton()).skeleton
        masses, parts = inertials(skeleton, 100.0), body_parts(skeleton)
        groups = {"trunk": 0.0, "head": 0.0, "foot": 0.0}
        for joint, part in zip(skeleton.joints, parts, strict=True):
            for group, members in (
                ("trunk", ("hips", "spine", "chest", "clavicle")),
                ("head", ("neck", "head")), ("foot", ("foot", "toe")),
            ):  # fmt: skip
                groups[group] += masses[joint].mass * (part in members)
        shares.append(list(groups.values()))
    # de Leva 1996, table 4, men: trunk 43.46 %, head 6.94 %, foot 1.37 % of body mass.
    np.testing.assert_allclose(shares, [[43.46, 6.94, 2.74]] * 4, rtol=0.01)


def test_human23_made_from_its_own_skeleton_is_as_heavy_everywhere() -> None:
    made, own = make_body(load_skeleton("human23")), human23()
    model, _ = model_of(made)
    for name in made.skeleton.joints:
        if "Talus" not in name and "Foot" not in name:  # it has one more toe
            ours, theirs = model.body(name), own.model.body(name)
            np.testing.assert_allclose(ours.mass, theirs.mass, rtol=2e-2)
            np.testing.assert_allclose(ours.inertia, theirs.inertia, rtol=4e-2)


def test_knees_and_elbows_are_hinges_that_bend_the_right_way() -> None:
    made = make_body(PEOPLE["mmd"]().skeleton())
    model, data = model_of(made)
    names = {role: made.skeleton.joints[j] for role, j in made.skeleton.roles.items()}
    for side in ("left", "right"):
        for joint, end, ahead in (("shin", "foot", -1.0), ("forearm", "hand", 1.0)):
            row = model.joint(names[f"{side}_{joint}"])
            assert row.type[0] == mujoco.mjtJoint.mjJNT_HINGE
            data.qpos[:] = model.qpos0
            data.qpos[row.qposadr[0]] = max(row.range, key=abs) * 0.5
            before = model.body(names[f"{side}_{end}"]).id
            mujoco.mj_kinematics(model, data)
            moved = data.xpos[before, 0] - data.xpos[row.bodyid[0], 0]
            assert ahead * moved > 0.1


def test_strength_goes_with_weight_and_size() -> None:
    rig = PEOPLE["xsens"]().skeleton()
    large, small = (make_body(rig, height=h, mass=m) for h, m in ((1.8, 80), (0.9, 10)))
    limits = [model_of(made)[0].actuator_forcerange[:, 1] for made in (large, small)]
    np.testing.assert_allclose(limits[1], limits[0] / 16.0, rtol=1e-4)


def test_default_mass_is_of_one_build() -> None:
    rig = PEOPLE["biped"]().skeleton()
    assert make_body(rig, height=1.75).mass == pytest.approx(75.0)
    assert make_body(rig, height=0.875).mass == pytest.approx(75.0 / 8.0)


def test_a_glb_file_is_a_body(tmp_path: Path) -> None:
    rig = PEOPLE["vroid"]().turned(Z_UP_TO_Y_UP, 100.0)
    (tmp_path / "hero.glb").write_bytes(glb(gltf_of(rig)))
    made = make_body(tmp_path / "hero.glb")
    own = body_skeleton(PEOPLE["vroid"]().skeleton())
    np.testing.assert_allclose(made.skeleton.offsets, own.skeleton.offsets, atol=1e-6)
    made.write(tmp_path / "hero.xml")
    mujoco.MjModel.from_xml_path(str(tmp_path / "hero.xml"))


@pytest.mark.parametrize(
    ("settings", "rule"),
    [
        ({"mass": -70.0}, "mass -70 kg: must be from 1 to 500 kg"),
        ({"mass": float("nan")}, "mass nan kg"),
        ({"height": 175.0}, "height 175 m: must be from 0.3 to 3 m"),
        ({"roles": "none.roles.json"}, "none.roles.json"),
    ],
)
def test_numbers_out_of_range_are_refused(
    settings: dict[str, float], rule: str, tmp_path: Path
) -> None:
    path = tmp_path / "hero.glb"
    path.write_bytes(glb(gltf_of(PEOPLE["smpl"]().turned(Z_UP_TO_Y_UP))))
    with pytest.raises(AmbuloError, match=rule):
        make_body(path, **settings)


def test_a_dog_is_refused() -> None:
    with pytest.raises(CharacterError, match="rig: no body of this rig: four legs"):
        make_body(dog().skeleton())
