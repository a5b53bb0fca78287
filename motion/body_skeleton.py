"""The skeleton of a physical body from any rig: human23's structure with the rig's lengths.

Each role becomes one joint with the rig's name, and human23's axes and limits: knees bend about
Y, elbows about Z. The body stands upright with hanging arms; in a T-pose its frames are those
of the world.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import SkeletonError
from ambulo.motion.landmarks import below, foot_points, rest_points
from ambulo.motion.roles import SIDES, missing_roles, role_map, roles_of
from ambulo.motion.skeleton import Skeleton
from ambulo.motion.skeletons import load_skeleton

LEGS = (0.4, 1.3)
"""Range of people's leg lengths, hip to ankle, [m]; others need a height."""
SPARE = ("chest", "hand")
"""Ends of roles that a rig may lack, in addition to `ambulo.motion.roles.OPTIONAL`."""
ENDS: dict[str, tuple[str, float, float]] = {
    "ankle": ("legs", 0.045, 0.16), "heel": ("legs", 0.03, 0.15),
    "front": ("legs", 0.1, 0.4), "toe": ("legs", 0.03, 0.15), "head": ("legs", 0.15, 0.9),
    "forearm": ("upper_arm", 0.5, 1.8), "hand": ("forearm", 0.3, 1.2),
}  # fmt: skip
"""Plausible ratios of end lengths to another length: height of the ankle, extent of the foot
behind and ahead of it, toes, the head's top over its joint, hands. Others are human23's."""
MIDDLE = 0.12
"""Head points within this fraction of the legs' length of the midline belong to the head
itself."""
SHORT = 0.03
"""Shortest separate segment of the trunk, over the legs' length."""
ARMS = np.deg2rad(78.0)
"""Angle of the upper arms at rest below those of a T-pose, [rad]."""
ROOM = 0.3
"""Smallest distance of the ball of the foot ahead of the ankle, as a fraction of their
distance."""


@dataclass(frozen=True, eq=False)
class BodySkeleton:
    """The skeleton of a body made from a rig, with notes."""

    skeleton: Skeleton
    """One joint for each role; at rest its soles touch the ground."""
    stature: float
    """Height from the soles to the head's top, [m]."""
    legs: float
    """Length of the legs over human23's."""
    merged: dict[str, tuple[str, ...]]
    """Joints of the rig that are rigidly part of a body, by that body's joint."""
    notes: tuple[str, ...]
    """Doubts, as notes."""


def body_skeleton(rig: Skeleton, height: float | None = None) -> BodySkeleton:
    """Return the skeleton of a body with the proportions of a rig that stands at rest.

    Lengths are means of both sides. Fingers, hair, twist bones and other joints without a role
    become rigid parts of the nearest body above.

    Args:
        rig: The skeleton, Z up; missing roles are detected.
        height: Stature of the body, [m]; by default the rig's.

    Raises:
        SkeletonError: The rig is no humanoid, lacks limbs, or has no person's size.
    """
    found = role_map(rig)
    if found.refusal and not rig.roles:
        raise SkeletonError(f"{rig.name}: no body of this rig: {found.refusal}")
    lacks = [role for role in missing_roles(rig) if not role.endswith(SPARE)]
    if lacks:
        raise SkeletonError(
            f"{rig.name}: no body of this rig: no joint has the role {', '.join(lacks)}; "
            "name them in a role map (--map)"
        )
    plan = load_skeleton("human23")
    adult = _measure(plan)
    lengths = _measure(rig, adult)
    places, tips = _t_pose(rig, lengths)
    sole = lengths["ankle"] - places["left_foot"][2]
    stature = float(places["head"][2] + lengths["head"] + sole)
    if height is None and not LEGS[0] <= lengths["legs"] <= LEGS[1]:
        raise SkeletonError(
            f"{rig.name}: legs of {lengths['legs']:.3g} m fit no person ({LEGS[0]:g} to "
            f"{LEGS[1]:g} m) in any usual unit; give the body's height (--height)"
        )
    scale = 1.0 if height is None else height / stature
    roles, own = roles_of(rig), roles_of(plan)
    order = sorted(places, key=own.__getitem__)
    index = {role: j for j, role in enumerate(order)}
    parents = [_row_above(plan, own, role, index) for role in order]
    points = np.array([places[role] for role in order])
    offsets = points - points[np.maximum(parents, 0)]
    offsets[0] = points[0] + [0.0, 0.0, sole]
    rest = np.tile([1.0, 0.0, 0.0, 0.0], (len(order), 1))
    for side, sign in zip(SIDES, (-1.0, 1.0), strict=True):
        half = 0.5 * sign * ARMS
        rest[index[f"{side}_upper_arm"], :2] = np.cos(half), np.sin(half)
    skeleton = Skeleton(
        rig.name,
        tuple(rig.joints[roles[role]] for role in order),
        tuple(parents),
        offsets * scale,
        rest,
        orders=tuple(plan.orders[own[role]] for role in order),
        limits=np.concatenate(
            [plan.limits[plan.angle_slices[own[role]]] for role in order]
        ),
        tip_parents=tuple(index[role] for role, _ in tips),
        tips=np.array([tip for _, tip in tips]) * scale,
        roles=index,
    )
    return BodySkeleton(
        skeleton,
        stature * scale,
        lengths["legs"] * scale / adult["legs"],
        _merged(rig, {roles[role] for role in order}),
        found.notes,
    )


def _row_above(
    plan: Skeleton, own: dict[str, int], role: str, index: dict[str, int]
) -> int:
    """Row of the nearest role above `role` that the body has; -1 for the root."""
    roles = {joint: name for name, joint in own.items()}
    joint = plan.parents[own[role]]
    while joint >= 0 and roles[joint] not in index:
        joint = plan.parents[joint]
    return index[roles[joint]] if joint >= 0 else -1


def _merged(rig: Skeleton, kept: set[int]) -> dict[str, tuple[str, ...]]:
    """Joints that are not kept, by the nearest kept joint above."""
    merged: dict[str, list[str]] = {}
    for joint, name in enumerate(rig.joints):
        above = joint
        while above >= 0 and above not in kept:
            above = rig.parents[above]
        if above >= 0 and above != joint:
            merged.setdefault(rig.joints[above], []).append(name)
    return {name: tuple(joints) for name, joints in merged.items()}


def _standing_points(rig: Skeleton) -> Floats:
    """Joints, then tips at rest, forward, left and up of the middle between the hips, [m].

    Shape (J + K, 3).
    """
    roles, points = roles_of(rig), rest_points(rig)
    hips = 0.5 * (points[roles["left_thigh"]] + points[roles["right_thigh"]])
    across = np.zeros(3)
    for limb in ("thigh", "upper_arm"):
        across += points[roles[f"left_{limb}"]] - points[roles[f"right_{limb}"]]
    left = across * [1.0, 1.0, 0.0]
    left /= max(float(np.linalg.norm(left)), 1e-9)
    up = np.array([0.0, 0.0, 1.0])
    turned: Floats = (points - hips) @ np.array([np.cross(left, up), left, up]).T
    return turned


def _measure(rig: Skeleton, adult: dict[str, float] | None = None) -> dict[str, float]:
    """Lengths of bones and ends of a rig, means of both sides, [m].

    Implausible ends are replaced by the adult's, scaled; without `adult`, all are taken.
    """
    roles, points = roles_of(rig), _standing_points(rig)

    def distance(a: int, b: int) -> float:
        return float(np.linalg.norm(points[b] - points[a]))

    sides: list[dict[str, float]] = []
    for side in SIDES:
        own = {
            limb: roles.get(f"{side}_{limb}", -1)
            for limb in ("thigh", "shin", "foot", "toe", "upper_arm", "forearm", "hand")
        }
        foot, toe, hand = own["foot"], own["toe"], own["hand"]
        ends = points[foot_points(rig, side)]
        ankle = float(points[foot, 2] - ends[:, 2].min())
        reach = float(np.linalg.norm(ends - points[foot], axis=1).max())
        low = max(ankle, 1e-9)
        sides.append(
            {
                "thigh": distance(own["thigh"], own["shin"]),
                "shin": distance(own["shin"], foot),
                "upper_arm": distance(own["upper_arm"], own["forearm"]),
                "forearm": distance(own["forearm"], hand)
                if hand >= 0
                else _farthest(rig, points, own["forearm"]),
                "foot": distance(foot, toe) if toe >= 0 else 0.0,
                "ankle": ankle,
                "heel": float(points[foot, 0] - ends[:, 0].min()),
                "front": float(np.sqrt(max(reach**2 - low**2, 0.0))),
                "toe": _farthest(rig, points, toe) if toe >= 0 else 0.0,
                "toe_height": ankle - float(points[foot, 2] - points[toe, 2]),
                "hand": _farthest(rig, points, hand) if hand >= 0 else 0.0,
            }
        )
    lengths = {name: 0.5 * (sides[0][name] + sides[1][name]) for name in sides[0]}
    lengths["hand"] = min(side["hand"] for side in sides)  # it holds an object
    lengths["legs"] = lengths["thigh"] + lengths["shin"]
    head = roles["head"]
    near = [
        points[p, 2] - points[head, 2]
        for p in below(rig, head)
        if abs(points[p, 1]) < MIDDLE * lengths["legs"]
    ]
    lengths["head"] = float(max(near, default=0.0))
    if adult is not None:
        for name, (base, low, high) in ENDS.items():
            if not low <= lengths[name] / lengths[base] <= high:
                lengths[name] = adult[name] * lengths[base] / adult[base]
        size = lengths["legs"] / adult["legs"]
        lengths["toe_height"] = adult["toe_height"] * size
    return lengths


def _farthest(rig: Skeleton, points: Floats, joint: int) -> float:
    """Distance of a joint from the farthest point below it, [m]."""
    ends = points[[joint, *below(rig, joint)]]
    return float(np.linalg.norm(ends - points[joint], axis=1).max())


def _t_pose(
    rig: Skeleton, lengths: dict[str, float]
) -> tuple[dict[str, Floats], list[tuple[str, Floats]]]:
    """Positions (3,) by role from the hips' midpoint, and tips from their joints, [m]."""
    roles, points = roles_of(rig), _standing_points(rig)
    places: dict[str, Floats] = {}
    shoulders = 0.5 * (
        points[roles["left_upper_arm"]] + points[roles["right_upper_arm"]]
    )
    top = max(shoulders[2], points[roles.get("neck", roles["hips"]), 2])
    for role in ("head", "neck", "chest", "spine", "hips"):
        if role not in roles:
            continue
        place = points[roles[role]] * [1.0, 0.0, 1.0]
        if role in ("chest", "spine"):
            if top - place[2] < SHORT * lengths["legs"]:
                continue  # no part of the trunk lies between it and the next
            top = place[2]
        places[role] = place

    def beside(limb: str) -> Floats:
        left, right = (points[roles[f"{side}_{limb}"]] for side in SIDES)
        mean: Floats = 0.5 * (left + right * [1.0, -1.0, 1.0])
        return mean

    down, out = np.array([0.0, 0.0, -1.0]), np.array([0.0, 1.0, 0.0])
    left = {"thigh": beside("thigh"), "upper_arm": beside("upper_arm")}
    left["shin"] = left["thigh"] + lengths["thigh"] * down
    left["foot"] = left["shin"] + lengths["shin"] * down
    left["forearm"] = left["upper_arm"] + lengths["upper_arm"] * out
    if all(f"{side}_clavicle" in roles for side in SIDES):
        left["clavicle"] = beside("clavicle")
    ankle, low = lengths["ankle"], lengths["toe_height"]
    tips = [("foot", np.array([-lengths["heel"], 0.0, -ankle]))]
    if all(f"{side}_toe" in roles for side in SIDES):
        bone, drop = lengths["foot"], ankle - low
        ahead = float(np.sqrt(max(bone**2 - drop**2, (ROOM * bone) ** 2)))
        left["toe"] = left["foot"] + [ahead, 0.0, -drop]
        tips.append(("toe", np.array([lengths["toe"], 0.0, -low])))
    else:
        tips.append(("foot", np.array([lengths["front"], 0.0, -ankle])))
    if all(f"{side}_hand" in roles for side in SIDES):
        left["hand"] = left["forearm"] + lengths["forearm"] * out
        tips.append(("hand", lengths["hand"] * out))
    else:
        wrist = lengths["forearm"]
        tips += [("forearm", wrist * out), ("forearm", (wrist + lengths["hand"]) * out)]
    ends: list[tuple[str, Floats]] = []
    for side, sign in zip(SIDES, (1.0, -1.0), strict=True):
        mirror = np.array([1.0, sign, 1.0])
        places |= {f"{side}_{limb}": place * mirror for limb, place in left.items()}
        ends += [(f"{side}_{limb}", tip * mirror) for limb, tip in tips]
    ends.append(("head", np.array([0.0, 0.0, lengths["head"]])))
    return places, ends
