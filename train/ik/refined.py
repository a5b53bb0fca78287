"""Error of a pose after refinement: one step of it, to first order, in torch.

The network alone never meets its targets; `ambulo.ik.solver.refine` leads its poses there
by the least turns of the joints. Errors that this step removes need no learning, those that it
leaves (elbows, knees, the spine) do. With r the errors at the targets, J their Jacobian,
J' that of all joints' places and C the compliance of the joints, the joints' errors after
the step are d - J' C J^T (J C J^T + lambda)^-1 r, all taken at the true pose.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ambulo.ik.kernels.targets import HIPS
from ambulo.ik.rig import Rig
from ambulo.train.ik.kinematics import SMALL, matrices_of_quat
from ambulo.train.ik.poses import PoseBatch

LENGTH = 0.15
"""Weight of a radian, [m], as in `ambulo.ik.solver.refine.RefineConfig`."""

DAMPING, EXACT = 1e-3, 1e-6
"""Lambda, [m^2], of effectors (that of an error of 10 cm there) and of given hips, which
are followed exactly."""


class Refined:
    """One refinement step from poses near the truth."""

    def __init__(self, rig: Rig, device: torch.device) -> None:
        """Constants of `rig` on `device`."""
        joints = len(rig)
        self._targets = torch.tensor(rig.effectors, device=device)
        above = torch.zeros((joints, joints))
        for joint in range(joints):
            above[joint, list(rig.chain(joint))] = 1.0
        turns = above.clone()
        above.fill_diagonal_(0.0)
        self._moves = above.to(device)
        """Which joints move which: (moved, mover)."""
        compliance = torch.tensor(1.0 / rig.stiffness, dtype=torch.float32)
        root = torch.tensor([1.0 / rig.root_stiffness], dtype=torch.float32)
        whole = torch.cat([root, compliance]).repeat_interleave(3)
        self._root_of_compliance = whole.sqrt().to(device)
        eye = torch.eye(3)
        rotation = turns[list(rig.effectors), None, :, None] * eye[:, None, :]
        still = torch.zeros((len(rig.effectors), 3, 1, 3))
        rows = torch.cat([still, rotation], dim=2).flatten(2).flatten(0, 1)
        self._rotation_rows = LENGTH * rows.to(device)
        damping = torch.full((2, len(rig.effectors), 3), DAMPING)
        damping[:, HIPS] = EXACT
        self._damping = torch.diag(damping.flatten()).to(device)

    def __call__(
        self, positions: Tensor, orientations: Tensor, batch: PoseBatch, rows: Tensor
    ) -> Tensor:
        """How far the joints of the poses `rows` (n,) are from the truth then. (n, J).

        Args:
            positions: Of the joints of all poses, [m]. Shape (J, 3, B).
            orientations: Of the joints. Shape (J, 3, 3, B).
            batch: The truth.
            rows: Poses of the batch that are looked at.
        """
        true = batch.positions.index_select(-1, rows)
        with torch.no_grad():
            moved, asked = self._jacobians(true, batch, rows)
            system = torch.bmm(asked, asked.transpose(1, 2)) + self._damping
            factor = torch.linalg.cholesky(system)
        far = (positions.index_select(-1, rows) - true).movedim(-1, 0)
        ours = orientations.index_select(0, self._targets).index_select(-1, rows)
        theirs = batch.orientations.index_select(0, self._targets)
        turned = turns_between(ours, matrices_of_quat(theirs.index_select(-1, rows)))
        at = far.index_select(1, self._targets)
        missed = torch.cat([at, LENGTH * turned.movedim(-1, 0)], dim=1).flatten(1)
        pull = torch.cholesky_solve(missed[..., None], factor)
        step = torch.bmm(moved, torch.bmm(asked.transpose(1, 2), pull))
        left = far - step.reshape(far.shape)
        return torch.sqrt((left * left).sum(-1) + SMALL)

    def _jacobians(
        self, true: Tensor, batch: PoseBatch, rows: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Of the joints' places (n, 3 J, 3 + 3 J), and of the targets (n, 36, 3 + 3 J).

        Columns: the root's way, then each joint's turn in the world, in units of the root
        of its compliance. Rows of absent targets are 0.
        """
        place = true.movedim(-1, 0)
        poses, joints = place.shape[:2]
        lever = (place[:, :, None] - place[:, None]) * self._moves[..., None]
        x, y, z = lever.unbind(-1)
        whole = torch.zeros((poses, joints, 3, 1 + joints, 3), device=true.device)
        for row in range(3):
            whole[:, :, row, 0, row] = 1.0
        for row, column, value in (
            (0, 1, z), (0, 2, -y), (1, 0, -z), (1, 2, x), (2, 0, y), (2, 1, -x),
        ):  # fmt: skip
            whole[:, :, row, 1:, column] = value
        moved = whole.reshape(poses, joints, 3, -1) * self._root_of_compliance
        at = moved.index_select(1, self._targets).flatten(1, 2)
        there = torch.cat(
            [
                batch.position_weights.index_select(0, self._targets),
                batch.rotation_weights.index_select(0, self._targets),
            ]
        )
        weighted = (
            (there.index_select(-1, rows).T > 0.0).float().repeat_interleave(3, 1)
        )
        faces = (self._rotation_rows * self._root_of_compliance).expand(poses, -1, -1)
        return moved.flatten(1, 2), torch.cat([at, faces], dim=1) * weighted[..., None]


def turns_between(a: Tensor, b: Tensor) -> Tensor:
    """Rotation vectors (n, 3, B), [rad], in the world, that lead b to a (n, 3, 3, B)."""
    d = [[(a[:, i] * b[:, k]).sum(1) for k in range(3)] for i in range(3)]
    axis = torch.stack([d[2][1] - d[1][2], d[0][2] - d[2][0], d[1][0] - d[0][1]], dim=1)
    sine = torch.sqrt((axis * axis).sum(1) + SMALL)
    angle = torch.atan2(sine, d[0][0] + d[1][1] + d[2][2] - 1.0)
    return axis * (angle / sine)[:, None]
