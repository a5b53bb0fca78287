"""Bodies on four legs: the hind ones have the roles of legs, the front ones those of arms."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.motion.roles.limbs import LimbScores
from ambulo.motion.roles.symmetry import LimbPair, Symmetry, across
from ambulo.motion.roles.tree import ARM, LEG, SIDES, unit

ALIKE, LEVEL = 0.4, 0.2
"""Largest difference of lengths, and of heights of ends, over a leg's length."""
APART = 0.3
"""Smallest distance of front and hind legs along the body, over their length."""
PARALLEL = 0.8
"""Smallest cosine between the directions of front and hind legs."""
AXIS = 0.97
"""Smallest cosine to an axis of the file at which that is up, or ahead (15 degrees)."""


@dataclass(frozen=True, eq=False)
class FourLegs:
    """The limbs of a body on four legs."""

    joints: dict[str, int]
    """The joint of each role."""
    chains: dict[str, tuple[int, ...]]
    """All joints of each role's part, from the trunk outwards."""
    up: Floats
    """Unit vector. Shape (3,)."""
    forward: Floats
    """Unit vector, taken along the file's front. Shape (3,)."""


def four_legs(scores: LimbScores, symmetry: Symmetry) -> FourLegs | None:
    """Return the legs of a body that stands on two pairs of them; None if it does not."""
    tree = scores.tree
    symmetry = across(tree, symmetry)
    pairs, lateral = symmetry.pairs, symmetry.plane.normal
    if len(pairs) != 2 or not _stand_together(*pairs, lateral):
        return None
    down = _reach(pairs[0]) + _reach(pairs[1])
    up = _snapped(-unit(down - (down @ lateral) * lateral))
    legs = [scores.leg(pair, -up) for pair in pairs]
    if any(leg is None for leg in legs):
        return None
    ahead = _snapped(unit(np.cross(lateral, up)))
    ahead = ahead if ahead[np.abs(ahead).argmax()] > 0 else -ahead
    front, hind = sorted(
        (leg for leg in legs if leg is not None),
        key=lambda leg: float(leg.pair.points[0] @ ahead),
        reverse=True,
    )
    hips, chest = (tree.parents[leg.pair.sides[0][0]] for leg in (hind, front))
    joints: dict[str, int] = {"hips": hips}
    chains: dict[str, tuple[int, ...]] = {"hips": (hips,)}
    if chest != hips:
        joints["chest"] = chest
        chains["chest"] = tuple(tree.joints(tree.path(hips, chest)[1:]))
    for limb, roles in ((hind, LEG[:3]), (front, ARM[1:])):
        for path in limb.pair.sides:
            left = (tree.positions[path[0]] - tree.positions[hips]) @ np.cross(
                up, ahead
            )
            side = SIDES[int(left < 0.0)]
            end = len(path) - 1 if limb.end is None else limb.end
            starts = [0, limb.lower, end, len(path)]
            marks = [path[limb.upper], path[limb.lower], path[end]]
            for n, (role, joint) in enumerate(zip(roles, marks, strict=True)):
                joints[f"{side}_{role}"] = joint
                chain = tree.joints(path[starts[n] : starts[n + 1]])
                chains[f"{side}_{role}"] = tuple(chain) or (joint,)
    return FourLegs(joints, chains, up, ahead)


def _stand_together(first: LimbPair, second: LimbPair, lateral: Floats) -> bool:
    """Whether one pair of limbs stands ahead of another on the same ground.

    Fingers stand beside each other.
    """
    one, two = _reach(first), _reach(second)
    length = max(float(np.linalg.norm(one)), float(np.linalg.norm(two)), 1e-9)
    down = unit(one + two)
    gap = first.points[0] - second.points[0]
    return bool(
        abs(np.linalg.norm(one) - np.linalg.norm(two)) < ALIKE * length
        and unit(one) @ unit(two) > PARALLEL
        and abs(gap @ np.cross(down, lateral)) > APART * length
        and abs((first.points[-1] - second.points[-1]) @ down) < LEVEL * length
    )


def _reach(pair: LimbPair) -> Floats:
    """From a limb's first node to its last, mean of both sides. Shape (3,)."""
    reach: Floats = pair.points[-1] - pair.points[0]
    return reach


def _snapped(direction: Floats) -> Floats:
    """The axis of the file that is near a direction, else the direction."""
    axis = int(np.abs(direction).argmax())
    if abs(direction[axis]) < AXIS:
        return direction
    return np.asarray(np.sign(direction[axis]) * np.eye(3)[axis])
