"""Small dense networks at run time: NumPy arrays and compiled loops, no torch.

Plain loops instead of BLAS for one or two characters: for networks of this size they are as
fast and start no threads. Larger batches go through BLAS.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numba import njit

from ambulo.configs.arrays import Array, Singles

LEAKY_RELU, ELU, TANH, SILU = 0, 1, 2, 3
"""Kinds of activation."""

ACTIVATIONS = {
    "leaky_relu": LEAKY_RELU, "relu": LEAKY_RELU, "elu": ELU, "tanh": TANH, "silu": SILU
}  # fmt: skip
"""Kinds by name; `relu` is a leaky one of slope 0."""

MANY = 2
"""From this many rows on, BLAS is faster than compiled loops."""

ONE, HALF, MOST = np.float32(1.0), np.float32(0.5), np.float32(126.0)
PER_LN2 = np.float32(1.0 / math.log(2.0))
A1, A2, A3, A4, A5, A6 = (
    np.float32(math.log(2.0) ** k / math.factorial(k)) for k in range(1, 7)
)
"""Coefficients of 2^f: ln(2)^k / k!."""

FAST = {"contract", "reassoc", "nsz", "arcp"}
"""Permitted rounding in sums; infinities and NaN keep their meaning."""


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
    """Apply the activation to y (B, n) + bias (n,), in place; kind -1 has none."""
    for b in range(len(y)):
        row = y[b]
        for m in range(len(bias)):
            row[m] += bias[m]
        if kind >= 0:
            activate(kind, slope[0], row)


@njit(cache=True, fastmath=FAST)
def activate(kind: int, slope: float, y: Array) -> None:
    """Apply the activation to y (n,), in place."""
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
    """Compute y / (1 + exp(-y)) of y (n,), float32, in place, in loops without calls, for SIMD.

    exp(-y) = 2^k 2^f with a whole k, put into the exponent's bits, and f within 1/2, by six
    terms of its series: relative error at most 1e-6.
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

    For each layer, `parameters` has its weights (inputs, outputs), then its biases. `slope`
    (1,) belongs to the leaky ReLU; `work` (2, max(sizes)) is scratch memory.
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


class DenseNetwork:
    """Layers of weights and biases with one activation between them, float32.

    Not thread-safe: buffers are kept between calls. Batches go through BLAS; set
    OPENBLAS_NUM_THREADS=1 for low latency, as the workers do.
    """

    def __init__(
        self,
        layers: Sequence[tuple[Singles, Singles]],
        activation: str,
        slope: float = 0.0,
    ) -> None:
        """Copy the layers.

        Args:
            layers: Weights (inputs, outputs) and biases (outputs,) of each layer.
            activation: After each layer but the last; one of `ACTIVATIONS`.
            slope: Slope of the leaky ReLU below 0.
        """
        self.sizes = (len(layers[0][0]), *(len(bias) for _, bias in layers))
        """Numbers that go into each layer, and those that come out of the last."""
        flat = [part.ravel() for layer in layers for part in layer]
        self._parameters: Singles = np.concatenate(flat, dtype=np.float32)
        self.layers: list[tuple[Singles, Singles]] = []
        """Weights and biases as views of one array."""
        at = 0
        for n, m in pairwise(self.sizes):
            weights = self._parameters[at : at + n * m].reshape(n, m)
            self.layers.append((weights, self._parameters[at + n * m :][:m]))
            at += n * m + m
        self._sizes = np.array(self.sizes, dtype=np.int64)
        self._kind = ACTIVATIONS[activation]
        slope = 0.0 if activation == "relu" else slope
        self._slope = np.array([slope], dtype=np.float32)
        self._work = np.empty((2, max(self.sizes)), dtype=np.float32)
        self._answers = [np.empty((1, n), dtype=np.float32) for n in self.sizes[1:]]

    @property
    def parameters(self) -> int:
        """Number of weights."""
        return len(self._parameters)

    def forward(self, inputs: Singles) -> Singles:
        """Outputs (B, m) of `inputs` (B, n), float32 and contiguous.

        The array is reused by the next call with as many rows.
        """
        if len(self._answers[-1]) != len(inputs):
            count = len(inputs)
            self._answers = [np.empty((count, n), np.float32) for n in self.sizes[1:]]
        answer = self._answers[-1]
        if len(inputs) < MANY:
            forward(
                self._parameters, self._sizes, self._kind, self._slope, inputs,
                self._work, answer,
            )  # fmt: skip
            return answer
        values, last = inputs, len(self.layers) - 1
        for layer, (weights, bias) in enumerate(self.layers):
            values = np.matmul(values, weights, out=self._answers[layer])
            kind = -1 if layer == last else self._kind
            add_and_activate(kind, self._slope, bias, values)
        return values
