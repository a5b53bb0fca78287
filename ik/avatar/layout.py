"""Joint indices of human23 for compiled code, and the points of a foot."""

from __future__ import annotations

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.motion.landmarks import rest_points
from ambulo.motion.skeleton import Skeleton

PARENTS = (
    -1, 0, 1, 2, 3, 3, 0, 6, 7, 8, 8, 0, 11, 12, 13, 12, 15, 16, 17, 12, 19, 20, 21,
)  # fmt: skip
"""Parent of each joint."""
TREE = np.array(PARENTS, dtype=np.int64)
"""`PARENTS` as an array, for kernels."""
PELVIS, SPINE, TORSO, NECK, HEAD = 0, 11, 12, 13, 14
THIGHS = (6, 1)
"""Left and right; the shin, the ankle and the two toes of each follow it."""
CLAVICLES = (19, 15)
"""Left and right; the upper arm, the forearm and the hand of each follow it."""
SHIN, ANKLE, PINKY, THUMB = 1, 2, 3, 4
"""Joints of a leg after its thigh."""
UPPER, FORE, HAND = 1, 2, 3
"""Joints of an arm after its clavicle."""
SIDE = (1.0, -1.0)
"""Sign of +Y of the left and of the right."""

EYES = (0.09, 0.0, 0.085)
"""Middle of the eyes in the head's frame for a stature of 1.75 m, [m]: below the vertex by
0.119 m (Gordon et al. 1988, ectocanthus to top of head, men), ahead of the neck's axis by 0.09
m (our choice)."""
STATURE = 1.75
"""Stature of `EYES`, [m]."""


def sole(skeleton: Skeleton) -> Floats:
    """Heel and ball of a foot in the ankle's frame, on the ground at rest. Shape (2, 3).

    The ball is the midpoint of the bases of big and small toe.
    """
    left = THIGHS[0] + ANKLE
    heel = skeleton.tips[skeleton.tip_parents.index(left)]
    toes = skeleton.offsets[[THIGHS[0] + PINKY, THIGHS[0] + THUMB]]
    return np.array([[heel[0], 0.0, heel[2]], [toes[:, 0].mean(), 0.0, heel[2]]])


def stature(skeleton: Skeleton) -> float:
    """Height of the highest point at rest above the lowest, [m]."""
    heights = rest_points(skeleton)[:, 2]
    return float(heights.max() - heights.min())
