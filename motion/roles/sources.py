"""Trees for the role finder from skeletons, MuJoCo models and lists of bones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.motion.kinematics import rest_kinematics, tip_positions
from ambulo.motion.roles.names import name_vote
from ambulo.motion.roles.tree import Hinge, RoleTree
from ambulo.motion.skeleton import Skeleton

if TYPE_CHECKING:
    import mujoco

LIGHT = 1e-6
"""Bodies below this mass, [kg], that neither move nor carry anything are frames."""
UP = np.array([0.0, 0.0, 1.0])
UNLIMITED = (-np.pi, np.pi)


def skeleton_tree(skeleton: Skeleton, points: Floats | None = None) -> RoleTree:
    """Return the tree of a skeleton's joints, then its tips.

    Args:
        skeleton: The skeleton, J joints and K tips.
        points: World positions of joints, then tips, in another pose than at rest, of which
            up is not known. Shape (J + K, 3).
    """
    count = len(skeleton)
    if points is None:
        places, turns = rest_kinematics(skeleton)
        points = np.concatenate([places, tip_positions(skeleton, places, turns)])
    tips = range(count, count + len(skeleton.tip_parents))
    return RoleTree(
        (*skeleton.parents, *skeleton.tip_parents),
        points,
        (
            *skeleton.joints,
            *(f"{skeleton.joints[j]}_end" for j in skeleton.tip_parents),
        ),
        ends=frozenset(tips),
        front=np.array([1.0, 0.0, 0.0]),
    )


def model_tree(model: mujoco.MjModel) -> RoleTree:
    """Return the tree of a MuJoCo model's bodies but the world; node b is body b + 1.

    A body stands where its joints are: at the anchors of balls, and where the axes of hinges
    come nearest to the body's frame. Names of bodies that say nothing are replaced by those
    of their joints.
    """
    import mujoco

    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    places = data.xpos.copy()
    hinges = []
    hinge, ball = int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_BALL)
    anchors: dict[int, list[Floats]] = {}
    for joint in range(model.njnt):
        body, kind = int(model.jnt_bodyid[joint]), int(model.jnt_type[joint])
        if kind not in (hinge, ball):
            continue
        anchor, axis = data.xanchor[joint].copy(), data.xaxis[joint].copy()
        if kind == hinge:
            anchor += axis * ((data.xpos[body] - anchor) @ axis)
            limits = model.jnt_range[joint] if model.jnt_limited[joint] else UNLIMITED
            hinges.append(Hinge(body - 1, axis, (float(limits[0]), float(limits[1]))))
        anchors.setdefault(body, []).append(anchor)
    for body, points in anchors.items():
        places[body] = np.mean(points, axis=0)
    bodies = range(1, model.nbody)
    parents = [int(model.body_parentid[body]) - 1 for body in bodies]
    still = frozenset(b - 1 for b in bodies if not model.body_jntnum[b])
    carrying = set(parents)
    return RoleTree(
        tuple(parents),
        places[1:],
        tuple(_body_name(model, body) for body in bodies),
        ends=frozenset(
            node
            for node in still - carrying
            if model.body_mass[node + 1] < LIGHT and not model.body_geomnum[node + 1]
        ),
        still=still,
        masses=model.body_mass[1:].copy(),
        centers=data.xipos[1:].copy(),
        outlines=_outlines(model, data),
        hinges=tuple(hinges),
    )


def _body_name(model: mujoco.MjModel, body: int) -> str:
    """The first name of a body and its joints that says something, else the body's."""
    first = int(model.body_jntadr[body])
    joints = range(first, first + int(model.body_jntnum[body]))
    names = [model.body(body).name, *(model.joint(j).name for j in joints)]
    return next((name for name in names if name_vote(name).votes), names[0])


def _outlines(model: mujoco.MjModel, data: mujoco.MjData) -> dict[int, Floats]:
    """Corners of the boxes around each body's geoms, by node."""
    import mujoco

    signs = np.array(np.meshgrid(*[[-1.0, 1.0]] * 3)).reshape(3, -1).T
    points: dict[int, list[Floats]] = {}
    for geom in range(model.ngeom):
        body = int(model.geom_bodyid[geom])
        if body and model.geom_type[geom] != int(mujoco.mjtGeom.mjGEOM_PLANE):
            middle, half = model.geom_aabb[geom, :3], model.geom_aabb[geom, 3:]
            turn = data.geom_xmat[geom].reshape(3, 3)
            corners = data.geom_xpos[geom] + (middle + signs * half) @ turn.T
            points.setdefault(body - 1, []).append(corners)
    return {node: np.concatenate(corners) for node, corners in points.items()}


class Bone(NamedTuple):
    """A bone of an armature, such as Blender's edit bones."""

    name: str
    parent: str | None
    """Name of its parent; None for a root."""
    head: tuple[float, float, float]
    """Where it begins."""
    tail: tuple[float, float, float]
    """Where it ends."""


def bone_tree(bones: Sequence[Bone], up: Floats = UP) -> RoleTree:
    """Return the tree of the heads of an armature's bones, then the tails of the last ones.

    Bones that only control or help others should be left out: they copy limbs.
    """
    index = {bone.name: i for i, bone in enumerate(bones)}
    parents = [index.get(bone.parent or "", -1) for bone in bones]
    last = [i for i in range(len(bones)) if i not in parents]
    return RoleTree(
        (*parents, *last),
        np.array(
            [*(b.head for b in bones), *(bones[i].tail for i in last)], dtype=float
        ),
        (*(b.name for b in bones), *(f"{bones[i].name}_end" for i in last)),
        ends=frozenset(range(len(bones), len(bones) + len(last))),
        up=up,
    )
