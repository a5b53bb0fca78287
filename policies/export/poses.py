"""Pose networks as ONNX graphs: targets of effectors to a whole body."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from ambulo.configs.arrays import Floats, Singles
from ambulo.ik.kernels.targets import HEAD, HIPS
from ambulo.ik.pose import Pose
from ambulo.ik.rig import TARGETS, Rig
from ambulo.ik.solver.features import decode_pose, to_frame
from ambulo.ik.solver.network import IKNetwork
from ambulo.ik.solver.solver import NeuralIKSolver
from ambulo.ik.solver.targets import Targets
from ambulo.motion.rotations import (
    matrix_to_sixd,
    quat_conjugate,
    quat_from_rotvec,
    quat_from_yaw,
    quat_multiply,
    quat_normalize,
    quat_rotate,
    quat_to_matrix,
)
from ambulo.policies.export.graph import Arrays, Graph, Port
from ambulo.policies.export.layers import layers_of, single
from ambulo.policies.export.published import published_graph

Quad = tuple[Tensor, Tensor, Tensor, Tensor]
"""Positions, rotations and the weights of both."""
LEFT_OUT = (
    "refinement and joint limits of `solve`: the graph is the network's own pose, which "
    "misses targets by centimetres"
)


class PoseModule(nn.Module):
    """Targets in the world to poses in the world, as `IKNetwork.predict`.

    A target of weight 0 is absent: its numbers do not count.
    """

    rest: Tensor
    root_rest: Tensor
    mean: Tensor

    def __init__(self, network: IKNetwork) -> None:
        """Create the graph of a network with its rig."""
        super().__init__()
        rig = network.rig
        self.register_buffer("rest", single(rig.target_rest))
        self.register_buffer("root_rest", single(rig.skeleton.rest[0]))
        self.register_buffer("mean", single(network.mean))
        self.layers = layers_of(network)

    def forward(
        self,
        positions: Tensor,
        rotations: Tensor,
        position_weights: Tensor,
        rotation_weights: Tensor,
    ) -> tuple[Tensor, Tensor]:
        """Root positions (B, 3) and local rotations (B, J, 4) of B characters.

        Args:
            positions: (B, 6, 3).
            rotations: (B, 6, 4).
            position_weights: (B, 6).
            rotation_weights: (B, 6).
        """
        now = _present(positions, rotations, position_weights, rotation_weights)
        origin, yaw = self._frame(*now)
        inputs = torch.cat(self._seen(origin, yaw, *now), dim=-1).flatten(1)
        root, local = decode_pose(self.layers(inputs), self.mean)
        turn = quat_from_yaw(yaw)
        hips = quat_multiply(turn, quat_multiply(self.root_rest, local[:, 0]))
        hips = quat_multiply(quat_conjugate(self.root_rest), hips)
        rotations = torch.cat([hips[:, None], local[:, 1:]], dim=1)
        return quat_rotate(turn, root) + origin, rotations

    def _frame(
        self, places: Tensor, turns: Tensor, moved: Tensor, turned: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Origins (B, 3) and yaws (B,) of the root frames (`kernels.targets`)."""
        there = (moved > 0.0).float()
        mean = places.sum(1) / there.sum(1, keepdim=True).clamp(min=1.0)
        place = torch.where(there[:, HEAD, None] > 0.0, places[:, HEAD], mean)
        place = torch.where(there[:, HIPS, None] > 0.0, places[:, HIPS], place)
        flat = torch.ones_like(place[:1]) * place.new_tensor([1.0, 1.0, 0.0])
        angles = self._yaws(turns)
        given = (turned > 0.0).float()
        across = (given * torch.sin(angles)).sum(1)
        along = (given * torch.cos(angles)).sum(1)
        # Without any rotation both sums are 0: the yaw is 0, not that of noise.
        along = torch.where(given.sum(1) > 0.0, along, torch.ones_like(along))
        yaw = torch.atan2(across, along)
        yaw = torch.where(given[:, HEAD] > 0.0, angles[:, HEAD], yaw)
        yaw = torch.where(given[:, HIPS] > 0.0, angles[:, HIPS], yaw)
        return place * flat, yaw

    def _yaws(self, turns: Tensor) -> Tensor:
        """Twist about Z (B, 6), [rad], of orientations (B, 6, 4) against rest."""
        away = quat_multiply(turns, quat_conjugate(self.rest))
        sign = torch.where(away[..., 0] < 0.0, -1.0, 1.0)
        return 2.0 * torch.atan2(sign * away[..., 3], sign * away[..., 0])

    def _seen(
        self,
        origin: Tensor,
        yaw: Tensor,
        places: Tensor,
        turns: Tensor,
        moved: Tensor,
        turned: Tensor,
    ) -> list[Tensor]:
        """Positions, rotations as six numbers and weights in the root frame."""
        near, turns = to_frame(origin, yaw, places, turns)
        # Rows 1 and 2 of the matrix.
        six = matrix_to_sixd(quat_to_matrix(turns))
        return [
            torch.where(moved[..., None] > 0.0, near, 0.0),
            torch.where(turned[..., None] > 0.0, six, 0.0),
            moved[..., None],
            turned[..., None],
        ]


def _present(
    positions: Tensor, rotations: Tensor, moved: Tensor, turned: Tensor
) -> Quad:
    """Targets with zeros or identity where absent; rotations at unit length."""
    identity = rotations.new_tensor([1.0, 0.0, 0.0, 0.0])
    turns = torch.where(turned[..., None] > 0.0, rotations, identity)
    places = torch.where(moved[..., None] > 0.0, positions, 0.0)
    return places, quat_normalize(turns), moved, turned


def solver_graph(solver: NeuralIKSolver | IKNetwork) -> Graph:
    """Return the graph of a solver's network, or of one with the published interface."""
    if isinstance(solver, IKNetwork):
        return published_graph(solver)
    assert solver.network is not None
    return pose_graph(solver.network)


def pose_graph(network: IKNetwork) -> Graph:
    """Return the graph of a pose network: targets to `root`, `local_rotations`."""
    rig = network.rig

    def examples(rng: np.random.Generator, count: int) -> Arrays:
        return tuple(part.astype(np.float32) for part in _targets(rig, rng, count))

    def reference(*given: Singles) -> Arrays:
        pose = network.predict(Targets(*(part.astype(float) for part in given)))
        return pose.root, pose.rotations

    return Graph(
        kind="ik_network",
        module=PoseModule(network),
        inputs=TARGET_PORTS,
        outputs=(
            Port("root", (3,), "m", "world position of the hips"),
            Port(
                "local_rotations", (len(rig), 4), "1",
                "local rotations after the rest frames, quaternions wxyz",
                either_sign=True,
            ),
        ),
        examples=examples,
        reference=reference,
        header={
            "rig": network.header.rig,
            "targets": list(TARGETS),
            "joints": list(rig.skeleton.joints),
        },
        left_out=(LEFT_OUT,),
    )  # fmt: skip


TARGET_PORTS = tuple(
    Port(name, (len(TARGETS), *tail), unit, meaning)
    for name, tail, unit, meaning in (
        ("positions", (3,), "m", "world positions, Z up"),
        ("rotations", (4,), "1", "world orientations, quaternions wxyz"),
        ("position_weights", (), "1", "0 is absent, 1 counts fully"),
        ("rotation_weights", (), "1", "0 is absent, 1 counts fully"),
    )
)
"""The inputs of the graph."""


def _targets(
    rig: Rig, rng: np.random.Generator, count: int
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return plausible targets of `count` characters; a third of them are absent."""
    vectors = rng.normal(scale=0.2, size=(count, len(rig), 3))
    local = quat_multiply(np.broadcast_to(rig.start, (count, len(rig), 4)),
                          quat_from_rotvec(vectors))  # fmt: skip
    yaw = rng.uniform(-3.0, 3.0, count)
    local[:, 0] = quat_multiply(quat_from_yaw(yaw), local[:, 0])
    root = rng.normal(scale=2.0, size=(count, 3))
    root[:, 2] = rig.start_height + rng.normal(scale=0.05, size=count)
    full = Targets.of_pose(rig, Pose(root, local))
    moved = np.where(rng.random((2, count, len(TARGETS))) < 1 / 3, 0.0, 1.0)
    return full.positions, full.rotations, moved[0], moved[1]
