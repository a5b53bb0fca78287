"""Where a training of a gait network stands, as arrays and plain values."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ambulo.configs.errors import GaitDataError
from ambulo.policies.files.model_file import TrainingState


@dataclass
class Progress:
    """Where a training stands; plain numbers, for a checkpoint."""

    epoch: int = 0
    """Whole epochs done."""
    buffer: int = 0
    """Whole buffers of the running epoch done."""
    batch: int = 0
    """Batches of the running buffer done, over its passes."""
    step: int = 0
    """Updates done."""
    iteration: int = 0
    """Buffers done in all."""
    rows: int = 0
    """Frames learnt from, repeats counted."""
    best: float = math.inf
    """Smallest validation error so far."""
    waited: int = 0
    """Epochs since then."""
    seconds: float = 0.0
    """Spent so far, [s]."""
    total: float = 0.0
    """Sum of the loss over the steps of the running epoch."""
    count: int = 0
    """Number of these steps."""
    scores: dict[str, float] = field(default_factory=dict)
    """Scores of the best network on the validation part."""


def captured(
    network: nn.Module,
    optimizer: torch.optim.Optimizer,
    scaler: torch.amp.GradScaler,
    progress: Progress,
    files: Sequence[Sequence[int]],
) -> TrainingState:
    """Weights, moments and counters, and what tells the data."""
    names = {id(p): name for name, p in network.named_parameters()}
    arrays: dict[str, NDArray[Any]] = {}
    for name, tensor in network.state_dict().items():
        arrays[f"weights.{name}"] = _numbers(tensor)
    for parameter, state in optimizer.state.items():
        for key, value in state.items():
            arrays[f"optimizer.{key}.{names[id(parameter)]}"] = _numbers(value)
    values = dict(vars(progress))
    values["best"] = None if math.isinf(progress.best) else progress.best
    told = {
        "progress": values,
        "scaler": scaler.state_dict(),
        "files": [list(file) for file in files],
    }
    return TrainingState(arrays, told)


def restored(
    state: TrainingState,
    network: nn.Module,
    optimizer: torch.optim.Optimizer,
    scaler: torch.amp.GradScaler,
    files: Sequence[Sequence[int]],
) -> Progress:
    """Put a state into network, optimiser and scaler; where the training stood.

    Raises:
        GaitDataError: It is of other data or of other settings.
    """
    if state.values.get("files") != [list(file) for file in files]:
        raise GaitDataError(
            "the data are not those that the run began with; start a new run"
        )
    try:
        arrays = {k: torch.from_numpy(np.array(v)) for k, v in state.arrays.items()}
        network.load_state_dict(_group(arrays, "weights"))
        _restore_moments(network, optimizer, _group(arrays, "optimizer"))
        if state.values["scaler"]:
            scaler.load_state_dict(state.values["scaler"])
        values = dict(state.values["progress"])
        values["best"] = math.inf if values["best"] is None else values["best"]
        return Progress(**values)
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        reason = (str(error).splitlines() or [""])[0]
        raise GaitDataError(
            f"the training state does not fit this configuration: {reason}"
        ) from error


def _restore_moments(
    network: nn.Module, optimizer: torch.optim.Optimizer, tensors: Mapping[str, Tensor]
) -> None:
    state: dict[int, dict[str, Tensor]] = {}
    for index, (name, parameter) in enumerate(network.named_parameters()):
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


def _numbers(tensor: Tensor) -> NDArray[Any]:
    return tensor.detach().cpu().numpy().copy()


def _group(tensors: Mapping[str, Tensor], name: str) -> dict[str, Tensor]:
    """The tensors `name.<rest>` by `<rest>`."""
    start = f"{name}."
    return {k[len(start) :]: v for k, v in tensors.items() if k.startswith(start)}
