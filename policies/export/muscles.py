"""Muscle networks as ONNX graphs, with the corrections behind them."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from ambulo.configs.arrays import Floats, Singles
from ambulo.muscle.muscle_nn import MuscleNN
from ambulo.policies.export.graph import Arrays, Graph, Port, scalar_parts
from ambulo.policies.networks.muscle_net import MuscleInputs, MuscleNet, activations


class MuscleModule(nn.Module):
    """JtA (B, na, m), torques (B, na) and factors (B, 2 G) to activations (B, m).

    The corrections are unrolled: each solves a system of na equations in float64.
    """

    def __init__(self, network: MuscleNN) -> None:
        """Create the graph of a trained network."""
        super().__init__()
        self.config = network.config
        self.inputs = MuscleInputs(network.pattern, network.scales, torch.float64)
        inputs, outputs = network.weights[0].shape[1], network.pattern.shape[1]
        self.net = MuscleNet(inputs, outputs, network.config.hidden)
        self.net.copy_from(network)

    def forward(
        self, active: Tensor, wanted: Tensor, factors: Tensor | None = None
    ) -> Tensor:
        """Activations (B, m) in [0, 1]."""
        active, wanted = active.double(), wanted.double()
        factors = None if factors is None else factors.double()
        raw = self.net(self.inputs(active, wanted, factors).float()).double()
        return activations(raw, active, wanted, self.config, solve_positive).float()


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
