"""The layers of policies as arrays: what files of them hold, and how they compute.

Perceptrons have dense layers alone. A recurrent policy has one GRU among them, whose state is
given and returned; that of a game may normalise numbers and convolve pictures first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from ambulo.configs.errors import ModelFileError
from ambulo.policies.agents.navigation import Agent
from ambulo.policies.networks.actor_critic import NavigationPolicy
from ambulo.policies.networks.branches import ACTIVATIONS, Branches
from ambulo.policies.networks.gru import GRU

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Dense:
    """y = activation(W x + b)."""

    weight: Floats
    """W, shape (outputs, inputs)."""
    bias: Floats
    """b, shape (outputs,)."""
    activation: str
    """`none`, `relu`, `tanh`, `elu` or `silu`."""

    @property
    def blocks(self) -> dict[str, Floats]:
        """The arrays by the names of the files."""
        return {"weight": self.weight, "bias": self.bias}


@dataclass(frozen=True)
class Gated:
    """A gated recurrent unit (GRU) of U units.

    With the state h, a = W x + b and c = V h + d, each in three parts of U numbers:
    r = sigmoid(a1 + c1), z = sigmoid(a2 + c2), n = tanh(a3 + r c3); the output, which is the
    next state, is (1 - z) n + z h.
    """

    weight: Floats
    """W, shape (3 U, inputs)."""
    bias: Floats
    """b, shape (3 U,)."""
    state_weight: Floats
    """V, shape (3 U, U)."""
    state_bias: Floats
    """d, shape (3 U,)."""

    @property
    def units(self) -> int:
        """U."""
        return self.state_weight.shape[1]

    @property
    def blocks(self) -> dict[str, Floats]:
        """The arrays by the names of the files."""
        return {
            "weight": self.weight,
            "bias": self.bias,
            "state_weight": self.state_weight,
            "state_bias": self.state_bias,
        }


@dataclass(frozen=True)
class Normalize:
    """y = (x - mean) / deviation, cut off at +-`limit`."""

    mean: Floats
    """Shape (inputs,)."""
    deviation: Floats
    """Shape (inputs,)."""
    limit: float

    @property
    def blocks(self) -> dict[str, Floats]:
        """The arrays by the names of the files."""
        return {"mean": self.mean, "deviation": self.deviation}

    @property
    def row(self) -> dict[str, Any]:
        """Fields of a file besides the places of the arrays."""
        size = len(self.mean)
        return {
            "type": "normalize", "inputs": size, "outputs": size, "limit": self.limit,
        }  # fmt: skip


@dataclass(frozen=True)
class Conv:
    """A convolution without padding; pixels lie row by row, their channels side by side."""

    weight: Floats
    """Shape (outputs, kernel, kernel, channels)."""
    bias: Floats
    """Shape (outputs,)."""
    stride: int
    shape: tuple[int, int]
    """Height and width of the picture."""
    activation: str

    @property
    def out_shape(self) -> tuple[int, int]:
        """Height and width of what comes out."""
        kernel = self.weight.shape[1]
        height, width = ((side - kernel) // self.stride + 1 for side in self.shape)
        return height, width

    @property
    def blocks(self) -> dict[str, Floats]:
        """The arrays by the names of the files."""
        return {"weight": self.weight, "bias": self.bias}

    @property
    def row(self) -> dict[str, Any]:
        """Fields of a file besides the places of the arrays."""
        outputs, kernel, _, channels = self.weight.shape
        return {
            "type": "conv", "height": self.shape[0], "width": self.shape[1],
            "channels": channels, "outputs": outputs, "kernel": kernel,
            "stride": self.stride,
        }  # fmt: skip


Layer = Dense | Gated | Normalize | Conv


def folded_layers(agent: Agent) -> list[Layer]:
    """Return the layers of `agent`; the first one scales its inputs.

    Raises:
        ModelFileError: See `check_exportable`.
    """
    check_exportable(agent)
    branches: Branches = agent.policy.mlp_extractor
    layers = torch_layers(actor_modules(agent.policy))
    first = layers[0]
    assert isinstance(first, Dense)
    assert branches.scales is not None
    weight = first.weight * branches.scales.numpy()
    return [Dense(weight, first.bias, first.activation), *layers[1:]]


def actor_modules(policy: NavigationPolicy) -> list[nn.Module]:
    """Return the layers and activations of the actor, its head last."""
    actor = policy.mlp_extractor.actor
    modules = actor.modules_in_order if policy.units else actor
    return [*modules, policy.action_net]


def torch_layers(modules: Sequence[nn.Module]) -> list[Layer]:
    """Return linear layers, each with the activation behind it, and GRUs as arrays.

    Raises:
        ModelFileError: Another module; it is named.
    """
    layers: list[Layer] = []
    for index, module in enumerate(modules):
        after = modules[index + 1] if index + 1 < len(modules) else None
        if isinstance(module, GRU):
            layers.append(
                Gated(
                    _array(module.weight_ih), _array(module.bias_ih),
                    _array(module.weight_hh), _array(module.bias_hh),
                )
            )  # fmt: skip
        elif isinstance(module, nn.Linear):
            name = next((n for n, c in ACTIVATIONS.items() if type(after) is c), "none")
            layers.append(Dense(_array(module.weight), _array(module.bias), name))
        elif type(module) not in ACTIVATIONS.values():
            raise ModelFileError(f"{type(module).__name__}: no file has such a layer")
    return layers


def check_exportable(agent: Agent) -> None:
    """Raise `ModelFileError` if `agent` normalises and clips observations."""
    if agent.statistics is not None:
        raise ModelFileError(
            "the statistics of vecnormalize.pkl clip observations, which no export does yet; "
            "move the file away to export the bare network"
        )


def packed(
    layers: Sequence[Layer], first: int = 0
) -> tuple[list[dict[str, Any]], Floats]:
    """Return the rows of a header, with indices of arrays, and all numbers in a row.

    The indices begin at `first`.
    """
    rows: list[dict[str, Any]] = []
    blocks: list[Floats] = []
    at = first
    for layer in layers:
        if isinstance(layer, Normalize | Conv):
            row = layer.row
        else:
            gated = isinstance(layer, Gated)
            outputs = layer.units if isinstance(layer, Gated) else len(layer.bias)
            row = {"type": "gru"} if gated else {}
            row |= {"inputs": layer.weight.shape[1], "outputs": outputs}
        for name, block in layer.blocks.items():
            row[name] = at
            at += block.size
            blocks.append(block.astype("<f4").ravel())
        if isinstance(layer, Dense | Conv):
            row["activation"] = layer.activation
        rows.append(row)
    return rows, np.concatenate(blocks)


def stepped(
    rows: Sequence[Mapping[str, Any]], numbers: Floats, x: Floats, state: Floats
) -> tuple[Floats, Floats]:
    """Outputs (N, outputs) of the layers of a file for `x` (N, inputs), in numpy alone.

    Also returns the next state (N, units) of its GRU; without one it is `state`.
    """
    for row in rows:
        if row.get("type") == "gru":
            x = state = _gated(row, numbers, x, state)
            continue
        if row.get("type") == "normalize":
            size, limit = row["inputs"], row["limit"]
            x = x - numbers[row["mean"] :][:size]
            x = np.clip(x / numbers[row["deviation"] :][:size], -limit, limit)
            continue
        if row.get("type") == "conv":
            x = _convolved(row, numbers, x)
            continue
        shape = (row["outputs"], row["inputs"])
        x = x @ _matrix(numbers, row["weight"], *shape).T
        x = x + numbers[row["bias"] :][: shape[0]]
        x = _ACTIVATIONS[row["activation"]](x)
    return x, state


def _gated(row: Mapping[str, Any], numbers: Floats, x: Floats, state: Floats) -> Floats:
    units, inputs = row["outputs"], row["inputs"]
    a = x @ _matrix(numbers, row["weight"], 3 * units, inputs).T
    a = a + numbers[row["bias"] :][: 3 * units]
    c = state @ _matrix(numbers, row["state_weight"], 3 * units, units).T
    c = c + numbers[row["state_bias"] :][: 3 * units]
    gates = 1.0 / (1.0 + np.exp(-(a + c)[:, : 2 * units]))
    reset, keep = gates[:, :units], gates[:, units:]
    new = np.tanh(a[:, 2 * units :] + reset * c[:, 2 * units :])
    found: Floats = (1.0 - keep) * new + keep * state
    return found


def _convolved(row: Mapping[str, Any], numbers: Floats, x: Floats) -> Floats:
    height, width, channels = row["height"], row["width"], row["channels"]
    kernel, stride, outputs = row["kernel"], row["stride"], row["outputs"]
    picture = x.reshape(-1, height, width, channels)
    cut = np.lib.stride_tricks.sliding_window_view(picture, (kernel, kernel), (1, 2))
    cut = cut[:, ::stride, ::stride].transpose(0, 1, 2, 4, 5, 3)  # channels last
    size = kernel * kernel * channels
    weight = _matrix(numbers, row["weight"], outputs, size)
    y = cut.reshape(*cut.shape[:3], size) @ weight.T + numbers[row["bias"] :][:outputs]
    found: Floats = _ACTIVATIONS[row["activation"]](y).reshape(len(x), -1)
    return found


def _matrix(numbers: Floats, at: int, outputs: int, inputs: int) -> Floats:
    return numbers[at:][: outputs * inputs].reshape(outputs, inputs)


def _array(tensor: Tensor) -> Floats:
    array: Floats = tensor.detach().numpy()
    return array


_ACTIVATIONS: dict[str, Callable[[Floats], Floats]] = {
    "none": lambda x: x,
    "relu": lambda x: np.maximum(x, 0),
    "tanh": np.tanh,
    "elu": lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))),
    "silu": lambda x: x / (1 + np.exp(-x)),
}
