"""Points of the body besides joints: heels, toe ends, finger and head tops.

A point is numbered as in joints followed by tips: joint j is j, tip k is J + k.
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


def end_of(skeleton: Skeleton, joint: int) -> int:
    """The point below `joint` farthest from it at rest; `joint` itself if none."""
    rest = rest_points(skeleton)
    return max(
        [joint, *below(skeleton, joint)],
        key=lambda point: float(np.linalg.norm(rest[point] - rest[joint])),
    )


def heel_and_toe(skeleton: Skeleton, side: str) -> tuple[int | None, int]:
    """The heel, if it is a point, and the toes' end (or the ankle) of the foot of `side`.

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


def has_feet(skeleton: Skeleton) -> bool:
    """Whether the roles name both feet."""
    return all(f"{side}_foot" in roles_of(skeleton) for side in SIDES)
