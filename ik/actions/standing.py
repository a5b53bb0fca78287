"""A starting pose: standing upright, feet flat, arms down."""

from __future__ import annotations

import numpy as np

from ambulo.configs.errors import IKError
from ambulo.ik.pose import Pose, start_pose
from ambulo.ik.rig import Rig
from ambulo.ik.solver.refine import refine
from ambulo.ik.solver.targets import Targets, row_of
from ambulo.motion.landmarks import rest_points

EASE = 0.97
"""Height of the hips as a fraction of that with straight legs, so that knees are not
locked."""


def ankle_height(rig: Rig) -> float:
    """Height of the ankle of a foot that stands flat on the ground, [m]."""
    points = rest_points(rig.skeleton)
    ankle = points[rig.effectors[row_of("LeftFoot")], 2]
    return float(ankle - points[:, 2].min())


def standing_pose(rig: Rig) -> Pose:
    """Return one character standing at the world's origin, facing +X.

    Raises:
        IKError: the rig's limits do not let it stand.
    """
    rest = rest_points(rig.skeleton)
    hips = rest[rig.effectors[row_of("Hips")]]
    ankle = ankle_height(rig)
    feet = {
        name: rest[rig.effectors[row_of(name)]] - hips
        for name in ("LeftFoot", "RightFoot")
    }
    height = ankle - EASE * float(feet["LeftFoot"][2])
    positions = {
        name: np.array([place[0], place[1], ankle]) for name, place in feet.items()
    }
    positions["Hips"] = np.array([0.0, 0.0, height])
    names = ("LeftFoot", "RightFoot", "Hips")
    targets = Targets.of(
        positions, {name: rig.target_rest[row_of(name)] for name in names}
    )
    result = refine(rig, targets, start_pose(rig), 20)
    if not result.reached.all():
        raise IKError(f"rig {rig.name}: it cannot stand inside its limits")
    return result.pose
