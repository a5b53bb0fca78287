"""Errors of poses that were solved from targets: distances and angles.

Distances are Euclidean (never per coordinate: sqrt(3) smaller), angles geodesic.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Floats
from ambulo.ik.limits import violation
from ambulo.ik.pose import Pose, fk
from ambulo.ik.rig import TARGETS, Rig
from ambulo.ik.solver.targets import Targets
from ambulo.motion.rotations import quat_angle

MASKS: dict[str, tuple[str, ...]] = {
    "all": TARGETS,
    "effectors": TARGETS[:-1],
    "trackers": ("Head", "LeftHand", "RightHand"),
}
"""The sets of targets that networks are judged with."""

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


PoseErrors = dict[str, NDArray[Any]]
"""Errors of N poses by name, each (N,), rates as truth values; empty where there are no such
joints."""


def pose_errors(rig: Rig, targets: Targets, found: Pose, truth: Pose) -> PoseErrors:
    """Return the errors of each pose; all must have the same targets."""
    e = _Errors(rig, targets, found, truth)
    free = e.free.all(axis=0)
    moved, faced = e.moved.all(axis=0), e.faced.all(axis=0)
    columns = {
        "mpjpe_cm": 100.0 * e.far,
        "mpjre_deg": np.rad2deg(e.turned),
        "free_cm": 100.0 * e.far[:, free],
        "position_cm": 100.0 * e.reach[:, moved],
        "rotation_deg": e.angle[:, faced],
    }
    means = {
        name: values.mean(axis=1) if values.shape[1] else np.zeros(0)
        for name, values in columns.items()
    }
    return {**means, "met_rate": e.met.all(axis=1), "outside_rate": e.outside}


class _Errors:
    """Errors of B poses, of which J joints and 6 targets each."""

    def __init__(self, rig: Rig, targets: Targets, found: Pose, truth: Pose) -> None:
        positions, orientations = fk(rig, found)
        true = fk(rig, truth)[0]
        joints = list(rig.effectors)
        self.far = np.linalg.norm(positions - true, axis=-1)
        self.turned = quat_angle(found.rotations, truth.rotations)
        self.moved = targets.position_weights > 0.0
        self.faced = targets.rotation_weights > 0.0
        reach = positions[:, joints] - targets.positions
        self.reach = np.linalg.norm(reach, axis=-1)
        turns = quat_angle(orientations[:, joints], targets.rotations)
        self.angle = np.rad2deg(turns)
        self.met = (~self.moved | (self.reach < MILLIMETRE)) & (
            ~self.faced | (self.angle < HALF_DEGREE)
        )
        self.free = np.ones(self.far.shape, dtype=np.bool_)
        for row, joint in enumerate(joints):
            self.free[self.moved[:, row], joint] = False
        self.outside = (violation(rig, found.rotations) > OUTSIDE).any(axis=1)


def score(rig: Rig, targets: Targets, found: Pose, truth: Pose) -> PoseScores:
    """Return the errors of `found` against `targets` and against the pose `truth`."""
    e = _Errors(rig, targets, found, truth)
    legs = np.array([_is_leg(rig, joint) for joint in range(len(rig))])
    return PoseScores(
        mpjpe_cm=100.0 * float(e.far.mean()),
        mpjre_deg=float(np.rad2deg(e.turned).mean()),
        free_cm=100.0 * _mean(e.far[e.free]),
        position_cm=100.0 * _mean(e.reach[e.moved]),
        rotation_deg=_mean(e.angle[e.faced]),
        met_percent=100.0 * float(e.met.all(axis=1).mean()),
        outside_percent=100.0 * float(e.outside.mean()),
        upper_cm=100.0 * float(e.far[:, ~legs].mean()),
        lower_cm=100.0 * float(e.far[:, legs].mean()),
    )


def _is_leg(rig: Rig, joint: int) -> bool:
    return any(rig.bases[row] in rig.chain(joint) for row in (2, 3))


def _mean(values: Floats) -> float:
    return float(values.mean()) if values.size else 0.0
