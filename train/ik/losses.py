"""Loss terms of pose networks; every term can be switched off."""

from __future__ import annotations

import torch
from torch import Tensor

from ambulo.configs.neural_ik import IKRunConfig
from ambulo.ik.rig import Rig
from ambulo.train.ik.kinematics import (
    Kinematics,
    angles_between,
    distances,
    matrices_of_quat,
    matrices_of_rotvec,
    matrices_of_sixd,
)
from ambulo.train.ik.poses import PoseBatch
from ambulo.train.ik.refined import Refined

UNIT = 0.1
"""Lengths count in units of this, [m]: 10 cm weigh as much as 1 rad."""

Terms = dict[str, Tensor]


class PoseLoss:
    """The loss of a network's answers to a batch."""

    def __init__(self, config: IKRunConfig, rig: Rig, device: torch.device) -> None:
        """Weights of `config` for poses of `rig`."""
        self._weights, self._own = config.loss, config.network.kind == "own"
        self.kinematics = Kinematics(rig, device)
        self.refined = Refined(rig, device)
        names = rig.skeleton.joints
        toes = [names.index(f"{side}ToeBase") for side in ("Left", "Right")
                if f"{side}ToeBase" in names]  # fmt: skip
        ankles = [rig.effectors[2], rig.effectors[3]]
        self._feet = torch.tensor([*ankles, *toes], device=device)
        self._sides = torch.tensor([0, 1, 0, 1][: 2 + len(toes)], device=device)

    def decode(self, answer: Tensor, batch: PoseBatch) -> tuple[Tensor, Tensor]:
        """Root (3, B) and local rotations (J, 3, 3, B) of a whole `answer` (B, out)."""
        flat = answer.T.contiguous()
        if self._own:
            return flat[:3], matrices_of_sixd(flat[3:].reshape(-1, 6, flat.shape[-1]))
        return batch.root, matrices_of_rotvec(flat.reshape(-1, 3, flat.shape[-1]))

    def __call__(self, offset: Tensor, mean: Tensor, batch: PoseBatch) -> Terms:
        """Each weighted term and their sum, "loss".

        Args:
            offset: The network's answer. Shape (B, out).
            mean: What it is an offset from. Shape (out,).
            batch: What it should be.
        """
        weights = self._weights
        answer = offset.float() + mean
        root, local = self.decode(answer, batch)
        positions, orientations = self.kinematics.world(root, local)
        terms: Terms = {}
        if weights.position:
            far = distances(positions, batch.positions)
            counts = 1.0 + weights.effector * batch.position_weights
            terms["position"] = weights.position * _mean(far, counts) / UNIT
        if weights.orientation:
            angles = angles_between(orientations, matrices_of_quat(batch.orientations))
            counts = 1.0 + weights.effector * batch.rotation_weights
            terms["orientation"] = weights.orientation * _mean(angles, counts)
        if weights.contact:
            feet = positions.index_select(0, self._feet)
            true = batch.positions.index_select(0, self._feet)
            stands = batch.contacts.index_select(0, self._sides)
            far = distances(feet, true) * stands
            terms["contact"] = (
                weights.contact * far.sum() / stands.sum().clamp(min=1.0) / UNIT
            )
        if weights.pose:
            terms["pose"] = weights.pose * ((answer - batch.outputs) ** 2).mean()
        every = max(1, round(1.0 / weights.sampled))
        rows = torch.arange(0, positions.shape[-1], every, device=positions.device)
        if weights.limits:
            outside = self.kinematics.violation(local.index_select(-1, rows))
            terms["limits"] = weights.limits * outside.mean()
        if weights.refined:
            left = self.refined(positions, orientations, batch, rows)
            terms["refined"] = weights.refined * left.mean() / UNIT
        if weights.smoothness and batch.pairs:
            error = (positions - batch.positions)[..., : 2 * batch.pairs]
            change = distances(error[..., 1::2], error[..., ::2])
            terms["smoothness"] = weights.smoothness * change.mean() / UNIT
        terms["loss"] = torch.stack(list(terms.values())).sum()
        return terms


def _mean(values: Tensor, counts: Tensor) -> Tensor:
    """The mean of `values` (J, B), each counted as `counts` (J, B) says."""
    return (values * counts).sum() / counts.sum()
