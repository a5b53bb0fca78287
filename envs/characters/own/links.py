"""A body as links: rigid parts with their mass, shapes, and the joints to their parents.

Everything is at rest and in one set of axes, so that the tree can be hung up anywhere and its
frames can be chosen anew. The mechanics stay those of the model.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import mujoco
import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import ConfigError
from ambulo.envs.characters.own.muscles import Muscle, muscles_of
from ambulo.motion.rotations import quat_between, quat_to_matrix

_FREE, _BALL = int(mujoco.mjtJoint.mjJNT_FREE), int(mujoco.mjtJoint.mjJNT_BALL)
_SLIDE, _HINGE = int(mujoco.mjtJoint.mjJNT_SLIDE), int(mujoco.mjtJoint.mjJNT_HINGE)


@dataclass(frozen=True, eq=False)
class LinkJoint:
    """A hinge or ball joint at rest, between a link and the one that it hangs on."""

    name: str
    """The joint's name, or its body's."""
    source: int
    """Its index in the model."""
    anchor: Floats
    """Where it turns, [m]. Shape (3,)."""
    axis: Floats | None
    """Axis of a hinge, a unit vector (3,); None for a ball."""
    sign: float = 1.0
    """-1 where its angle counts the other way than the model's."""


@dataclass(frozen=True, eq=False)
class LinkGeom:
    """A shape."""

    geom: int
    """Its index in the model."""
    place: Floats
    """Its middle, [m]. Shape (3,)."""
    turn: Floats
    """Its axes as columns. Shape (3, 3)."""


@dataclass(frozen=True, eq=False)
class Link:
    """A rigid part: a body and all that is welded to it."""

    bodies: tuple[int, ...]
    """Its bodies in the model."""
    mass: float
    """[kg]."""
    center: Floats
    """Centre of mass, [m]. Shape (3,)."""
    inertia: Floats
    """About the centre, [kg m^2]. Shape (3, 3)."""
    geoms: tuple[LinkGeom, ...]
    """Its shapes."""
    parent: int = -1
    """Index of the link that it hangs on; -1 for the root."""
    joints: tuple[LinkJoint, ...] = ()
    """Joints between its parent and it, from the parent outwards."""
    sites: tuple[tuple[int, Floats], ...] = ()
    """Its sites of muscles: index in the model, and place, (3,), [m]."""


@dataclass(frozen=True, eq=False)
class LinkTree:
    """Links of one body."""

    model: mujoco.MjModel
    """The model that they are of."""
    links: tuple[Link, ...]
    """The root first, parents before children."""
    notes: tuple[str, ...] = ()
    """Parts that were locked or left out, a line each."""
    of_body: dict[int, int] = field(default_factory=dict)
    """Link of each body of the model."""
    muscles: tuple[Muscle, ...] = ()
    """Muscles whose ends are all on it."""


def links_of(model: mujoco.MjModel, top: int) -> LinkTree:
    """Return the links of the body `top` and all below it, at the model's rest.

    Slides are locked at rest, hinges where an equality holds them. Joints keep their order.

    Raises:
        ConfigError: Something below the root is free, or a loop is closed.
    """
    data = mujoco.MjData(model)
    held = held_joints(model)
    for joint, angle in held.items():
        data.qpos[model.jnt_qposadr[joint]] += angle
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    below = branch_of(model, top)
    _refuse_loops(model, set(below))
    notes = []
    rows: list[list[int]] = []
    parents: list[int] = []
    joints: list[tuple[LinkJoint, ...]] = []
    of_body: dict[int, int] = {}
    locked = []
    for body in below:
        own = []
        first = int(model.body_jntadr[body])
        for j in range(first, first + int(model.body_jntnum[body])):
            kind = int(model.jnt_type[j])
            name = model.joint(j).name or model.body(body).name or f"joint{j}"
            if body != top and (kind == _SLIDE or j in held):
                locked.append(name)
            elif kind == _FREE and body != top:
                raise ConfigError(
                    f"joint {name!r} is free below the root {model.body(top).name!r}: a body"
                    " has one root"
                )
            elif kind in (_HINGE, _BALL) and body != top:
                axis = data.xaxis[j].copy() if kind == _HINGE else None
                own.append(LinkJoint(name, j, data.xanchor[j].copy(), axis))
        if body == top or own:
            of_body[body] = len(rows)
            rows.append([body])
            parents.append(
                -1 if body == top else of_body[int(model.body_parentid[body])]
            )
            joints.append(tuple(own))
        else:
            of_body[body] = of_body[int(model.body_parentid[body])]
            rows[of_body[body]].append(body)
    if locked:
        notes.append(f"locked: {', '.join(locked[:4])}")
    muscles, others = muscles_of(model)
    if others:
        notes.append(
            f"{len(others)} muscles without a spatial tendon are left out: {others[0]}"
        )
    sites = {site for muscle in muscles for site in muscle.sites}
    links = tuple(
        replace(_link(model, data, bodies, sites), parent=parent, joints=own)
        for bodies, parent, own in zip(rows, parents, joints, strict=True)
    )
    own_sites = {site for link in links for site, _ in link.sites}
    return LinkTree(
        model,
        links,
        tuple(notes),
        of_body,
        tuple(muscle for muscle in muscles if muscle.sites <= own_sites),
    )


def held_joints(model: mujoco.MjModel) -> dict[int, float]:
    """Return the hinges that an active equality holds at an angle, and it from rest, [rad]."""
    return {
        int(model.eq_obj1id[e]): float(model.eq_data[e, 0])
        for e in range(model.neq)
        if int(model.eq_type[e]) == int(mujoco.mjtEq.mjEQ_JOINT)
        and model.eq_active0[e]
        and int(model.eq_obj2id[e]) < 0
    }


def branch_of(model: mujoco.MjModel, top: int) -> list[int]:
    """Return a body and all below it in the model."""
    inside = [top]
    for body in range(top + 1, model.nbody):
        if int(model.body_parentid[body]) in inside:
            inside.append(body)
    return inside


def _refuse_loops(model: mujoco.MjModel, below: set[int]) -> None:
    """Refuse `connect` and `weld` equalities between two bodies of the tree."""
    kinds = (int(mujoco.mjtEq.mjEQ_CONNECT), int(mujoco.mjtEq.mjEQ_WELD))
    for e in range(model.neq):
        if int(model.eq_type[e]) not in kinds or not model.eq_active0[e]:
            continue
        pair = [int(model.eq_obj1id[e]), int(model.eq_obj2id[e])]
        if int(model.eq_objtype[e]) == int(mujoco.mjtObj.mjOBJ_SITE):
            pair = [int(model.site_bodyid[site]) for site in pair]
        if set(pair) <= below:
            a, b = (model.body(body).name for body in pair)
            raise ConfigError(
                f"{a!r} and {b!r} close a loop (equality connect or weld): the joints of a"
                " body must be a tree"
            )


def _link(
    model: mujoco.MjModel, data: mujoco.MjData, bodies: list[int], sites: set[int]
) -> Link:
    """Mass, shapes and `sites` of welded bodies."""
    masses = model.body_mass[bodies]
    mass = float(masses.sum())
    centers = data.xipos[bodies]
    center = masses @ centers / mass if mass > 0 else centers[0].copy()
    inertia = np.zeros((3, 3))
    for body, own, place in zip(bodies, masses, centers, strict=True):
        turn = data.ximat[body].reshape(3, 3)
        arm = place - center
        inertia += turn @ np.diag(model.body_inertia[body]) @ turn.T
        inertia += own * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    plane, field_ = int(mujoco.mjtGeom.mjGEOM_PLANE), int(mujoco.mjtGeom.mjGEOM_HFIELD)
    geoms = tuple(
        LinkGeom(g, data.geom_xpos[g].copy(), data.geom_xmat[g].reshape(3, 3).copy())
        for g in range(model.ngeom)
        if int(model.geom_bodyid[g]) in bodies
        and int(model.geom_type[g]) not in (plane, field_)
    )
    return Link(
        tuple(bodies),
        mass,
        np.asarray(center),
        inertia,
        geoms,
        sites=tuple(
            (site, data.site_xpos[site].copy())
            for site in sorted(sites)
            if int(model.site_bodyid[site]) in bodies
        ),
    )


def turned(tree: LinkTree, turn: Floats, origin: Floats) -> LinkTree:
    """Return the links in other axes: the rows of `turn` (3, 3), from `origin` (3,)."""

    def place(point: Floats) -> Floats:
        moved: Floats = turn @ (point - origin)
        return moved

    return replace(
        tree,
        links=tuple(
            replace(
                link,
                center=place(link.center),
                inertia=turn @ link.inertia @ turn.T,
                sites=tuple((site, place(point)) for site, point in link.sites),
                geoms=tuple(
                    replace(g, place=place(g.place), turn=turn @ g.turn)
                    for g in link.geoms
                ),
                joints=tuple(
                    replace(
                        joint,
                        anchor=place(joint.anchor),
                        axis=None if joint.axis is None else turn @ joint.axis,
                    )
                    for joint in link.joints
                ),
            )
            for link in tree.links
        ),
    )


def rooted(tree: LinkTree, root: int) -> LinkTree:
    """Return the links hung on the link `root`; joints on the way to it are reversed.

    Angles keep their signs: a reversed hinge turns about the opposite axis.
    """
    links = list(tree.links)
    path = [root]
    while links[path[-1]].parent >= 0:
        path.append(links[path[-1]].parent)
    for child, parent in zip(path[-2::-1], path[:0:-1], strict=True):
        reversed_joints = tuple(
            replace(joint, axis=None if joint.axis is None else -joint.axis)
            for joint in reversed(tree.links[child].joints)
        )
        links[parent] = replace(links[parent], parent=child, joints=reversed_joints)
    links[root] = replace(links[root], parent=-1, joints=())
    order = [root]
    for link in order:
        order.extend(i for i, one in enumerate(links) if one.parent == link)
    index = {link: i for i, link in enumerate(order)} | {-1: -1}
    return replace(
        tree,
        links=tuple(
            replace(links[link], parent=index[links[link].parent]) for link in order
        ),
        of_body={body: index[link] for body, link in tree.of_body.items()},
    )


def with_plain_axes(tree: LinkTree) -> LinkTree:
    """Return the links with hinges whose axes point along X, Y or Z rather than against."""

    def plain(joint: LinkJoint) -> LinkJoint:
        if joint.axis is None or joint.axis[np.abs(joint.axis).argmax()] > 0:
            return joint
        return replace(joint, axis=-joint.axis, sign=-joint.sign)

    return replace(
        tree,
        links=tuple(
            replace(link, joints=tuple(plain(joint) for joint in link.joints))
            for link in tree.links
        ),
    )


def geom_points(model: mujoco.MjModel, shape: LinkGeom) -> tuple[Floats, float]:
    """Return points (n, 3) whose hull, thickened by a radius, is a shape, [m]."""
    kind = mujoco.mjtGeom(int(model.geom_type[shape.geom]))
    local, radius = _POINTS.get(kind, _box)(model, shape.geom)
    points: Floats = shape.place + local @ shape.turn.T
    return points, radius


def _box(model: mujoco.MjModel, geom: int) -> tuple[Floats, float]:
    signs = np.array(np.meshgrid(*[[-1.0, 1.0]] * 3)).reshape(3, -1).T
    return model.geom_aabb[geom, :3] + signs * model.geom_aabb[geom, 3:], 0.0


def _sphere(model: mujoco.MjModel, geom: int) -> tuple[Floats, float]:
    return np.zeros((1, 3)), float(model.geom_size[geom, 0])


def _capsule(model: mujoco.MjModel, geom: int) -> tuple[Floats, float]:
    ends = np.array([[0.0, 0.0, -1.0], [0.0, 0.0, 1.0]]) * model.geom_size[geom, 1]
    return ends, float(model.geom_size[geom, 0])


def _cylinder(model: mujoco.MjModel, geom: int) -> tuple[Floats, float]:
    angle = np.linspace(0.0, 2.0 * np.pi, 12, endpoint=False)
    ring = model.geom_size[geom, 0] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    half = np.full((12, 1), model.geom_size[geom, 1])
    return np.concatenate([np.hstack([ring, half]), np.hstack([ring, -half])]), 0.0


def _ellipsoid(model: mujoco.MjModel, geom: int) -> tuple[Floats, float]:
    u, v = np.meshgrid(np.linspace(0, np.pi, 9), np.linspace(0, 2 * np.pi, 13))
    unit = np.stack([np.sin(u) * np.cos(v), np.sin(u) * np.sin(v), np.cos(u)], axis=-1)
    return unit.reshape(-1, 3) * model.geom_size[geom], 0.0


def _mesh(model: mujoco.MjModel, geom: int) -> tuple[Floats, float]:
    mesh = int(model.geom_dataid[geom])
    first, count = int(model.mesh_vertadr[mesh]), int(model.mesh_vertnum[mesh])
    return model.mesh_vert[first : first + count].astype(np.float64), 0.0


_POINTS: dict[mujoco.mjtGeom, Callable[[mujoco.MjModel, int], tuple[Floats, float]]] = {
    mujoco.mjtGeom.mjGEOM_SPHERE: _sphere,
    mujoco.mjtGeom.mjGEOM_CAPSULE: _capsule,
    mujoco.mjtGeom.mjGEOM_CYLINDER: _cylinder,
    mujoco.mjtGeom.mjGEOM_ELLIPSOID: _ellipsoid,
    mujoco.mjtGeom.mjGEOM_MESH: _mesh,
}


def frame_turn(axis: Floats | None) -> Floats:
    """Return the smallest rotation (3, 3) that puts a coordinate axis on `axis` (3,)."""
    if axis is None:
        return np.eye(3)
    main = np.eye(3)[np.abs(axis).argmax()]
    turn: Floats = quat_to_matrix(quat_between(main, axis))
    return turn
