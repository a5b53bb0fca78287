"""Pose networks with the published interface (50 numbers to 69) as ONNX graphs."""

from __future__ import annotations

import numpy as np
from torch import Tensor, nn

from ambulo.ik.kernels.targets import HIPS
from ambulo.ik.rig import TARGETS
from ambulo.ik.solver.network import IKNetwork
from ambulo.ik.solver.published import INPUTS, OUTPUTS
from ambulo.policies.export.graph import Arrays, Graph, Port
from ambulo.policies.export.layers import layers_of


class PublishedModule(nn.Module):
    """The published 50 numbers to 69."""

    def __init__(self, network: IKNetwork) -> None:
        """Create the graph of one of the two networks."""
        super().__init__()
        self.layers = layers_of(network)

    def forward(self, inputs: Tensor) -> Tensor:
        """Rotation vectors (B, 69)."""
        out: Tensor = self.layers(inputs)
        return out


def published_graph(network: IKNetwork) -> Graph:
    """Return the graph of a published network: `inputs` (50,) to `rotation_vectors`."""

    def examples(rng: np.random.Generator, count: int) -> Arrays:
        return (rng.normal(scale=0.5, size=(count, INPUTS)).astype(np.float32),)

    joints = network.rig.skeleton.joints
    parts = tuple(
        {"name": name, "start": 3 * k, "stop": 3 * k + 3, "unit": "rad"}
        for k, name in enumerate(joints)
    )
    return Graph(
        kind="ik_published",
        module=PublishedModule(network),
        inputs=(
            Port("inputs", (INPUTS,), "mixed", "the published layout", PUBLISHED_PARTS),
        ),
        outputs=(
            Port("rotation_vectors", (OUTPUTS,), "rad", "local rotations", parts),
        ),
        examples=examples,
        reference=lambda inputs: (network.forward(inputs),),
        header={"rig": network.rig.name, "network": network.header.kind},
        left_out=(
            "the 50 numbers of targets and ground, and the hips' position: they are in the "
            "character's yaw frame",
        ),
    )


def _published_parts() -> tuple[dict[str, object], ...]:
    """Return the parts of the published input."""
    rows: list[dict[str, object]] = []
    at = 0

    def add(name: str, size: int, unit: str, scale: float = 1.0) -> None:
        nonlocal at
        row = {"name": name, "start": at, "stop": at + size, "unit": unit}
        rows.append(row | {"scale": scale})
        at += size

    for name in TARGETS[:HIPS]:
        add(f"{name} position from the hips", 3, "m")
        add(f"{name} Euler angles from rest", 3, "rad", 1.0 / np.pi)
    add("forward of the hips", 3, "1")
    add("up of the hips", 3, "1")
    for side in ("left", "right"):
        add(f"{side} ankle over the ground", 1, "m", 0.5)
        add(f"{side} ground normal", 3, "1")
        add(f"{side} foot is grounded", 1, "1")
        add(f"{side} foot shall stand", 1, "1")
    add("phase of the step", 1, "1")
    add("task", 1, "1")
    return tuple(rows)


PUBLISHED_PARTS = _published_parts()
"""Parts of the published input; a number is the quantity in its unit times `scale`."""
