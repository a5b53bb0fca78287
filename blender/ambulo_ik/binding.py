"""Binding of an armature to a rig: proportions, and reading and writing of poses.

Any armature with the rig's bone names is supported: other proportions, other rest axes (an
imported BVH file), another facing, an A pose at rest, another scale of the object. Frames:

- armature space: Blender's, that of `pose_bone.matrix` and `bone.matrix_local`;
- ours: metres, Z up, the character at rest facing +X, the origin of the object as origin.

With B the turn about Z from armature space to ours and s the scale of the object,
p_ours = s B p. With A the rest axes of a bone in armature space, W those of our joint at
rest, and D the turn that brings the armature's rest pose to our T pose, a bone oriented O
in armature space has the orientation B O K^-1 in ours, K = W^-1 D B A.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
from bpy.types import Bone, Object, PoseBone
from mathutils import Matrix, Quaternion, Vector

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import AmbuloError, nearest
from ambulo.ik.pose import Pose
from ambulo.ik.rig import Rig
from ambulo.motion.kinematics import forward_kinematics, rest_kinematics
from ambulo.motion.rotations import (
    quat_between,
    quat_conjugate,
    quat_from_matrix,
    quat_from_yaw,
    quat_multiply,
    quat_normalize,
    quat_rotate,
)

STRAIGHT = {"Arm": "ForeArm", "ForeArm": "Hand", "Thigh": "Shin", "Shin": "Foot"}
"""Bones that an A pose rotates, and the child that shows their direction."""

FOLLOWS = {"Hand": "ForeArm", "ToeBase": "Foot"}
"""Bones that keep their position relative to another when that is brought to the T pose."""

SNAP = np.deg2rad(2.0)
"""Angle to an axis within which a character faces it exactly, [rad]."""

UNEVEN = 1e-4
"""Relative difference between an object's scales above which it is refused."""


class BindingError(AmbuloError):
    """An armature that does not fit the rig; the text names the bone and the rule."""


@dataclass(frozen=True, eq=False)
class Binding:
    """The constants between an armature object and a rig of its proportions, J joints."""

    rig: Rig
    """The rig with the armature's own lengths: what solvers and kinematics compute on."""
    names: tuple[str, ...]
    """The bone of each joint."""
    scale: float
    """Metres per unit of armature space."""
    turn: Floats
    """B: from armature space to ours, wxyz. Shape (4,)."""
    axes: Floats
    """K: our frame of a joint to the bone's, wxyz. Shape (J, 4)."""
    before: Floats
    """P: a bone's own rotation is P q K, q our local rotation. Shape (J, 4)."""
    size: float
    """Sum of its bone lengths, over that of the original rig."""

    def bones(self, armature: Object) -> list[PoseBone]:
        """The pose bones of `armature`, in the order of the joints."""
        return [armature.pose.bones[name] for name in self.names]


def bind(armature: Object, rig: Rig) -> Binding:
    """The binding of `armature` to the joints of `rig`.

    Raises:
        BindingError: Bones are missing, have other parents than in the rig, do not inherit
            rotations, or the object is scaled unevenly.
    """
    skeleton = rig.skeleton
    if armature is None or armature.type != "ARMATURE":
        raise BindingError("select an armature first")
    scale = even_scale(armature)
    bones = [_bone(armature, name) for name in skeleton.joints]
    for joint, parent in enumerate(skeleton.parents):
        _check_bone(bones[joint], None if parent < 0 else bones[parent])
    heads = np.array([bone.head_local for bone in bones], dtype=np.float64)
    axes = quat_from_matrix(
        np.array(
            [bone.matrix_local.to_3x3().normalized() for bone in bones], np.float64
        )
    )
    turn = quat_from_yaw(np.array(-facing(skeleton.joints, heads)))
    rest = rest_kinematics(skeleton)[1]
    places = scale * quat_rotate(turn, heads)
    ready = _to_t_pose(rig, places)
    parents = np.maximum(np.array(skeleton.parents), 0)
    steps = quat_rotate(ready[parents], places - places[parents])
    offsets = quat_rotate(quat_conjugate(rest[parents]), steps)
    offsets[0] = places[0]
    k = quat_multiply(
        quat_conjugate(rest), quat_multiply(ready, quat_multiply(turn, axes))
    )
    between = quat_multiply(quat_conjugate(axes[parents]), axes)
    before = quat_multiply(
        quat_multiply(quat_conjugate(between), quat_conjugate(k[parents])),
        skeleton.rest,
    )
    # Not the height of the hips: an imported clip may have them at the origin at rest.
    ours_long = np.linalg.norm(skeleton.offsets[1:], axis=1).sum()
    size = float(np.linalg.norm(offsets[1:], axis=1).sum() / ours_long)
    return Binding(
        rig=dataclasses.replace(
            rig,
            skeleton=skeleton.replace(offsets=offsets, tips=skeleton.tips * size),
            start_height=rig.start_height * size,
        ),
        names=skeleton.joints,
        scale=scale,
        turn=turn,
        axes=quat_normalize(k),
        before=quat_normalize(before),
        size=size,
    )


def even_scale(armature: Object) -> float:
    """The scale of `armature` in the world, which must be the same along all axes."""
    scales = np.array(armature.matrix_world.to_scale(), dtype=np.float64)
    mean = float(scales.mean())
    if mean <= 0.0 or np.abs(scales - mean).max() > UNEVEN * mean:
        raise BindingError(
            f"{armature.name}: scaled by {scales.round(4).tolist()}; "
            "apply the scale, or scale it evenly"
        )
    # Of a single-precision matrix: 0.99999994 is 1.
    return float(round(mean, 6))


def facing(joints: tuple[str, ...], heads: Floats) -> float:
    """Heading of the character at rest, about Z from +X, [rad]: right of its left.

    Args:
        joints: Names of J bones, the thighs among them.
        heads: Their heads in armature space. Shape (J, 3).
    """
    left = heads[joints.index("LeftThigh")] - heads[joints.index("RightThigh")]
    if np.hypot(left[0], left[1]) < 1e-6:
        raise BindingError("the thighs stand in one place: which way does it face?")
    yaw = float(np.arctan2(-left[0], left[1]))  # left turned by -90 degrees
    nearest_axis = round(yaw / (np.pi / 2.0)) * np.pi / 2.0
    return nearest_axis if abs(yaw - nearest_axis) < SNAP else yaw


def read_pose(armature: Object, binding: Binding) -> Pose:
    """The present pose of `armature`, as a batch of one; needs a fresh view layer."""
    matrices = np.array(
        [np.array(bone.matrix) for bone in binding.bones(armature)], np.float64
    )
    return pose_of_matrices(binding, matrices[None])


def pose_of_matrices(binding: Binding, matrices: Floats) -> Pose:
    """The poses of bones whose matrices in armature space are (B, J, 4, 4)."""
    columns = matrices[..., :3, :3]
    lengths = np.linalg.norm(columns, axis=-2, keepdims=True)
    turned = quat_multiply(binding.turn, quat_from_matrix(columns / lengths))
    ours = quat_multiply(turned, quat_conjugate(binding.axes))
    skeleton = binding.rig.skeleton
    above = ours[:, np.maximum(np.array(skeleton.parents), 0)]
    above[:, 0] = [1.0, 0.0, 0.0, 0.0]
    local = quat_multiply(
        quat_conjugate(skeleton.rest), quat_multiply(quat_conjugate(above), ours)
    )
    root = binding.scale * quat_rotate(binding.turn, matrices[:, 0, :3, 3])
    return Pose(root=root, rotations=quat_normalize(local))


def write_pose(armature: Object, binding: Binding, pose: Pose) -> None:
    """Write the first pose of the batch to `armature`: one write per bone.

    The channel that the bone's rotation mode reads is written (Blender ignores the others), and
    scales and locations of bones other than the hips are unchanged.
    """
    bones = binding.bones(armature)
    rotations = np.asarray(pose.rotations[0], dtype=np.float64)
    own = quat_multiply(quat_multiply(binding.before, rotations), binding.axes)
    root = hips_matrix(binding, pose)
    above = bones[0].parent
    rest = bones[0].bone.matrix_local
    if above is not None:
        rest = above.matrix @ above.bone.matrix_local.inverted() @ rest
    basis = rest.inverted() @ root
    bones[0].location = basis.to_translation()
    _turn_bone(bones[0], basis.to_quaternion())
    for bone, rotation in zip(bones[1:], own[1:].tolist(), strict=True):
        _turn_bone(bone, Quaternion(rotation))


def hips_matrix(binding: Binding, pose: Pose) -> Matrix:
    """The matrix of the hips' bone in armature space, for the first pose of the batch."""
    back = quat_conjugate(binding.turn)
    place = quat_rotate(back, np.asarray(pose.root[0], np.float64)) / binding.scale
    ours = quat_multiply(binding.rig.skeleton.rest[0], np.asarray(pose.rotations[0, 0]))
    turn = quat_multiply(back, quat_multiply(ours, binding.axes[0]))
    return Matrix.LocRotScale(Vector(place), Quaternion(turn.tolist()), None)


def _turn_bone(bone: PoseBone, rotation: Quaternion) -> None:
    mode = bone.rotation_mode
    if mode == "QUATERNION":
        # The nearer of the two signs, so that keyed curves do not jump.
        if rotation.dot(bone.rotation_quaternion) < 0.0:
            rotation = -rotation
        bone.rotation_quaternion = rotation
    elif mode == "AXIS_ANGLE":
        axis, angle = rotation.to_axis_angle()
        bone.rotation_axis_angle = (angle, *axis)
    else:
        bone.rotation_euler = rotation.to_euler(mode, bone.rotation_euler)


def _bone(armature: Object, name: str) -> Bone:
    bone = armature.data.bones.get(name)
    if bone is None:
        there = [other.name for other in armature.data.bones]
        raise BindingError(
            f"{armature.name} has no bone {name!r}{nearest(name, there)}"
        )
    return bone


def _check_bone(bone: Bone, parent: Bone | None) -> None:
    """Check that `bone` moves like a joint of the rig."""
    if parent is not None and bone.parent != parent:
        got = "nothing" if bone.parent is None else repr(bone.parent.name)
        raise BindingError(f"{bone.name!r} must hang on {parent.name!r}, not on {got}")
    if not bone.use_inherit_rotation:
        raise BindingError(f"{bone.name!r} must inherit the rotation of its parent")
    if parent is None and bone.use_connect:
        raise BindingError(f"{bone.name!r} is connected: Blender would not let it move")
    if parent is None and not bone.use_local_location:
        raise BindingError(f"{bone.name!r} must use local locations")


def _to_t_pose(rig: Rig, places: Floats) -> Floats:
    """D: the rotation of each bone from the armature's rest pose to ours. Shape (J, 4).

    Arms and legs are brought to the directions of our T pose, feet to its heading with
    unchanged soles; the trunk is upright at rest already.
    """
    joints, skeleton = rig.skeleton.joints, rig.skeleton
    still = np.tile([1.0, 0.0, 0.0, 0.0], (len(skeleton), 1))
    ours = forward_kinematics(skeleton, np.zeros(3), still)[0]
    turns = still.copy()

    def step(at: Floats, name: str, towards: str) -> Floats:
        gap: Floats = at[joints.index(towards)] - at[joints.index(name)]
        return gap / max(float(np.linalg.norm(gap)), 1e-9)

    for side in ("Left", "Right"):
        for name, towards in STRAIGHT.items():
            turns[joints.index(side + name)] = quat_between(
                step(places, side + name, side + towards),
                step(ours, side + name, side + towards),
            )
        foot, toe = f"{side}Foot", f"{side}ToeBase"
        is_, target = step(places, foot, toe), step(ours, foot, toe)
        yaw = np.arctan2(target[1], target[0]) - np.arctan2(is_[1], is_[0])
        turns[joints.index(foot)] = quat_from_yaw(np.array(yaw))
        for name, other in FOLLOWS.items():
            turns[joints.index(side + name)] = turns[joints.index(side + other)]
    return turns
