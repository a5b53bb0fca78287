"""Errors of poses that were solved from targets: distances and angles.

Distances are Euclidean (never per coordinate: sqrt(3) smaller), angles geodesic.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

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


PoseErrors = dict[str, NDArray[Any]]
"""Errors of N poses by name, each (N,), rates as truth values; empty where there are no such
joints: distance (MPJPE) and angle (MPJRE) of all joints from the truth, the first also of
joints without a target, from the spine up and of the legs; distance and angle of joints from
their targets; whether every target is met, and whether a joint is outside its limits."""


def pose_errors(rig: Rig, targets: Targets, found: Pose, truth: Pose) -> PoseErrors:
    """Return the errors of each pose; all must have the same targets."""
    positions, orientations = fk(rig, found)
    joints = list(rig.effectors)
    far = 100.0 * np.linalg.norm(positions - fk(rig, truth)[0], axis=-1)
    turned = np.rad2deg(quat_angle(found.rotations, truth.rotations))
    moved = (targets.position_weights > 0.0).all(axis=0)
    faced = (targets.rotation_weights > 0.0).all(axis=0)
    reach = np.linalg.norm(positions[:, joints] - targets.positions, axis=-1)
    angle = np.rad2deg(quat_angle(orientations[:, joints], targets.rotations))
    met = (~moved | (reach < MILLIMETRE)) & (~faced | (angle < HALF_DEGREE))
    free = np.ones(len(rig), dtype=np.bool_)
    free[np.array(joints)[moved]] = False
    bases = {rig.bases[row] for row in (2, 3)}
    legs = np.array([not bases.isdisjoint(rig.chain(j)) for j in range(len(rig))])
    columns = {
        "mpjpe_cm": far,
        "mpjre_deg": turned,
        "free_cm": far[:, free],
        "position_cm": 100.0 * reach[:, moved],
        "rotation_deg": angle[:, faced],
        "upper_cm": far[:, ~legs],
        "lower_cm": far[:, legs],
    }
    means = {
        name: values.mean(axis=1) if values.shape[1] else np.zeros(0)
        for name, values in columns.items()
    }
    outside = (violation(rig, found.rotations) > OUTSIDE).any(axis=1)
    return {**means, "met_rate": met.all(axis=1), "outside_rate": outside}


def score(rig: Rig, targets: Targets, found: Pose, truth: Pose) -> dict[str, float]:
    """Return the means of `pose_errors`, 0 where there are no such joints; rates in percent."""
    errors = pose_errors(rig, targets, found, truth)
    means = {n: float(v.mean()) if len(v) else 0.0 for n, v in errors.items()}
    percent = {n: 100.0 * means.pop(f"{n}_rate") for n in ("met", "outside")}
    return means | {f"{name}_percent": value for name, value in percent.items()}
