"""Shapes of a network's weights, without building it in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode


def shapes_of(make: Callable[[], nn.Module]) -> dict[str, tuple[int, ...]]:
    """Return the shape of each weight of the network that `make` builds.

    It is built on the meta device, so that a header that asks for a huge network takes no
    memory.
    """
    with torch.device("meta"), _NoValues():
        weights = make().state_dict()
    return {name: tuple(tensor.shape) for name, tensor in weights.items()}


class _NoValues(TorchFunctionMode):
    """Leaves out what gives tensors their values, where only shapes count.

    On the meta device, random values and products with numbers would load torch's compiler,
    which takes longer than all the rest of loading a model.
    """

    def __torch_function__(
        self,
        func: Any,
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Answer a call of torch."""
        kwargs = kwargs or {}
        if getattr(func, "__module__", None) == nn.init.__name__:
            return kwargs["tensor"] if "tensor" in kwargs else args[0]
        if func in _PRODUCTS and not isinstance(args[1], torch.Tensor):
            return torch.empty_like(args[0])
        return func(*args, **kwargs)


_PRODUCTS = (torch.mul, torch.Tensor.mul, torch.Tensor.__mul__, torch.Tensor.__rmul__)
