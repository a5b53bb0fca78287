"""How good poses are that were found for targets: distances and angles, as plain numbers.

Distances are Euclidean (never per coordinate: sqrt(3) smaller), angles geodesic.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from ambulo.ik.limits import violation
from ambulo.ik.pose import Pose, fk
from ambulo.ik.rig import Rig
from ambulo.ik.solver.targets import Targets
from ambulo.motion.rotations import quat_angle

Floats = NDArray[np.float64]

MILLIMETRE, HALF_DEGREE = 0.001, 0.5
"""A target is met within these, [m] and [deg]."""

OUTSIDE = np.deg2rad(0.01)
"""A joint counts as outside its limits beyond this, [rad]."""


@dataclass(frozen=True)
class PoseScores:
    """Means over poses."""

    mpjpe_cm: float
    """Distance of all joints from the truth (MPJPE), in the world."""
    mpjre_deg: float
    """Angle between local rotations and the truth's, all joints (MPJRE)."""
    free_cm: float
    """Distance of the joints that have no target."""
    position_cm: float
    """Distance of joints with a position target from it."""
    rotation_deg: float
    """Angle of joints with a rotation target to it."""
    met_percent: float
    """Poses of which every target is met within 1 mm and 0.5 deg."""
    outside_percent: float
    """Poses with a joint outside its limits."""
    upper_cm: float
    """Distance of joints from the spine up."""
    lower_cm: float
    """Distance of the joints of the legs."""

    def as_dict(self) -> dict[str, float]:
        """By name."""
        return asdict(self)


def score(rig: Rig, targets: Targets, found: Pose, truth: Pose) -> PoseScores:
    """How near `found` comes to `targets` and to the `truth` that they are from."""
    positions, orientations = fk(rig, found)
    true = fk(rig, truth)[0]
    far = np.linalg.norm(positions - true, axis=-1)
    turned = quat_angle(found.rotations, truth.rotations)
    joints = list(rig.effectors)
    moved, faced = targets.position_weights > 0.0, targets.rotation_weights > 0.0
    reach = np.linalg.norm(positions[:, joints] - targets.positions, axis=-1)
    angle = np.rad2deg(quat_angle(orientations[:, joints], targets.rotations))
    met = (~moved | (reach < MILLIMETRE)) & (~faced | (angle < HALF_DEGREE))
    free = np.ones(far.shape, dtype=np.bool_)
    for row, joint in enumerate(joints):
        free[moved[:, row], joint] = False
    legs = np.array([_is_leg(rig, joint) for joint in range(len(rig))])
    outside = (violation(rig, found.rotations) > OUTSIDE).any(axis=1)
    return PoseScores(
        mpjpe_cm=100.0 * float(far.mean()),
        mpjre_deg=float(np.rad2deg(turned).mean()),
        free_cm=100.0 * _mean(far[free]),
        position_cm=100.0 * _mean(reach[moved]),
        rotation_deg=_mean(angle[faced]),
        met_percent=100.0 * float(met.all(axis=1).mean()),
        outside_percent=100.0 * float(outside.mean()),
        upper_cm=100.0 * float(far[:, ~legs].mean()),
        lower_cm=100.0 * float(far[:, legs].mean()),
    )


def _is_leg(rig: Rig, joint: int) -> bool:
    return any(rig.bases[row] in rig.chain(joint) for row in (2, 3))


def _mean(values: Floats) -> float:
    return float(values.mean()) if values.size else 0.0
