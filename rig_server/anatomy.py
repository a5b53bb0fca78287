"""A character's bones as observed in its stream: lengths, mean pose, hinge axes, limits.

Nothing is assumed about the rig: directions and lengths of bones and knee axes are all measured
from the frames.
"""

from __future__ import annotations

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.motion.rotations import (
    mean_rotation,
    quat_conjugate,
    quat_multiply,
    quat_rotate,
    quat_to_rotvec,
)
from ambulo.rig_server.layout import RigLayout
from ambulo.rig_server.pose_kernels import Anatomy

STILL = np.radians(1.0) ** 2
"""Variance below which a hinge has not shown its axis yet, [rad^2]."""
MARGIN = 0.1
"""Margin of a hinge beyond its observed angles, [rad]."""


def anatomy_of(layout: RigLayout, offsets: Floats, rotations: Floats) -> Anatomy:
    """The anatomy measured from N frames.

    Args:
        layout: The rig of B bones and E effectors.
        offsets: Each bone from its parent, [m]. Shape (N, B, 3).
        rotations: Local rotations wxyz. Shape (N, B, 4).
    """
    bones, chains = len(layout.bones), layout.chains
    lengths = np.median(offsets, axis=0).astype(np.float64)
    mean = mean_rotation(rotations)
    axes, limits = np.zeros((bones, 3)), np.zeros((bones, 2))
    axes[:, 1] = 1.0
    reach = np.empty(len(chains))
    for e, (upper, lower, end) in enumerate(chains):
        bone = layout.effectors[e]
        if upper < 0:
            reach[e] = _path_length(layout, lengths, bone)
            continue
        reach[e] = np.linalg.norm(lengths[lower]) + np.linalg.norm(lengths[end])
        turns = quat_to_rotvec(
            quat_multiply(quat_conjugate(mean[lower]), rotations[:, lower])
        )
        axes[lower] = _hinge_axis(turns, mean[lower], lengths[lower], lengths[end])
        along = turns @ axes[lower]
        limits[lower] = along.min() - MARGIN, along.max() + MARGIN
    return Anatomy(
        np.array(layout.parents),
        np.array(layout.effectors),
        chains,
        lengths,
        mean,
        axes,
        limits,
        np.maximum(reach, 1e-3),
    )


def _hinge_axis(turns: Floats, mean: Floats, knee: Floats, end: Floats) -> Floats:
    """The axis about which `turns` (N, 3) [rad] vary most, in the lower bone's frame.

    Without variation, the normal of the plane of the two bones in the mean pose.
    """
    values, vectors = np.linalg.eigh(turns.T @ turns / len(turns))
    if values[-1] > STILL:
        axis: Floats = vectors[:, -1]
        return axis
    upper = quat_rotate(quat_conjugate(mean), knee)
    axis = np.cross(upper, end)
    if (
        np.linalg.norm(axis)
        < 1e-3 * np.linalg.norm(upper) * np.linalg.norm(end) + 1e-12
    ):
        axis = np.cross(end, np.eye(3)[np.argmin(np.abs(end))])
    size = np.linalg.norm(axis)
    return axis / size if size > 1e-12 else np.array([0.0, 1.0, 0.0])


def _path_length(layout: RigLayout, offsets: Floats, bone: int) -> float:
    """Length of the path from the root to `bone`, [m]."""
    length = 0.0
    while bone > 0:
        length += float(np.linalg.norm(offsets[bone]))
        bone = layout.parents[bone]
    return length
