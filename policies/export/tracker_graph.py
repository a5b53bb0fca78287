"""The network of body trackers as an ONNX graph: one step, with its state."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from ambulo.configs.arrays import Singles
from ambulo.ik.rig import TARGETS
from ambulo.ik.trackers import layout, sizes
from ambulo.ik.trackers.network import TrackerNetwork
from ambulo.ik.trackers.sizes import INPUTS, JOINTS, OUTPUTS, POSE, WIDTH
from ambulo.ik.trackers.tracker import BodyTracker
from ambulo.motion.skeletons import load_skeleton
from ambulo.policies.export.graph import Arrays, Graph, Port
from ambulo.policies.export.layers import linear_of

_COLUMNS = (
    ("position", layout.POSITION, 3, "m"),
    ("rotation", layout.ROTATION, 6, "1"),
    ("velocity", layout.VELOCITY, 3, "m/s"),
    ("angular velocity", layout.SPIN, 3, "rad/s"),
    ("presence", layout.PRESENT, 1, "1"),
    ("age", layout.AGE, 1, "1"),
)  # fmt: skip
"""Quantities of a tracker: name, first column, size and unit; see `ik.trackers.layout`.

The body's scale is a ratio: what is divided by it stays in metres, those of human23."""


class TrackerModule(nn.Module):
    """Inputs (B, 106) and states (B, U) to outputs (B, 151) and next states (B, U)."""

    def __init__(self, network: TrackerNetwork) -> None:
        """With the weights of a network at run time, statistics folded in."""
        super().__init__()
        wide, units = len(network.encoder), network.units
        self.encoder = linear_of(network.encoder, network.encoder_bias)
        self.cell = nn.GRUCell(wide, units)
        self.decoder = linear_of(network.decoder, network.decoder_bias)
        self.output = linear_of(network.output, network.output_bias)
        with torch.no_grad():
            self.cell.weight_ih.copy_(torch.from_numpy(network.inputs))
            self.cell.bias_ih.copy_(torch.from_numpy(network.inputs_bias))
            self.cell.weight_hh.copy_(torch.from_numpy(network.states))
            self.cell.bias_hh.copy_(torch.from_numpy(network.states_bias))

    def forward(self, inputs: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """One step."""
        x = nn.functional.silu(self.encoder(inputs))
        after = self.cell(x, state)
        y = nn.functional.silu(self.decoder(torch.cat([x, after], dim=-1)))
        return self.output(y), after


def tracker_graph(body: BodyTracker) -> Graph:
    """Return the graph: `inputs`, `state` to `outputs`, `next_state`."""
    network, units = body.network, body.network.units

    def examples(rng: np.random.Generator, count: int) -> Arrays:
        seen = rng.normal(scale=0.5, size=(count, INPUTS)).astype(np.float32)
        return seen, rng.uniform(-0.9, 0.9, (count, units)).astype(np.float32)

    def reference(inputs: Singles, state: Singles) -> Arrays:
        after = np.array(state, np.float32)
        rows = [
            network.step(seen, own) for seen, own in zip(inputs, after, strict=True)
        ]
        return np.stack(rows), after

    return Graph(
        kind="body_tracker",
        module=TrackerModule(network),
        inputs=(
            Port(
                "inputs", (INPUTS,), "mixed",
                "trackers in the head's frame, positions and velocities over the body's scale "
                "(its standing height over that of human23), its proportions, and the time "
                "since the step before over a thirtieth of a second",
                _input_parts(),
            ),
            Port("state", (units,), "1", "next_state of the step before; zeros at first"),
        ),
        outputs=(
            Port(
                "outputs", (OUTPUTS,), "mixed",
                f"pose {network.lead:g} s ahead (its position over the body's scale), "
                "contacts, proportions",
                _output_parts(),
            ),
            Port("next_state", (units,), "1", "state for the next step"),
        ),
        examples=examples,
        reference=reference,
        header={"skeleton": "human23", "lead": network.lead},
        left_out=(
            "inputs from samples of trackers, and frames between the steps",
            "filters of noise and jumps, calibration, sizes of bodies",
            "solving hands and feet onto their trackers, locking feet to the ground",
        ),
    )  # fmt: skip


def _input_parts() -> tuple[dict[str, object], ...]:
    rows: list[dict[str, object]] = [
        {
            "name": f"{target} {name}",
            "start": WIDTH * row + first,
            "stop": WIDTH * row + first + size,
            "unit": unit,
        }
        for row, target in enumerate(TARGETS)
        for name, first, size, unit in _COLUMNS
    ]
    rows.append(_part("proportions", layout.SHAPE, 3))
    rows.append(_part("step", layout.STEP, 1))
    return tuple(rows)


def _output_parts() -> tuple[dict[str, object], ...]:
    joints = load_skeleton("human23").joints
    assert len(joints) == JOINTS
    rows = [{**_part("Hips position", 0, 3), "unit": "m"}]
    rows += [_part(f"{j} rotation", 3 + 6 * k, 6) for k, j in enumerate(joints)]
    assert rows[-1]["stop"] == POSE
    rows.append(_part("contact logits", sizes.CONTACTS, 4))
    rows.append(_part("proportions correction", sizes.CORRECTION, 3))
    rows.append(_part("proportions log-variance", sizes.VARIANCE, 3))
    return tuple(rows)


def _part(name: str, first: int, size: int) -> dict[str, object]:
    return {"name": name, "start": first, "stop": first + size, "unit": "1"}
