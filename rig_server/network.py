"""A small network with online learning: tanh MLP, Adam, running mean of weights.

No torch: one training step of 32 frames costs about a tenth of a millisecond.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ambulo.configs.arrays import Floats
from ambulo.rig_server.kernels import adam, column_sums, forward

Float32 = NDArray[np.float32]

RATE, SLOWEST, SETTLING = 2e-3, 2e-4, 1000
"""Adam's rate at the start, after a long time, and the steps after which it has fallen by
the square root of 2."""
CLIP = 1.0
"""Largest norm of a step's gradient."""
GAIN = 10.0
"""Factor on the gradient of a mean squared error, before it is clipped to `CLIP`."""
LARGEST = 1e4
"""Largest weight accepted from a file; learned ones are below 100."""
MOST = 2**53
"""Largest count accepted from a file."""
MEMORY = 0.99
"""Decay of the running mean of the weights per step."""


class Weights(NamedTuple):
    """Views of one flat array: two hidden layers and the outputs."""

    w1: Float32
    b1: Float32
    w2: Float32
    b2: Float32
    w3: Float32
    b3: Float32


class OnlineMLP:
    """inputs -> hidden -> hidden -> outputs; returns 0 for every input before learning."""

    def __init__(
        self, inputs: int, hidden: int, outputs: int, *, seed: int = 0
    ) -> None:
        """Random hidden weights of variance 1 / inputs, an output layer of zeros."""
        self.shapes = (
            (inputs, hidden), (hidden,), (hidden, hidden), (hidden,),
            (hidden, outputs), (outputs,),
        )  # fmt: skip
        size = sum(int(np.prod(shape)) for shape in self.shapes)
        self.flat: Float32 = np.zeros(size, np.float32)
        self.gradient: Float32 = np.zeros(size, np.float32)
        self.mean: Float32 = np.zeros(size, np.float32)
        self.square: Float32 = np.zeros(size, np.float32)
        self.smooth: Float32 = np.zeros(size, np.float32)
        self.steps = 0
        self.refused = 0
        """Steps not taken because their gradient was not finite."""
        self.weights, self.slopes = self._views(self.flat), self._views(self.gradient)
        self.running = self._views(self.smooth)
        rng = np.random.default_rng(seed)
        self.weights.w1[:] = rng.normal(0.0, inputs**-0.5, (inputs, hidden))
        self.weights.w2[:] = rng.normal(0.0, hidden**-0.5, (hidden, hidden))
        self.smooth[:] = self.flat

    def _views(self, flat: Float32) -> Weights:
        stops = np.cumsum([int(np.prod(shape)) for shape in self.shapes])
        parts = np.split(flat, stops[:-1])
        return Weights(*(p.reshape(s) for p, s in zip(parts, self.shapes, strict=True)))

    def predict(self, x: Float32) -> Float32:
        """Outputs (N, O) of inputs (N, I), from the running mean of the weights."""
        result: Float32 = outputs_of(self.running, x)
        return result

    def step(self) -> bool:
        """Apply the gradient in `slopes`; False (and counted) if it is not finite."""
        rate = max(SLOWEST, RATE / math.sqrt(1.0 + self.steps / SETTLING))
        keep = min(MEMORY, (1.0 + self.steps) / (10.0 + self.steps))
        taken = bool(
            adam(
                self.flat, self.gradient, self.mean, self.square, self.smooth,
                rate, self.steps + 1, CLIP, keep,
            )
        )  # fmt: skip
        self.steps += taken
        self.refused += not taken
        return taken

    def fit(self, x: Float32, goal: Float32) -> float:
        """One step towards outputs `goal` (N, O) of inputs `x` (N, I).

        Returns:
            The mean squared error before it; if it is not finite, no step is taken.
        """
        error = float(square_error(self.weights, x, goal, self.slopes))
        self.step()
        return error

    def state(self) -> dict[str, NDArray[np.generic]]:
        """Copies of the complete state."""
        return {
            "weights": self.flat.copy(),
            "smooth": self.smooth.copy(),
            "adam_mean": self.mean.copy(),
            "adam_square": self.square.copy(),
            "steps": np.array(self.steps),
        }

    def restore(self, state: dict[str, NDArray[np.generic]]) -> None:
        """Restore `state`; ValueError if it does not fit or is not finite."""
        pairs = (
            (self.flat, "weights"), (self.smooth, "smooth"),
            (self.mean, "adam_mean"), (self.square, "adam_square"),
        )  # fmt: skip
        arrays = checked_arrays(state, {key: mine.shape for mine, key in pairs})
        if arrays["adam_square"].min() < 0.0:
            raise ValueError("adam_square: below 0")
        steps = count_of(state["steps"], "steps")
        for mine, key in pairs:
            mine[:] = arrays[key]
        self.steps = steps


def checked_arrays(
    state: Mapping[str, NDArray[Any]],
    shapes: Mapping[str, tuple[int, ...]],
    largest: float = LARGEST,
) -> dict[str, Floats]:
    """Return the arrays named by `shapes`, in its order.

    Raises:
        ValueError: An array has another shape, or a number that is not finite or beyond
            `largest`.
        KeyError: An array is missing.
    """
    for name, shape in shapes.items():
        if state[name].shape != shape:
            raise ValueError(f"{name}: expected shape {shape}, got {state[name].shape}")
        if not (np.abs(state[name]) <= largest).all():
            raise ValueError(f"{name}: not finite, or beyond {largest:g}")
    return {name: state[name].astype(np.float64) for name in shapes}


def count_of(value: object, name: str) -> int:
    """Return a stored count as a number from 0 to `MOST`, or raise `ValueError`."""
    number = int(value)  # type: ignore[call-overload]
    if not 0 <= number <= MOST:
        raise ValueError(f"{name}: expected 0 to {MOST}")
    return int(number)


@njit(cache=True)
def outputs_of(net: Weights, x: Float32) -> Float32:
    """Outputs (N, O) of inputs (N, I)."""
    return forward(x, net.w1, net.b1, net.w2, net.b2, net.w3, net.b3)[2]


@njit(cache=True)
def square_error(net: Weights, x: Float32, goal: Float32, out: Weights) -> float:
    """Mean squared error; `out` is filled with `GAIN` times its gradient."""
    first, second, y = forward(x, net.w1, net.b1, net.w2, net.b2, net.w3, net.b3)
    dy, total = y - goal, 0.0
    for row in range(dy.shape[0]):
        for i in range(dy.shape[1]):
            total += dy[row, i] * dy[row, i]
    dy *= np.float32(2.0 * GAIN / dy.size)
    slopes_of(net, x, first, second, dy, out)
    return total / dy.size


@njit(cache=True)
def slopes_of(
    net: Weights, x: Float32, first: Float32, second: Float32, dy: Float32, out: Weights
) -> None:
    """Fill `out` with the gradients of all weights, from those of the outputs."""
    one = np.float32(1.0)
    np.dot(second.T, dy, out.w3)
    column_sums(dy, out.b3)
    d2 = np.dot(dy, net.w3.T)
    for row in range(d2.shape[0]):
        for i in range(d2.shape[1]):
            d2[row, i] *= one - second[row, i] * second[row, i]
    np.dot(first.T, d2, out.w2)
    column_sums(d2, out.b2)
    d1 = np.dot(d2, net.w2.T)
    for row in range(d1.shape[0]):
        for i in range(d1.shape[1]):
            d1[row, i] *= one - first[row, i] * first[row, i]
    np.dot(x.T, d1, out.w1)
    column_sums(d1, out.b1)
