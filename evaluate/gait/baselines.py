"""Predictors of gaits without a network, fitted to the training part."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ambulo.evaluate.gait.scores import score
from ambulo.motion.gaits.gait_sets import GaitSet
from ambulo.motion.gaits.shards import FRAMES, PER_CYCLE

GaitPredictor = Callable[[NDArray[np.float32]], NDArray[np.float64]]
"""Normalised parameters (N, P) -> frames (N, 60, 101)."""

RIDGES = (1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0)
"""Strengths of the ridge regression that are tried."""


def cycle_of(motions: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the mean of both cycles of sequences. Shape (N, 30, 101)."""
    shaped = motions.reshape(len(motions), -1, PER_CYCLE, motions.shape[-1])
    return shaped.mean(axis=1, dtype=np.float64)


def twice(cycles: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return cycles (N, 30, 101) as sequences. Shape (N, 60, 101)."""
    return np.tile(cycles, (1, FRAMES // PER_CYCLE, 1))


def of_mean(train: GaitSet) -> GaitPredictor:
    """Return the mean gait, whatever the parameters."""
    mean = twice(cycle_of(train.motions).mean(axis=0, keepdims=True))

    def predict(params: NDArray[np.float32]) -> NDArray[np.float64]:
        return np.repeat(mean, len(params), axis=0)

    return predict


def of_ridge(train: GaitSet, validation: GaitSet) -> GaitPredictor:
    """Return ridge regression on products of two parameters; its weight by validation."""
    inputs = products(train.params)
    cycles = cycle_of(train.motions)
    targets = cycles.reshape(len(cycles), -1)
    gram, moments = inputs.T @ inputs, inputs.T @ targets
    best: tuple[float, NDArray[np.floating]] | None = None
    for ridge in RIDGES:
        weights = np.linalg.solve(gram + ridge * np.eye(len(gram)), moments)
        held = validation if len(validation) else train
        guess = (products(held.params) @ weights).reshape(len(held), *cycles.shape[1:])
        error = score(twice(guess), held.motions).legs_deg
        if best is None or error < best[0]:
            best = error, weights
    assert best is not None
    chosen = best[1]

    def predict(params: NDArray[np.float32]) -> NDArray[np.float64]:
        return twice((products(params) @ chosen).reshape(-1, *cycles.shape[1:]))

    return predict


def products(params: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return 1, the parameters and their products of two. Shape (N, F)."""
    values = np.asarray(params, dtype=np.float64) - 0.5
    one, other = np.triu_indices(values.shape[1])
    return np.concatenate(
        [np.ones((len(values), 1)), values, values[:, one] * values[:, other]], axis=1
    )
