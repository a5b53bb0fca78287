"""Whether a pose is a standing body, by the directions of its bones.

For rest poses: offsets of a file may be a T-pose, an A-pose, arms hanging down, or no pose at
all (every bone along one axis of its joint), which is no basis for a transfer.
"""

from __future__ import annotations

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.motion.landmarks import foot_ends
from ambulo.motion.retargeting.body import SHORT
from ambulo.motion.skeleton import Skeleton

TRUNK_LEAN, LEG_SPREAD, HEAD_LEAN, BEND = np.deg2rad([40.0, 55.0, 75.0, 110.0])
"""Largest angles at rest, [rad]: trunk from upright, leg bones from straight down, head from
upright, and elbows from straight."""
ARM_FORWARD, ARM_RAISED, ARM_INWARD = 0.87, 0.6, 0.4
"""Largest components of an upper arm's direction at rest forwards or backwards, up, and
inwards."""
FOOT_BACK = 0.2
"""Largest backward component of a foot's direction at rest."""
FOOT_DOWN = np.deg2rad(15.0)
"""Smallest angle of a foot's bone at rest from straight down, [rad]."""

UP = np.array([0.0, 0.0, 1.0])


def standing_fault(skeleton: Skeleton, roles: dict[str, int], pose: Floats) -> str:
    """Reason why `pose` is no standing body; "" if it is one.

    Args:
        skeleton: The skeleton, J joints.
        roles: Joint of each role, hips and thighs among them.
        pose: World positions of the joints, then of the tips, Z up, any heading, [m].
            Shape (J + K, 3), as `ambulo.motion.landmarks.rest_points` gives them.
    """
    body = _Directions(skeleton, roles, pose)
    left = body.between("right_thigh", "left_thigh")
    if left is None or abs(left[2]) > 0.5:
        return "the thighs are not side by side"
    left = np.array([left[0], left[1], 0.0]) / np.hypot(left[0], left[1])
    forward = np.cross(left, UP)
    faults = (
        _trunk_fault(body),
        *(_leg_fault(body, side, forward) for side in ("left", "right")),
        *(_arm_fault(body, side, left, forward) for side in ("left", "right")),
    )
    return next((fault for fault in faults if fault), "")


class _Directions:
    """Directions from role to role in one pose."""

    def __init__(self, skeleton: Skeleton, roles: dict[str, int], pose: Floats) -> None:
        self.skeleton, self.roles, self.pose = skeleton, roles, pose

    def between(self, start: str, end: str) -> Floats | None:
        """Unit vector (3,) from role to role; None if one is missing or they coincide."""
        if start not in self.roles or end not in self.roles:
            return None
        return _unit(self.pose[self.roles[end]] - self.pose[self.roles[start]])

    def toes(self, side: str) -> Floats | None:
        """Unit vector (3,) from the ankle to the middle of the foot's end points."""
        foot = self.roles.get(f"{side}_foot", -1)
        ends = [] if foot < 0 else foot_ends(self.skeleton, foot)
        if not ends:
            return None
        return _unit(self.pose[ends].mean(axis=0) - self.pose[foot])

    def trunk(self) -> Floats | None:
        """Unit vector (3,) from the middle of the thighs to the top of the trunk."""
        start = self.pose[[self.roles[f"{s}_thigh"] for s in ("left", "right")]]
        arms = [self.roles.get(f"{s}_upper_arm", -1) for s in ("left", "right")]
        top = next(
            (self.roles[role] for role in ("neck", "head") if role in self.roles), None
        )
        if top is not None:
            return _unit(self.pose[top] - start.mean(axis=0))
        if min(arms) >= 0:
            return _unit(self.pose[arms].mean(axis=0) - start.mean(axis=0))
        return self.between("hips", "chest")


def _unit(vector: Floats) -> Floats | None:
    length = float(np.linalg.norm(vector))
    return vector / length if length >= SHORT else None


def _angle(a: Floats, b: Floats) -> float:
    return float(np.arccos(np.clip(a @ b, -1.0, 1.0)))


def _trunk_fault(body: _Directions) -> str:
    trunk = body.trunk()
    if trunk is not None and _angle(trunk, UP) > TRUNK_LEAN:
        return f"the trunk is {_degrees(_angle(trunk, UP))} from upright"
    for start in ("neck", "chest"):
        head = body.between(start, "head")
        if head is not None and _angle(head, UP) > HEAD_LEAN:
            return f"the head is {_degrees(_angle(head, UP))} from upright"
    return ""


def _leg_fault(body: _Directions, side: str, forward: Floats) -> str:
    for start, end in (("thigh", "shin"), ("shin", "foot")):
        bone = body.between(f"{side}_{start}", f"{side}_{end}")
        if bone is not None and _angle(bone, -UP) > LEG_SPREAD:
            return f"the {side} {start} is {_degrees(_angle(bone, -UP))} from straight down"
    toes = body.toes(side)
    if toes is None:
        return ""
    if _angle(toes, -UP) < FOOT_DOWN:
        return f"the {side} foot points straight down"
    if toes @ forward < -FOOT_BACK:
        return f"the {side} foot points backwards"
    return ""


def _arm_fault(body: _Directions, side: str, left: Floats, forward: Floats) -> str:
    upper = body.between(f"{side}_upper_arm", f"{side}_forearm")
    if upper is None:
        return ""
    outward = left if side == "left" else -left
    if abs(upper @ forward) > ARM_FORWARD:
        return f"the {side} arm points forwards or backwards"
    if upper @ UP > ARM_RAISED:
        return f"the {side} arm is raised"
    if upper @ outward < -ARM_INWARD:
        return f"the {side} arm points inwards"
    lower = body.between(f"{side}_forearm", f"{side}_hand")
    if lower is not None and _angle(upper, lower) > BEND:
        return f"the {side} elbow is bent by {_degrees(_angle(upper, lower))}"
    return ""


def _degrees(angle: float) -> str:
    return f"{np.rad2deg(angle):.0f} degrees"
