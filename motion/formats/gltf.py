"""Read the skeleton of a glTF, GLB or VRM file as a motion of one frame, its rest pose.

Animations and meshes are not read.
"""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import MotionFileError, SkeletonError
from ambulo.configs.reading import open_regular
from ambulo.motion.formats.axes import (
    CMU_AXES,
    Axes,
    likely_units,
    longest_path,
    metres_per_unit,
)
from ambulo.motion.motion import Motion
from ambulo.motion.roles.tree import RoleTree
from ambulo.motion.rotations import (
    quat_conjugate,
    quat_from_matrix,
    quat_multiply,
    quat_normalize,
    quat_rotate,
)
from ambulo.motion.skeleton import MAX_JOINTS, Skeleton

ENDINGS = (".glb", ".gltf", ".vrm")
"""File name extensions of glTF."""
MAX_FILE = 2**28
"""Largest accepted glTF file, [bytes]."""


def read_gltf(path: Path, units: str | float = "auto", axes: Axes = CMU_AXES) -> Motion:
    """Return the rest pose of the joints in a glTF, GLB or VRM file, one frame.

    The joints are those of its skins, or without skins the nodes that animations rotate. The
    bones that a VRM file names have those names.

    Args:
        path: The file.
        units: As for `read_bvh_motion`.
        axes: Up and forward directions of the file.

    Raises:
        MotionFileError: The file is no glTF file, or has no joints.
    """
    skeleton = _read(path)
    scale = metres_per_unit(_units(skeleton) if units == "auto" else units)
    skeleton = skeleton.replace(
        offsets=axes.to_ours(skeleton.offsets) * scale,
        rest=axes.quat_to_ours(skeleton.rest),
    )
    still = np.tile([1.0, 0.0, 0.0, 0.0], (1, len(skeleton), 1))
    return Motion(skeleton, 30.0, skeleton.offsets[:1], still, name=path.stem)


def gltf_units(path: Path) -> str:
    """Return the unit of length that `read_gltf` uses for "auto"; errors as there."""
    return _units(_read(path))


def _read(path: Path) -> Skeleton:
    """The joints of a file in its unit and axes; errors as of `read_gltf`."""
    data = _json(path)
    try:
        return _skeleton(path, data)
    except SkeletonError as error:
        raise MotionFileError(path, 0, str(error)) from None
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise MotionFileError(path, 0, f"is no glTF file: {error!r}") from None


def _units(skeleton: Skeleton) -> str:
    """The unit that gives a skeleton the size of a human."""
    ends = np.zeros(len(skeleton))
    return likely_units(longest_path(skeleton.parents, skeleton.offsets, ends))


def _skeleton(path: Path, data: dict[str, Any]) -> Skeleton:
    """The joints in the unit and axes of the file.

    Several root joints are attached to a new root at the origin.
    """
    nodes = data.get("nodes", [])
    if len(nodes) > 16 * MAX_JOINTS:
        raise MotionFileError(path, 0, f"holds {len(nodes)} nodes")
    parents = [-1] * len(nodes)
    for parent, node in enumerate(nodes):
        for child in node.get("children", []):
            parents[child] = parent
    joints = _joints(data)
    if not joints:
        raise MotionFileError(path, 0, "holds no skin and no animated joints")
    order = RoleTree(tuple(parents), np.zeros((len(nodes), 3))).order
    places, turns = _world(nodes, parents, order)
    kept = [node for node in order if node in joints]
    if len(kept) < len(joints):
        raise MotionFileError(path, 0, f"is no glTF file: no node {max(joints)}")
    index = {node: i for i, node in enumerate(kept)} | {-1: -1}

    def joint_above(node: int) -> int:
        while (node := parents[node]) >= 0 and node not in joints:
            pass
        return index[node]

    above = [joint_above(node) for node in kept]
    names = {i: str(node.get("name", f"node {i}")) for i, node in enumerate(nodes)}
    names.update(_vrm_names(data))
    labels = [names[node] for node in kept]
    points, quats = places[kept], turns[kept]
    if above.count(-1) > 1:
        above = [-1, *(parent + 1 for parent in above)]
        labels.insert(0, "root")
        points = np.concatenate([np.zeros((1, 3)), points])
        quats = np.concatenate([[[1.0, 0.0, 0.0, 0.0]], quats])
    held = [max(parent, 0) for parent in above]
    inverse = quat_conjugate(quats[held])
    offsets = quat_rotate(inverse, points - points[held])
    rest = quat_multiply(inverse, quats)
    offsets[0], rest[0] = points[0], quats[0]
    rest = quat_normalize(rest)
    return Skeleton(path.stem, _unique(labels), tuple(above), offsets, rest)


def _joints(data: dict[str, Any]) -> set[int]:
    """Nodes of skins, or else those that animations rotate."""
    joints = {joint for skin in data.get("skins", []) for joint in skin["joints"]}
    return joints or {
        channel["target"]["node"]
        for clip in data.get("animations", [])
        for channel in clip["channels"]
        if channel["target"].get("path") == "rotation"
    }


def _unique(names: list[str]) -> tuple[str, ...]:
    """Names made unique by a number."""
    seen: dict[str, None] = {}
    for name in names:
        own, count = name, 1
        while own in seen:
            count += 1
            own = f"{name}.{count}"
        seen[own] = None
    return tuple(seen)


def _world(
    nodes: list[dict[str, Any]], parents: list[int], order: tuple[int, ...]
) -> tuple[Floats, Floats]:
    """World positions (N, 3) and orientations wxyz (N, 4) of all nodes."""
    places, turns = np.zeros((len(nodes), 3)), np.tile([1.0, 0, 0, 0], (len(nodes), 1))
    scales = np.ones(len(nodes))
    for node in order:
        offset, turn, scale = _transform(nodes[node])
        parent = parents[node]
        if parent >= 0:
            offset = (
                quat_rotate(turns[parent], scales[parent] * offset) + places[parent]
            )
            turn = quat_multiply(turns[parent], turn)
            scale = scales[parent] * scale
        places[node], turns[node], scales[node] = offset, turn, scale
    return places, turns


def _vrm_names(data: dict[str, Any]) -> dict[int, str]:
    """Names of the humanoid bones of VRM 0 and 1, by node."""
    extensions = data.get("extensions", {})
    for key in ("VRMC_vrm", "VRMC_vrm_animation"):
        bones = extensions.get(key, {}).get("humanoid", {}).get("humanBones", {})
        if bones:
            return {bone["node"]: name for name, bone in bones.items()}
    bones = extensions.get("VRM", {}).get("humanoid", {}).get("humanBones", [])
    return {bone["node"]: bone["bone"] for bone in bones}


def _transform(node: dict[str, Any]) -> tuple[Floats, Floats, float]:
    """Translation (3,), rotation wxyz (4,) and mean scale of a node."""
    if "matrix" in node:
        matrix = np.array(node["matrix"], dtype=float).reshape(4, 4).T
        scale = float(np.cbrt(abs(np.linalg.det(matrix[:3, :3])))) or 1.0
        return matrix[:3, 3], quat_from_matrix(matrix[:3, :3] / scale), scale
    x, y, z, w = node.get("rotation", (0.0, 0.0, 0.0, 1.0))
    scale = float(np.mean(node.get("scale", (1.0, 1.0, 1.0))))
    offset = np.array(node.get("translation", (0.0, 0.0, 0.0)), dtype=float)
    return offset, np.array([w, x, y, z], dtype=float), scale


def _json(path: Path) -> dict[str, Any]:
    """The JSON of a glTF file, text or binary."""
    try:
        with open_regular(path) as file:
            head = file.read(20)
            if head[:4] == b"glTF" and len(head) == 20:
                text = file.read(min(struct.unpack("<I", head[12:16])[0], MAX_FILE))
            else:
                text = head + file.read(MAX_FILE)
        data = json.loads(text)
    except OSError as error:
        raise MotionFileError(path, 0, f"cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise MotionFileError(path, 0, "is no glTF file") from None
    if not isinstance(data, dict):
        raise MotionFileError(path, 0, "is no glTF file")
    return data
