"""The loss of body trackers; every term can be switched off."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from ambulo.configs.body_tracker import TrackerLossConfig
from ambulo.ik.avatar.layout import ANKLE, HEAD, THIGHS, sole
from ambulo.ik.trackers.sizes import CONTACTS, CORRECTION, JOINTS, POSE, VARIANCE
from ambulo.motion.skeleton import Skeleton
from ambulo.train.ik.kinematics import TreeKinematics, distances, matrices_of_sixd
from ambulo.train.trackers.features import (
    head_frames,
    reyaw,
    reyaw_matrices,
    scale_of,
    unyaw,
    unyaw_matrices,
)
from ambulo.train.trackers.streams import TrackerPiece

UNIT = 0.1
"""Lengths count in units of this, [m]."""
CONTACT_HEIGHT, CONTACT_SPEED = 0.06, 0.4
"""A point of a foot is in contact when lower, [m], and slower, [m/s], than these."""
NEAR_GROUND = 0.15
"""Heights below this are judged by `ground`, [m]."""
LEG_JOINTS = tuple(range(THIGHS[1], THIGHS[0] + 5))
"""Both legs, from thigh to toes."""


@dataclass
class WorldPose:
    """Poses of T steps of B streams in the world."""

    positions: Tensor
    """Positions of the joints, [m]. Shape (23, 3, T, B)."""
    orientations: Tensor
    """Shape (23, 3, 3, T, B)."""
    feet: Tensor
    """Left heel, left ball, right heel, right ball, [m]. Shape (4, 3, T, B)."""


class TrackerLoss:
    """Compares a network's outputs with the true poses."""

    def __init__(
        self, config: TrackerLossConfig, kinematics: TreeKinematics, skeleton: Skeleton
    ) -> None:
        """Weights of `config`; `skeleton` is human23."""
        self._weights, self._kinematics = config, kinematics
        device = kinematics.device
        self._sole = torch.from_numpy(sole(skeleton)).float().to(device)
        counts = torch.ones(JOINTS, device=device)
        counts[list(LEG_JOINTS)] += config.legs
        self._counts = (counts / counts.mean())[:, None, None]

    def true_outputs(self, piece: TrackerPiece) -> Tensor:
        """The poses (T, B, 141) in the output layout."""
        origin, yaw = (part[1:] for part in head_frames(piece.ticks))
        scale = scale_of(piece.ticks.ratios)
        turn = yaw.transpose(0, 1)
        root = unyaw(turn.transpose(0, 1), piece.root.transpose(0, 1) - origin) / scale
        local = piece.local.clone()
        local[0] = unyaw_matrices(yaw, local[0].permute(2, 0, 1, 3)).permute(1, 2, 0, 3)
        six = torch.cat([local[:, 0], local[:, 1]], dim=1)
        steps, batch = six.shape[-2:]
        flat = six.reshape(-1, steps, batch).permute(1, 2, 0)
        return torch.cat([root.permute(0, 2, 1), flat], dim=-1)

    def predicted(self, outputs: Tensor, piece: TrackerPiece) -> WorldPose:
        """The poses in the world of `outputs` (T, B, 151)."""
        steps, batch = outputs.shape[:2]
        origin, yaw = (part[1:] for part in head_frames(piece.ticks))
        scale = scale_of(piece.ticks.ratios)
        root = reyaw(yaw, outputs[..., :3].permute(0, 2, 1) * scale) + origin
        six = outputs[..., 3:POSE].permute(2, 0, 1).reshape(JOINTS, 6, steps * batch)
        local = matrices_of_sixd(six).reshape(JOINTS, 3, 3, steps, batch)
        first = reyaw_matrices(yaw, local[0].permute(2, 0, 1, 3)).permute(1, 2, 0, 3)
        return self.world(
            root.transpose(0, 1), torch.cat([first[None], local[1:]]), piece
        )

    def world(self, root: Tensor, local: Tensor, piece: TrackerPiece) -> WorldPose:
        """Joints and feet of root (3, T, B) and local rotations (23, 3, 3, T, B)."""
        steps, batch = root.shape[1:]
        flat = steps * batch
        places, turns = self._kinematics.world(
            root.reshape(3, flat),
            local.reshape(JOINTS, 3, 3, flat),
            piece.sizes.repeat(1, steps),
        )
        legs = piece.ratios[2].repeat(steps)
        feet = [
            places[thigh + ANKLE]
            + (turns[thigh + ANKLE] * point[None, :, None]).sum(1) * legs
            for thigh in THIGHS
            for point in self._sole
        ]
        shape = (steps, batch)
        return WorldPose(
            places.reshape(JOINTS, 3, *shape),
            turns.reshape(JOINTS, 3, 3, *shape),
            torch.stack(feet).reshape(4, 3, *shape),
        )

    def terms(self, outputs: Tensor, piece: TrackerPiece) -> dict[str, Tensor]:
        """The terms of the loss of `outputs` (T, B, 151), and their sum as `loss`."""
        w = self._weights
        found = self.predicted(outputs, piece)
        with torch.no_grad():
            true = self.world(piece.root, piece.local, piece)
            correct = self.true_outputs(piece)
            interval = piece.ticks.intervals[1:]
            pause = 0.5 * (interval[1:] + interval[:-1])
        far = distances_of(found.positions - true.positions)
        head = found.positions[HEAD] - true.positions[HEAD]
        seen = found.positions - true.positions - head
        terms = {
            "position": (distances_of(seen) * self._counts).mean() / UNIT,
            "world": far.mean() / UNIT,
            "rotation": _norm(found.orientations - true.orientations, (1, 2)).mean(),
            "local": ((outputs[..., :POSE] - correct) ** 2).mean(),
        }
        v_found = _difference(found.positions, interval[1:])
        v_true = _difference(true.positions, interval[1:])
        terms["velocity"] = (distances_of(v_found - v_true) * self._counts).mean()
        if len(pause):
            a_found = _difference(v_found, pause[1:])
            a_true = _difference(v_true, pause[1:])
            terms["acceleration"] = distances_of(a_found - a_true).mean()
        feet, true_feet = (
            _difference(found.feet, interval[1:]),
            _difference(true.feet, interval[1:]),
        )
        on = contacts_of(true.feet, true_feet)
        speeds = distances_of(feet)
        terms["skate"] = (speeds * on).mean()
        low = (true.feet[:, 2] < NEAR_GROUND).float()
        height = (found.feet[:, 2] - head[2] - true.feet[:, 2]).abs()
        terms["ground"] = (height * low).mean() / UNIT
        logits = outputs[1:, :, CONTACTS : CONTACTS + 4].permute(2, 0, 1)
        terms["contact"] = binary_cross_entropy_with_logits(logits, on)
        wanted = torch.log(piece.ratios / piece.ticks.ratios).T
        variance = outputs[..., VARIANCE : VARIANCE + 3].clamp(-12.0, 4.0)
        error = outputs[..., CORRECTION : CORRECTION + 3] - wanted
        terms["shape"] = 0.5 * (variance + error**2 * torch.exp(-variance)).mean()
        total = sum(getattr(w, name) * value for name, value in terms.items())
        assert isinstance(total, Tensor)
        return terms | {"loss": total}


def contacts_of(feet: Tensor, velocities: Tensor) -> Tensor:
    """1 where a point of `feet` (4, 3, T, B) is in contact, from its second step on."""
    still = distances_of(velocities) < CONTACT_SPEED
    low = feet[:, 2, 1:] < CONTACT_HEIGHT
    return (still & low).float()


def distances_of(ways: Tensor) -> Tensor:
    """Lengths (n, T, B) of vectors (n, 3, T, B)."""
    return distances(ways, ways.new_zeros(()))


def _difference(values: Tensor, interval: Tensor) -> Tensor:
    """Rates of change between steps of values (n, 3, T, B)."""
    return (values[:, :, 1:] - values[:, :, :-1]) / interval


def _norm(values: Tensor, axes: tuple[int, int]) -> Tensor:
    return torch.sqrt((values * values).sum(axes) + 1e-8)
