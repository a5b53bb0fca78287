"""Motions from any program as sources of retargeting: Z up, with a standing rest pose.

World positions and orientations of joints are preserved, except for one rotation of the whole
world if another axis is up; see `ambulo.motion.retargeting.gravity` and
`ambulo.motion.retargeting.rest_pose`.
"""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import MotionError, MotionFileError
from ambulo.motion.formats.axes import CMU_AXES, Axes, metres_per_unit, parse_axes
from ambulo.motion.formats.files import read_unlogged, units_of
from ambulo.motion.formats.gltf import ENDINGS as GLTF
from ambulo.motion.formats.tpose import without_tpose
from ambulo.motion.landmarks import foot_ends, rest_points
from ambulo.motion.motion import Motion
from ambulo.motion.retargeting.body import NEEDED, SIDES
from ambulo.motion.retargeting.gravity import (
    DIRECTIONS,
    sampled_points,
    up_direction,
)
from ambulo.motion.retargeting.person import person_fit
from ambulo.motion.retargeting.rest_pose import check_rest_pose, with_rest_pose
from ambulo.motion.retargeting.source_roles import knee_bends, with_roles
from ambulo.motion.retargeting.standing import standing_fault
from ambulo.motion.roles import roles_of
from ambulo.motion.rotations import quat_from_matrix, quat_multiply, quat_rotate
from ambulo.motion.skeleton import Skeleton

logger = logging.getLogger(__name__)

OUR_AXES = Axes("Z", "X")
"""Axes of files that are always in ours (NPZ)."""
BACKWARDS = -0.3
"""Component of feet and knees along the body's front below which they point backwards."""


@dataclass(frozen=True, eq=False)
class Source:
    """A motion ready for retargeting, with notes on the changes."""

    motion: Motion
    """The motion, Z up, its rest pose a standing body."""
    notes: tuple[str, ...]
    """Choices that the file does not determine: axes, rest pose; empty without any."""
    axes: Axes = OUR_AXES
    """Up and forward direction of its file."""

    @property
    def note(self) -> str:
        """The notes in one line; "" without any."""
        return "; ".join(self.notes)

    def noted(self, note: str) -> Source:
        """The source with one more note; itself if that is ""."""
        return replace(self, notes=(*self.notes, note)) if note else self

    def logged(self) -> Motion:
        """The motion, after logging a warning about the choices, if any."""
        if self.notes:
            logger.warning("%s: %s", self.motion.label, self.note)
        return self.motion


def prepared(
    motion: Motion,
    axes: str = "auto",
    rest_pose: str = "auto",
    file_axes: Axes = CMU_AXES,
) -> Source:
    """Prepare `motion` for retargeting; returns it unchanged if it is ready.

    Args:
        motion: A motion, read with `file_axes`.
        axes: "auto", or the true axes of the file (`parse_axes`).
        rest_pose: As for `with_rest_pose`.
        file_axes: Axes with which the motion was read, to name them.

    Raises:
        MotionError: The axes or the rest pose cannot be determined, or left and right are
            exchanged (not checked with "file"); or a choice is unknown.
    """
    check_rest_pose(rest_pose)
    motion, found = with_roles(motion)
    roles = roles_of(motion.skeleton)
    if any(role not in roles for role in NEEDED):
        return Source(motion, (), file_axes)  # retargeting names the missing ones
    notes, read = list(found), np.eye(3)
    if axes == "auto":
        up = DIRECTIONS[0]
        try:
            up = up_direction(motion, roles)
        except MotionError:
            if rest_pose != "file":
                raise
        if up[2] < 1.0:
            letter = _letter(file_axes.to_file(up))
            matrix = parse_axes(f"{letter}-up").matrix @ file_axes.matrix.T
            read = _facing(motion, roles, matrix)
            notes.append(f"axes: {letter} is up, as the motion shows")
    else:
        matrix = parse_axes(axes).matrix @ file_axes.matrix.T
        if axes.lower().endswith("-up") and matrix[2, 2] < 1.0:
            matrix = _facing(motion, roles, matrix)
        read = matrix
    motion = _turned(motion, read)
    axes_found = Axes(*(_letter(row) for row in (read @ file_axes.matrix)[[2, 0]]))
    if rest_pose == "file":
        return Source(motion, tuple(notes), axes_found)
    _check_sides(motion, roles)
    done = with_rest_pose(motion, roles, rest_pose)
    return Source(done.motion, tuple(notes), axes_found).noted(done.note)


def read_source(
    path: str | os.PathLike[str],
    *,
    asf: str | os.PathLike[str] | None = None,
    units: str | float = "auto",
    drop_tpose: bool = False,
    axes: str = "auto",
    rest_pose: str = "auto",
    strict: bool = False,
    roles: str | os.PathLike[str] | None = None,
) -> Source:
    """Read the motion in the file `path`, ready to be retargeted.

    Args:
        path: A BVH, AMC, NPZ, DeepMimic or glTF file.
        asf: As for `read_motion`.
        units: As for `read_motion`.
        drop_tpose: Whether to drop leading frames of a synthetic T-pose.
        axes: "auto": detected from the motion; or the file's (`parse_axes`).
        rest_pose: As for `with_rest_pose`; "frame:N" counts the file's frames.
        strict: Refuse a file that needs repair, or whose unit fits no adult, instead of a note
            on it.
        roles: Role map (`*.roles.json`) of its joints; by default the one beside the file, else
            detected.

    Raises:
        MotionFileError: The file cannot be used; the axes or the rest pose cannot be
            determined.
        ConfigError: The role map cannot be read, or names joints that the file lacks.
    """
    file = Path(path)
    try:
        motion = read_unlogged(file, asf=asf, units=units, strict=strict, roles=roles)
        source = prepared(
            motion,
            axes,
            rest_pose,
            CMU_AXES if _has_axes(file) else OUR_AXES,
        )
    except MotionFileError:
        raise
    except MotionError as error:
        label = f"{file.stem}: "
        raise MotionFileError(file, 0, str(error).removeprefix(label)) from None
    source = replace(source, notes=(*motion.notes, *source.notes))
    if units == "auto":
        fault = unit_fault(source.motion, file, asf)
        if fault and strict:
            raise MotionFileError(file, 0, fault)
        source = source.noted(fault)
    if drop_tpose:
        return replace(source, motion=without_tpose(source.motion))
    return source


def target_in(path: str | os.PathLike[str]) -> tuple[Skeleton, Axes]:
    """Return the skeleton of a motion file as a target, and the axes to write it with.

    Its offsets are those of the file, unless its rest pose is no standing body.

    Raises:
        MotionFileError: As for `read_source`.
    """
    axes = read_source(path).axes
    motion = prepared(read_unlogged(path, axes=axes), file_axes=axes).motion
    return motion.skeleton, axes if _has_axes(path) else CMU_AXES


def unit_fault(
    motion: Motion,
    path: str | os.PathLike[str],
    asf: str | os.PathLike[str] | None = None,
) -> str:
    """Reason why the unit chosen for a file fits no adult; "" if it fits, or is fixed.

    Args:
        motion: The motion in the file, Z up.
        path: The file.
        asf: As for `read_motion`.
    """
    if not _has_axes(path):
        return ""
    fit = person_fit(motion)
    if fit.is_adult:
        return ""
    return fit.unit_fault(metres_per_unit(units_of(path, asf).removesuffix(" m")))


def _has_axes(path: str | os.PathLike[str]) -> bool:
    """Whether files with this ending have axes and units of their own."""
    return Path(path).suffix.lower() in {".bvh", ".amc", *GLTF}


def _facing(motion: Motion, roles: dict[str, int], matrix: Floats) -> Floats:
    """`matrix` (3, 3) with the quarter turn about Z that makes a body at rest face +X."""
    rest = rest_points(motion.skeleton) @ matrix.T
    if standing_fault(motion.skeleton, roles, rest):
        return matrix
    left = rest[roles["left_thigh"]] - rest[roles["right_thigh"]]
    quarter = round(float(np.arctan2(-left[0], left[1])) / (0.5 * np.pi))
    cos, sin = [(1, 0), (0, 1), (-1, 0), (0, -1)][-quarter % 4]
    faced: Floats = np.array([[cos, -sin, 0], [sin, cos, 0], [0, 0, 1]]) @ matrix
    return faced


def _turned(motion: Motion, matrix: Floats) -> Motion:
    """`motion` with the whole world rotated by `matrix` (3, 3)."""
    if np.array_equal(matrix, np.eye(3)):
        return motion
    turn = quat_from_matrix(matrix)
    skeleton = motion.skeleton
    rest, offsets = skeleton.rest.copy(), skeleton.offsets.copy()
    rest[0] = quat_multiply(turn, rest[0])
    offsets[0] = quat_rotate(turn, offsets[0])
    return motion.replace(
        skeleton=skeleton.replace(rest=rest, offsets=offsets),
        root_positions=quat_rotate(turn, motion.root_positions),
    )


def _check_sides(motion: Motion, roles: dict[str, int]) -> None:
    """Refuse a body whose feet point, or whose knees bend, the wrong way.

    Raises:
        MotionError: They do in most frames: left and right are mirrored.
    """
    points = sampled_points(motion)
    left = points[:, roles["left_thigh"]] - points[:, roles["right_thigh"]]
    left = left / np.maximum(np.linalg.norm(left, axis=-1, keepdims=True), 1e-9)
    front = np.cross(left, DIRECTIONS[0])
    parts = [
        _feet_front(motion, roles, points, front),
        knee_bends(points, roles, left),
    ]
    known = [part for part in parts if part]
    if known and all(max(part) < BACKWARDS for part in known):
        raise MotionError(
            f"{motion.label}: its feet or knees point backwards: left and right are "
            "exchanged, by names or by left-handed axes"
        )


def _feet_front(
    motion: Motion, roles: dict[str, int], points: Floats, front: Floats
) -> list[float]:
    """Median part of each foot's bone along the front (T, 3) of the body; [] without them."""
    parts = []
    for side in SIDES:
        foot = roles.get(side + "foot", -1)
        ends = [] if foot < 0 else foot_ends(motion.skeleton, foot)
        if ends:
            toes = points[:, ends].mean(axis=1) - points[:, foot]
            length = np.maximum(np.linalg.norm(toes, axis=-1), 1e-9)
            parts.append(float(np.median((toes * front).sum(axis=-1) / length)))
    return parts if len(parts) == 2 else []


def _letter(direction: Floats) -> str:
    axis = int(np.argmax(np.abs(direction)))
    return ("-" if direction[axis] < 0.0 else "") + "XYZ"[axis]
