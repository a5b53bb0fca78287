"""Motion networks as ONNX graphs, and motion to try graphs with."""

from __future__ import annotations

import numpy as np
from torch import Tensor, nn

from ambulo.configs.arrays import Singles
from ambulo.motion.human23 import N_POSITIONS, position_slices, velocities
from ambulo.policies.export.graph import Arrays, Graph, Port
from ambulo.policies.networks.motion_nn import MotionNN
from ambulo.policies.networks.motion_state import STATE_SIZE


class MotionModule(nn.Module):
    """Past states (B, H, 112) to the next ones (B, K, 112) and an encoding (B, F)."""

    def __init__(self, network: MotionNN) -> None:
        """Create the graph of a network in evaluation mode."""
        super().__init__()
        self.network = network

    def forward(self, states: Tensor) -> tuple[Tensor, Tensor]:
        """Next states and encoding."""
        network = self.network
        return network.rollout(states, network.config.chunk), network.encode(states)


def motion_graph(network: MotionNN) -> Graph:
    """Return the graph of a motion network: `states` to `next_states`, `encoding`."""
    config = network.config
    parts = _state_parts()

    def reference(states: Singles) -> Arrays:
        after = network.predict(states, config.chunk)
        return after, network.encode(_tensor(states)).detach().numpy()

    return Graph(
        kind="motion_nn",
        module=MotionModule(network),
        inputs=(
            Port(
                "states", (config.history, STATE_SIZE), "mixed",
                f"past states at {config.fps:g} Hz, oldest first", parts,
            ),
        ),
        outputs=(
            Port(
                "next_states", (config.chunk, STATE_SIZE), "mixed",
                f"predicted states at {config.fps:g} Hz, next first", parts,
            ),
            Port("encoding", (network.size,), "1", "features of how the body moves"),
        ),
        examples=lambda rng, count: (
            plausible_states(rng, count, config.history, config.fps),
        ),
        reference=reference,
        header={
            "skeleton": "human23",
            "fps": config.fps,
            "model": config.model_dump(mode="json"),
        },
        left_out=(
            "longer predictions: append next_states to the past states and run again",
        ),
    )  # fmt: skip


def plausible_states(
    rng: np.random.Generator, count: int, frames: int, fps: float
) -> Singles:
    """Return smooth states (count, frames, 112) of an upright, moving human23 body."""
    time = np.arange(frames)[None, :, None] / fps
    rate = rng.uniform(2.0, 8.0, size=(count, 1, N_POSITIONS))
    phase = rng.uniform(0.0, 2.0 * np.pi, size=(count, 1, N_POSITIONS))
    size = rng.uniform(0.0, 0.3, size=(count, 1, N_POSITIONS))
    positions = size * np.sin(rate * time + phase)
    positions[..., 2] += rng.uniform(-2.0, 2.0, size=(count, 1))
    positions[..., 5] += 0.9
    rows = np.concatenate([positions, velocities(positions, fps)], axis=-1)
    return rows.astype(np.float32)


def _state_parts() -> tuple[dict[str, object], ...]:
    """Return the parts of a state: positions of each joint, then velocities."""
    rows: list[dict[str, object]] = []
    for start, prefix, rate in ((0, "", ""), (N_POSITIONS, "velocity of ", "/s")):
        for joint, place in position_slices().items():
            rows.append(
                {
                    "name": prefix + joint,
                    "start": start + place.start,
                    "stop": start + place.stop,
                    "unit": "rad" + rate,
                }
            )
            if place.start == 0:
                rows.append(
                    {
                        "name": f"{prefix}{joint} position",
                        "start": start + 3,
                        "stop": start + 6,
                        "unit": "m" + rate,
                    }
                )
    return tuple(rows)


def _tensor(values: Singles) -> Tensor:
    import torch

    return torch.as_tensor(values)
