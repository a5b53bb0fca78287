"""BVH files as motions, and motions as BVH files.

A position channel replaces the component of OFFSET of its axis, at the root and at any
other joint. Rotation channels act left to right (R = R1 R2 R3), about the joint's own
axes.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import MotionError, SkeletonError
from ambulo.motion.formats.axes import (
    CMU_AXES,
    Axes,
    Vec3,
    likely_units,
    longest_path,
    metres_per_unit,
    vec3,
)
from ambulo.motion.formats.bvh import BvhFile, BvhJoint, read_bvh, write_bvh
from ambulo.motion.formats.channels import angles_and_order, quats_of_channels
from ambulo.motion.formats.disk import rules_of
from ambulo.motion.motion import Motion
from ambulo.motion.rest import aligned_axes, plain_orders
from ambulo.motion.roles import roles_of
from ambulo.motion.skeleton import Skeleton


def read_bvh_motion(
    path: Path, units: str | float = "auto", axes: Axes = CMU_AXES
) -> Motion:
    """The motion in the BVH file `path`; lengths in metres, our axes.

    `units` is the file's unit of length: a name of `ambulo.motion.formats.axes.UNITS`, a number
    of metres, or "auto" (`bvh_units`).
    """
    bvh = read_bvh(path)
    with rules_of(path):
        return bvh_to_motion(bvh, units, axes, name=path.stem)


def write_bvh_motion(
    path: Path, motion: Motion, units: str | float = "cm", axes: Axes = CMU_AXES
) -> None:
    """Write `motion` as a BVH file in `units`, atomically."""
    with rules_of(path):
        bvh = motion_to_bvh(motion, units, axes)
    write_bvh(path, bvh)


def bvh_units(bvh: BvhFile) -> str:
    """The unit of length that gives the skeleton of `bvh` the size of a human.

    Its reach is measured from the hips, which need not be the root; if position channels
    replace the offsets, with the median of the channels.
    """
    skeleton = _skeleton(bvh, 1.0, CMU_AXES, "")
    ends = np.zeros(len(skeleton))
    for joint, tip in zip(skeleton.tip_parents, skeleton.tips, strict=True):
        ends[joint] = max(ends[joint], np.linalg.norm(tip))
    offsets = skeleton.offsets.copy()
    for joint, place in _places(bvh, _columns(bvh)).items():
        if joint and len(place):
            offsets[joint] = np.median(place, axis=0)
    roles = roles_of(skeleton)
    # Joints between a root on the floor and the hips are not part of the body.
    hips = roles["hips"] if "left_thigh" in roles else 0
    offsets[skeleton.path(0, hips)] = 0.0
    return likely_units(longest_path(skeleton.parents, offsets, ends))


def bvh_to_motion(
    bvh: BvhFile, units: str | float = "auto", axes: Axes = CMU_AXES, name: str = ""
) -> Motion:
    """The motion that `bvh` describes; see `read_bvh_motion`."""
    scale = metres_per_unit(bvh_units(bvh) if units == "auto" else units)
    skeleton = _skeleton(bvh, scale, axes, name)
    columns = _columns(bvh)
    angles = [
        np.radians(
            bvh.values[
                :, [columns[j, c] for c in spec.channels if c.endswith("rotation")]
            ]
        )
        * axes.order_to_ours(_letters(spec))[1]
        for j, spec in enumerate(bvh.joints)
    ]
    positions = _places(bvh, columns)
    root = axes.to_ours(positions.pop(0)) * scale
    offsets = None
    if positions:
        offsets = np.tile(skeleton.offsets, (len(bvh.values), 1, 1))
        for joint, place in positions.items():
            offsets[:, joint] = axes.to_ours(place) * scale
    return Motion(
        skeleton=skeleton,
        fps=bvh.fps,
        root_positions=root,
        rotations=quats_of_channels(angles, skeleton.orders, skeleton.axes),
        joint_offsets=offsets,
        name=name,
        notes=bvh.notes,
    )


def motion_to_bvh(
    motion: Motion, units: str | float = "cm", axes: Axes = CMU_AXES
) -> BvhFile:
    """The BVH file that describes `motion`.

    BVH has neither rest orientations nor frames of angles: bones are written in axes that are
    the world's at rest (the same positions, the same movement). Joints of a skeleton that has
    neither keep their order of channels; all others get ZYX. Angles are those nearest to the
    frame before. Joints of fewer axes get zeros for the others, because most programs read
    joints with three rotations only.
    """
    scale = metres_per_unit("cm" if units == "auto" else units)
    skeleton, turn = aligned_axes(motion.skeleton)
    full = axes.order_to_ours("ZYX")[0]
    orders = plain_orders(motion.skeleton, full)
    turned = turn(motion.rotations)
    moving = _moving(motion)
    joints, blocks = [], []
    for j, joint_name in enumerate(skeleton.joints):
        angles, order = angles_and_order(turned[:, j], orders[j], full)
        letters, signs = axes.order_to_file(order)
        block = np.zeros((len(motion), 3))
        block[:, : len(letters)] = np.degrees(angles * signs)
        letters += "".join(letter for letter in "XYZ" if letter not in letters)
        channels = tuple(f"{letter}rotation" for letter in letters)
        place = None
        if j == 0:
            place = motion.root_positions
        elif j in moving and motion.joint_offsets is not None:
            place = turn.offsets(motion.joint_offsets)[:, j]
        if place is not None:
            channels = ("Xposition", "Yposition", "Zposition", *channels)
            block = np.concatenate([axes.to_file(place) / scale, block], axis=1)
        offset = vec3(axes.to_file(skeleton.offsets[j]) / scale + 0.0)
        joints.append(BvhJoint(joint_name, skeleton.parents[j], offset, channels))
        blocks.append(block)
    _check_names(skeleton)
    tips = [
        (joint, vec3(axes.to_file(tip) / scale + 0.0))
        for joint, tip in zip(skeleton.tip_parents, skeleton.tips, strict=True)
    ]
    return _reordered(joints, blocks, tips, skeleton.depth_first, 1.0 / motion.fps)


def _columns(bvh: BvhFile) -> dict[tuple[int, str], int]:
    """Column of each joint's channel in the motion block."""
    columns: dict[tuple[int, str], int] = {}
    for joint, spec in enumerate(bvh.joints):
        for channel in spec.channels:
            columns[joint, channel] = len(columns)
    return columns


def _letters(joint: BvhJoint) -> str:
    return "".join(c[0] for c in joint.channels if c.endswith("rotation"))


def _skeleton(bvh: BvhFile, scale: float, axes: Axes, name: str) -> Skeleton:
    offsets = np.array([joint.offset for joint in bvh.joints], dtype=np.float64)
    tips = np.array([tip for _, tip in bvh.tips], dtype=np.float64).reshape(-1, 3)
    return Skeleton(
        name=name or "bvh",
        joints=tuple(joint.name for joint in bvh.joints),
        parents=tuple(joint.parent for joint in bvh.joints),
        offsets=axes.to_ours(offsets) * scale,
        orders=tuple(axes.order_to_ours(_letters(joint))[0] for joint in bvh.joints),
        tip_parents=tuple(joint for joint, _ in bvh.tips),
        tips=axes.to_ours(tips) * scale,
    )


def _places(bvh: BvhFile, columns: dict[tuple[int, str], int]) -> dict[int, Floats]:
    """Positions (T, 3) of the root and of the joints whose channels move them."""
    positions = {}
    for joint, spec in enumerate(bvh.joints):
        place = np.tile(np.array(spec.offset), (len(bvh.values), 1))
        for axis, letter in enumerate("XYZ"):
            column = columns.get((joint, f"{letter}position"))
            if column is not None:
                place[:, axis] = bvh.values[:, column]
        if joint == 0 or np.any(place != spec.offset):
            positions[joint] = place
    return positions


def _moving(motion: Motion) -> set[int]:
    """Joints other than the root whose offsets ever differ from the skeleton's."""
    if motion.joint_offsets is None:
        return set()
    differs = (motion.joint_offsets != motion.skeleton.offsets).any(axis=(0, 2))
    return {int(j) for j in np.flatnonzero(differs) if j > 0}


def _check_names(skeleton: Skeleton) -> None:
    for name in skeleton.joints:
        if name != " ".join(name.split()) or not name or set("{}") & set(name):
            raise SkeletonError(
                f"{skeleton.name}: the joint name {name!r} cannot be written to BVH"
            )


def _reordered(
    joints: list[BvhJoint],
    blocks: list[Floats],
    tips: list[tuple[int, Vec3]],
    order: tuple[int, ...],
    frame_time: float,
) -> BvhFile:
    """The file with its joints in the given order, as the hierarchy needs it."""
    place = {joint: i for i, joint in enumerate(order)}
    specs = tuple(
        replace(joints[j], parent=place.get(joints[j].parent, -1)) for j in order
    )
    values = np.concatenate([blocks[j] for j in order], axis=1)
    if not np.isfinite(values).all():
        raise MotionError("a number is too large for this unit")
    ends = tuple(sorted(((place[j], tip) for j, tip in tips), key=lambda end: end[0]))
    return BvhFile(specs, ends, frame_time, values)
