"""Statistics of training data: scales of inputs and outputs, and a linear prediction."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ambulo.motion.human23 import N_POSITIONS
from ambulo.motion.rotations import quat_conjugate
from ambulo.policies.networks.motion_nn import LARGEST, MotionNN
from ambulo.policies.networks.motion_state import (
    displacement,
    heading_of,
    joints_about_root,
    to_world,
)

LEAST = 1e-3
"""Numbers that move less than this count as moving this much."""
RIDGE = 1e-3
"""Penalty of the linear prediction's weights, as a share of the number of windows."""


@dataclass(frozen=True)
class Statistics:
    """Statistics of the training data, which normalise the loss and the network."""

    mean: Tensor
    """Mean of each feature. Shape (features,)."""
    deviation: Tensor
    """Standard deviation of each feature. Shape (features,)."""
    scale: Tensor
    """Root mean square of what the base of the prediction misses. Shape (K, 56)."""
    damping: Tensor
    """Least-squares share of the last velocity in displacements. Shape (K, 56)."""
    linear: Tensor
    """Displacements from the normalised features of the last frames, by ridge regression;
    its last row is constant. Shape (linear_frames * features + 1, K * 56)."""
    velocity: Tensor
    """Root mean square of velocities, the root's way in its heading's frame. (56,)."""
    joints: Tensor
    """Mean way of joints about the root in each number of frames, [m]. Shape (K,)."""


def statistics_of(network: MotionNN, windows: Tensor) -> Statistics:
    """Statistics of `windows` (N, history + chunk or more, 112) of training data.

    Args:
        network: Says which features, and how many frames it predicts.
        windows: States.
    """
    config = network.config
    history = windows[:, : config.history]
    features = network.features(history)
    mean = features.mean((0, 1))
    deviation = features.std((0, 1)).clamp_min(LEAST)
    last = windows[:, config.history - 1, None, :N_POSITIONS]
    after = windows[:, config.history :, :N_POSITIONS][:, : config.chunk]
    unturn = quat_conjugate(heading_of(last))
    ways = to_world(displacement(last, after), unturn)
    state = windows[:, config.history - 1, None, N_POSITIONS:]
    velocity = to_world(state, unturn)
    size = velocity.square().mean((0, 1)).sqrt().clamp_min(1e-2)
    carried = velocity / config.fps
    damping = (ways * carried).sum(0) / (carried.square().sum(0) + 1e-9)
    normal = ((features - mean) / deviation).clamp(-LARGEST, LARGEST)
    recent = normal[:, -config.linear_frames :].flatten(1)
    linear = _ridge(recent, ways.flatten(1))
    missed = ways
    if config.residual == "velocity":
        missed = ways - damping * carried
    elif config.residual == "linear":
        missed = ways - (recent @ linear[:-1] + linear[-1]).reshape(ways.shape)
    moved = joints_about_root(after) - joints_about_root(last)
    return Statistics(
        mean=mean,
        deviation=deviation,
        scale=missed.square().mean(0).sqrt().clamp_min(LEAST),
        damping=damping,
        linear=linear,
        velocity=size,
        joints=moved.norm(dim=-1).mean((0, 2)).clamp_min(LEAST),
    )


def _ridge(inputs: Tensor, outputs: Tensor) -> Tensor:
    """Weights (I + 1, O) of the ridge regression of `outputs` (N, O) on `inputs` (N, I).

    Outputs are cut off where the inputs are, so that faults of the data do not rule.
    """
    most = LARGEST * outputs.square().mean(0).sqrt()
    outputs = outputs.clamp(-most, most).double()
    inputs = torch.cat([inputs, torch.ones_like(inputs[:, :1])], dim=1).double()
    penalty = RIDGE * len(inputs) * torch.eye(inputs.shape[1], dtype=torch.float64)
    penalty[-1, -1] = 0.0
    gram = inputs.T @ inputs + penalty.to(inputs.device)
    return torch.linalg.solve(gram, inputs.T @ outputs).float()
