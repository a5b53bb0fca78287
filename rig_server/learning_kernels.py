"""Compiled: a learning step, with the loss of a batch and its gradient.

The inputs of a step (`Ready`) are computed once per frame and cached until the anatomy is
measured again, since a step replays 31 older frames for each new one.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from ambulo.configs.arrays import Array
from ambulo.motion.quaternion_kernels import log_between, multiply_at, rotated
from ambulo.rig_server.kernels import (
    VECTORS,
    copy_into,
    forward,
    root_space,
)
from ambulo.rig_server.network import Weights, slopes_of
from ambulo.rig_server.pose_kernels import (
    Anatomy,
    Ready,
    Scene,
    inputs_and_base,
    residual,
    tilt_effectors,
)


def empty_ready(rows: int, inputs: int, bones: int) -> Ready:
    """Buffers for `rows` frames of a network with `inputs` inputs."""
    return Ready(
        np.zeros((rows, inputs), np.float32),
        np.zeros((rows, bones, 4), np.float32),
        np.zeros((rows, bones, 4), np.float32),
        np.zeros((rows, bones, 3), np.float32),
        np.zeros(rows, np.int64),
    )


@njit(cache=True)
def make_ready(
    rig: Anatomy,
    number: int,
    rotations: Array,
    scene: Scene,
    rows: Array,
    ready: Ready,
) -> None:
    """Fill those of `rows` that do not have the anatomy `number`.

    Args:
        rig: The anatomy.
        number: Its number, above 0.
        rotations: Local rotations of the frames in memory, (M, B, 4).
        scene: Their targets and ground, M frames.
        rows: Indices of frames, (N,).
        ready: Output.
    """
    bones = len(rig.parents)
    base, label = np.empty((bones, 4)), np.empty((bones, 4))
    wanted, turned = np.empty((bones, 3)), np.empty((bones, 4))
    for row in rows:
        if ready.made_by[row] == number:
            continue
        inputs_and_base(rig, scene, row, ready.inputs[row], base)
        copy_into(rotations[row], label)
        tilt_effectors(rig, scene, row, label, -1.0)
        root_space(rig.parents, rig.offsets, label, wanted, turned)
        copy_into(base, ready.base[row])
        copy_into(label, ready.label[row])
        copy_into(wanted, ready.wanted[row])
        ready.made_by[row] = number


@njit(cache=True)
def batch_gradient(
    rig: Anatomy,
    number: int,
    net: Weights,
    rotations: Array,
    scene: Scene,
    ready: Ready,
    rows: Array,
    weights: Array,
    slopes: Weights,
) -> float:
    """Mean loss of the frames `rows`; fills `slopes` with its gradient.

    The arguments are those of `make_ready` and `loss_and_gradient`.
    """
    make_ready(rig, number, rotations, scene, rows, ready)
    x = np.empty((len(rows), ready.inputs.shape[1]), np.float32)
    for n in range(len(rows)):
        for i in range(x.shape[1]):
            x[n, i] = ready.inputs[rows[n], i]
    first, second, y = forward(x, net.w1, net.b1, net.w2, net.b2, net.w3, net.b3)
    dy = np.empty_like(y)
    loss = loss_and_gradient(rig, scene, ready, rows, y, weights, dy)
    slopes_of(net, x, first, second, dy, slopes)
    return loss


@njit(cache=True, error_model="numpy", fastmath=VECTORS)
def loss_and_gradient(
    rig: Anatomy,
    scene: Scene,
    ready: Ready,
    rows: Array,
    y: Array,
    weights: Array,
    dy: Array,
) -> float:
    """The learner's mean loss over N frames, and its gradient to the outputs.

    With s the mean reach: loss = weights[0] * sum of squared bone position errors / s^2 +
    weights[1] * sum of squared local rotation errors [rad^2] + weights[2] * sum over hit
    effectors of (height error over the ground / s)^2. A gradient g to bone positions becomes
    torques sum (p_k - p_j) x g_k about each ancestor j, and with a body rotation d a gradient
    to the residual q by dq = q (0, d) / 2.

    Args:
        rig: The anatomy.
        scene: The ground.
        ready: Prepared frames.
        rows: Indices of frames in `scene` and `ready`, (N,).
        y: Outputs, (N, 4 (B - 1)).
        weights: Weights of position, rotation and contact, (3,).
        dy: Gradient, (N, 4 (B - 1)); filled.
    """
    count, bones = len(rows), len(rig.parents)
    size = rig.reach.mean()
    share, loss = 1.0 / count, 0.0
    r, norms = np.empty((bones, 4)), np.empty(bones)
    base, local = np.empty((bones, 4)), np.empty((bones, 4))
    positions, turned = np.empty((bones, 3)), np.empty((bones, 4))
    force, total = np.empty((bones, 3)), np.empty((bones, 3))
    moment, g, missing = np.empty((bones, 3)), np.empty((1, 4)), np.empty(3)
    for n in range(count):
        row = rows[n]
        local[0, 0], local[0, 1], local[0, 2], local[0, 3] = 1.0, 0.0, 0.0, 0.0
        for bone in range(1, bones):
            norms[bone] = residual(y, n, bone, r)
            for i in range(4):
                base[bone, i] = ready.base[row, bone, i]
            multiply_at(base, bone, r, bone, local, bone)
        root_space(rig.parents, rig.offsets, local, positions, turned)
        loss += _forces(rig, scene, ready.wanted, row, positions, weights, size, force)
        _sums_below(rig.parents, positions, force, total, moment)
        for bone in range(1, bones):
            p0, p1, p2 = positions[bone, 0], positions[bone, 1], positions[bone, 2]
            f0, f1, f2 = total[bone, 0], total[bone, 1], total[bone, 2]
            a = moment[bone, 0] - (p1 * f2 - p2 * f1)
            b = moment[bone, 1] - (p2 * f0 - p0 * f2)
            c = moment[bone, 2] - (p0 * f1 - p1 * f0)
            # The torque in the bone's own frame.
            a, b, c = rotated(
                turned[bone, 0], -turned[bone, 1], -turned[bone, 2], -turned[bone, 3],
                a, b, c,
            )  # fmt: skip
            log_between(local[bone], ready.label[row, bone], missing)
            for i in range(3):
                loss += weights[1] * missing[i] * missing[i]
            g[0, 0] = 0.0
            g[0, 1] = a - 2.0 * weights[1] * missing[0]
            g[0, 2] = b - 2.0 * weights[1] * missing[1]
            g[0, 3] = c - 2.0 * weights[1] * missing[2]
            multiply_at(r, bone, g, 0, g, 0)
            norm = norms[bone]
            for i in range(4):
                dy[n, 4 * (bone - 1) + i] = (
                    share * 2.0 * g[0, i] / norm if norm > 0.0 else 0.0
                )
    return share * loss


@njit(cache=True, error_model="numpy", fastmath=VECTORS)
def _forces(
    rig: Anatomy,
    scene: Scene,
    wanted: Array,
    row: int,
    positions: Array,
    weights: Array,
    size: float,
    force: Array,
) -> float:
    """The loss of positions and contact; `force` (B, 3) is its gradient to positions."""
    force[:] = 0.0
    per_area, loss = 1.0 / (size * size), 0.0
    for bone in range(1, len(positions)):
        for i in range(3):
            error = positions[bone, i] - wanted[row, bone, i]
            loss += weights[0] * per_area * error * error
            force[bone, i] += 2.0 * weights[0] * per_area * error
    for e in range(len(rig.effectors)):
        if scene.hits[row, e] > 0.5:
            bone, height = rig.effectors[e], 0.0
            for i in range(3):
                error = positions[bone, i] - wanted[row, bone, i]
                height += scene.normals[row, e, i] * error
            loss += weights[2] * per_area * height * height
            push = 2.0 * weights[2] * per_area * height
            for i in range(3):
                force[bone, i] += push * scene.normals[row, e, i]
    return loss


@njit(cache=True, error_model="numpy", fastmath=VECTORS)
def _sums_below(
    parents: Array, positions: Array, force: Array, total: Array, moment: Array
) -> None:
    """Sums over each bone's descendants (not itself): force (B, 3), moment about the root."""
    total[:], moment[:] = 0.0, 0.0
    for bone in range(len(parents) - 1, 0, -1):
        parent = parents[bone]
        p0, p1, p2 = positions[bone, 0], positions[bone, 1], positions[bone, 2]
        f0, f1, f2 = force[bone, 0], force[bone, 1], force[bone, 2]
        for i in range(3):
            total[parent, i] += total[bone, i] + force[bone, i]
        moment[parent, 0] += moment[bone, 0] + p1 * f2 - p2 * f1
        moment[parent, 1] += moment[bone, 1] + p2 * f0 - p0 * f2
        moment[parent, 2] += moment[bone, 2] + p0 * f1 - p1 * f0
