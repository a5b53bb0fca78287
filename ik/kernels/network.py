"""Compiled: a small network's answer, and the pose that it stands for.

Plain loops instead of BLAS for a character or two: for networks of this size they are as
fast and never start threads. Larger batches go through BLAS (`ambulo.ik.solver.network`).
Parameters lie in one array: of each layer first its weights (inputs, outputs), then its
biases. Not for callers: `ambulo.ik.solver.network` prepares the arrays.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from ambulo.configs.arrays import Array
from ambulo.ik.kernels.limits import FLAT, REST, multiply, rotate

LEAKY_RELU, ELU, TANH, SILU = 0, 1, 2, 3
"""Kinds of activation."""

ONE, HALF, MOST = np.float32(1.0), np.float32(0.5), np.float32(126.0)
PER_LN2 = np.float32(1.0 / math.log(2.0))
A1, A2, A3, A4, A5, A6 = (
    np.float32(math.log(2.0) ** k / math.factorial(k)) for k in range(1, 7)
)
"""Of 2^f: ln(2)^k / k!."""

FAST = {"contract", "reassoc", "nsz", "arcp"}
"""Freedom of rounding for sums; infinities and NaN keep their meaning."""


@njit(cache=True, fastmath=FAST)
def add_rows(w: Array, outputs: int, x: Array, y: Array) -> None:
    """Add x W to y, for one character, four rows of W (inputs * outputs,) at a time."""
    inputs = len(x)
    for i in range(0, inputs - 3, 4):
        a, b, c, d = x[i], x[i + 1], x[i + 2], x[i + 3]
        k = i * outputs
        w0, w1 = w[k : k + outputs], w[k + outputs : k + 2 * outputs]
        w2 = w[k + 2 * outputs : k + 3 * outputs]
        w3 = w[k + 3 * outputs : k + 4 * outputs]
        for m in range(outputs):
            y[m] += a * w0[m] + b * w1[m] + c * w2[m] + d * w3[m]
    for i in range(inputs - inputs % 4, inputs):
        a = x[i]
        w0 = w[i * outputs : (i + 1) * outputs]
        for m in range(outputs):
            y[m] += a * w0[m]


@njit(cache=True)
def add_and_activate(kind: int, slope: Array, bias: Array, y: Array) -> None:
    """The activation of y (B, n) + bias (n,), in place; kind -1 has none."""
    for b in range(len(y)):
        row = y[b]
        for m in range(len(bias)):
            row[m] += bias[m]
        if kind >= 0:
            activate(kind, slope[0], row)


@njit(cache=True, fastmath=FAST)
def activate(kind: int, slope: float, y: Array) -> None:
    """The activation of y (n,), in place."""
    if kind == LEAKY_RELU:
        for m in range(len(y)):
            y[m] = max(y[m], slope * y[m])
    elif kind == ELU:
        for m in range(len(y)):
            y[m] = y[m] if y[m] > 0.0 else math.exp(y[m]) - 1.0
    elif kind == TANH:
        for m in range(len(y)):
            y[m] = math.tanh(y[m])
    else:
        silu(y)


@njit(cache=True, fastmath=FAST)
def silu(y: Array) -> None:
    """Make y (n,), float32, y / (1 + exp(-y)), in loops without calls, for SIMD.

    exp(-y) = 2^k 2^f with a whole k, put into the exponent's bits, and f within 1/2, by
    six terms of its series: 1e-6 off at most, as a part of the answer.
    """
    bits = np.empty(len(y), dtype=np.int32)
    part = np.empty(len(y), dtype=np.float32)
    for m in range(len(y)):
        z = min(max(-y[m] * PER_LN2, -MOST), MOST)
        k = np.floor(z + HALF)
        f = z - k
        part[m] = ONE + f * (A1 + f * (A2 + f * (A3 + f * (A4 + f * (A5 + f * A6)))))
        bits[m] = (np.int32(k) + np.int32(127)) << np.int32(23)
    scale = bits.view(np.float32)
    for m in range(len(y)):
        y[m] = y[m] / (ONE + part[m] * scale[m])


@njit(cache=True)
def forward(
    parameters: Array, sizes: Array, kind: int, slope: Array, x: Array, work: Array,
    out: Array,
) -> None:  # fmt: skip
    """Fill `out` (B, sizes[-1]) from `x` (B, sizes[0]); all float32.

    `slope` (1,) belongs to the leaky ReLU; `work` (2, max(sizes)) is scratch memory.
    """
    layers = len(sizes) - 1
    for b in range(len(x)):
        at = 0
        values = x[b]
        for layer in range(layers):
            n, m = sizes[layer], sizes[layer + 1]
            y = out[b] if layer == layers - 1 else work[layer % 2, :m]
            for j in range(m):
                y[j] = parameters[at + n * m + j]
            add_rows(parameters[at : at + n * m], m, values, y)
            at += n * m + m
            if layer < layers - 1:
                activate(kind, slope[0], y)
                values = y


@njit(cache=True)
def poses_of(
    output: Array, mean: Array, table: Array, origin: Array, yaw: Array,
    root: Array, local: Array,
) -> None:  # fmt: skip
    """Fill `root` (B, 3) and `local` (B, J, 4) in the world from `output` (B, 3 + 6 J).

    `ambulo.ik.solver.features.decode` and `pose_from_frame` in one pass: rows of each rotation
    by Gram-Schmidt, quaternions as Shepperd takes them from matrices.
    """
    joints = local.shape[1]
    for b in range(len(output)):
        c, s = math.cos(0.5 * yaw[b]), math.sin(0.5 * yaw[b])
        x, y, z = rotate(
            c, 0.0, 0.0, s,
            output[b, 0] + mean[0], output[b, 1] + mean[1], output[b, 2] + mean[2],
        )  # fmt: skip
        root[b, 0], root[b, 1], root[b, 2] = (
            x + origin[b, 0],
            y + origin[b, 1],
            z + origin[b, 2],
        )
        for j in range(joints):
            k = 3 + 6 * j
            a0, a1 = output[b, k] + mean[k], output[b, k + 1] + mean[k + 1]
            a2 = output[b, k + 2] + mean[k + 2]
            b0, b1 = output[b, k + 3] + mean[k + 3], output[b, k + 4] + mean[k + 4]
            b2 = output[b, k + 5] + mean[k + 5]
            n = 1.0 / math.sqrt(a0 * a0 + a1 * a1 + a2 * a2 + FLAT)
            a0, a1, a2 = a0 * n, a1 * n, a2 * n
            dot = a0 * b0 + a1 * b1 + a2 * b2
            b0, b1, b2 = b0 - dot * a0, b1 - dot * a1, b2 - dot * a2
            n = 1.0 / math.sqrt(b0 * b0 + b1 * b1 + b2 * b2 + FLAT)
            b0, b1, b2 = b0 * n, b1 * n, b2 * n
            c0, c1, c2 = a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0
            if a0 + b1 + c2 > 0.0:
                t = 1.0 + a0 + b1 + c2
                w, x, y, z = t, c1 - b2, a2 - c0, b0 - a1
            elif a0 >= b1 and a0 >= c2:
                t = 1.0 + a0 - b1 - c2
                w, x, y, z = c1 - b2, t, b0 + a1, c0 + a2
            elif b1 >= c2:
                t = 1.0 + b1 - a0 - c2
                w, x, y, z = a2 - c0, b0 + a1, t, c1 + b2
            else:
                t = 1.0 + c2 - a0 - b1
                w, x, y, z = b0 - a1, c0 + a2, c1 + b2, t
            n = 1.0 / math.sqrt(w * w + x * x + y * y + z * z)
            local[b, j, 0], local[b, j, 1] = w * n, x * n
            local[b, j, 2], local[b, j, 3] = y * n, z * n
        # The hips in the world: rest^-1 yaw rest local.
        k = REST
        w, x, y, z = multiply(
            table[0, k], table[0, k + 1], table[0, k + 2], table[0, k + 3],
            local[b, 0, 0], local[b, 0, 1], local[b, 0, 2], local[b, 0, 3],
        )  # fmt: skip
        w, x, y, z = multiply(c, 0.0, 0.0, s, w, x, y, z)
        local[b, 0, 0], local[b, 0, 1], local[b, 0, 2], local[b, 0, 3] = multiply(
            table[0, k],
            -table[0, k + 1],
            -table[0, k + 2],
            -table[0, k + 3],
            w,
            x,
            y,
            z,
        )
