"""Gait networks as ONNX graphs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from ambulo.configs.arrays import Singles
from ambulo.configs.gait import GaitSpace
from ambulo.motion.gaits.frames import orthonormal
from ambulo.motion.human23 import N_SIXDOF, sixdof_slices
from ambulo.motion.rotations import matrix_to_sixd, sixd_to_matrix
from ambulo.policies.agents.gait_network import GaitNetwork
from ambulo.policies.export.graph import Arrays, Graph, Port, scalar_parts
from ambulo.policies.export.layers import perceptron_of, single


class GaitModule(nn.Module):
    """Gait parameters (B, P), in their units, and phases (B,) to poses (B, 101)."""

    low: Tensor
    span: Tensor
    multiples: Tensor
    balls: Tensor
    rest: Tensor
    order: Tensor

    def __init__(self, network: GaitNetwork) -> None:
        """Create the graph of a run-time network, whose outer layers hold the scales."""
        super().__init__()
        space = network.space
        self.register_buffer("low", single(space.low))
        self.register_buffer("span", single(space.high - space.low))
        multiples = np.arange(1, network.metadata.harmonics + 1)
        self.register_buffer("multiples", single(2.0 * np.pi * multiples))
        places = sixdof_slices().values()
        starts = [place.start for place in places if place.stop - place.start == 6]
        balls = np.concatenate([np.arange(start, start + 6) for start in starts])
        rest = np.setdiff1d(np.arange(N_SIXDOF), balls)
        self.register_buffer("balls", torch.as_tensor(balls))
        self.register_buffer("rest", torch.as_tensor(rest))
        order = np.argsort(np.concatenate([balls, rest]))
        self.register_buffer("order", torch.as_tensor(order))
        pairs = [(weight.T, bias) for weight, bias in network.layers]
        self.layers = perceptron_of(pairs, nn.ReLU())

    def forward(self, parameters: Tensor, phase: Tensor) -> Tensor:
        """Poses (B, 101) whose rotations are valid."""
        angle = phase[:, None] * self.multiples
        both = torch.stack([torch.sin(angle), torch.cos(angle)], dim=-1).flatten(1)
        normalized = (parameters - self.low) / self.span
        raw = self.layers(torch.cat([normalized, both], dim=1))
        rows = raw[:, self.balls].unflatten(1, (-1, 6))
        valid = matrix_to_sixd(sixd_to_matrix(rows)).flatten(1)
        return torch.cat([valid, raw[:, self.rest]], dim=1)[:, self.order]


def gait_graph(network: GaitNetwork) -> Graph:
    """Return the graph of a gait network: `parameters`, `phase` to `pose`."""
    space = network.space
    held = network.held

    def examples(rng: np.random.Generator, count: int) -> Arrays:
        values = rng.uniform(space.low, space.high, (count, space.size))
        for name, value in held.items():
            values[:, space.index(name)] = value
        return values.astype(np.float32), rng.random(count).astype(np.float32)

    def reference(values: Singles, phase: Singles) -> Arrays:
        raw = network(space.normalize(values), phase)
        return (orthonormal(raw.astype(np.float64)),)

    columns = {"held": [held.get(name) for name in space.names]}
    return Graph(
        kind="gait_net",
        module=GaitModule(network),
        inputs=(
            Port(
                "parameters", (space.size,), "1",
                "ratios to a healthy adult; torsions are angles, [rad]",
                _parameters(space, columns),
            ),
            Port("phase", (), "cycles", "of the gait cycle, in [0, 1)"),
        ),
        outputs=(Port("pose", (N_SIXDOF,), "mixed", "a pose", _pose_parts()),),
        examples=examples,
        reference=reference,
        header={"skeleton": "human23", "space": network.metadata.space},
        left_out=(
            "the root's path: integrate the speeds at 6 to 8 of pose over the cycle",
        ),
    )  # fmt: skip


def _parameters(
    space: GaitSpace, columns: Mapping[str, Sequence[object]]
) -> tuple[dict[str, object], ...]:
    """Return one part for each gait parameter, with its range."""
    low, high = space.low.tolist(), space.high.tolist()
    return scalar_parts(space.names, low=low, high=high, **columns)


def _pose_parts() -> tuple[dict[str, object], ...]:
    """Return the parts of the 101 numbers."""
    rows: list[dict[str, object]] = []
    for joint, place in sixdof_slices().items():
        ball = place.stop - place.start == 6
        unit = "1" if ball else "rad"
        meaning = "first two rows of the rotation matrix" if ball else "angle"
        row = {"name": joint, "start": place.start, "stop": place.stop}
        rows.append(row | {"unit": unit, "meaning": meaning})
    way = "displacement in 1/30 s along the walking direction and to the left"
    for name, start, stop, meaning in (
        ("root way", 6, 8, way),
        ("root height", 8, 9, "height of the root"),
    ):
        row = {"name": name, "start": start, "stop": stop}
        rows.append(row | {"unit": "m", "meaning": meaning})
    return tuple(rows)
