"""A prepared body as a `Character`, and its checks: a record may come from anybody's file."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from xml.etree import ElementTree

import mujoco
import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.configs.body import BodyRecord
from ambulo.configs.errors import ConfigError, SkeletonError
from ambulo.envs.characters.character import Character
from ambulo.envs.characters.own.body_xml import SOLE, TIP
from ambulo.envs.characters.own.muscles import with_motors, with_muscles
from ambulo.motion.gaits.soles import Soles
from ambulo.motion.rotations import quat_conjugate, quat_multiply, quat_rotate
from ambulo.motion.skeleton import Skeleton
from ambulo.muscle.actuation import MuscleActuation

ELEMENTS = frozenset([
    "mujoco", "compiler", "option", "worldbody", "body", "freejoint", "joint", "inertial",
    "geom", "site", "equality", "actuator", "motor", "general", "tendon", "spatial",
    "pulley",
])  # fmt: skip
"""Elements that the XML of a record may hold: none reads files or loads code."""
MUSCLE = {
    "dyntype": "muscle", "gaintype": "muscle", "biastype": "muscle", "name": None,
    "tendon": None, "ctrllimited": None, "ctrlrange": None, "dynprm": None,
    "gainprm": None, "biasprm": None, "lengthrange": None, "gear": None,
    "forcelimited": None, "forcerange": None,
}  # fmt: skip
"""Attributes of `general` elements, which are muscles alone, and the values of some."""
LARGEST = 10_000
"""Most elements of a record's XML."""
_BALL = int(mujoco.mjtJoint.mjJNT_BALL)


def character_of(record: BodyRecord, *, muscles: bool = False) -> Character:
    """Return the body of a record.

    Args:
        record: The record.
        muscles: Driven by its muscles, and motors where it has none; otherwise by motors.

    Raises:
        ConfigError: It is damaged, or holds what no prepared body does.
    """
    _check_xml(record)
    xml, standing = record.xml, np.array(record.standing)
    try:
        if record.has_muscles:
            xml = with_muscles(xml, standing) if muscles else with_motors(xml)
        model = mujoco.MjModel.from_xml_string(xml)
        skeleton = model_skeleton(record.name, model, record.roles, record.chains)
        soles = model_soles(model, skeleton)
    except (
        ValueError,
        KeyError,
        IndexError,
        SkeletonError,
        mujoco.FatalError,
    ) as error:
        line = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ConfigError(f"body {record.name}: is damaged: {line}") from None
    if standing.shape != (model.nq,) or not np.isfinite(standing).all():
        raise ConfigError(f"body {record.name}: its standing pose is another body's")
    standing.setflags(write=False)
    return Character(
        record.name, model, skeleton, soles, record.gains, standing=standing,
        spec=partial(_spec_of, xml),
        actuation=partial(MuscleActuation, model) if record.has_muscles and muscles else None,
    )  # fmt: skip


def _spec_of(xml: str) -> mujoco.MjSpec:
    return mujoco.MjSpec.from_string(xml)


def _check_xml(record: BodyRecord) -> None:
    """Refuse XML that names files, or elements that prepared bodies do not have."""
    label = f"body {record.name}"
    if re.search(r"<[!?]", record.xml):
        raise ConfigError(f"{label}: its XML has declarations")
    try:
        root = ElementTree.fromstring(record.xml)
    except ElementTree.ParseError as error:
        raise ConfigError(f"{label}: is no XML: {error}") from None
    count = 0
    for element in root.iter():
        count += 1
        if element.tag not in ELEMENTS:
            raise ConfigError(f"{label}: its XML holds <{element.tag}>")
        if {"file", "content_type", "plugin", "mesh", "hfield"} & set(element.keys()):
            raise ConfigError(f"{label}: its XML names another file")
        if element.tag == "general" and not (
            set(element.keys()) <= MUSCLE.keys()
            and all(element.get(key) == value for key, value in MUSCLE.items() if value)
        ):
            raise ConfigError(f"{label}: its XML holds a <general> that is no muscle")
    if count > LARGEST:
        raise ConfigError(f"{label}: its XML has {count} elements; at most {LARGEST}")


def model_skeleton(
    name: str,
    model: mujoco.MjModel,
    roles: Mapping[str, str],
    chains: Mapping[str, Sequence[str]],
) -> Skeleton:
    """The joints of a model whose bodies have one each; those that follow others stay out.

    Args:
        name: Name of the skeleton.
        model: The model in the suite's conventions (`body_xml`).
        roles: The joint of each role.
        chains: The joints that turn the part of each role.

    Raises:
        ValueError: The model is another one.
        SkeletonError: A chain is no row of joints.
    """
    if not np.array_equal(model.jnt_bodyid, np.arange(1, model.nbody)):
        raise ValueError("a body without exactly one joint")
    names = [model.joint(j).name for j in range(model.njnt)]
    if names != [model.body(b).name for b in range(1, model.nbody)]:
        raise ValueError("a joint is not called as its body")
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    tied = {int(model.eq_obj1id[e]) for e in range(model.neq)}
    joints = [j for j in range(model.njnt) if j not in tied]
    index = {names[j]: i for i, j in enumerate(joints)}
    parents, offsets, rest = [-1], [data.xpos[1].copy()], [data.xquat[1].copy()]
    orders, limits = ["ZXY"], [[-np.pi, np.pi]] * 3
    for j in joints[1:]:
        parent = _carrier(model, j + 1, tied)
        back = quat_conjugate(data.xquat[parent])
        parents.append(joints.index(parent - 1))
        offsets.append(quat_rotate(back, data.xpos[j + 1] - data.xpos[parent]))
        rest.append(quat_multiply(back, data.xquat[j + 1]))
        low, high = model.jnt_range[j] if model.jnt_limited[j] else (-np.pi, np.pi)
        if int(model.jnt_type[j]) == _BALL:
            orders.append("ZXY")
            limits += [[-high, high]] * 3
        else:
            orders.append("XYZ"[int(np.abs(model.jnt_axis[j]).argmax())])
            limits.append([low, high])
    sites = [s for s in range(model.nsite) if model.site(s).name.startswith(TIP)]
    owners, tips = [], np.zeros((len(sites), 3))
    for row, site in zip(tips, sites, strict=True):
        place = data.site_xpos[site]
        owner, row[:] = _on_carrier(
            model, data, int(model.site_bodyid[site]), place, tied
        )
        owners.append(index[names[owner - 1]])
    return Skeleton(
        name,
        tuple(names[j] for j in joints),
        tuple(parents),
        np.array(offsets),
        np.array(rest),
        tuple(orders),
        limits=np.array(limits),
        tip_parents=tuple(owners),
        tips=tips,
        roles={role: index[joint] for role, joint in roles.items()},
        chains={
            role: tuple(index[joint] for joint in chain)
            for role, chain in chains.items()
        },
    )


def _carrier(model: mujoco.MjModel, body: int, tied: set[int]) -> int:
    """The nearest body above `body` whose joint follows no other."""
    body = int(model.body_parentid[body])
    while body - 1 in tied:
        body = int(model.body_parentid[body])
    return body


def _on_carrier(
    model: mujoco.MjModel, data: mujoco.MjData, body: int, place: Floats, tied: set[int]
) -> tuple[int, Floats]:
    """`body`, or what carries it if its joint follows another, and a world place on it."""
    if body - 1 in tied:
        body = _carrier(model, body, tied)
    back = quat_conjugate(data.xquat[body])
    return body, quat_rotate(back, place - data.xpos[body])


def model_soles(model: mujoco.MjModel, skeleton: Skeleton) -> Soles:
    """The contact spheres of a model (`body_xml`), by their names.

    Raises:
        ValueError: Those of a foot are missing, or they have unlike radii.
    """
    geoms = [g for g in range(model.ngeom) if model.geom(g).name.startswith(SOLE)]
    radii = model.geom_size[geoms, 0]
    sides = tuple(int(model.geom(g).name[len(SOLE)] == "R") for g in geoms)
    if set(sides) != {0, 1} or np.ptp(radii) > 1e-9:
        raise ValueError("soles of both feet, of one radius, are missing")
    return Soles(
        tuple(
            skeleton.index(model.body(int(model.geom_bodyid[g])).name) for g in geoms
        ),
        model.geom_pos[geoms].copy(),
        float(radii[0]),
        sides,
    )
