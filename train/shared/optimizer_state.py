"""The moments of an optimiser as named arrays, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

Value = TypeVar("Value")


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
    network: nn.Module,
    optimizer: torch.optim.Optimizer,
    arrays: Mapping[str, NDArray[Any] | Tensor],
) -> None:
    """Put what `optimizer_arrays` returned, among other arrays, into `optimizer`.

    Raises:
        KeyError: A moment of a parameter that the network does not have.
        ValueError: A moment has another shape than its parameter.
    """
    order = [id(p) for group in optimizer.param_groups for p in group["params"]]
    parameters = dict(network.named_parameters())
    state: dict[int, dict[str, Tensor]] = {}
    for full, array in group(arrays, "optimizer").items():
        value = (
            array if isinstance(array, Tensor) else torch.from_numpy(np.array(array))
        )
        key, _, name = full.partition(".")
        shape = parameters[name].shape
        if key != "step" and value.shape != shape:
            raise ValueError(
                f"{full} has shape {tuple(value.shape)}, not {tuple(shape)}"
            )
        state.setdefault(order.index(id(parameters[name])), {})[key] = value
    optimizer.load_state_dict({**optimizer.state_dict(), "state": state})


def group(values: Mapping[str, Value], name: str) -> dict[str, Value]:
    """Return the values named `name.<rest>` by `<rest>`."""
    start = f"{name}."
    return {k[len(start) :]: v for k, v in values.items() if k.startswith(start)}


def to_array(tensor: Tensor) -> NDArray[Any]:
    """Return a copy of `tensor` on the CPU."""
    return tensor.detach().cpu().numpy().copy()
