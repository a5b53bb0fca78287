"""Points of the body besides joints: heels, toe ends, finger and head tops.

Points are indexed as joints followed by tips: joint j is j, tip k is J + k.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.motion.kinematics import motion_kinematics, rest_kinematics, tip_positions
from ambulo.motion.motion import Motion
from ambulo.motion.roles import SIDES, roles_of
from ambulo.motion.skeleton import Skeleton


def body_points(motion: Motion) -> Floats:
    """World position of all joints, then all tips, [m]. Shape (T, J + K, 3)."""
    positions, turns = motion_kinematics(motion)
    tips: Floats = tip_positions(motion.skeleton, positions, turns)
    return np.concatenate([positions, tips], axis=1)


STILL = 1e-4
"""A joint whose path stays within this along every axis is at rest, [m]."""
TOE_DOWN, TOE_AHEAD = np.deg2rad([15.0, 45.0])
"""A toe joint within the first angle of the line from shin to ankle lies under the ankle, if
its children deviate from that line by more than the second, [rad]."""


@lru_cache(maxsize=64)
def rest_points(skeleton: Skeleton) -> Floats:
    """World position at rest of all joints, then all tips, [m]. Shape (J + K, 3)."""
    positions, turns = rest_kinematics(skeleton)
    tips = tip_positions(skeleton, positions, turns)
    points: Floats = np.concatenate([positions, tips])
    points.setflags(write=False)
    return points


def below(skeleton: Skeleton, joint: int) -> list[int]:
    """Points below `joint` in the tree: descendant joints and tips, its own included."""
    inside = skeleton.branch(joint)
    owners = enumerate(skeleton.tip_parents, start=len(skeleton))
    return [*inside[1:], *(tip for tip, owner in owners if owner in inside)]


def carried(skeleton: Skeleton, joint: int) -> list[int]:
    """Children of `joint`, or its tips if it has none."""
    children = list(skeleton.children(joint))
    owners = enumerate(skeleton.tip_parents, start=len(skeleton))
    return children or [tip for tip, owner in owners if owner == joint]


def foot_ends(skeleton: Skeleton, foot: int) -> list[int]:
    """Points to which the foot of the joint `foot` leads; [] without any.

    Its children or tips; if they lie straight below the ankle and the toes begin there, the
    points beyond.
    """
    near = carried(skeleton, foot)
    beyond = [
        p for joint in near if joint < len(skeleton) for p in below(skeleton, joint)
    ]
    if not beyond or foot == 0:
        return near
    rest = rest_points(skeleton)
    toe = rest[near].mean(axis=0)
    shin, down = rest[foot] - rest[skeleton.parents[foot]], toe - rest[foot]
    ahead = rest[beyond].mean(axis=0) - toe
    under = _angle(shin, down) < TOE_DOWN and _angle(shin, ahead) > TOE_AHEAD
    return beyond if under else near


def end_of(skeleton: Skeleton, joint: int) -> int:
    """The point below `joint` farthest from it at rest; `joint` itself if none."""
    rest = rest_points(skeleton)
    return max(
        [joint, *below(skeleton, joint)],
        key=lambda point: float(np.linalg.norm(rest[point] - rest[joint])),
    )


def heel_and_toe(skeleton: Skeleton, side: str) -> tuple[int | None, int]:
    """The heel, if there is one, and the toes' end (or the ankle) of the foot of `side`.

    At rest the toes' end is the foremost point of the foot, a heel lies behind the ankle.
    """
    ankle = roles_of(skeleton)[f"{side}_foot"]
    rest = rest_points(skeleton)
    points: Iterable[int] = below(skeleton, ankle)
    toe = max([ankle, *points], key=lambda point: float(rest[point, 0]))
    heel = min([ankle, *points], key=lambda point: float(rest[point, 0]))
    return (None if rest[heel, 0] > rest[ankle, 0] - 0.01 else heel), toe


def foot_points(skeleton: Skeleton, side: str) -> list[int]:
    """Ankle and all points of the foot of `side`; empty if it has no foot."""
    ankle = roles_of(skeleton).get(f"{side}_foot")
    return [] if ankle is None else [ankle, *below(skeleton, ankle)]


def carrier(skeleton: Skeleton, positions: Floats) -> int:
    """The joint whose path (T, 3) in `positions` (T, J or more, 3) is that of the body.

    The hips, or their only child if they are at rest and it moves by itself, so that the bone
    between them changes its length. So a static root above the hips, as animation programs
    write it, is skipped.
    """
    body = joint = roles_of(skeleton)["hips"]
    while np.ptp(positions[:, joint], axis=0).max() < STILL:
        children = skeleton.children(joint)
        if len(children) != 1:
            break
        bone = positions[:, children[0]] - positions[:, joint]
        joint = children[0]
        if np.ptp(np.linalg.norm(bone, axis=1)) >= STILL:
            body = joint
    return body


def body_path(motion: Motion) -> Floats:
    """World position of the joint that carries the body (`carrier`), [m]. Shape (T, 3)."""
    path = motion.root_positions
    if roles_of(motion.skeleton)["hips"] == 0 and np.ptp(path, axis=0).max() >= STILL:
        return path
    positions = motion_kinematics(motion)[0]
    return positions[:, carrier(motion.skeleton, positions)]


def has_feet(skeleton: Skeleton) -> bool:
    """Whether the roles name both feet."""
    return all(f"{side}_foot" in roles_of(skeleton) for side in SIDES)


def _angle(a: Floats, b: Floats) -> float:
    """Angle between two vectors (3,), [rad]; 0 if one is zero."""
    return float(np.arctan2(np.linalg.norm(np.cross(a, b)), a @ b))
