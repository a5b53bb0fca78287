"""Muscle networks as ONNX graphs, with the corrections behind them."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from ambulo.configs.arrays import Floats, Singles
from ambulo.muscle.muscle_nn import LEAK, OFFSET, SLACK, SOFT, MuscleNN
from ambulo.policies.export.graph import Arrays, Graph, Port, scalar_parts
from ambulo.policies.export.layers import fixed


class MuscleModule(nn.Module):
    """JtA (B, na, m), torques (B, na) and factors (B, 2 G) to activations (B, m).

    The corrections are unrolled: each solves a system of na equations in float64.
    """

    mean: Tensor
    values: Tensor
    torque: Tensor
    entries: Tensor

    def __init__(self, network: MuscleNN) -> None:
        """Of a trained network."""
        super().__init__()
        self.config = network.config
        scales, pattern = network.scales, network.pattern
        for name in ("mean", "values", "torque"):
            values = np.array(getattr(scales, name), dtype=np.float64)
            self.register_buffer(name, torch.from_numpy(values))
        entries = pattern.rows * pattern.shape[1] + pattern.muscles
        self.register_buffer("entries", torch.from_numpy(entries.astype(np.int64)))
        self.weights = nn.ParameterList(map(fixed, network.weights))
        self.biases = nn.ParameterList(map(fixed, network.biases))

    def forward(
        self, active: Tensor, wanted: Tensor, factors: Tensor | None = None
    ) -> Tensor:
        """Activations (B, m) in [0, 1]."""
        active, wanted = active.double(), wanted.double()
        found = active.flatten(1)[:, self.entries]
        parts = [(found - self.mean) / self.values, wanted / self.torque]
        if factors is not None:
            parts.append(factors.double() - 1.0)
        x = torch.cat(parts, dim=1).float()
        last = len(self.weights) - 1
        for k, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            x = functional.linear(x, weight, bias)
            x = x if k == last else torch.maximum(x, LEAK * x)
        if self.config.output == "relu_tanh":
            return torch.relu(torch.tanh(x))
        made = 1.0 / (1.0 + torch.exp(OFFSET - x.double()))
        for _ in range(self.config.corrections):
            made = _corrected(active, wanted, made)
        return made.float()


def _corrected(active: Tensor, wanted: Tensor, made: Tensor) -> Tensor:
    """Activations (B, m) after one correction, as `muscle_nn._correct`."""
    room = made * (1.0 - made) + SLACK
    weighted = active * room[:, None]
    matrix = weighted @ active.transpose(1, 2)
    matrix = matrix + SOFT * torch.eye(matrix.shape[1], dtype=matrix.dtype)
    error = wanted - (active @ made[:, :, None])[:, :, 0]
    push = solve_positive(matrix, error)
    change = (weighted.transpose(1, 2) @ push[:, :, None])[:, :, 0]
    return (made + change).clamp(0.0, 1.0)


def solve_positive(matrix: Tensor, right: Tensor) -> Tensor:
    """Return x (B, n) with `matrix` (B, n, n) x = `right` (B, n), in basic operations.

    Gauss-Jordan elimination; positive matrices need no exchange of rows.
    """
    size = matrix.shape[1]
    unit = torch.eye(size, dtype=matrix.dtype)
    rows = torch.cat([matrix, right[:, :, None]], dim=2)
    for k in range(size):
        pivot = rows[:, k : k + 1] / rows[:, k : k + 1, k : k + 1]
        # Row k itself becomes the pivot's.
        factors = rows[:, :, k : k + 1] - unit[:, k : k + 1]
        rows = rows - factors * pivot
    return rows[:, :, -1]


def muscle_graph(network: MuscleNN) -> Graph:
    """Return the graph of a muscle network: `active`, `wanted` to `activations`."""
    rows, muscles = network.pattern.shape
    groups = network.groups if network.scales.conditioned else ()
    inputs = [
        Port(
            "active", (rows, muscles), "N m", "torque of each muscle's full activation"
        ),
        Port(
            "wanted", (rows,), "N m", "torque that is wanted, minus the passive torque"
        ),
    ]
    if groups:
        names = [f"{name} {what}" for what in ("force", "length") for name in groups]
        meaning = (
            "force, then length of each muscle group, as a part of a healthy one's"
        )
        inputs.append(Port("factors", (len(names),), "1", meaning, scalar_parts(names)))

    def examples(rng: np.random.Generator, count: int) -> Arrays:
        scales = network.scales
        size = (count, len(scales.mean))
        active = network.pattern.full(
            scales.mean + scales.values * rng.normal(size=size)
        )
        # Torques that the muscles can make, and some more.
        made = 0.3 * rng.random((count, muscles, 1))
        wanted = (active @ made)[..., 0] + rng.normal(scale=5.0, size=(count, rows))
        found = [active, wanted]
        if groups:
            found.append(rng.uniform(0.5, 1.0, (count, 2 * len(groups))))
        return tuple(part.astype(np.float32) for part in found)

    def reference(*given: Singles) -> Arrays:
        wide: list[Floats] = [part.astype(np.float64) for part in given]
        return (network.activations(*wide),)

    return Graph(
        kind="muscle_nn",
        module=MuscleModule(network),
        inputs=tuple(inputs),
        outputs=(
            Port(
                "activations", (muscles,), "1", "in [0, 1]",
                scalar_parts(network.muscles),
            ),
        ),
        examples=examples,
        reference=reference,
        header={
            "config": network.config.model_dump(mode="json"),
            "muscles": list(network.muscles),
            "groups": list(network.groups),
        },
    )  # fmt: skip
