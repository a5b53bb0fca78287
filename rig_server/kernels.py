"""Compiled arithmetic of the rig server: two-bone chains, MLP, Adam.

Everything here works in the frame of the rig's root bone; lengths are in metres and quaternions
are wxyz. No allocations that outlive a call; no Python objects.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from ambulo.configs.arrays import Array
from ambulo.motion.fk_kernel import place_joints
from ambulo.motion.quaternion_kernels import about_axis, between, multiply, rotate

TINY = 1e-12
VECTORS = {"nsz", "arcp", "contract", "reassoc"}
"""Permitted vectorisation; NaN stays NaN."""


@njit(cache=True)
def copy_into(values: Array, out: Array) -> None:
    """`out` = `values`, both (N, n). Compiles faster than an assignment of arrays."""
    for row in range(values.shape[0]):
        for i in range(values.shape[1]):
            out[row, i] = values[row, i]


@njit(cache=True)
def close_chain(
    upper: Array,
    lower: Array,
    knee: Array,
    end: Array,
    target: Array,
    axis: Array,
    limits: Array,
    angle: float,
) -> bool:
    """Bend and swing a two-bone chain so that its end is at `target`.

    The knee rotates about its hinge by the law of cosines, then the upper bone swings along the
    shortest arc; the free rotation about the line to the target is unchanged. Derivation: |knee
    + R end|^2 = d^2 is a + b cos(t) + c sin(t) = k in the turn t of the hinge.

    Args:
        upper: Orientation of the upper bone in the frame of its parent, (4,); changed.
        lower: Of the lower bone in the upper one, (4,); changed.
        knee: Lower bone from the upper one, [m], (3,), in the upper one's frame.
        end: End from the lower bone, [m], (3,), in the lower one's frame.
        target: Target of the end relative to the upper bone, [m], (3,), in the frame of the
            upper bone's parent.
        axis: Unit hinge axis in the lower bone's frame, (3,).
        limits: Smallest and largest observed angle of the hinge, [rad], (2,).
        angle: The hinge's angle in `lower`, on the scale of `limits`, [rad].

    Returns:
        Whether the target lies within reach.
    """
    hinge, bent, step = np.empty(3), np.empty(3), np.empty(4)
    rotate(lower, axis, hinge)
    rotate(lower, end, bent)
    along = bent[0] * hinge[0] + bent[1] * hinge[1] + bent[2] * hinge[2]
    a = along * (knee[0] * hinge[0] + knee[1] * hinge[1] + knee[2] * hinge[2])
    b = knee[0] * bent[0] + knee[1] * bent[1] + knee[2] * bent[2] - a
    c = (
        knee[0] * (hinge[1] * bent[2] - hinge[2] * bent[1])
        + knee[1] * (hinge[2] * bent[0] - hinge[0] * bent[2])
        + knee[2] * (hinge[0] * bent[1] - hinge[1] * bent[0])
    )
    distance = target[0] ** 2 + target[1] ** 2 + target[2] ** 2
    lengths = (
        knee[0] ** 2 + knee[1] ** 2 + knee[2] ** 2
        + bent[0] ** 2 + bent[1] ** 2 + bent[2] ** 2
    )  # fmt: skip
    amplitude = math.sqrt(b * b + c * c)
    reached = True
    if amplitude > TINY:
        cosine = (0.5 * (distance - lengths) - a) / amplitude
        # A thousandth of the cosine: float32 streams of a straight leg.
        reached = abs(cosine) <= 1.001
        phase = math.atan2(c, b)
        open_angle = math.acos(min(1.0, max(-1.0, cosine)))
        best, turn = math.inf, 0.0
        for sign in (-1.0, 1.0):
            t = phase + sign * open_angle
            t = math.atan2(math.sin(t), math.cos(t))
            outside = max(0.0, limits[0] - angle - t) + max(0.0, angle + t - limits[1])
            cost = abs(t) + 10.0 * outside
            if cost < best:
                best, turn = cost, t
        about_axis(hinge, turn, step)
        multiply(step, lower, lower)
    rotate(lower, end, bent)
    for i in range(3):
        bent[i] += knee[i]
    rotate(upper, bent, bent)
    between(bent, target, step)
    multiply(step, upper, upper)
    return reached


@njit(cache=True)
def root_space(
    parents: Array, offsets: Array, local: Array, positions: Array, turned: Array
) -> None:
    """Positions (B, 3) [m] and orientations (B, 4) of all bones in the root's frame."""
    for i in range(3):
        positions[0, i] = 0.0
        turned[0, i + 1] = 0.0
    turned[0, 0] = 1.0
    place_joints(parents, None, offsets, local, 1, len(parents), positions, turned)


@njit(cache=True, error_model="numpy", fastmath=VECTORS)
def tanh_of(values: Array, bias: Array) -> None:
    """Replace `values` (N, n) by tanh(values + bias), `bias` (n,).

    The rational function of Eigen's `generic_fast_tanh_float` (within 1e-6 of tanh), which,
    unlike tanh itself, can be vectorised.
    """
    c = np.float32
    limit = c(7.90531110763549805)
    for row in range(values.shape[0]):
        for i in range(values.shape[1]):
            # In this order a NaN is preserved.
            x = max(values[row, i] + bias[i], -limit)
            x = min(x, limit)
            s = x * x
            p = s * c(-2.76076847742355e-16) + c(2.00018790482477e-13)
            p = s * p + c(-8.60467152213735e-11)
            p = s * p + c(5.12229709037114e-08)
            p = s * p + c(1.48572235717979e-05)
            p = s * p + c(6.37261928875436e-04)
            p = s * p + c(4.89352455891786e-03)
            q = s * c(1.19825839466702e-06) + c(1.18534705686654e-04)
            q = s * q + c(2.26843463243900e-03)
            q = s * q + c(4.89352518554385e-03)
            values[row, i] = x * p / q


@njit(cache=True)
def forward(x: Array, w1: Array, b1: Array, w2: Array, b2: Array, w3: Array, b3: Array):  # type: ignore[no-untyped-def]
    """Hidden activations (N, H), (N, H) and outputs (N, O) of the MLP, tanh inside."""
    first = np.dot(x, w1)
    tanh_of(first, b1)
    second = np.dot(first, w2)
    tanh_of(second, b2)
    return first, second, np.dot(second, w3) + b3


@njit(cache=True)
def column_sums(values: Array, out: Array) -> None:
    """`out` (n,) = sums over the rows of `values` (N, n)."""
    out[:] = 0.0
    for row in range(values.shape[0]):
        for i in range(values.shape[1]):
            out[i] += values[row, i]


@njit(cache=True, error_model="numpy", fastmath=VECTORS)
def adam(
    values: Array,
    gradients: Array,
    mean: Array,
    square: Array,
    smooth: Array,
    rate: float,
    step: int,
    clip: float,
    memory: float,
) -> bool:
    """One step of Adam (Kingma and Ba, 2015) on flat arrays (P,); False: skipped.

    The gradient is clipped to length `clip`; one that is not finite changes nothing. `smooth`
    is the exponential moving average of the values with decay `memory`.
    """
    norm = math.sqrt(np.dot(gradients, gradients))
    if not norm < 1e9:
        return False
    one, slow, fast = np.float32(1.0), np.float32(0.999), np.float32(0.9)
    scale = np.float32(min(1.0, clip / (norm + 1e-12)))
    size = np.float32(rate * math.sqrt(1.0 - 0.999**step) / (1.0 - 0.9**step))
    small = np.float32(1e-8 * math.sqrt(1.0 - 0.999**step))
    keep = np.float32(memory)
    for i in range(len(values)):
        g = gradients[i] * scale
        mean[i] = fast * mean[i] + (one - fast) * g
        square[i] = slow * square[i] + (one - slow) * g * g
        values[i] -= size * mean[i] / (np.sqrt(square[i]) + small)
        smooth[i] = keep * smooth[i] + (one - keep) * values[i]
    return True
