"""The skeleton human23 with a person's lengths and torsions from gait parameters."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ambulo.configs.arrays import Floats
from ambulo.configs.gait import GaitSpace
from ambulo.motion.rotations import quat_from_rotvec
from ambulo.motion.skeleton import Skeleton
from ambulo.motion.skeletons import load_skeleton

ENDS: dict[str, str] = {
    "femur": "Tibia",
    "tibia": "Talus",
    "arm": "ForeArm",
    "forearm": "Hand",
}
"""The joint at the far end of each limb with a length parameter."""
LETTERS: dict[str, str] = {"left": "L", "right": "R"}
"""The letter of each side in joint names."""
INWARDS: dict[str, float] = {"left": -1.0, "right": 1.0}
"""Sign about the upward axis of a leg's turn towards the other leg."""


def gait_skeleton(space: GaitSpace, values: ArrayLike) -> Skeleton:
    """human23 with the lengths and torsions in `values` (P,).

    Everything is scaled by `global`, limbs also by their own factor. A femur's torsion is the
    rest orientation of its shin: positive torsions turn knee and foot inwards; joint angles
    keep their meaning. The root's height lets the longer leg reach the ground.
    """
    named = space.named(values)
    base = load_skeleton("human23")
    size = named["global"]
    offsets = base.offsets * size
    rest = base.rest.copy()
    reach = []
    for side, letter in LETTERS.items():
        for limb, end in ENDS.items():
            joint = base.index(end + letter)
            offsets[joint] *= named[f"{limb}_length_{side}"]
        shin = base.index(f"Tibia{letter}")
        turn = INWARDS[side] * named[f"femur_torsion_{side}"]
        rest[shin] = quat_from_rotvec(np.array([0.0, 0.0, turn]))
        ankle = base.index(f"Talus{letter}")
        reach.append(offsets[[shin, ankle], 2].sum() - size * _reach(base, letter))
    offsets[0, 2] -= min(reach)
    return base.replace(offsets=offsets, rest=rest, tips=base.tips * size)


def leg_length(space: GaitSpace, values: ArrayLike) -> Floats:
    """Hip to knee plus knee to ankle, mean of both legs, [m], of `values` (..., P)."""
    legs: Floats = 0.5 * leg_lengths(space, values).sum(axis=-1)
    return legs


def leg_lengths(space: GaitSpace, values: ArrayLike) -> Floats:
    """Leg lengths, left and right, [m]. Shape (..., 2)."""
    array, base = np.asarray(values, dtype=np.float64), load_skeleton("human23")
    sides = []
    for side, letter in LETTERS.items():
        length = np.zeros(array.shape[:-1])
        for limb in ("femur", "tibia"):
            bone = np.linalg.norm(base.offsets[base.index(ENDS[limb] + letter)])
            length += bone * array[..., space.index(f"{limb}_length_{side}")]
        sides.append(length * array[..., space.index("global")])
    return np.stack(sides, axis=-1)


def mass_factors(space: GaitSpace, values: ArrayLike) -> dict[str, float]:
    """Mass of each human23 body over that of the healthy adult's.

    As for similar bodies, with the cube of the size; a shorter limb keeps its thickness (our
    choice).
    """
    named = space.named(values)
    factors = dict.fromkeys(load_skeleton("human23").joints, named["global"] ** 3)
    bodies = {"femur": "Femur", "tibia": "Tibia", "arm": "Arm", "forearm": "ForeArm"}
    for side, letter in LETTERS.items():
        for limb, body in bodies.items():
            factors[body + letter] *= named[f"{limb}_length_{side}"]
    return factors


def _reach(skeleton: Skeleton, letter: str) -> float:
    """Vertical position of the ankle relative to the hip at rest, negative, [m]."""
    joints = [skeleton.index(name + letter) for name in ("Tibia", "Talus")]
    return float(skeleton.offsets[joints, 2].sum())
