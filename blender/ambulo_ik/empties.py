"""The targets as empties: created at the bones, read as targets of the solver."""

from __future__ import annotations

from collections.abc import Sequence

import bpy
import numpy as np
from bpy.types import Collection, Context, Object

from ambulo.ik.rig import TARGETS
from ambulo.ik.solver.targets import Targets
from ambulo.motion.rotations import (
    quat_conjugate,
    quat_from_matrix,
    quat_multiply,
    quat_rotate,
)

from .binding import Binding
from .properties import AmbuloTarget, targets_of

COLLECTION = "Ambulo IK targets"
SIZE = 0.12
"""Drawn size of an empty, [m]."""


def add_empties(
    context: Context,
    armature: Object,
    binding: Binding,
    names: Sequence[str] = TARGETS,
) -> None:
    """Add empties at the bones for targets of `armature` that have none."""
    for row, target in enumerate(targets_of(armature)):
        if target.name not in names or has_empty(context, target):
            continue
        empty = bpy.data.objects.new(f"{armature.name} {TARGETS[row]}", None)
        empty.empty_display_type = "ARROWS" if TARGETS[row] != "Hips" else "CUBE"
        empty.empty_display_size = SIZE
        empty.show_in_front = True
        empty.rotation_mode = "QUATERNION"
        _collection(context).objects.link(empty)
        target.empty = empty
        move_to_bone(armature, binding, row, empty)
    context.view_layer.update()


def has_empty(context: Context, target: AmbuloTarget) -> bool:
    """Whether `target` has an empty in the scene."""
    return target.empty is not None and target.empty.name in context.scene.objects


def adopt_empties(context: Context, armature: Object) -> list[str]:
    """Adopt empties by name for targets without one; return these names."""
    taken = {
        row.empty
        for other in context.scene.objects
        if other.type == "ARMATURE"
        for row in other.ambulo_ik.targets
    }
    adopted = []
    for target in targets_of(armature):
        found = context.scene.objects.get(target.name)
        if found is None or has_empty(context, target) or found in taken:
            continue
        if found.type == "EMPTY":
            target.empty = found
            adopted.append(target.name)
    return adopted


def move_to_bone(armature: Object, binding: Binding, row: int, empty: Object) -> None:
    """Move `empty` to the bone of target `row`, with its orientation."""
    bone = armature.pose.bones[binding.names[binding.rig.effectors[row]]]
    where = armature.matrix_world @ bone.matrix
    empty.matrix_world = where.normalized()


def read_targets(armature: Object, binding: Binding) -> Targets:
    """The targets of the empties of `armature`, in our frame."""
    rows = len(TARGETS)
    matrices = np.tile(np.eye(4), (rows, 1, 1))
    weights = np.zeros((2, rows))
    back = armature.matrix_world.inverted()
    for row, target in enumerate(targets_of(armature)):
        if target.empty is None:
            continue
        matrices[row] = back @ target.empty.matrix_world
        weights[:, row] = target.position_weight, target.rotation_weight
    columns = matrices[:, :3, :3]
    columns = columns / np.linalg.norm(columns, axis=-2, keepdims=True)
    joints = list(binding.rig.effectors)
    turned = quat_multiply(binding.turn, quat_from_matrix(columns))
    return Targets(
        positions=binding.scale * quat_rotate(binding.turn, matrices[:, :3, 3])[None],
        rotations=quat_multiply(turned, quat_conjugate(binding.axes[joints]))[None],
        position_weights=weights[:1],
        rotation_weights=weights[1:],
    )


def _collection(context: Context) -> Collection:
    result = bpy.data.collections.get(COLLECTION)
    if result is None:
        result = bpy.data.collections.new(COLLECTION)
    if COLLECTION not in context.scene.collection.children:
        context.scene.collection.children.link(result)
    return result
