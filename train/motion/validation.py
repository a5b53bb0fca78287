"""How good a motion network is on windows that it does not learn from, and how sure."""

from __future__ import annotations

import copy

import numpy as np
import torch
from torch import Tensor

from ambulo.evaluate.motion.metrics import HORIZONS_MS, horizon_frames
from ambulo.evaluate.motion.windows import MAJOR_JOINTS
from ambulo.motion.human23 import N_POSITIONS
from ambulo.motion.skeletons import load_skeleton
from ambulo.policies.networks.motion_nn import MotionNN
from ambulo.policies.networks.motion_state import joints_about_root, joints_after

BATCH = 512
"""Windows that are predicted at once."""
FACTORS = tuple(0.05 * step for step in range(12, 22))
"""Factors on displacements that are tried, 0.6 to 1.05."""


def validation_error(network: MotionNN, windows: Tensor) -> dict[str, float]:
    """Mean distance of joints, root removed, [mm], at each horizon, and their mean.

    Args:
        network: In evaluation mode.
        windows: States (N, T, 112), the network's history first. Horizons beyond T are
            left out.
    """
    config = network.config
    history = config.history
    frames = horizon_frames(HORIZONS_MS, config.fps)
    names = [
        (f"{ms}ms", frame)
        for ms, frame in zip(HORIZONS_MS, frames, strict=True)
        if history + frame <= windows.shape[1]
    ]
    last = max((frame for _, frame in names), default=1)
    names = names or [("1 frame", 1)]
    major = _major()
    at = [frame - 1 for _, frame in names]
    sums = torch.zeros(len(at), dtype=torch.float64)
    with torch.inference_mode():
        for start in range(0, len(windows), BATCH):
            part = windows[start : start + BATCH]
            predicted = network.rollout(part[:, :history], last)[:, at, :N_POSITIONS]
            true = part[:, history:][:, at, :N_POSITIONS]
            away = joints_about_root(predicted) - joints_about_root(true)
            distance = away[:, :, major].norm(dim=-1).mean(-1)
            sums += 1000.0 * distance.double().sum(0).cpu()
    means = (sums / max(len(windows), 1)).tolist()
    errors = {name: mean for (name, _), mean in zip(names, means, strict=True)}
    return errors | {"mean": sum(means) / len(means)}


def calibrated(network: MotionNN, windows: Tensor) -> MotionNN:
    """A copy whose displacements are scaled, each frame's by one factor.

    What a network learnt from some people it predicts too boldly for others, the more the
    further ahead. The factor of each frame is the one of `FACTORS` with the least joint
    error on `windows`, found for some frames and interpolated between.

    Args:
        network: In evaluation mode.
        windows: States (N, T, 112) of people that it did not learn from.
    """
    history, chunk = network.config.history, network.config.chunk
    last = min(chunk, windows.shape[1] - history)
    frames = np.unique(np.linspace(1, last, min(last, 7)).round().astype(int))
    errors = torch.zeros(len(FACTORS), len(frames), dtype=torch.float64)
    major, at = _major(), torch.from_numpy(frames - 1)
    with torch.inference_mode():
        for start in range(0, len(windows), BATCH):
            part = windows[start : start + BATCH]
            known = part[:, :history]
            inputs = network.inputs(known)
            ways = network.chunk_from(network.trunk(inputs)[:, -1:], inputs, known)[
                :, at
            ]
            true = joints_about_root(part[:, history:][:, at, :N_POSITIONS])[
                :, :, major
            ]
            pose = known[:, -1:, :N_POSITIONS]
            for row, factor in enumerate(FACTORS):
                away = joints_after(pose, factor * ways)[:, :, major] - true
                errors[row] += away.norm(dim=-1).mean(-1).double().sum(0).cpu()
    best = np.array(FACTORS)[errors.argmin(0).numpy()]
    factors = np.interp(np.arange(1, chunk + 1), frames, best)
    scaled = copy.deepcopy(network)
    scaled.multiply(torch.from_numpy(factors).to(scaled.scale))
    return scaled


def _major() -> list[int]:
    """Indices of the joints that errors are taken of."""
    body = load_skeleton("human23")
    return [body.index(joint) for joint in MAJOR_JOINTS]
