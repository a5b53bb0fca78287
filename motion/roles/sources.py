"""Trees for the role finder from skeletons, MuJoCo models, glTF files and lists of bones."""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import MotionFileError, SkeletonError
from ambulo.configs.reading import open_regular
from ambulo.motion.kinematics import rest_kinematics, tip_positions
from ambulo.motion.roles.names import name_vote
from ambulo.motion.roles.tree import Hinge, RoleTree
from ambulo.motion.rotations import quat_from_matrix, quat_multiply, quat_rotate
from ambulo.motion.skeleton import MAX_JOINTS, Skeleton

if TYPE_CHECKING:
    import mujoco

LIGHT = 1e-6
"""Bodies below this mass, [kg], that neither move nor carry anything are frames."""
MAX_GLTF = 2**28
"""Longest glTF file, [bytes]."""
UP = np.array([0.0, 0.0, 1.0])


def skeleton_tree(skeleton: Skeleton, points: Floats | None = None) -> RoleTree:
    """Return the tree of a skeleton's joints, then its tips.

    Args:
        skeleton: The skeleton, J joints and K tips.
        points: World positions of joints, then tips, in another pose than at rest, of which
            up is not known. Shape (J + K, 3).
    """
    count = len(skeleton)
    up: Floats | None = None
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
        up=up,
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
            if model.jnt_limited[joint]:
                low, high = model.jnt_range[joint]
                hinges.append(Hinge(body - 1, axis, (float(low), float(high))))
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


def gltf_tree(path: Path) -> RoleTree:
    """Return the tree of the joints in a glTF, GLB or VRM file.

    The joints are those of its skins, and the nodes that animations turn where it has none,
    with the nodes between them. The bones that a VRM file names have those names.

    Raises:
        MotionFileError: It is no glTF file, or holds no joints.
    """
    data = _gltf_json(path)
    try:
        return _gltf_joints(path, data)
    except SkeletonError as error:
        raise MotionFileError(path, 0, str(error)) from None
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise MotionFileError(path, 0, f"is no glTF file: {error!r}") from None


def _gltf_joints(path: Path, data: dict[str, Any]) -> RoleTree:
    nodes = data.get("nodes", [])
    if len(nodes) > 16 * MAX_JOINTS:
        raise MotionFileError(path, 0, f"holds {len(nodes)} nodes")
    parents = [-1] * len(nodes)
    for parent, node in enumerate(nodes):
        for child in node.get("children", []):
            parents[child] = parent
    joints = {joint for skin in data.get("skins", []) for joint in skin["joints"]}
    if not joints:
        joints = {
            channel["target"]["node"]
            for clip in data.get("animations", [])
            for channel in clip["channels"]
            if channel["target"].get("path") == "rotation"
        }
    if not joints:
        raise MotionFileError(path, 0, "holds no skin and no animated joints")
    names = {i: str(node.get("name", f"node {i}")) for i, node in enumerate(nodes)}
    names.update(_vrm_names(data))
    order = RoleTree(tuple(parents), np.zeros((len(nodes), 3))).order
    places, turns = np.zeros((len(nodes), 3)), np.tile([1.0, 0, 0, 0], (len(nodes), 1))
    scales = np.ones(len(nodes))
    for node in order:
        offset, turn, scale = _gltf_transform(nodes[node])
        parent = parents[node]
        if parent >= 0:
            offset = (
                quat_rotate(turns[parent], scales[parent] * offset) + places[parent]
            )
            turn = quat_multiply(turns[parent], turn)
            scale = scales[parent] * scale
        places[node], turns[node], scales[node] = offset, turn, scale
    kept = [node for node in order if node in joints]
    index = {node: i for i, node in enumerate(kept)} | {-1: -1}

    def joint_above(node: int) -> int:
        while (node := parents[node]) >= 0 and node not in joints:
            pass
        return index[node]

    return RoleTree(
        tuple(joint_above(node) for node in kept),
        places[kept],
        tuple(names[node] for node in kept),
        up=np.array([0.0, 1.0, 0.0]),
        front=np.array([0.0, 0.0, 1.0]),
    )


def _vrm_names(data: dict[str, Any]) -> dict[int, str]:
    """Names of the humanoid bones of VRM 0 and 1, by node."""
    extensions = data.get("extensions", {})
    for key in ("VRMC_vrm", "VRMC_vrm_animation"):
        bones = extensions.get(key, {}).get("humanoid", {}).get("humanBones", {})
        if bones:
            return {bone["node"]: name for name, bone in bones.items()}
    bones = extensions.get("VRM", {}).get("humanoid", {}).get("humanBones", [])
    return {bone["node"]: bone["bone"] for bone in bones}


def _gltf_transform(node: dict[str, Any]) -> tuple[Floats, Floats, float]:
    """Translation (3,), rotation wxyz (4,) and mean scale of a node."""
    if "matrix" in node:
        matrix = np.array(node["matrix"], dtype=float).reshape(4, 4).T
        scale = float(np.cbrt(abs(np.linalg.det(matrix[:3, :3])))) or 1.0
        return matrix[:3, 3], quat_from_matrix(matrix[:3, :3] / scale), scale
    x, y, z, w = node.get("rotation", (0.0, 0.0, 0.0, 1.0))
    scale = float(np.mean(node.get("scale", (1.0, 1.0, 1.0))))
    offset = np.array(node.get("translation", (0.0, 0.0, 0.0)), dtype=float)
    return offset, np.array([w, x, y, z], dtype=float), scale


def _gltf_json(path: Path) -> dict[str, Any]:
    """The JSON of a glTF file, text or binary."""
    try:
        with open_regular(path) as file:
            head = file.read(20)
            if head[:4] == b"glTF" and len(head) == 20:
                text = file.read(min(struct.unpack("<I", head[12:16])[0], MAX_GLTF))
            else:
                text = head + file.read(MAX_GLTF)
        data = json.loads(text)
    except OSError as error:
        raise MotionFileError(path, 0, f"cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise MotionFileError(path, 0, "is no glTF file") from None
    if not isinstance(data, dict):
        raise MotionFileError(path, 0, "is no glTF file")
    return data
