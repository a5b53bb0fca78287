"""How far predicted poses are from true ones, as the published trainer counts it."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ambulo.configs.gait_net import GaitNetLossConfig
from ambulo.motion.gaits.frames import WAY_RATE
from ambulo.motion.gaits.shards import PER_CYCLE
from ambulo.motion.human23 import N_SIXDOF

ROOT = slice(6, 9)
"""Way and height of the root."""
UPPER = slice(57, N_SIXDOF)
"""Head and arms, which the published code calls the upper body."""
HEIGHT = 10.0
"""With `balanced` the root's height counts in decimetres."""


def squared_weights(config: GaitNetLossConfig) -> Tensor:
    """Weights of squared differences. Shape (101,)."""
    weights = torch.ones(N_SIXDOF)
    weights[ROOT], weights[UPPER] = config.root, config.upper
    if config.kind == "as_coded":
        weights = weights**2
    if config.kind == "balanced":
        weights[6:8] *= WAY_RATE**2
        weights[8] *= HEIGHT**2
    return config.scale * weights


def pose_loss(predicted: Tensor, true: Tensor, weights: Tensor) -> Tensor:
    """Mean over rows and numbers of `weights` (101,) times squared differences."""
    return (weights * (predicted - true) ** 2).mean()


def motion_loss(predicted: Tensor, true: Tensor, weights: Tensor) -> Tensor:
    """`pose_loss` of the change with the phase, per radian of the cycle.

    Rows (2 B, 101): B frames, then the frame after each of them.
    """
    half = len(true) // 2
    per_radian = PER_CYCLE / (2.0 * torch.pi)
    change = per_radian * (predicted[half:] - predicted[:half])
    wanted = per_radian * (true[half:] - true[:half])
    return pose_loss(change, wanted, weights)


def row_noise(rng: np.random.Generator, values: Tensor, pairs: bool) -> Tensor:
    """Normal numbers for `values` (B, P); with `pairs` both frames of each have the same.

    Else the loss of their difference would count what the parameters change.
    """
    count, size = values.shape
    noise = rng.standard_normal(
        (count // 2 if pairs else count, size), dtype=np.float32
    )
    return torch.from_numpy(noise).repeat(2 if pairs else 1, 1)
