"""Rest poses of sources: the file's, a frame of the motion, or a T-pose computed from it.

Retargeting needs a rest pose that is a standing body. The rest pose is a free choice: with
matching local rotations, the joints move identically in the world.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import MotionError
from ambulo.motion.kinematics import motion_kinematics, rest_kinematics
from ambulo.motion.landmarks import rest_points
from ambulo.motion.motion import Motion
from ambulo.motion.retargeting.body import SHORT, SIDES
from ambulo.motion.retargeting.characterise import t_pose_frames
from ambulo.motion.retargeting.standing import standing_fault
from ambulo.motion.rotations import (
    quat_conjugate,
    quat_from_matrix,
    quat_from_yaw,
    quat_multiply,
    quat_rotate,
)
from ambulo.motion.skeleton import Skeleton

CHOICES = "auto, file, motion, t-pose or frame:N"
"""Valid choices."""
_FRAME = re.compile(r"frame:(\d{1,9})")
MOVED = 0.02
"""Distance, [m], and fraction of their length, from which offsets replaced by position channels
are not the skeleton's."""
ARMS, LEGS, TRUNK = np.deg2rad([25.0, 20.0, 15.0])
"""Largest angles, [rad], of arms from level to the sides, of legs from straight down, and of
the trunk from upright in a T-pose frame."""


@dataclass(frozen=True, eq=False)
class RestPose:
    """A motion whose rest pose is a standing body."""

    motion: Motion
    """The motion: the same world positions and orientations of all joints."""
    note: str
    """Description of its rest pose; "" if it is the file's."""


def check_rest_pose(choice: str) -> None:
    """Refuse a `choice` that is not one of `CHOICES`.

    Raises:
        MotionError: The choice is invalid.
    """
    if choice not in {"auto", "file", "motion", "t-pose"} and not _FRAME.fullmatch(
        choice
    ):
        raise MotionError(f"rest pose {choice!r}: expected {CHOICES}")


def with_rest_pose(
    motion: Motion, roles: dict[str, int], choice: str = "auto"
) -> RestPose:
    """Return `motion` with the rest pose of `choice`.

    Args:
        motion: A motion, Z up.
        roles: Joint of each role, hips and thighs among them.
        choice: "file"; "motion": a T-pose computed from the motion; "t-pose": a frame in
            T-pose; "frame:N": frame N, counted from 0; "auto": the file's if it is a standing
            body, possibly after rotation to upright, else "motion".

    Raises:
        MotionError: The choice is unknown or gives no standing body.
    """
    check_rest_pose(choice)
    if choice == "file":
        return RestPose(motion, "")
    motion = _with_moved_offsets(motion)
    if choice == "auto":
        return _automatic(motion, roles)
    if choice == "motion":
        posed, guessed = _from_motion(motion, roles)
        return _checked(motion, roles, posed, f"motion{guessed}")
    if choice == "t-pose":
        frame, fault = _t_pose_frame(motion, roles)
        if fault:
            raise MotionError(f"{motion.label}: no frame is a T-pose: {fault}")
    else:
        match = _FRAME.fullmatch(choice)
        frame = int(match.group(1)) if match else 0
        if frame >= len(motion):
            raise MotionError(
                f"{motion.label}: rest pose frame {frame}: the last frame is "
                f"{len(motion) - 1}"
            )
    posed = _of_frame(motion, roles, frame)
    return _checked(motion, roles, posed, f"frame {frame}")


def rested(motion: Motion, frames: Floats) -> Motion:
    """`motion` on a skeleton whose joints have world orientations `frames` (J, 4) at rest.

    World positions and orientations of all joints are preserved; the root's rest height puts
    the lowest joint at 0. Joints with fewer than three axes become balls if the rotation
    between the two rest poses is about another axis.
    """
    skeleton = motion.skeleton
    parents = np.maximum(np.array(skeleton.parents), 0)
    rest = quat_multiply(quat_conjugate(frames[parents]), frames)
    rest[0] = frames[0]
    between = quat_multiply(quat_conjugate(rest), skeleton.rest)
    rotations = quat_multiply(between, motion.rotations)
    changed = skeleton.replace(rest=rest, **_free(skeleton, between))
    low = rest_kinematics(changed)[0][:, 2].min()
    offsets = skeleton.offsets.copy()
    offsets[0] = [0.0, 0.0, offsets[0, 2] - low]
    return motion.replace(
        skeleton=changed.replace(offsets=offsets), rotations=rotations
    )


def _automatic(motion: Motion, roles: dict[str, int]) -> RestPose:
    """The first valid of: the file's rest pose, that rotated upright, a computed T-pose."""
    rest = rest_points(motion.skeleton), rest_kinematics(motion.skeleton)[1]
    fault = standing_fault(motion.skeleton, roles, rest[0])
    if not fault:
        return RestPose(motion, "")
    turn = _upright_turn(rest[0], roles)
    if turn is not None:
        turned = quat_rotate(turn, rest[0])
        if not standing_fault(motion.skeleton, roles, turned):
            posed = rested(motion, quat_multiply(turn, rest[1]))
            return RestPose(posed, "rest pose: the file's, turned upright")
    posed, guessed = _from_motion(motion, roles)
    left = standing_fault(posed.skeleton, roles, rest_points(posed.skeleton))
    if left:
        raise MotionError(
            f"{motion.label}: its rest pose is no standing body ({fault}), and none can be "
            f"computed from the motion ({left}); give a frame of it as rest pose"
        )
    note = f"rest pose: a T-pose computed from the motion (in the file {fault})"
    return RestPose(posed, note + guessed)


def _checked(
    motion: Motion, roles: dict[str, int], posed: Motion, name: str
) -> RestPose:
    """`posed`, if its rest pose is a standing body.

    Raises:
        MotionError: It is not.
    """
    fault = standing_fault(posed.skeleton, roles, rest_points(posed.skeleton))
    if fault:
        raise MotionError(
            f"{motion.label}: rest pose {name} is no standing body: {fault}"
        )
    return RestPose(posed, f"rest pose: {name}")


def _from_motion(motion: Motion, roles: dict[str, int]) -> tuple[Motion, str]:
    """`motion` at rest in a T-pose computed from it, with a note on guesses."""
    frames, guessed = t_pose_frames(motion, roles)
    text = f", neutral in their mean posture: {', '.join(guessed)}" if guessed else ""
    return rested(motion, frames), text


def _of_frame(motion: Motion, roles: dict[str, int], frame: int) -> Motion:
    """`motion` at rest as in a frame, rotated about Z to face +X."""
    positions, orientations = motion_kinematics(motion[frame : frame + 1])
    left = positions[0, roles["left_thigh"]] - positions[0, roles["right_thigh"]]
    yaw = 0.5 * np.pi - np.arctan2(left[1], left[0])
    return rested(motion, quat_multiply(quat_from_yaw(np.array(yaw)), orientations[0]))


def _t_pose_frame(motion: Motion, roles: dict[str, int]) -> tuple[int, str]:
    """The frame nearest to a T-pose, and its fault ("" if there is none)."""
    positions = motion_kinematics(motion)[0]
    down = np.array([0.0, 0.0, -1.0])
    off = np.zeros(len(motion))
    parts = np.zeros(len(motion), dtype=int)
    names = ("arms", "legs", "trunk")

    def count(part: int, bone: Floats, target: Floats, limit: float) -> None:
        unit = bone / np.maximum(np.linalg.norm(bone, axis=-1, keepdims=True), 1e-9)
        angle = np.arccos(np.clip((unit * target).sum(axis=-1), -1.0, 1.0)) / limit
        parts[angle > off] = part
        np.maximum(off, angle, out=off)

    left = positions[:, roles["left_thigh"]] - positions[:, roles["right_thigh"]]
    left = left / np.maximum(np.linalg.norm(left, axis=-1, keepdims=True), 1e-9)
    for side, sign in zip(SIDES, (1.0, -1.0), strict=True):
        for part, limb, target, limit in (
            (0, ("upper_arm", "forearm", "hand"), sign * left, ARMS),
            (1, ("thigh", "shin", "foot"), down, LEGS),
        ):
            joints = [roles[side + r] for r in limb if side + r in roles]
            for start, end in pairwise(joints):
                count(part, positions[:, end] - positions[:, start], target, limit)
    top = next((roles[r] for r in ("neck", "head", "chest") if r in roles), None)
    if top is not None:
        count(2, positions[:, top] - positions[:, roles["hips"]], -down, TRUNK)
    best = int(np.argmin(off))
    fault = (
        ""
        if off[best] <= 1.0
        else f"in the nearest, {best}, the {names[parts[best]]} are off"
    )
    return best, fault


def _upright_turn(positions: Floats, roles: dict[str, int]) -> Floats | None:
    """The rotation (4,) of a rest pose to upright, facing +X; None without directions.

    A multiple of 90 degrees about axes if near: files lie along their axes.
    """
    left = positions[roles["left_thigh"]] - positions[roles["right_thigh"]]
    middle = positions[[roles[side + "thigh"] for side in SIDES]].mean(axis=0)
    top = next((roles[r] for r in ("neck", "head", "chest") if r in roles), None)
    if (
        top is None
        or min(np.linalg.norm(left), np.linalg.norm(positions[top] - middle)) < SHORT
    ):
        return None
    left = left / np.linalg.norm(left)
    forward = np.cross(left, positions[top] - middle)
    size = np.linalg.norm(forward)
    if size < SHORT:
        return None
    forward = forward / size
    matrix = np.stack([forward, left, np.cross(forward, left)])
    near = np.round(matrix)
    if np.allclose(near @ near.T, np.eye(3)) and np.trace(near @ matrix.T) > 2.8:
        matrix = near
    turn: Floats = quat_from_matrix(matrix)
    return turn


def _with_moved_offsets(motion: Motion) -> Motion:
    """Replace offsets of the skeleton by the medians of moving offsets, where far from them."""
    if motion.joint_offsets is None:
        return motion
    own = motion.skeleton.offsets
    seen = np.median(motion.joint_offsets, axis=0)
    seen[0] = own[0]
    far = np.linalg.norm(seen - own, axis=-1)
    if not (far > np.maximum(MOVED, 0.1 * np.linalg.norm(seen, axis=-1))).any():
        return motion
    return motion.replace(skeleton=motion.skeleton.replace(offsets=seen))


def _free(skeleton: Skeleton, between: Floats) -> dict[str, object]:
    """Orders and limits, if a joint with few axes must rotate about others by `between`."""
    orders = list(skeleton.orders)
    for joint, order in enumerate(orders):
        if len(order) == 3:
            continue
        axis = quat_rotate(quat_conjugate(skeleton.axes[joint]), between[joint, 1:])
        others = [k for k, letter in enumerate("XYZ") if letter not in order]
        other = len(order) != 1 or np.abs(axis[others]).max() > 1e-9
        if other and np.linalg.norm(between[joint, 1:]) > 1e-9:
            orders[joint] = "ZXY"
    if tuple(orders) == skeleton.orders:
        return {}
    return {"orders": tuple(orders), "limits": np.zeros((0, 2))}
