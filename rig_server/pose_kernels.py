"""Compiled parts of the rig model between frames and network: inputs and poses."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ambulo.configs.arrays import Array
from ambulo.motion.quaternion_kernels import (
    between,
    inverse_multiply,
    log_between,
    multiply,
    multiply_at,
    unrotate,
)
from ambulo.rig_server.kernels import (
    close_chain,
    copy_into,
    forward,
    root_space,
)
from ambulo.rig_server.network import Weights

INPUTS_OF_RIG = 3
"""Number of inputs of each rig: the world's up direction."""
INPUTS_OF_EFFECTOR = 5
"""Number of inputs of each effector: target 3, its distance, hit. The ground's normal is not an
input: it acts by geometry (`tilt_effectors`), so that slopes need not be learned."""
FAMILIAR = 0.14
"""Distance from learned inputs, each effector's in units of its reach, at which the network's
weight has fallen to exp(-1)."""


class Anatomy(NamedTuple):
    """Measured bones of one character; see `ambulo.rig_server.anatomy`."""

    parents: NDArray[np.int64]
    """Parent of each bone, -1 for the root. Shape (B,)."""
    effectors: NDArray[np.int64]
    """Bones of the effectors. Shape (E,)."""
    chains: NDArray[np.int64]
    """Upper, lower and end bone of each effector's chain, or -1. Shape (E, 3)."""
    offsets: NDArray[np.float64]
    """Each bone from its parent, in the parent's frame, [m]. Shape (B, 3)."""
    mean: NDArray[np.float64]
    """Mean local rotations, wxyz. Shape (B, 4)."""
    axes: NDArray[np.float64]
    """Unit hinge axis of each chain's lower bone in its own frame. Shape (B, 3)."""
    limits: NDArray[np.float64]
    """Smallest and largest rotation about each hinge from the mean, [rad]. Shape (B, 2)."""
    reach: NDArray[np.float64]
    """Length that scales each effector's target, [m]. Shape (E,)."""


class Scene(NamedTuple):
    """Ground and targets of N frames, in the root's frame."""

    ups: NDArray[np.float64]
    """The world's up direction. Shape (N, 3)."""
    normals: NDArray[np.float64]
    """Unit ground normals. Shape (N, E, 3)."""
    hits: NDArray[np.float64]
    """1 for a ground hit. Shape (N, E)."""
    targets: NDArray[np.float64]
    """Targets, [m]. Shape (N, E, 3)."""


class Ready(NamedTuple):
    """Network inputs and targets of M stored frames, for one anatomy."""

    inputs: NDArray[np.float32]
    """Inputs of the network. Shape (M, I)."""
    base: NDArray[np.float32]
    """The pose from the anatomy alone, wxyz. Shape (M, B, 4)."""
    label: NDArray[np.float32]
    """The target pose, on level ground, wxyz. Shape (M, B, 4)."""
    wanted: NDArray[np.float32]
    """Bone positions of the target pose in the root's frame, [m]. Shape (M, B, 3)."""
    made_by: NDArray[np.int64]
    """Number of the anatomy of each row, 0 for none. Shape (M,)."""


@njit(cache=True)
def tilt_of(up: Array, normal: Array, hit: float, out: Array) -> None:
    """`out` = the rotation from level ground to the hit ground, (4,)."""
    out[0], out[1], out[2], out[3] = 1.0, 0.0, 0.0, 0.0
    if hit > 0.5:
        between(up, normal, out)


@njit(cache=True)
def tilt_effectors(
    rig: Anatomy, scene: Scene, row: int, local: Array, sign: float
) -> None:
    """Rotate the effectors of a pose (B, 4) with the ground (sign 1) or back (-1).

    So a foot learned on level ground is also flat on a slope.
    """
    bones = len(rig.parents)
    positions, turned = np.empty((bones, 3)), np.empty((bones, 4))
    root_space(rig.parents, rig.offsets, local, positions, turned)
    tilt, whole = np.empty(4), np.empty(4)
    for e in range(len(rig.effectors)):
        bone = rig.effectors[e]
        tilt_of(scene.ups[row], scene.normals[row, e], scene.hits[row, e], tilt)
        for i in range(1, 4):
            tilt[i] *= sign
        multiply(tilt, turned[bone], whole)
        inverse_multiply(turned[rig.parents[bone]], whole, local[bone])


@njit(cache=True)
def inputs_and_base(
    rig: Anatomy, scene: Scene, row: int, x: Array, base: Array
) -> None:
    """Inputs `x` (3 + 5 E,) of the network, and the pose from the anatomy alone.

    The pose `base` (B, 4) is the mean pose with each two-bone chain closed on its
    target. Inputs are in the frame that the chain's parent bone has in the mean pose: the
    up direction, and for each effector target / reach, distance / reach, hit.
    """
    bones = len(rig.parents)
    positions, turned = np.empty((bones, 3)), np.empty((bones, 4))
    copy_into(rig.mean, base)
    root_space(rig.parents, rig.offsets, rig.mean, positions, turned)
    for i in range(3):
        x[i] = scene.ups[row, i]
    goal = np.empty(3)
    for e in range(len(rig.effectors)):
        at = INPUTS_OF_RIG + INPUTS_OF_EFFECTOR * e
        upper, lower, end = rig.chains[e, 0], rig.chains[e, 1], rig.chains[e, 2]
        square = 0.0
        for i in range(3):
            goal[i] = scene.targets[row, e, i]
            if upper > 0:
                goal[i] -= positions[upper, i]
            square += goal[i] * goal[i]
        if upper > 0:
            unrotate(turned[rig.parents[upper]], goal, goal)
            close_chain(
                base[upper], base[lower], rig.offsets[lower], rig.offsets[end], goal,
                rig.axes[lower], rig.limits[lower], 0.0,
            )  # fmt: skip
        for i in range(3):
            x[at + i] = min(4.0, max(-4.0, goal[i] / rig.reach[e]))
        x[at + 3] = min(4.0, math.sqrt(square) / rig.reach[e])
        x[at + 4] = scene.hits[row, e]


@njit(cache=True, error_model="numpy")
def residual(y: Array, n: int, bone: int, out: Array) -> float:
    """Row `bone` of `out` = (1 + y0, y1, y2, y3), normalised; return its length before.

    The four numbers are those of the bone in row n of `y` (N, 4 (B - 1)). The result is a
    unit quaternion for every y, and the identity for y = 0. A length of 0 means that the
    quaternion has no direction.
    """
    at = 4 * (bone - 1)
    a, b, c, d = 1.0 + y[n, at], y[n, at + 1], y[n, at + 2], y[n, at + 3]
    norm = math.sqrt(a * a + b * b + c * c + d * d)
    if not 1e-6 < norm < 1e12:
        out[bone, 0], out[bone, 1], out[bone, 2], out[bone, 3] = 1.0, 0.0, 0.0, 0.0
        return 0.0
    out[bone, 0], out[bone, 1] = a / norm, b / norm
    out[bone, 2], out[bone, 3] = c / norm, d / norm
    return norm


@njit(cache=True)
def apply_residuals(base: Array, y: Array, local: Array) -> None:
    """`local` (B, 4) = `base` (B, 4) rotated by the outputs `y` (1, 4 (B - 1))."""
    for i in range(4):
        local[0, i] = base[0, i]
    for bone in range(1, len(base)):
        residual(y, 0, bone, local)
        multiply_at(base, bone, local, bone, local, bone)


@njit(cache=True)
def close_all(
    rig: Anatomy, scene: Scene, row: int, local: Array, reached: Array
) -> None:
    """Move the end of each two-bone chain of a pose `local` (B, 4) to its target.

    `reached` (E,) is filled with whether each target lies within reach; true for
    effectors without a chain of their own.
    """
    bones = len(rig.parents)
    positions, turned = np.empty((bones, 3)), np.empty((bones, 4))
    goal, vector = np.empty(3), np.empty(3)
    for e in range(len(rig.effectors)):
        reached[e] = True
        upper, lower, end = rig.chains[e, 0], rig.chains[e, 1], rig.chains[e, 2]
        if upper <= 0:
            continue
        root_space(rig.parents, rig.offsets, local, positions, turned)
        for i in range(3):
            goal[i] = scene.targets[row, e, i] - positions[upper, i]
        unrotate(turned[rig.parents[upper]], goal, goal)
        log_between(rig.mean[lower], local[lower], vector)
        angle = 0.0
        for i in range(3):
            angle += vector[i] * rig.axes[lower, i]
        reached[e] = close_chain(
            local[upper], local[lower], rig.offsets[lower], rig.offsets[end], goal,
            rig.axes[lower], rig.limits[lower], angle,
        )  # fmt: skip


@njit(cache=True)
def familiarity(ready: Ready, x: Array, effectors: int, width: float) -> float:
    """exp(-(d / width)^2), d the distance of `x` (I,) from the nearest prepared inputs.

    d^2 is the sum of squared differences for each effector; 0 without any frame.
    """
    nearest = np.inf
    for row in range(len(ready.made_by)):
        if ready.made_by[row] == 0:
            continue
        square = 0.0
        for i in range(len(x)):
            difference = x[i] - ready.inputs[row, i]
            square += difference * difference
        nearest = min(nearest, square)
    return math.exp(-nearest / (effectors * width * width))


@njit(cache=True)
def predict_pose(
    rig: Anatomy,
    net: Weights,
    ready: Ready,
    scene: Scene,
    local: Array,
    opened: Array,
    reached: Array,
) -> None:
    """The pose for the first row of `scene`: fills `local`, `opened` and `reached`.

    The network's outputs are scaled by exp(-(d / `FAMILIAR`)^2), with d the distance of the
    inputs from the nearest learned frame (`familiarity`): far from all of them a network
    extrapolates, and the anatomy alone is nearer to the truth.
    """
    row = np.int64(0)  # a literal 0 would compile the functions below once more
    x = np.empty((1, net.w1.shape[0]), np.float32)
    base = np.empty((len(rig.parents), 4))
    inputs_and_base(rig, scene, row, x[0], base)
    y = forward(x, net.w1, net.b1, net.w2, net.b2, net.w3, net.b3)[2]
    share = familiarity(ready, x[0], len(rig.effectors), FAMILIAR)
    for i in range(y.shape[1]):
        y[0, i] *= share
    apply_residuals(base, y, opened)
    copy_into(opened, local)
    close_all(rig, scene, row, local, reached)
    tilt_effectors(rig, scene, row, local, 1.0)
    tilt_effectors(rig, scene, row, opened, 1.0)
