"""Mass distribution of the body: segments of published tables on any skeleton with roles."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import MotionError
from ambulo.motion.landmarks import body_points, end_of, heel_and_toe, rest_points
from ambulo.motion.motion import Motion
from ambulo.motion.roles import SIDES, roles_of
from ambulo.motion.skeleton import Skeleton
from ambulo.motion.skeletons import SegmentData, skeleton_file

_HEEL_SHARE = 0.25
"""Fraction of the foot's length behind the ankle, for skeletons without a heel."""

TRUNK_LENGTHS = {"lower_trunk": 0.1457, "middle_trunk": 0.2155, "upper_trunk": 0.1707}
"""Lengths from mid-hips upwards to the suprasternale, [m] (de Leva 1996, table 2, men)."""


def segment_masses() -> dict[str, SegmentData]:
    """The body's segments by name; limbs are named once for both sides."""
    return {segment.name: segment for segment in skeleton_file("human23").segments}


def center_of_mass(motion: Motion) -> Floats:
    """The whole body's centre of mass in the world, [m]. Shape (T, 3).

    Raises:
        MotionError: The skeleton has no arms and legs to place the mass on.
    """
    com: Floats = np.einsum(
        "p,tpi->ti", mass_weights(motion.skeleton), body_points(motion)
    )
    return com


@lru_cache(maxsize=64)
def mass_weights(skeleton: Skeleton) -> Floats:
    """The weight of each point (joints, then tips) in the centre of mass. Shape (J + K,).

    A segment's centre lies on the line between two landmarks, so that the body's centre
    is one weighted mean of points; the trunk's three centres lie on the line from the
    mid-hips through spine and chest to the neck. Masses and positions: de Leva 1996.
    """
    limbs = ("thigh", "shin", "foot", "upper_arm", "forearm")
    needed = [f"{side}_{limb}" for side in SIDES for limb in limbs]
    roles = roles_of(skeleton)
    missing = [role for role in needed if role not in roles]
    if missing:
        raise MotionError(
            f"{skeleton.name}: no centre of mass: no joint plays {', '.join(missing)}"
        )
    one = np.eye(len(rest_points(skeleton)))
    data = segment_masses()
    total = np.zeros(len(one))

    def add(segment: str, start: Floats, end: Floats, at: float | None = None) -> None:
        part = data[segment].at if at is None else at
        total[:] += data[segment].mass * (start + part * (end - start))

    for side in SIDES:
        thigh, shin, foot, arm, elbow = (roles[f"{side}_{limb}"] for limb in limbs)
        hand = roles.get(f"{side}_hand", end_of(skeleton, elbow))
        add("thigh", one[thigh], one[shin])
        add("shank", one[shin], one[foot])
        add("upper_arm", one[arm], one[elbow])
        add("forearm", one[elbow], one[hand])
        end = end_of(skeleton, hand) if hand < len(skeleton) else hand
        add("hand", one[hand], one[end])
        heel, toe = heel_and_toe(skeleton, side)
        if heel is not None:
            add("foot", one[heel], one[toe])
        else:
            ahead = (data["foot"].at - _HEEL_SHARE) / (1.0 - _HEEL_SHARE)
            add("foot", one[foot], one[toe], ahead)
    if "head" in roles:
        neck = roles.get("neck", roles["head"])
        add("head", one[_top(skeleton, roles["head"])], one[neck])
    else:
        arms = [one[roles[f"{side}_upper_arm"]] for side in SIDES]
        add("head", 0.5 * (arms[0] + arms[1]), 0.5 * (arms[0] + arms[1]))
    _add_trunk(skeleton, one, total, data)
    return total / total.sum()


def _top(skeleton: Skeleton, head: int) -> int:
    """Index of the head's highest point at rest."""
    end, rest = end_of(skeleton, head), rest_points(skeleton)
    return end if rest[end, 2] > rest[head, 2] else head


def _add_trunk(
    skeleton: Skeleton, one: Floats, total: Floats, data: dict[str, SegmentData]
) -> None:
    """Add the three trunk segments at their positions on the line from mid-hips to neck."""
    roles = roles_of(skeleton)
    shoulders = 0.5 * (one[roles["left_upper_arm"]] + one[roles["right_upper_arm"]])
    line = [0.5 * (one[roles["left_thigh"]] + one[roles["right_thigh"]])]
    line += [one[roles[role]] for role in ("spine", "chest") if role in roles]
    line.append(one[roles["neck"]] if "neck" in roles else shoulders)
    places = np.array(line) @ rest_points(skeleton)
    lengths = np.r_[0.0, np.cumsum(np.linalg.norm(np.diff(places, axis=0), axis=1))]
    whole, base = sum(TRUNK_LENGTHS.values()), 0.0
    for name, length in TRUNK_LENGTHS.items():
        # The table counts downwards from the upper landmark.
        at = (base + (1.0 - data[name].at) * length) / whole * lengths[-1]
        base += length
        i = min(int(np.searchsorted(lengths, at, side="right")) - 1, len(line) - 2)
        part = (at - lengths[i]) / max(lengths[i + 1] - lengths[i], 1e-9)
        total += data[name].mass * (line[i] + part * (line[i + 1] - line[i]))
