"""Least-squares refinement of a transferred pose: its weights, and the call of the kernel."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Floats
from ambulo.motion.retargeting.body import RetargetBody
from ambulo.motion.retargeting.kernels import BALL, FIXED, HINGE, refine

SWEEPS = 4
"""Gauss-Newton steps of each frame, forwards and backwards in time in turn: after four, every
joint is within 0.05 cm of the result of 30 (measured on walk, run and dance)."""

POSITION, ANKLE, HIPS = 1.0, 30.0, 0.3
"""Weights of squared distances to goals: of a joint, of an ankle, of the hips."""
AIM = {"foot": 0.3, "hips": 0.03, "head": 0.01, "hand": 0.01}
"""Weights of squared angles to the requested world orientation, [m^2/rad^2]."""
PULL = 1e-3
"""Weight of a squared rotation from the transferred pose, [m^2/rad^2]: 1 rad is worth 3 cm."""
PULL_ROOT = 1e-3
"""Weight of a squared shift of the root."""
SMOOTH = 2e-3
"""Weight at 120 Hz of a correction's squared change in a frame, [m^2/rad^2]."""
LIMIT = 0.3
"""Weight of a hinge's squared angle beyond its limits, [m^2/rad^2]."""


@dataclass(frozen=True, eq=False)
class RefinementGoals:
    """Target positions and orientations with their weights, for T frames of J joints."""

    positions: Floats
    """World positions, [m]. Shape (T, J, 3)."""
    weights: Floats
    """Weights of the squared distances to them. Shape (T, J)."""
    orientations: Floats
    """World orientations, wxyz. Shape (T, J, 4)."""
    turn_weights: Floats
    """Weights of the squared angles to them, [m^2/rad^2]. Shape (T, J)."""


def refined(
    body: RetargetBody,
    root: Floats,
    rotations: Floats,
    goals: RefinementGoals,
    fps: float,
) -> tuple[Floats, Floats]:
    """Root positions (T, 3) and local rotations (T, J, 4) nearest to `goals`.

    Args:
        body: The target, J joints.
        root: Root positions to start from, [m]. Shape (T, 3).
        rotations: Local rotations of the start, near which the result stays. Shape (T, J, 4).
        goals: The goals.
        fps: Frames per second; the correction is as smooth in time at any rate.
    """
    skeleton = body.skeleton
    kinds = np.array([_kind(order) for order in skeleton.orders])
    kinds[0] = BALL
    joints, above = _freedoms(skeleton.parents, kinds)
    limits = np.array(
        [
            skeleton.limits[angles][0] if kind == HINGE else (-np.pi, np.pi)
            for angles, kind in zip(skeleton.angle_slices, kinds, strict=True)
        ]
    )
    pulls = np.full(len(joints), PULL)
    pulls[:3] = PULL_ROOT
    smooths = np.full(len(joints), SMOOTH * (fps / 120.0) ** 2)
    root, local = root.copy(), np.ascontiguousarray(rotations).copy()
    refine(
        np.array(skeleton.parents), skeleton.rest, skeleton.offsets, kinds,
        body.hinge_axes, limits, joints, above, root, local, local.copy(),
        np.zeros((len(root), len(joints))), goals.positions, goals.weights,
        goals.orientations, goals.turn_weights, pulls, smooths, LIMIT, SWEEPS,
    )  # fmt: skip
    return root, local


def _kind(order: str) -> int:
    """Two angles count as a ball: the files' limits of the third are not kept."""
    return {0: FIXED, 1: HINGE}.get(len(order), BALL)


def _freedoms(
    parents: tuple[int, ...], kinds: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The joint of each degree of freedom, and the degree of freedom above it."""
    joints, above = [0, 0, 0], [-1, 0, 1]
    last: dict[int, int] = {-1: 2}
    for joint, (parent, kind) in enumerate(zip(parents, kinds.tolist(), strict=True)):
        under = last[parent]
        for _ in range(kind):
            above.append(under)
            joints.append(joint)
            under = len(joints) - 1
        last[joint] = under
    return np.array(joints), np.array(above)
