"""The published network interface: exactly 50 numbers in, 69 out.

Input: of each of the five effectors place relative to the hips (3, [m]) and turn from its
rest orientation as Euler angles (3, divided by pi); forward and up of the hips (6); of the
left and the right foot height of the ankle over the ground divided by 2 (1), ground normal
(3), grounded (1), desired contact (1); phase (1), task (1). Everything is seen from the
character's own yaw frame (`ambulo.ik.solver.frames.root_frame` of the hips), the same one in
extraction, training and at run time, so that nothing depends on place and heading.
Output: the local rotations of the 23 joints as rotation vectors, of the hips in that
frame. The hips' position is an input: it is not answered.

Euler angles (x, y, z) mean R = Rz Ry Rx, as Blender's order "XYZ" does, y within a quarter
turn. Turns are taken from rest, not from the world's axes: that keeps all three near 0,
away from where Euler angles jump.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Floats, Singles
from ambulo.configs.base import load_json
from ambulo.configs.errors import ConfigError, IKError, ModelFileError
from ambulo.ik.kernels.targets import HIPS
from ambulo.ik.pose import Pose
from ambulo.ik.rig import EFFECTORS, Rig, load_rig
from ambulo.ik.solver.features import pose_from_frame
from ambulo.ik.solver.frames import root_frame, to_frame
from ambulo.ik.solver.headers import PublishedHeader
from ambulo.ik.solver.network_files import checked_tensors, read_tensors, write_network
from ambulo.ik.solver.targets import Targets
from ambulo.motion.dense_network import DenseNetwork
from ambulo.motion.rotations import (
    quat_conjugate,
    quat_from_rotvec,
    quat_multiply,
    quat_rotate,
    quat_to_matrix,
    quat_to_rotvec,
)

INPUTS, OUTPUTS = 50, 69
"""Numbers that go in and come out."""

SIZES = {
    "published": (INPUTS, 256, 256, 128, OUTPUTS),
    "published_compact": (INPUTS, 128, 96, OUTPUTS),
}
"""Layer sizes of the two networks: 120 645 and 25 605 parameters."""

KINDS = {"published": "leaky_relu", "published_compact": "tanh"}
"""Their activations."""
SLOPE = 0.1
"""Of the leaky ReLU."""

TASKS = ("idle", "locomotion", "reach", "grab", "crouch", "jump")
"""Meaning of the last input."""

HEADER, WEIGHTS = "ik_published.json", "ik_published.safetensors"

GROUNDED = 0.10
"""An ankle below this height over the ground counts as grounded, [m]."""


@dataclass(frozen=True, eq=False)
class Context:
    """What the published input holds besides targets, for B characters."""

    ground_heights: Floats
    """World height of the ground under the left and right foot, [m]. Shape (B, 2)."""
    ground_normals: Floats
    """World normals of that ground. Shape (B, 2, 3)."""
    grounded: Floats
    """1 where a foot stands. Shape (B, 2)."""
    contacts: Floats
    """1 where a foot shall stand. Shape (B, 2)."""
    phase: Floats
    """Of the step, 0..1. Shape (B,)."""
    task: Floats
    """Index into `TASKS`. Shape (B,)."""

    @classmethod
    def level(cls, targets: Targets, task: str = "idle", phase: float = 0.0) -> Context:
        """On level ground at height 0; feet below `GROUNDED` stand, and shall stand."""
        if task not in TASKS:
            raise IKError(f"no task {task!r} (valid: {', '.join(TASKS)})")
        count = len(targets)
        feet = [EFFECTORS.index("LeftFoot"), EFFECTORS.index("RightFoot")]
        stands = (targets.positions[:, feet, 2] < GROUNDED).astype(np.float64)
        return cls(
            np.zeros((count, 2)),
            np.tile([0.0, 0.0, 1.0], (count, 2, 1)),
            stands,
            stands,
            np.full(count, phase),
            np.full(count, float(TASKS.index(task))),
        )


def published_input(rig: Rig, targets: Targets, context: Context) -> Singles:
    """The 50 numbers of `targets`, which must all be present. Shape (B, 50)."""
    if not (
        (targets.position_weights > 0).all() and (targets.rotation_weights > 0).all()
    ):
        raise IKError(
            "the published network needs position and rotation of all six targets"
        )
    frame = root_frame(rig, targets)
    places, turns = to_frame(*frame, targets.positions, targets.rotations)
    hips = places[:, HIPS]
    away = quat_multiply(turns, quat_conjugate(rig.target_rest)[None])
    count, arms = len(targets), len(EFFECTORS)
    inputs = np.empty((count, INPUTS), dtype=np.float32)
    effectors = inputs[:, : 6 * arms].reshape(count, arms, 6)
    effectors[..., :3] = places[:, :HIPS] - hips[:, None]
    effectors[..., 3:] = euler_xyz(away[:, :HIPS]) / np.pi
    inputs[:, : 6 * arms] = effectors.reshape(count, -1)
    inputs[:, 30:33] = quat_rotate(away[:, HIPS], np.array([1.0, 0.0, 0.0]))
    inputs[:, 33:36] = quat_rotate(away[:, HIPS], np.array([0.0, 0.0, 1.0]))
    normals = to_frame(*frame, context.ground_normals + frame[0][:, None], turns)[0]
    for side, name in enumerate(("LeftFoot", "RightFoot")):
        height = targets.positions[:, EFFECTORS.index(name), 2]
        k = 36 + 6 * side
        inputs[:, k] = (height - context.ground_heights[:, side]) / 2.0
        inputs[:, k + 1 : k + 4] = normals[:, side]
        inputs[:, k + 4] = context.grounded[:, side]
        inputs[:, k + 5] = context.contacts[:, side]
    inputs[:, 48] = context.phase
    inputs[:, 49] = context.task
    return inputs


def published_pose(rig: Rig, output: Singles, targets: Targets) -> Pose:
    """The poses in the world that `output` (B, 69) stands for; the hips on their target."""
    frame = root_frame(rig, targets)
    local = quat_from_rotvec(output.reshape(-1, OUTPUTS // 3, 3).astype(np.float64))
    root = to_frame(*frame, targets.positions, targets.rotations)[0][:, HIPS]
    return pose_from_frame(rig, Pose(root, local), frame)


def published_output(pose: Pose) -> Singles:
    """The 69 numbers of a pose in its own root frame. Shape (B, 69)."""
    vectors: Floats = quat_to_rotvec(pose.rotations)
    return vectors.reshape(len(pose), -1).astype(np.float32)


def euler_xyz(rotations: Floats) -> Floats:
    """Angles (..., 3) about X, then Y, then Z, [rad], of `rotations` (..., 4)."""
    m = quat_to_matrix(rotations)
    level = np.hypot(m[..., 0, 0], m[..., 1, 0])
    # Gimbal lock: X and Z rotate about one axis, so the whole angle is given to X.
    stuck = level < 1e-9
    x = np.where(
        stuck,
        np.arctan2(-m[..., 1, 2], m[..., 1, 1]),
        np.arctan2(m[..., 2, 1], m[..., 2, 2]),
    )
    z = np.where(stuck, 0.0, np.arctan2(m[..., 1, 0], m[..., 0, 0]))
    return np.stack([x, np.arctan2(-m[..., 2, 0], level), z], axis=-1)


class PublishedNetwork:
    """One of the two published networks, weights by the published names.

    `W1` .. are (inputs, outputs), `b1` .. (outputs,), float32.
    """

    def __init__(
        self,
        weights: Mapping[str, NDArray[Any]],
        kind: str = "published",
        *,
        rig: Rig | None = None,
        source: str = "network",
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        """Check the weights; `ModelFileError` names what is wrong.

        `extra` is what its file tells besides: how it was trained.
        """
        if kind not in SIZES:
            raise ModelFileError(
                f"{source}: no network {kind!r} (valid: {', '.join(SIZES)})"
            )
        self.kind, self.extra = kind, dict(extra or {})
        self.rig = load_rig() if rig is None else rig
        parts = [*checked_tensors(weights, _shapes(kind), source).values()]
        layers = list(zip(parts[::2], parts[1::2], strict=True))
        self._network = DenseNetwork(layers, KINDS[kind], SLOPE)

    @property
    def parameters(self) -> int:
        """Number of weights."""
        return self._network.parameters

    def tensors(self) -> dict[str, Singles]:
        """The weights by their published names."""
        result: dict[str, Singles] = {}
        for layer, (weights, bias) in enumerate(self._network.layers, start=1):
            result[f"W{layer}"], result[f"b{layer}"] = weights, bias
        return result

    def forward(self, inputs: Singles) -> Singles:
        """The answers (B, 69) to `inputs` (B, 50)."""
        return self._network.forward(np.ascontiguousarray(inputs, dtype=np.float32))

    def predict(self, targets: Targets, context: Context | None = None) -> Pose:
        """Poses near `targets`; on level ground, idle, if no `context` says otherwise."""
        given = Context.level(targets) if context is None else context
        output = self.forward(published_input(self.rig, targets, given))
        return published_pose(self.rig, output, targets)


def save_published(
    folder: str | Path, header: PublishedHeader, weights: Mapping[str, NDArray[Any]]
) -> None:
    """Write a network's two files into `folder`; the header last, as its seal."""
    place = Path(folder)
    checked = checked_tensors(weights, _shapes(header.kind), str(place))
    write_network(header, place / HEADER, checked, WEIGHTS)


def load_published(folder: str | os.PathLike[str]) -> PublishedNetwork:
    """Return the network in `folder`, or by the path of its header."""
    place = Path(folder)
    place = place.parent if place.name == HEADER else place
    try:
        header = load_json(PublishedHeader, place / HEADER)
    except ConfigError as error:
        raise ModelFileError(str(error)) from None
    return PublishedNetwork(
        read_tensors(place / WEIGHTS),
        header.kind,
        rig=load_rig(header.rig),
        source=str(place),
        extra=header.extra,
    )


def _shapes(kind: str) -> dict[str, tuple[int, ...]]:
    """Shape of each weight of one of the networks, in the order of the layers."""
    shapes: dict[str, tuple[int, ...]] = {}
    for layer, (n, m) in enumerate(pairwise(SIZES[kind]), start=1):
        shapes[f"W{layer}"], shapes[f"b{layer}"] = (n, m), (m,)
    return shapes
