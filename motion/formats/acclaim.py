"""Motions as ASF/AMC files: a skeleton file and a movement file beside it.

Every skeleton can be written. The frames of its angles, and rest orientations, become the
bones' `axis`. An ASF bone has one end, at which all its children start: fixed bones lead to
children that start elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import MotionError, SkeletonError
from ambulo.motion.euler import quat_to_euler
from ambulo.motion.formats.amc import AmcFile, write_amc
from ambulo.motion.formats.asf import ROOT, AsfBone, AsfFile, write_asf
from ambulo.motion.formats.axes import (
    ASF_UNIT,
    CMU_AXES,
    INCH,
    Axes,
    Vec3,
    metres_per_unit,
    vec3,
)
from ambulo.motion.formats.channels import angles_and_order
from ambulo.motion.formats.disk import rules_of
from ambulo.motion.motion import Motion
from ambulo.motion.rest import aligned_axes
from ambulo.motion.rotations import quat_conjugate, quat_multiply
from ambulo.motion.skeleton import Skeleton

FULL = "ZYX"
"""Order of a joint with three angles, in the file's letters: rx ry rz."""


@dataclass(frozen=True, eq=False)
class _Angles:
    """Angles of one joint as an AMC file lists them."""

    dof: tuple[str, ...]
    degrees: Floats
    limits: tuple[tuple[float, float], ...] = ()


def write_acclaim(
    path: Path, motion: Motion, units: str | float = "asf", axes: Axes = CMU_AXES
) -> None:
    """Write the AMC file `path` and, beside it, the ASF file of the same name.

    `units` is the unit of length: by default that of the CMU data base ("asf").
    """
    skeleton_path = path.with_suffix(".asf")
    with rules_of(path):
        asf, amc = motion_to_acclaim(motion, units, axes, skeleton_path.name)
    write_asf(skeleton_path, asf)
    write_amc(path, amc)


def motion_to_acclaim(
    motion: Motion,
    units: str | float = "asf",
    axes: Axes = CMU_AXES,
    asf_name: str = "",
) -> tuple[AsfFile, AmcFile]:
    """The ASF and AMC files that describe `motion`.

    The root is called "root", and its `position` and `orientation` are zero, as other
    programs expect; its positions are all in the AMC.
    """
    if motion.joint_offsets is not None:
        raise MotionError("AMC cannot hold joints that move away from their parents")
    scale = ASF_UNIT if units == "auto" else metres_per_unit(units)
    length = 0.45 if scale == ASF_UNIT else INCH / scale
    skeleton, turn = aligned_axes(motion.skeleton)
    rotations = turn(motion.rotations)
    names = _names(skeleton)
    bones, children = _bones(skeleton, names, axes, scale)
    rows: list[tuple[str, int]] = []
    blocks: list[Floats] = []
    for j, name in enumerate(names):
        moved = _angles(skeleton, rotations[:, j], j, axes)
        if j == 0:
            place = axes.to_file(motion.root_positions) / scale
            block = np.concatenate([place, moved.degrees], axis=1)
            root_order = ("TX", "TY", "TZ", *(d.upper() for d in moved.dof))
        else:
            block = moved.degrees
            bones[name] = replace(bones[name], dof=moved.dof, limits=moved.limits)
        if block.shape[1]:
            rows.append((name, block.shape[1]))
            blocks.append(block)
    if not bones:
        raise MotionError("ASF needs a bone; this skeleton is a root alone")
    asf = AsfFile(
        bones=tuple(bones.values()),
        children=children,
        name="".join(c if c.isalnum() else "_" for c in skeleton.name) or "skeleton",
        length=length,
        root_order=root_order,
    )
    values = np.concatenate(blocks, axis=1)
    if not np.isfinite(values).all():
        raise MotionError("a number is too large for this unit")
    return asf, AmcFile(
        tuple(rows), values, degrees=True, fps=motion.fps, asf_name=asf_name
    )


def _names(skeleton: Skeleton) -> list[str]:
    """Names of bones: the root's is fixed by the format."""
    names = [ROOT, *skeleton.joints[1:]]
    for name in names:
        plain = name and not set(name) & set("#:") and name == "".join(name.split())
        if not plain or name[0] in "0123456789+-." or name.lower() in {"begin", "end"}:
            raise SkeletonError(
                f"{skeleton.name}: the joint name {name!r} cannot be written to ASF"
            )
    if len(set(names)) < len(names):
        raise SkeletonError(f"{skeleton.name}: only the first joint may be called root")
    return names


def _bones(
    skeleton: Skeleton, names: list[str], axes: Axes, scale: float
) -> tuple[dict[str, AsfBone], dict[str, tuple[str, ...]]]:
    """Bones without their angles, and the hierarchy."""
    bones: dict[str, AsfBone] = {}
    children: dict[str, tuple[str, ...]] = {}
    offsets = axes.to_file(skeleton.offsets) / scale
    tips: list[list[Floats]] = [[] for _ in names]
    for joint, tip in zip(skeleton.tip_parents, skeleton.tips, strict=True):
        tips[joint].append(axes.to_file(tip) / scale)
    for j, name in enumerate(names):
        below = skeleton.children(j)
        starts = [*(offsets[child] for child in below), *tips[j]]
        # The end of the bone itself: the start of all its children, if they share one.
        end = np.zeros(3)
        if j > 0 and starts and all((start == starts[0]).all() for start in starts):
            end = starts[0]
        if j > 0:
            frame = quat_to_euler(axes.quat_to_file(skeleton.axes[j]), FULL)
            degrees = np.degrees(frame[::-1]) + 0.0
            bones[name] = _bone(name, end, vec3(degrees))
        joined = []
        for child in below:
            if (offsets[child] == end).all():
                joined.append(names[child])
                continue
            link = _free(f"{name}_{names[child]}", names, bones)
            bones[link] = _bone(link, offsets[child] - end)
            joined.append(link)
            children[link] = (names[child],)
        for tip_start in tips[j]:
            if (tip_start != end).any():
                link = _free(f"{name}_tip", names, bones)
                bones[link] = _bone(link, tip_start - end)
                joined.append(link)
        if joined:
            children[name] = tuple(joined)
    return bones, children


def _bone(name: str, end: Floats, axis: Vec3 = (0.0, 0.0, 0.0)) -> AsfBone:
    length = float(np.linalg.norm(end))
    direction = vec3(end / length) if length > 0.0 else (0.0, 0.0, 1.0)
    return AsfBone(name, direction, length, axis)


def _free(name: str, names: list[str], bones: dict[str, AsfBone]) -> str:
    """`name`, with a number if it is taken."""
    taken = {*names, *bones}
    candidates = (name, *(f"{name}{i}" for i in range(2, len(taken) + 3)))
    return next(c for c in candidates if c not in taken)


def _angles(skeleton: Skeleton, quats: Floats, joint: int, axes: Axes) -> _Angles:
    """The joint's angles in the order in which ASF lists them, [deg]."""
    frame = skeleton.axes[joint]
    full = axes.order_to_ours(FULL)[0]
    order = skeleton.orders[joint]
    if joint == 0:
        # The root's frame becomes part of its angles.
        order = order if len(order) == 3 and not frame[1:].any() else full
    else:
        quats = quat_multiply(quat_multiply(quat_conjugate(frame), quats), frame)
    order = full if len(set(order)) < len(order) else order
    angles, used = angles_and_order(quats, order, full)
    letters, signs = axes.order_to_file(used)
    degrees = np.degrees(angles * signs)[:, ::-1]
    dof = tuple(f"r{letter.lower()}" for letter in reversed(letters))
    if used != skeleton.orders[joint]:
        return _Angles(dof, degrees)
    bounds = skeleton.limits[skeleton.angle_slices[joint]] * signs[:, None]
    pairs = np.degrees(np.sort(bounds, axis=1))[::-1].tolist()
    return _Angles(dof, degrees, tuple((low, high) for low, high in pairs))
