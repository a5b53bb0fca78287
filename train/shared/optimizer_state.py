"""The moments of an optimiser as named arrays, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor, nn


def optimizer_arrays(
    network: nn.Module, optimizer: torch.optim.Optimizer
) -> dict[str, NDArray[Any]]:
    """Return copies of the moments as `optimizer.<moment>.<parameter>`."""
    names = {id(p): name for name, p in network.named_parameters()}
    return {
        f"optimizer.{key}.{names[id(parameter)]}": to_array(value)
        for parameter, state in optimizer.state.items()
        for key, value in state.items()
    }


def restore_optimizer(
    network: nn.Module, optimizer: torch.optim.Optimizer, tensors: Mapping[str, Tensor]
) -> None:
    """Put moments `<moment>.<parameter>` into `optimizer`.

    Raises:
        ValueError: A moment has another shape than its parameter.
    """
    names = {id(p): name for name, p in network.named_parameters()}
    order = [p for group in optimizer.param_groups for p in group["params"]]
    state: dict[int, dict[str, Tensor]] = {}
    for index, parameter in enumerate(order):
        name = names[id(parameter)]
        moments = {
            key.removesuffix(f".{name}"): value
            for key, value in tensors.items()
            if key.endswith(f".{name}") and key.count(".") == name.count(".") + 1
        }
        for key, value in moments.items():
            if key != "step" and value.shape != parameter.shape:
                raise ValueError(f"optimizer.{key}.{name} has another shape")
        if moments:
            state[index] = moments
    optimizer.load_state_dict({**optimizer.state_dict(), "state": state})


def tensors_under(tensors: Mapping[str, Tensor], name: str) -> dict[str, Tensor]:
    """Return the tensors named `name.<rest>` by `<rest>`."""
    start = f"{name}."
    return {k[len(start) :]: v for k, v in tensors.items() if k.startswith(start)}


def to_array(tensor: Tensor) -> NDArray[Any]:
    """Return a copy of `tensor` on the CPU."""
    return tensor.detach().cpu().numpy().copy()
