"""Characters for Godot: a body with its skin and its gait, in one file of data.

The skeleton's bones have the names of Godot's humanoid profile.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ambulo.ik.avatar.layout import EYES, STATURE, sole, stature
from ambulo.ik.avatar.table import GaitTable
from ambulo.motion.kinematics import rest_positions
from ambulo.motion.skinning.shape import COLOURS
from ambulo.motion.skinning.skin import Skin, body_skin
from ambulo.policies.agents.avatar import bake_gait_table
from ambulo.policies.agents.gait_network import GaitNetwork
from ambulo.policies.export.written import Written, pack_arrays
from ambulo.policies.files.archive import write_atomic

MAGIC = b"AMBULOC1"
"""First bytes of the file; the last one is the version of the format."""

BONES: dict[str, str] = {
    "Pelvis": "Hips", "Spine": "Spine", "Torso": "Chest", "Neck": "Neck", "Head": "Head",
    "Shoulder": "Shoulder", "Arm": "UpperArm", "ForeArm": "LowerArm", "Hand": "Hand",
    "Femur": "UpperLeg", "Tibia": "LowerLeg", "Talus": "Foot", "FootThumb": "Toes",
    "FootPinky": "SmallToes",
}  # fmt: skip
"""Godot's name of each joint, without the side. SmallToes is not in Godot's profile."""


def export_character(network: GaitNetwork, path: Path) -> Written:
    """Write the healthy adult with the gait of a network for the Godot add-on.

    Raises:
        ModelFileError: The file cannot be written.
    """
    table = bake_gait_table(network)
    write_atomic(path, pack_character(table, body_skin(table.skeleton)))
    return Written((path,), ("gait parameters other than the speed",))


def pack_character(table: GaitTable, skin: Skin) -> bytes:
    """Return the file's bytes; the same body gives the same ones."""
    skeleton = table.skeleton
    size = stature(skeleton) / STATURE
    arrays: dict[str, NDArray[Any]] = {
        "offsets": skeleton.offsets, "rest": rest_positions(skeleton),
        "sole": sole(skeleton), "eyes": size * np.array(EYES), **table.arrays(),
        "vertices": skin.vertices, "normals": skin.normals, "triangles": skin.triangles,
        "vertex_joints": skin.joints, "vertex_weights": skin.weights,
        "vertex_colours": skin.colours, "colours": np.array(COLOURS),
    }  # fmt: skip
    header = {
        "kind": "character",
        "joints": list(skeleton.joints),
        "parents": list(skeleton.parents),
        "bones": [bone_name(joint) for joint in skeleton.joints],
    }
    return pack_arrays(MAGIC, header, arrays)


def bone_name(joint: str) -> str:
    """Return the name that a joint of human23 has in Godot."""
    side = {"L": "Left", "R": "Right"}.get(joint[-1], "")
    if side and joint[:-1] in BONES:
        return side + BONES[joint[:-1]]
    return BONES[joint]
