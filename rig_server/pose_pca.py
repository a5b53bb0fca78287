"""A few numbers that describe a whole pose, learned from a stream, and back.

Poses of one activity lie near a plane of few dimensions (principal components of joint
rotation vectors, tilt and height of the root). A free run that stays in that plane
cannot drift into poses that were never shown.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numba import njit

from ambulo.configs.arrays import Array, Floats
from ambulo.motion.quaternion_kernels import inverse_multiply, multiply
from ambulo.motion.rotations import (
    quat_conjugate,
    quat_from_rotvec,
    quat_from_yaw,
    quat_multiply,
    quat_rotate,
    quat_to_rotvec,
)
from ambulo.rig_server.anatomy import mean_rotations
from ambulo.rig_server.kernels import logarithm

COMPONENTS = 6
"""Dimensions of the plane; a walk's first six hold 98.6 % of the variance (CMU 02_01)."""
FLOOR = 0.1
"""Least spread of a component, as a share of the first one's."""
HEIGHT_WEIGHT = 3.0
"""Radians that one metre of the root's height counts for."""


@dataclass(frozen=True, eq=False)
class Track:
    """N frames of a stream: what a free run continues."""

    positions: Floats
    """World positions of the root, [m]. Shape (N, 3)."""
    rotations: Floats
    """World orientations of the root, wxyz. Shape (N, 4)."""
    local: Floats
    """Local rotations of the other bones, wxyz. Shape (N, B - 1, 4)."""


@dataclass(frozen=True, eq=False)
class PosePCA:
    """The plane of a stream's poses."""

    reference: Floats
    """Root orientation that counts as upright with yaw 0, wxyz. Shape (4,)."""
    mean_local: Floats
    """Mean local rotations, wxyz. Shape (B - 1, 4)."""
    mean: Floats
    """Mean of the features. Shape (F,)."""
    axes: Floats
    """Principal axes over their spreads, so that coordinates have spread 1. (F, K)."""
    back: Floats
    """From coordinates to features. Shape (K, F)."""
    explained: float
    """Share of the variance that the plane holds."""

    def yaw(self, rotations: Floats) -> Floats:
        """Heading of root orientations (..., 4) from the reference, [rad]."""
        turn = quat_multiply(rotations, quat_conjugate(self.reference))
        angle: Floats = 2.0 * np.arctan2(turn[..., 3], turn[..., 0])
        return np.arctan2(np.sin(angle), np.cos(angle))

    def features(self, track: Track) -> Floats:
        """Joint rotation vectors, tilt, weighted height. (N, F), F = 3 (B - 1) + 4."""
        upright = quat_multiply(
            quat_from_yaw(-self.yaw(track.rotations)), track.rotations
        )
        tilt = quat_to_rotvec(quat_multiply(quat_conjugate(self.reference), upright))
        turns = quat_to_rotvec(
            quat_multiply(quat_conjugate(self.mean_local), track.local)
        )
        height = HEIGHT_WEIGHT * track.positions[:, 2:]
        return np.concatenate([turns.reshape(len(turns), -1), tilt, height], axis=1)

    def coordinates(self, track: Track) -> Floats:
        """Of N frames, (N, K)."""
        return (self.features(track) - self.mean) @ self.axes

    def steps(self, track: Track) -> Floats:
        """Root motion into each frame but the first, in the yaw frame before it.

        Forward and sideways [m], and turn [rad]. Shape (N - 1, 3).
        """
        yaw = self.yaw(track.rotations)
        moved = quat_rotate(quat_from_yaw(-yaw[:-1]), np.diff(track.positions, axis=0))
        turn = np.diff(yaw)
        turn = np.arctan2(np.sin(turn), np.cos(turn))
        return np.column_stack([moved[:, :2], turn])

    def poses(self, features: Floats, yaw: Floats) -> tuple[Floats, Floats, Floats]:
        """Heights (N,) [m], root orientations (N, 4) and locals (N, B - 1, 4)."""
        count = len(features)
        turns = features[:, :-4].reshape(count, -1, 3)
        local = quat_multiply(self.mean_local, quat_from_rotvec(turns))
        tilt = quat_from_rotvec(features[:, -4:-1])
        root = quat_multiply(
            quat_from_yaw(yaw), quat_multiply(self.reference[None], tilt)
        )
        return features[:, -1] / HEIGHT_WEIGHT, root, local


def pose_pca_of(track: Track) -> PosePCA:
    """Fit principal components to the poses of `track`, which has N >= 2 frames."""
    reference = track.rotations[0]
    mean_local = mean_rotations(track.local)
    blank = np.zeros(0)
    space = PosePCA(reference, mean_local, blank, blank, blank, 0.0)
    features = space.features(track)
    mean = features.mean(axis=0)
    values, vectors = np.linalg.eigh(np.cov(features.T, bias=True))
    values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
    kept = min(COMPONENTS, len(values))
    spread = np.sqrt(values[:kept])
    spread = np.maximum(spread, max(FLOOR * spread[0], 1e-4))
    explained = float(values[:kept].sum() / max(values.sum(), 1e-12))
    return PosePCA(
        reference,
        mean_local,
        mean,
        np.ascontiguousarray(vectors[:, :kept] / spread),
        np.ascontiguousarray((vectors[:, :kept] * spread).T),
        explained,
    )


@njit(cache=True)
def place_frames(
    reference: Array,
    mean_local: Array,
    mean: Array,
    axes: Array,
    positions: Array,
    rotations: Array,
    local: Array,
    first: int,
    count: int,
    coordinates: Array,
    steps: Array,
) -> None:
    """`PosePCA.coordinates` and `steps` of `count` frames of a ring, compiled.

    Args:
        reference: Of the space, as the next three.
        mean_local: (B - 1, 4).
        mean: (F,).
        axes: (F, C).
        positions: Of the root, a ring of K frames, [m]. Shape (K, 3).
        rotations: Of the root, wxyz. Shape (K, 4).
        local: Of the other bones, wxyz. Shape (K, B - 1, 4).
        first: Index of the first frame, at least 1; the one before it is read too.
        count: How many.
        coordinates: Filled where the frames are. Shape (K, C).
        steps: The same, (K, 3).
    """
    kept, bones, width = len(positions), len(mean_local), axes.shape[1]
    back, turn, vector = reference.copy(), np.empty(4), np.empty(3)
    back[1], back[2], back[3] = -back[1], -back[2], -back[3]
    features, upright = np.empty(len(mean)), np.empty(4)
    before = 0.0
    for index in range(first - 1, first + count):
        row = index % kept
        multiply(rotations[row], back, turn)
        yaw = 2.0 * math.atan2(turn[3], turn[0])
        if index >= first:
            last = (index - 1) % kept
            x = positions[row, 0] - positions[last, 0]
            y = positions[row, 1] - positions[last, 1]
            cosine, sine = math.cos(before), math.sin(before)
            steps[row, 0] = cosine * x + sine * y
            steps[row, 1] = cosine * y - sine * x
            steps[row, 2] = math.atan2(math.sin(yaw - before), math.cos(yaw - before))
            for bone in range(bones):
                inverse_multiply(mean_local[bone], local[row, bone], turn)
                logarithm(turn, vector)
                for i in range(3):
                    features[3 * bone + i] = vector[i]
            turn[0], turn[1], turn[2] = math.cos(0.5 * yaw), 0.0, 0.0
            turn[3] = -math.sin(0.5 * yaw)
            multiply(turn, rotations[row], upright)
            inverse_multiply(reference, upright, turn)
            logarithm(turn, vector)
            for i in range(3):
                features[3 * bones + i] = vector[i]
            features[3 * bones + 3] = HEIGHT_WEIGHT * positions[row, 2]
            for j in range(width):
                total = 0.0
                for i in range(len(mean)):
                    total += (features[i] - mean[i]) * axes[i, j]
                coordinates[row, j] = total
        before = yaw
