"""MJCF of a body that keeps what the suite assumes, written from its links.

One joint a body, of the same name, at the body's origin; hinges about X, Y or Z; the root at
the hips with Z up, facing +X; contact spheres as soles; one motor for each axis. Every number
is written in full, and meshes become capsules and boxes, so that the text is all there is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

import mujoco
import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.envs.characters.own.links import (
    Link,
    LinkGeom,
    LinkTree,
    frame_turn,
    geom_points,
)
from ambulo.envs.characters.own.muscles import MUSCLE_SITE, WRAP, write_muscles
from ambulo.envs.characters.own.soles import FootSole
from ambulo.motion.rotations import quat_from_matrix

SOLE, TIP = "sole:", "tip:"
"""Beginnings of the names of contact spheres and of the sites that mark tips."""
TINY = 1e-9
"""Mass, [kg], and inertia, [kg m^2], of bodies between the hinges of one joint."""
LONG = 1.4
"""A mesh longer than this times its width becomes a capsule, others a box."""


@dataclass(frozen=True, eq=False)
class BodyParts:
    """Parts that a body gets beside its links."""

    soles: tuple[FootSole, ...] = ()
    """Those of the left and the right foot."""
    tips: tuple[tuple[int, Floats], ...] = ()
    """Link and place, (3,), [m], of ends of head, hands and feet."""
    clear: frozenset[int] = frozenset()
    """Links whose shapes do not touch the floor."""
    torques: Mapping[str, float] = field(default_factory=dict)
    """Largest torque of each joint, [N m]; without limit if left out."""
    limp: frozenset[str] = frozenset()
    """Joints that lose their springs and damping."""
    armature: float = 0.0
    """Smallest inertia added to a joint's axis, [kg m^2]."""
    timestep: float = 1.0 / 150.0
    """[s]."""


def joint_names(tree: LinkTree) -> list[list[str]]:
    """Return the name of each joint of each link; the root's is that of its body."""
    used: set[str] = set()

    def fresh(name: str) -> str:
        candidate, count = name, 2
        while candidate in used:
            candidate, count = f"{name}_{count}", count + 1
        used.add(candidate)
        return candidate

    names = [[fresh(joint.name) for joint in link.joints] for link in tree.links]
    names[0] = [fresh(tree.model.body(tree.links[0].bodies[0]).name or "root")]
    return names


def body_xml(tree: LinkTree, name: str, parts: BodyParts | None = None) -> str:
    """Return the MJCF of a body whose links are in our axes, the root's origin at 0."""
    parts = parts or BodyParts()
    root = Element("mujoco", model=name)
    SubElement(
        root, "compiler", angle="radian", autolimits="false", balanceinertia="true"
    )
    SubElement(
        root,
        "option",
        timestep=_text([parts.timestep]),
        integrator="implicitfast",
        iterations="4",
        ls_iterations="8",
    )
    world = SubElement(root, "worldbody")
    floor = {"type": "plane", "size": "0 0 0.05", "contype": "1", "conaffinity": "0"}
    SubElement(world, "geom", floor, name="floor")
    names = joint_names(tree)
    height = -min(
        (float(sole.centers[:, 2].min()) - sole.radius for sole in parts.soles),
        default=0.0,
    )
    ends: list[tuple[Element, Floats, Floats]] = []
    for i, link in enumerate(tree.links):
        if link.parent < 0:
            element = SubElement(
                world, "body", name=names[i][0], pos=f"0 0 {height:.12g}"
            )
            SubElement(element, "freejoint", name=names[i][0])
            origin, turn = np.zeros(3), np.eye(3)
        else:
            element, origin, turn = ends[link.parent]
            element, origin, turn = _chain(
                tree, link, names[i], element, origin, turn, parts
            )
        _inertial(element, link.mass, link.center - origin, link.inertia, turn)
        _shapes(tree, element, link, origin, turn, touches=i not in parts.clear)
        ends.append((element, origin, turn))
    _marks(ends, parts)
    ties = _ties(tree, names)
    if ties:
        section = SubElement(root, "equality")
        for row in ties:
            SubElement(section, "joint", row)
    _motors(root, world, parts)
    write_muscles(root, tree.model, tree.muscles)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def _chain(
    tree: LinkTree,
    link: Link,
    names: list[str],
    element: Element,
    origin: Floats,
    turn: Floats,
    parts: BodyParts,
) -> tuple[Element, Floats, Floats]:
    """A body for each joint of a link, with its place and axes in the world at rest."""
    model = tree.model
    for k, (joint, name) in enumerate(zip(link.joints, names, strict=True)):
        own = frame_turn(joint.axis)
        element = SubElement(
            element,
            "body",
            name=name,
            pos=_text(turn.T @ (joint.anchor - origin)),
            quat=_text(quat_from_matrix(turn.T @ own)),
        )
        origin, turn = joint.anchor, own
        dof = int(model.jnt_dofadr[joint.source])
        values = {
            "damping": model.dof_damping[dof],
            "stiffness": model.jnt_stiffness[joint.source],
            "armature": max(float(model.dof_armature[dof]), parts.armature),
            "frictionloss": model.dof_frictionloss[dof],
        }
        if name in parts.limp:
            values |= {"damping": 0.0, "stiffness": 0.0}
        row = {key: _text([float(value)]) for key, value in values.items() if value}
        at = int(model.jnt_qposadr[joint.source])
        limited = bool(model.jnt_limited[joint.source])
        low, high = (float(v) for v in model.jnt_range[joint.source])
        if joint.axis is None:
            row["type"] = "ball"
        else:
            rest = float(model.qpos0[at])
            spring = joint.sign * (float(model.qpos_spring[at]) - rest)
            low, high = sorted((joint.sign * (low - rest), joint.sign * (high - rest)))
            row["axis"] = _text(np.eye(3)[np.abs(joint.axis).argmax()])
            if "stiffness" in row and spring:
                row["springref"] = _text([spring])
        if limited:
            row |= {"limited": "true", "range": _text([low, high])}
        SubElement(element, "joint", row, name=name)
        if k + 1 < len(names):
            tiny = _text([TINY])
            SubElement(
                element,
                "inertial",
                pos="0 0 0",
                mass=tiny,
                diaginertia=_text([TINY] * 3),
            )
    return element, origin, turn


def _inertial(
    element: Element, mass: float, center: Floats, inertia: Floats, turn: Floats
) -> None:
    """Mass, centre and inertia of a link in its last body's axes."""
    own = turn.T @ inertia @ turn
    row = {"pos": _text(turn.T @ center), "mass": _text([max(mass, TINY)])}
    moments, axes = np.linalg.eigh(0.5 * (own + own.T))
    if np.linalg.det(axes) < 0:
        axes[:, 0] *= -1.0
    row["quat"] = _text(quat_from_matrix(axes))
    row["diaginertia"] = _text(np.maximum(moments, TINY))
    SubElement(element, "inertial", row)


def _shapes(
    tree: LinkTree,
    element: Element,
    link: Link,
    origin: Floats,
    turn: Floats,
    *,
    touches: bool,
) -> None:
    """The shapes of a link: those that collide, else those that are seen; and its muscles'."""
    model = tree.model
    wraps = {shape for muscle in tree.muscles for shape in muscle.shapes}
    seen = [shape for shape in link.geoms if shape.geom not in wraps]
    solid = [
        shape
        for shape in seen
        if model.geom_contype[shape.geom] or model.geom_conaffinity[shape.geom]
    ]
    for shape in link.geoms:
        if shape.geom in wraps:
            kind, place, axes, size = _primitive(model, shape)
            SubElement(
                element,
                "geom",
                name=f"{WRAP}{shape.geom}",
                type=kind,
                pos=_text(turn.T @ (place - origin)),
                quat=_text(quat_from_matrix(turn.T @ axes)),
                size=_text(size),
                contype="0",
                conaffinity="0",
                group="4",
            )
    for site, point in link.sites:
        SubElement(
            element,
            "site",
            name=f"{MUSCLE_SITE}{site}",
            pos=_text(turn.T @ (point - origin)),
            group="4",
        )
    for shape in solid or seen:
        kind, place, axes, size = _primitive(model, shape)
        material = int(model.geom_matid[shape.geom])
        color = (
            model.mat_rgba[material] if material >= 0 else model.geom_rgba[shape.geom]
        )
        SubElement(
            element,
            "geom",
            type=kind,
            pos=_text(turn.T @ (place - origin)),
            quat=_text(quat_from_matrix(turn.T @ axes)),
            size=_text(size),
            contype="0",
            conaffinity=str(int(touches)),
            rgba=" ".join(f"{value:.4g}" for value in color),
        )


def _primitive(
    model: mujoco.MjModel, shape: LinkGeom
) -> tuple[str, Floats, Floats, Floats]:
    """Kind, place, axes and size of a shape; meshes as capsules or boxes."""
    kind = mujoco.mjtGeom(int(model.geom_type[shape.geom]))
    plain = {
        mujoco.mjtGeom.mjGEOM_SPHERE: ("sphere", 1),
        mujoco.mjtGeom.mjGEOM_CAPSULE: ("capsule", 2),
        mujoco.mjtGeom.mjGEOM_CYLINDER: ("cylinder", 2),
        mujoco.mjtGeom.mjGEOM_ELLIPSOID: ("ellipsoid", 3),
        mujoco.mjtGeom.mjGEOM_BOX: ("box", 3),
    }
    if kind in plain:
        name, count = plain[kind]
        return name, shape.place, shape.turn, model.geom_size[shape.geom, :count]
    points, _ = geom_points(model, shape)
    place, axes, half = min(
        (_boxed(points, axes) for axes in (shape.turn, np.eye(3))),
        key=lambda box: float(box[2].prod()),
    )
    order = np.argsort(half)
    if half[order[2]] < LONG * half[order[1]]:
        return "box", place, axes, half
    axes = axes[:, order]
    axes[:, 0] *= np.sign(np.linalg.det(axes))
    radius = float(half[order[:2]].mean())
    return (
        "capsule",
        place,
        axes,
        np.array([radius, max(half[order[2]] - radius, 1e-4)]),
    )


def _boxed(points: Floats, axes: Floats) -> tuple[Floats, Floats, Floats]:
    """Middle, axes and half sizes of the box along `axes` (3, 3) around `points`."""
    local = points @ axes
    low, high = local.min(axis=0), local.max(axis=0)
    return axes @ (0.5 * (low + high)), axes, np.maximum(0.5 * (high - low), 1e-4)


def _marks(ends: list[tuple[Element, Floats, Floats]], parts: BodyParts) -> None:
    """Contact spheres of the soles, and sites at tips."""
    for side, sole in zip("LR", parts.soles, strict=False):
        for n, (center, link) in enumerate(zip(sole.centers, sole.links, strict=True)):
            element, origin, turn = ends[int(link)]
            SubElement(
                element,
                "geom",
                name=f"{SOLE}{side}{n}",
                type="sphere",
                pos=_text(turn.T @ (center - origin)),
                size=_text([sole.radius]),
                contype="0",
                conaffinity="1",
                friction="1 0.005 0.0001",
            )
    for n, (link, place) in enumerate(parts.tips):
        element, origin, turn = ends[link]
        SubElement(
            element, "site", name=f"{TIP}{n}", pos=_text(turn.T @ (place - origin))
        )


def tied_joints(tree: LinkTree, names: list[list[str]]) -> set[str]:
    """Return the names of the joints that follow others (mimic joints)."""
    return {str(row["joint1"]) for row in _ties(tree, names)}


def _ties(tree: LinkTree, names: list[list[str]]) -> list[dict[str, str]]:
    """Equalities of joints, in the angles of the new joints."""
    model = tree.model
    found = {
        joint.source: (name, joint.sign)
        for link, own in zip(tree.links[1:], names[1:], strict=True)
        for joint, name in zip(link.joints, own, strict=True)
    }
    rows = []
    for e in range(model.neq):
        tied, leader = int(model.eq_obj1id[e]), int(model.eq_obj2id[e])
        if (
            int(model.eq_type[e]) != int(mujoco.mjtEq.mjEQ_JOINT)
            or not model.eq_active0[e]
            or tied not in found
            or leader not in found
        ):
            continue
        name, sign = found[tied]
        row = {"joint1": name}
        row["joint2"], other = found[leader]
        powers = sign * other ** np.arange(5)
        rows.append(row | {"polycoef": _text(model.eq_data[e, :5] * powers)})
    return rows


def _motors(root: Element, world: Element, parts: BodyParts) -> None:
    """A motor for each axis that follows no other joint, in the order of the axes."""
    tied = {str(row.get("joint1")) for row in root.iterfind("equality/joint")}
    section = SubElement(root, "actuator")
    for joint in world.iter("joint"):
        name = str(joint.get("name"))
        if name in tied:
            continue
        ball = joint.get("type") == "ball"
        for k in range(3 if ball else 1):
            row = {"name": f"{name}_{'xyz'[k]}" if ball else name, "joint": name}
            if ball:
                row["gear"] = _text([*np.eye(3)[k], 0, 0, 0])
            limit = parts.torques.get(name, 1e6)
            SubElement(
                section, "motor", row, forcelimited="true",
                forcerange=_text([-limit, limit]),
            )  # fmt: skip


def _text(values: Iterable[float]) -> str:
    return " ".join(f"{float(value):.12g}" for value in values)
