"""Layers of networks that are kept as NumPy arrays, for graphs."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from ambulo.configs.arrays import Floats, Singles
from ambulo.ik.solver.network import IKNetwork


def perceptron_of(
    pairs: list[tuple[Singles, Singles]], activation: nn.Module
) -> nn.Sequential:
    """Return linear layers of weights (outputs, inputs) and biases."""
    modules: list[nn.Module] = []
    for weight, bias in pairs:
        modules += [linear_of(weight, bias), activation]
    return nn.Sequential(*modules[:-1])


def linear_of(weight: Singles, bias: Singles) -> nn.Linear:
    """Return a layer with weights (outputs, inputs) and bias (outputs,)."""
    layer = nn.Linear(weight.shape[1], weight.shape[0])
    layer.weight, layer.bias = fixed(weight), fixed(bias)
    return layer


def single(values: Floats | Singles) -> Tensor:
    """Return a copy as a float32 tensor."""
    return torch.from_numpy(np.array(values, dtype=np.float32))


def fixed(values: Floats | Singles) -> nn.Parameter:
    """Return weights that do not learn."""
    return nn.Parameter(single(values), requires_grad=False)


def layers_of(network: IKNetwork) -> nn.Sequential:
    """Return the perceptron of a network, statistics folded in already."""
    header = network.header
    activations: dict[str, nn.Module] = {
        "leaky_relu": nn.LeakyReLU(header.slope),
        "elu": nn.ELU(),
        "tanh": nn.Tanh(),
        "silu": nn.SiLU(),
    }
    pairs = [(weights.T, bias) for weights, bias in network.layers]
    return perceptron_of(pairs, activations[header.activation])
