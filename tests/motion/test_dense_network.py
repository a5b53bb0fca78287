"""Small networks: one row and many answer as the plain formula does."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from ambulo.motion.dense_network import ACTIVATIONS, DenseNetwork

FUNCTIONS = {
    "leaky_relu": lambda x: np.where(x > 0.0, x, 0.2 * x),
    "relu": lambda x: np.maximum(x, 0.0),
    "elu": lambda x: np.where(x > 0.0, x, np.exp(np.minimum(x, 0.0)) - 1.0),
    "tanh": np.tanh,
    "silu": lambda x: x / (1.0 + np.exp(-x)),
}


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("rows", [1, 7])
def test_answers_are_those_of_the_formula(activation: str, rows: int) -> None:
    rng = np.random.default_rng(0)
    sizes = (13, 9, 5, 3)
    layers = [
        (
            rng.normal(size=(n, m)).astype(np.float32),
            rng.normal(size=m).astype(np.float32),
        )
        for n, m in pairwise(sizes)
    ]
    slope = 0.2 if activation == "leaky_relu" else 0.0
    network = DenseNetwork(layers, activation, slope)
    values = rng.normal(size=(rows, 13)).astype(np.float32)
    expected = values.astype(np.float64)
    for k, (weights, bias) in enumerate(layers):
        expected = expected @ weights + bias
        if k < 2:
            expected = FUNCTIONS[activation](expected)
    np.testing.assert_allclose(network.forward(values), expected, atol=2e-5)
    assert network.sizes == sizes
    assert network.parameters == sum(w.size + b.size for w, b in layers)
