"""A T-pose computed from a motion, for skeletons whose offsets are no pose.

Each joint gets an anatomical frame from world positions of joints over the whole motion: the
direction of its bone, its flexion axis, and, for feet, the sole's orientation in stance. The
rest orientation of the joint is the one in which that frame is a T-pose's: upright, facing +X,
legs straight down, arms to the sides with the palms down, soles level.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from ambulo.configs.arrays import Bools, Floats
from ambulo.configs.errors import MotionError
from ambulo.motion.contacts import foot_contacts
from ambulo.motion.kinematics import motion_kinematics, rest_kinematics
from ambulo.motion.landmarks import has_feet
from ambulo.motion.motion import Motion
from ambulo.motion.retargeting.body import LIMBS, SHORT, SIDES
from ambulo.motion.retargeting.transfer import two_axes
from ambulo.motion.rotations import (
    mean_rotation,
    quat_between,
    quat_conjugate,
    quat_from_matrix,
    quat_multiply,
    quat_rotate,
    swing_twist,
)

STRAIGHT, LINE = np.deg2rad([15.0, 60.0])
"""Angles below which bones of a limb, and of the trunk, in the file's zero pose count as one
straight line, [rad]."""
TWIST, POSTURE = np.deg2rad([45.0, 45.0])
"""Largest mean twist of a limb's bone relative to the one above, and mean rotation of a trunk
joint relative to the one below, of a zero pose that is a neutral posture, [rad]."""
SNAP = np.deg2rad(15.0)
"""Angle within which the hips' frame is snapped to axes of their joint, [rad]."""
BENT = 0.1
"""Minimum mean sine of a bend for which an axis is estimated."""

NEUTRAL = 20.0
"""Percentage of frames in a neutral posture: those most upright on straight legs."""
EVERY = slice(None)
"""Index of every frame."""

UP, FORWARD = np.array([0.0, 0.0, 1.0]), np.array([1.0, 0.0, 0.0])
_TOPS = ("head", "neck", "chest", "spine")


def t_pose_frames(
    motion: Motion, roles: dict[str, int]
) -> tuple[Floats, tuple[str, ...]]:
    """World orientation of every joint's frame in a T-pose facing +X, wxyz. Shape (J, 4).

    Second: roles whose joints show no neutral posture, so that their mean one is used.

    Args:
        motion: A motion, Z up.
        roles: Joint of each role, hips and thighs among them.

    Raises:
        MotionError: The thighs or the trunk give no direction.
    """
    work = _Characterisation(motion, roles)
    work.trunk()
    for side, outward in zip(SIDES, (1.0, -1.0), strict=True):
        work.arm(side, np.array([0.0, outward, 0.0]))
        work.leg(side)
    frames = work.complete()
    names = {joint: role for role, joint in roles.items()}
    return frames, tuple(names[joint] for joint in sorted(work.guessed & set(names)))


class _Characterisation:
    """Rest frames of joints with roles, filled from the hips outwards."""

    def __init__(self, motion: Motion, roles: dict[str, int]) -> None:
        self.motion, self.roles = motion, roles
        self.skeleton = motion.skeleton
        self.positions, self.orientations = motion_kinematics(motion)
        self.rest_positions, self.rest_orientations = rest_kinematics(self.skeleton)
        self.frames: dict[int, Floats] = {}
        self.guessed: set[int] = set()
        self.neutral = neutral_frames(self.positions, roles)

    def complete(self) -> Floats:
        """All frames (J, 4); joints without a role take their mean posture."""
        hips = self.roles["hips"]
        for joint in self.skeleton.path(0, hips)[:-1]:
            self.frames[joint] = self._as_in_file(joint, hips, self.frames[hips])
        for joint, parent in enumerate(self.skeleton.parents):
            if joint not in self.frames:
                self.frames[joint] = self._mean_frame(joint, parent)
        return np.stack([self.frames[joint] for joint in range(len(self.skeleton))])

    def trunk(self) -> None:
        """Frames of hips, spine, chest, neck and head."""
        hips = self.roles["hips"]
        thighs = [self.roles[side + "thigh"] for side in SIDES]
        left = self._mean_local(
            hips, self.positions[:, thighs[0]] - self.positions[:, thighs[1]]
        )
        top = next((self.roles[r] for r in _TOPS if r in self.roles), None)
        if left is None or top is None:
            raise MotionError(
                f"{self.skeleton.name}: its hips and trunk give no directions"
            )
        up = self._straight_trunk(hips, thighs, top)
        straight = up is not None
        if up is None:
            middle = self.positions[:, thighs].mean(axis=1)
            up = self._mean_local(hips, self.positions[:, top] - middle, self.neutral)
        if up is None or np.linalg.norm(np.cross(up, left)) < 0.3:
            raise MotionError(f"{self.skeleton.name}: its trunk gives no direction")
        forward = np.cross(left, up) / np.linalg.norm(np.cross(left, up))
        self.frames[hips] = _snapped(np.stack([forward, left, np.cross(forward, left)]))
        for below, joint in pairwise(self.skeleton.path(hips, top)):
            self.frames[joint] = (
                self._as_in_file(joint, below, self.frames[below])
                if straight and self._is_neutral(joint, below)
                else self._mean_frame(joint, below, frames=self.neutral)
            )

    def arm(self, side: str, outward: Floats) -> None:
        """Frames from the clavicle to the hand; `outward` (3,) is the direction of the arm."""
        chest = self.roles.get("chest", self.roles["hips"])
        clavicle = self.roles.get(side + "clavicle")
        if clavicle is not None:
            self.frames[clavicle] = self._mean_frame(
                clavicle, chest, frames=self.neutral
            )
            chest = clavicle
        self._limb(side, "upper_arm", outward, np.cross(outward, FORWARD), chest)
        hand, forearm = self.roles.get(side + "hand"), self.roles.get(side + "forearm")
        if hand is None or forearm is None:
            return
        self.frames[hand] = self._as_in_file(hand, forearm, self.frames[forearm])
        bone = self._end_bone(hand)
        if self._goes_on(hand, forearm, bone, outward):
            return
        self.frames[hand] = self._mean_frame(hand, forearm, bone, outward)

    def leg(self, side: str) -> None:
        """Frames from the thigh to the toes."""
        self._limb(side, "thigh", -UP, np.array([0.0, 1.0, 0.0]), self.roles["hips"])
        foot, shin = self.roles.get(side + "foot"), self.roles.get(side + "shin")
        if foot is None or shin is None:
            return
        flat = self._flat(side)
        self.frames[foot] = self._sole(foot, flat, shin)
        toe = self.roles.get(side + "toe")
        if toe is not None:
            self.frames[toe] = self._mean_frame(toe, foot, frames=flat)

    def _limb(
        self, side: str, upper: str, along: Floats, axis: Floats, above: int
    ) -> None:
        """Frames of two bones that point `along` (3,), bent about `axis` (3,) in a T-pose."""
        lower = LIMBS[upper]
        joints = [self.roles.get(side + r) for r in (upper, lower, LIMBS[lower])]
        first, second, end = joints
        if first is None:
            return
        if second is None:
            self.frames[first] = self._as_in_file(first, above, self.frames[above])
            return
        bone = self._mean_local(
            first, self.positions[:, second] - self.positions[:, first]
        )
        hinge = None if end is None else self._hinge(first, first, second, end)
        if bone is not None and hinge is not None:
            self.frames[first] = two_axes(bone, hinge, along, axis)
        else:
            self.frames[first] = self._mean_frame(first, above, bone, along)
        self.frames[second] = self._as_in_file(second, first, self.frames[first])
        if end is None:
            return
        bone = self._mean_local(
            second, self.positions[:, end] - self.positions[:, second]
        )
        if bone is None or self._goes_on(second, first, bone, along):
            return
        hinge = self._hinge(second, first, second, end)
        if hinge is not None:
            self.frames[second] = two_axes(bone, hinge, along, axis)
        else:
            self.frames[second] = self._mean_frame(second, first, bone, along)

    def _straight_trunk(self, hips: int, thighs: list[int], top: int) -> Floats | None:
        """Up (3,) in the hips' frame, if the file's zero pose is a straight trunk; or None.

        It is straight if all its bones point in the same direction and the mean posture in the
        motion is near it.
        """
        path = self.skeleton.path(hips, top)
        places = self.rest_positions
        line = places[top] - places[thighs].mean(axis=0)
        if len(path) < 2 or np.linalg.norm(line) < SHORT:
            return None
        for start, end in pairwise(path[1:]):
            bone = places[end] - places[start]
            if np.linalg.norm(bone) >= SHORT and _angle(bone, line) > LINE:
                return None
        if not all(
            self._is_neutral(joint, below) for below, joint in pairwise(path[:-1])
        ):
            return None
        return quat_rotate(
            quat_conjugate(self.rest_orientations[hips]), line / np.linalg.norm(line)
        )

    def _relative(
        self, joint: int, other: int, frames: Bools | slice = EVERY
    ) -> Floats:
        """Mean rotation (4,) of a joint relative to another, from their frames at rest."""
        turns = [
            quat_multiply(
                self.orientations[frames, j],
                quat_conjugate(self.rest_orientations[j]),
            )
            for j in (other, joint)
        ]
        return mean_rotation(quat_multiply(quat_conjugate(turns[0]), turns[1]))

    def _is_neutral(self, joint: int, below: int) -> bool:
        """Whether the mean posture of a trunk joint is near the file's zero pose.

        Relative to the joint below it: a bent back, or a hanging head, shows in several joints.
        """
        return _rotation_angle(self._relative(joint, below, self.neutral)) <= POSTURE

    def _goes_on(
        self, joint: int, other: int, bone: Floats | None, along: Floats
    ) -> bool:
        """Whether the file's zero pose is straight from one limb bone to the next.

        Then the bone (3,) of `joint`, in its frame, points `along` (3,) with the frame that it
        has from `other`, and the mean twist in the motion is small.
        """
        if bone is None:
            return True
        if _angle(quat_rotate(self.frames[joint], bone), along) > STRAIGHT:
            return False
        turn = self._relative(joint, other)
        twist = swing_twist(turn, quat_rotate(self.rest_orientations[joint], bone))[1]
        return _rotation_angle(twist) <= TWIST

    def _as_in_file(self, joint: int, other: int, frame: Floats) -> Floats:
        """Frame (4,) of a joint that follows `other` (4,) from the file's zero pose."""
        between = quat_multiply(
            quat_conjugate(self.rest_orientations[other]), self.rest_orientations[joint]
        )
        return quat_multiply(frame, between)

    def _mean_frame(
        self,
        joint: int,
        other: int,
        bone: Floats | None = None,
        along: Floats | None = None,
        frames: Bools | None = None,
    ) -> Floats:
        """Frame (4,) of a joint in its mean posture relative to another with a known frame.

        With `bone` (3,), in the joint's frame, and `along` (3,) the bone points there and
        only the twist is the mean.
        """
        turn = quat_multiply(
            self.frames[other], quat_conjugate(self.orientations[:, other])
        )
        seen = quat_multiply(turn, self.orientations[:, joint])
        if frames is not None and frames.any():
            seen = seen[frames]
        if bone is None or along is None:
            self.guessed.add(joint)
            return mean_rotation(seen)
        back = quat_between(
            quat_rotate(seen, bone), np.broadcast_to(along, (len(seen), 3))
        )
        return mean_rotation(quat_multiply(back, seen))

    def _mean_local(
        self, joint: int, vectors: Floats, frames: Bools | slice = EVERY
    ) -> Floats | None:
        """Mean direction (3,) of world vectors (T, 3) in a joint's frame; None if short."""
        if np.median(np.linalg.norm(vectors, axis=-1)) < SHORT:
            return None
        local = quat_rotate(quat_conjugate(self.orientations[:, joint]), vectors)
        mean: Floats = local[frames].mean(axis=0)
        length = float(np.linalg.norm(mean))
        return mean / length if length >= 0.5 * SHORT else None

    def _hinge(self, joint: int, first: int, second: int, end: int) -> Floats | None:
        """Mean axis (3,), in the frame of `joint`, about which two bones bend; or None."""
        places = self.positions
        bones = [
            places[:, second] - places[:, first],
            places[:, end] - places[:, second],
        ]
        lengths = [np.linalg.norm(bone, axis=-1, keepdims=True) for bone in bones]
        if min(np.median(length) for length in lengths) < SHORT:
            return None
        bones = [b / np.maximum(n, 1e-9) for b, n in zip(bones, lengths, strict=True)]
        axes = quat_rotate(
            quat_conjugate(self.orientations[:, joint]), np.cross(bones[0], bones[1])
        )
        total: Floats = axes.sum(axis=0)
        size, sines = float(np.linalg.norm(total)), np.linalg.norm(axes, axis=1).sum()
        if size < BENT * len(axes) or size < 0.8 * sines:
            return None
        return total / size

    def _end_bone(self, joint: int) -> Floats | None:
        """Direction (3,), in a joint's frame, to the middle of its children (else tips)."""
        children = list(self.skeleton.children(joint))
        if children:
            middle = self.positions[:, children].mean(axis=1)
            return self._mean_local(joint, middle - self.positions[:, joint])
        tips = [
            tip
            for tip, holder in zip(
                self.skeleton.tips, self.skeleton.tip_parents, strict=True
            )
            if holder == joint
        ]
        bone = np.mean(tips, axis=0) if tips else np.zeros(3)
        length = float(np.linalg.norm(bone))
        return bone / length if length >= SHORT else None

    def _flat(self, side: str) -> Bools:
        """Frames (T,) in which the foot of `side` is flat in stance; none if it never is.

        Of the frames in contact those with the lowest ankle, so that no heel is raised.
        """
        none = np.zeros(len(self.motion), dtype=np.bool_)
        if not has_feet(self.skeleton):
            return none
        stands = foot_contacts(self.motion)[:, SIDES.index(side)]
        if not stands.any():
            return none
        height = self.positions[:, self.roles[side + "foot"], 2]
        flat: Bools = stands & (height <= np.percentile(height[stands], 50.0))
        return flat

    def _sole(self, foot: int, flat: Bools, shin: int) -> Floats:
        """Frame (4,) of a foot with a level sole, pointing forwards."""
        if not flat.any():
            return self._mean_frame(foot, shin)
        back = quat_conjugate(self.orientations[flat, foot])
        up: Floats = quat_rotate(back, np.broadcast_to(UP, (len(back), 3))).mean(axis=0)
        bone = self._end_bone(foot)
        if bone is None or np.linalg.norm(np.cross(bone, up)) < 0.2:
            hips = self.orientations[flat, self.roles["hips"]]
            ahead = quat_rotate(
                quat_conjugate(self.frames[self.roles["hips"]]), FORWARD
            )
            bone = quat_rotate(back, quat_rotate(hips, ahead)).mean(axis=0)
        return two_axes(up, bone, UP, FORWARD)


def neutral_frames(positions: Floats, roles: dict[str, int]) -> Bools:
    """The frames (T,) of joints (T, J, 3) that are most upright, on straight legs."""
    thighs = [roles[side + "thigh"] for side in SIDES]
    feet = [roles[s + "foot"] for s in SIDES if s + "foot" in roles]
    top = next((roles[role] for role in _TOPS if role in roles), roles["hips"])
    lines = [positions[:, top] - positions[:, thighs].mean(axis=1)]
    lines += [
        positions[:, thigh] - positions[:, foot]
        for thigh, foot in zip(thighs, feet, strict=False)
    ]
    off = np.zeros(len(positions))
    for line in lines:
        flat = np.linalg.norm(line[:, :2], axis=-1)
        off = off + np.arctan2(flat, line[:, 2])
    result: Bools = off <= np.percentile(off, NEUTRAL)
    return result


def _snapped(matrix: Floats) -> Floats:
    """`matrix` (3, 3) as a rotation (4,), snapped to axes if within `SNAP` of them."""
    near = np.round(matrix)
    proper = np.allclose(near @ near.T, np.eye(3)) and np.linalg.det(near) > 0.0
    rotation = quat_from_matrix(matrix)
    if proper and _rotation_angle(quat_from_matrix(near @ matrix.T)) < SNAP:
        rotation = quat_from_matrix(near)
    result: Floats = rotation
    return result


def _rotation_angle(q: Floats) -> float:
    return float(2.0 * np.arccos(np.clip(abs(q[0]), 0.0, 1.0)))


def _angle(a: Floats, b: Floats) -> float:
    sine, cosine = np.linalg.norm(np.cross(a, b)), a @ b
    return float(np.arctan2(sine, cosine))
