"""Baselines of pose networks: nearest neighbour and ridge regression.

Both see exactly what the network sees (`ambulo.ik.solver.features`), and answer in
its layout.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.evaluate.ik.data import Poses
from ambulo.ik.pose import Pose
from ambulo.ik.rig import Rig
from ambulo.ik.solver.features import (
    decode_pose,
    network_input,
    output_of,
    pose_from_frame,
    pose_in_frame,
    root_frame,
)
from ambulo.ik.solver.targets import Targets

CHUNK = 256
"""Queries that are compared with all poses at once."""


def examples(poses: Poses, mask: Sequence[str]) -> tuple[Floats, Floats]:
    """Inputs (N, 66) with the targets of `mask` alone, and the answers (N, 3 + 6 J)."""
    rig = poses.rig
    rows = np.arange(len(poses))
    pose, targets = poses.pose(rows), poses.targets(rows, mask)
    frame = root_frame(rig, targets)
    own = pose_in_frame(rig, pose, frame)
    inputs = network_input(rig, targets, frame).astype(np.float64)
    return inputs, output_of(own.root, own.rotations, np.zeros(3 + 6 * len(rig)))


class NearestPose:
    """Answers with the known pose whose input is nearest, each number by its deviation."""

    def __init__(self, inputs: Floats, outputs: Floats) -> None:
        """Remember everything."""
        deviation = inputs.std(axis=0)
        self._scale = np.where(deviation > 1e-6, 1.0 / np.maximum(deviation, 1e-6), 0.0)
        self._known = (inputs * self._scale).astype(np.float32)
        self._square = (self._known**2).sum(axis=1)
        self._outputs = outputs

    def __call__(self, inputs: Floats) -> Floats:
        """The answers (B, 3 + 6 J)."""
        asked = (inputs * self._scale).astype(np.float32)
        found = [
            (self._square - 2.0 * asked[i : i + CHUNK] @ self._known.T).argmin(axis=1)
            for i in range(0, len(asked), CHUNK)
        ]
        return self._outputs[np.concatenate(found)]


class Ridge:
    """Answers with the best linear function of the input."""

    def __init__(self, inputs: Floats, outputs: Floats, penalty: float) -> None:
        """Fit; `penalty` counts in units of the number of examples."""
        self._mean, deviation = inputs.mean(axis=0), inputs.std(axis=0)
        self._scale = np.where(deviation > 1e-6, 1.0 / np.maximum(deviation, 1e-6), 0.0)
        x = (inputs - self._mean) * self._scale
        self._bias = outputs.mean(axis=0)
        gram = x.T @ x + penalty * len(x) * np.eye(x.shape[1])
        self._weights = np.linalg.solve(gram, x.T @ (outputs - self._bias))

    def __call__(self, inputs: Floats) -> Floats:
        """The answers (B, 3 + 6 J)."""
        found: Floats = (inputs - self._mean) * self._scale @ self._weights + self._bias
        return found


def answer(
    rig: Rig,
    model: NearestPose | Ridge,
    targets: Targets,
) -> Pose:
    """The poses in the world that `model` answers `targets` with."""
    frame = root_frame(rig, targets)
    output = model(network_input(rig, targets, frame).astype(np.float64))
    root, rotations = decode_pose(output, np.zeros(output.shape[1]))
    return pose_from_frame(rig, Pose(root, rotations), frame)
