"""Shapes of networks that are not built."""

from __future__ import annotations

import torch
from torch import nn

from ambulo.policies.files.network_shapes import shapes_of


class Network(nn.Module):
    """Weights with values that take work."""

    def __init__(self) -> None:
        """Draw them."""
        super().__init__()
        self.layer = nn.Linear(3, 4)
        nn.init.normal_(self.layer.weight, std=0.1)
        self.scale = nn.Parameter(0.5 * torch.ones(7))
        self.other = nn.Parameter(torch.ones(2, 5) * 0.1)


def test_shapes_are_those_of_the_network_built() -> None:
    real = {name: tuple(t.shape) for name, t in Network().state_dict().items()}
    assert shapes_of(Network) == real
