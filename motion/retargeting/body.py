"""A skeleton prepared for retargeting: at rest, facing +X, with its roles."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import MotionError
from ambulo.motion.kinematics import rest_kinematics, tip_positions
from ambulo.motion.landmarks import carried, foot_ends
from ambulo.motion.retargeting.chains import hinge_axes, hinge_chains
from ambulo.motion.roles import role_map, roles_of
from ambulo.motion.rotations import (
    quat_conjugate,
    quat_from_yaw,
    quat_multiply,
    quat_rotate,
)
from ambulo.motion.skeleton import Skeleton

LIMBS = {"thigh": "shin", "shin": "foot", "upper_arm": "forearm", "forearm": "hand"}
"""Bones that must have the source's directions: the role at the start and at the end."""

CHAINS = (("thigh", "shin", "foot", "toe"), ("upper_arm", "forearm", "hand"))
"""Roles along each limb, from the trunk on."""

SIDES = ("left_", "right_")
"""Prefixes of the roles of limbs, in the order of columns for feet."""
NEEDED = ("hips", "left_thigh", "right_thigh")

BENT_AT_REST = 0.4
"""Sine of the angle between a limb's bones at rest from which it determines the flexion
axis."""
UNEVEN = 0.1
"""Sum of a hinge's limits over their range from which they determine the flexion side."""
FLEXES = {"shin": -1.0, "forearm": 1.0}
"""Whether a limb's part flexes forwards (1) or backwards (-1)."""
SHORT = 0.01
"""Length below which a bone's direction is meaningless, [m]."""


@dataclass(frozen=True, eq=False)
class RetargetBody:
    """A skeleton at rest, turned about Z to face +X, and the roles of its joints."""

    skeleton: Skeleton
    """The skeleton, J joints."""
    roles: dict[str, int]
    """Joint of each of its roles."""
    positions: Floats
    """World positions at rest, [m]. Shape (J, 3)."""
    orientations: Floats
    """World orientations at rest, wxyz. Shape (J, 4)."""

    def bone(self, start: str, end: str) -> Floats | None:
        """Vector from role to role at rest, [m], (3,); None if missing or too short."""
        if start not in self.roles or end not in self.roles:
            return None
        bone: Floats = (
            self.positions[self.roles[end]] - self.positions[self.roles[start]]
        )
        return bone if np.linalg.norm(bone) >= SHORT else None

    def limb_bone(self, start: str, end: str) -> Floats | None:
        """As `bone`; a last role's bone leads to where its part ends (`end_bone`)."""
        return self.bone(start, end) if end in self.roles else self.end_bone(start)

    def length(self, start: str, end: str) -> float:
        """Distance between two roles at rest, [m]; 0 if either is missing."""
        bone = self.bone(start, end)
        return 0.0 if bone is None else float(np.linalg.norm(bone))

    def hinge(self, role: str) -> Floats | None:
        """World axis at rest, (3,), about which a role's hinge flexes; None if it is no hinge.

        The side follows from the bend at rest, or else from the wider limits, or else from
        people's knees and elbows. A ball counts as a hinge if its limits leave one axis across
        its bone (a rig's elbow, which bends about one axis and twists about the bone), a chain
        of hinges as the one most across its bone.
        """
        joint = self.roles.get(role)
        if joint is None:
            return None
        if role in self.chains:
            joint = self._across(role)
        letters = self.skeleton.orders[joint]
        letter = letters if len(letters) == 1 else self._free_axis(role, joint)
        if not letter:
            return None
        limits = self.skeleton.limits[self.skeleton.angle_slices[joint]]
        low, high = limits[letters.index(letter)]
        sign = 1.0 if low + high >= 0.0 else -1.0
        axis = quat_rotate(self.skeleton.axes[joint], np.eye(3)["XYZ".index(letter)])
        turned: Floats = quat_rotate(self.orientations[joint], axis)
        bones = self._bones(role)
        bend = np.cross(bones[0], bones[1]) if len(bones) == 2 else np.zeros(3)
        ahead = FLEXES.get(role.split("_", 1)[-1])
        if np.linalg.norm(bend) > BENT_AT_REST:
            sign = 1.0 if bend @ turned >= 0.0 else -1.0
        elif ahead and bones and abs(low + high) < UNEVEN * (high - low):
            sign = 1.0 if ahead * np.cross(turned, bones[-1])[0] >= 0.0 else -1.0
        return np.asarray(sign * turned)

    def _free_axis(self, role: str, joint: int) -> str:
        """The axis across a ball's bone with by far the widest limits; "" if there is none."""
        skeleton = self.skeleton
        side, limb = role.split("_", 1)
        bone = self.limb_bone(role, f"{side}_{LIMBS.get(limb, '')}")
        if bone is None or len(skeleton.orders[joint]) != 3:
            return ""
        frame = quat_multiply(self.orientations[joint], skeleton.axes[joint])
        bone = quat_rotate(quat_conjugate(frame), bone / np.linalg.norm(bone))
        low, high = skeleton.limits[skeleton.angle_slices[joint]].T
        ranges = sorted(
            (float(wide), letter)
            for letter, wide in zip(skeleton.orders[joint], high - low, strict=True)
            if abs(bone["XYZ".index(letter)]) < 0.5
        )
        if len(ranges) != 2 or ranges[1][0] < 3.0 * ranges[0][0]:
            return ""
        return ranges[1][1]

    def _across(self, role: str) -> int:
        """The hinge of a role's chain whose axis is most orthogonal to the adjacent bones."""
        chain, bones = self.chains[role], self._bones(role)
        if not bones:
            return chain[-1]
        axes = quat_rotate(self.orientations[chain], self.hinge_axes[chain])
        return chain[int(np.argmin(np.abs(axes @ np.array(bones).T).sum(axis=1)))]

    def _bones(self, role: str) -> list[Floats]:
        """Unit vectors (3,) at rest of the bones before and after a limb's role, if known."""
        side, _, limb = role.partition("_")
        above = next((start for start, end in LIMBS.items() if end == limb), "")
        bones = [
            self.bone(f"{side}_{above}", role),
            self.limb_bone(role, f"{side}_{LIMBS.get(limb, '')}"),
        ]
        return [bone / np.linalg.norm(bone) for bone in bones if bone is not None]

    def is_ball(self, role: str) -> bool:
        """Whether the joint of a role rotates about three axes."""
        return role in self.roles and len(self.skeleton.orders[self.roles[role]]) == 3

    def turns_freely(self, role: str) -> bool:
        """Whether a role's part can take any orientation: by a ball, or by three hinges."""
        hinges = len(self.chains.get(role, ()))
        return hinges > 2 or len(self.skeleton.orders[self.parts[role]]) > 1

    def foot_bone(self, side: str) -> Floats | None:
        """Vector from the ankle to the middle of the points to which the foot leads, [m], (3,).

        At rest; None without such points (`ambulo.motion.landmarks.foot_ends`). If they are a
        heel and toes, those ahead of the ankle count.
        """
        foot = self.parts.get(side + "foot")
        if foot is None:
            return None
        ends = foot_ends(self.skeleton, foot)
        ahead = [p for p in ends if self.points[p, 0] > self.positions[foot, 0]]
        return self._bone(foot, ahead or ends)

    def toes(self, side: str) -> list[int]:
        """Joints whose middle is the end of the foot's bone; [] if it ends in tips."""
        foot = self.parts.get(side + "foot")
        ends = [] if foot is None else foot_ends(self.skeleton, foot)
        return [end for end in ends if end in self.skeleton.children(foot or 0)]

    def end_bone(self, role: str) -> Floats | None:
        """Vector from a role's joint to the middle of its children (else tips), [m], (3,)."""
        return self.joint_bone(self.parts[role]) if role in self.roles else None

    def joint_bone(self, joint: int) -> Floats | None:
        """Vector from a joint to the middle of its children (else tips) at rest, [m], (3,)."""
        return self._bone(joint, carried(self.skeleton, joint))

    def _bone(self, joint: int, ends: list[int]) -> Floats | None:
        """From a joint to the middle of points at rest, [m], (3,); None if too short."""
        if not ends:
            return None
        bone: Floats = self.points[ends].mean(axis=0) - self.positions[joint]
        return bone if np.linalg.norm(bone) >= SHORT else None

    @cached_property
    def points(self) -> Floats:
        """World positions at rest of all joints, then all tips, [m]. Shape (J + K, 3)."""
        tips = tip_positions(self.skeleton, self.positions, self.orientations)
        return np.concatenate([self.positions, tips])

    @cached_property
    def chains(self) -> dict[str, list[int]]:
        """The hinges that together rotate the part of a role (`hinge_chains`)."""
        return hinge_chains(self.skeleton, self.roles)

    @cached_property
    def parts(self) -> dict[str, int]:
        """The joint with the orientation of each role's part: the last of its chain."""
        return self.roles | {role: chain[-1] for role, chain in self.chains.items()}

    @cached_property
    def hinge_axes(self) -> Floats:
        """Axis of each hinge in its own frame; zeros for others. Shape (J, 3)."""
        return hinge_axes(self.skeleton)


def retarget_body(skeleton: Skeleton) -> RetargetBody:
    """`skeleton` at rest with its roles.

    Raises:
        MotionError: The skeleton lacks hips or thighs.
    """
    roles = roles_of(skeleton)
    missing = [role for role in NEEDED if role not in roles]
    if missing:
        shape = role_map(skeleton).refusal
        raise MotionError(
            f"{skeleton.name}: retargeting needs joints for hips and both thighs, but found "
            f"none for {', '.join(missing)}{f' ({shape})' if shape else ''}; give a role map"
        )
    positions, orientations = rest_kinematics(skeleton)
    left = positions[roles["left_thigh"]] - positions[roles["right_thigh"]]
    if np.hypot(left[0], left[1]) < 1e-6:
        raise MotionError(f"{skeleton.name}: the thighs are not side by side at rest")
    turn = quat_from_yaw(np.array(0.5 * np.pi - np.arctan2(left[1], left[0])))
    return RetargetBody(
        skeleton, roles, quat_rotate(turn, positions), quat_multiply(turn, orientations)
    )


def broken_limbs(source: RetargetBody, target: RetargetBody) -> dict[str, list[str]]:
    """Missing inner roles of limbs whose outer roles both bodies have.

    Without them, the outer ones would be rotated on a limb that does not move.
    """
    broken = {}
    for side in SIDES:
        for chain in CHAINS:
            lacking: list[str] = []
            for role in (side + limb for limb in chain):
                if role not in source.roles or role not in target.roles:
                    lacking.append(role)
                elif lacking:
                    broken[role] = lacking.copy()
    return broken
