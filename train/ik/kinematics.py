"""Forward kinematics and joint limits in torch, fast on batches, with gradients.

The batch is the last axis of all arrays: sums over the three rows of a rotation are then
plain multiplications and additions of long rows, several times as fast on a CPU as batched
products of 3 x 3 matrices.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ambulo.ik.limits import excess
from ambulo.ik.rig import Rig
from ambulo.motion.rotations import SwingTwist, quat_to_matrix
from ambulo.motion.skeleton import Skeleton

SMALL = 1e-12
"""Added under square roots: gradients stay finite where a length is 0."""


class TreeKinematics:
    """The tree of a skeleton with J joints, as tensors."""

    def __init__(self, skeleton: Skeleton, device: torch.device | str = "cpu") -> None:
        """Constants of `skeleton` on `device`, float32."""
        self.device = torch.device(device)
        rest = quat_to_matrix(torch.tensor(skeleton.rest.copy()))
        self._rest = rest.float().to(device)
        self._levels: list[tuple[Tensor, Tensor, Tensor]] = []
        order: list[int] = list(skeleton.levels[0])
        for above, joints in zip(skeleton.levels, skeleton.levels[1:], strict=False):
            places = {int(joint): i for i, joint in enumerate(above)}
            parents = [places[skeleton.parents[int(j)]] for j in joints]
            offsets = torch.tensor(skeleton.offsets[joints], dtype=torch.float32)
            self._levels.append(
                (
                    torch.tensor(joints, device=device),
                    torch.tensor(parents, device=device),
                    offsets[:, None, :, None].to(device),
                )
            )
            order += list(joints)
        back = torch.empty(len(order), dtype=torch.long)
        back[torch.tensor(order)] = torch.arange(len(order))
        self._back = back.to(device)

    def world(
        self, root: Tensor, local: Tensor, sizes: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """World positions (J, 3, B) and orientations (J, 3, 3, B) of all joints.

        Args:
            root: Position of the root, [m]. Shape (3, B).
            local: Local rotations as matrices. Shape (J, 3, 3, B).
            sizes: Lengths of the joints' offsets over the skeleton's. Shape (J, B).
        """
        joints, batch = local.shape[0], local.shape[-1]
        turned = torch.bmm(self._rest, local.reshape(joints, 3, 3 * batch))
        turned = turned.reshape(joints, 3, 3, batch)
        position, orientation = root[None], turned[:1]
        positions, orientations = [position], [orientation]
        for at, parents, offsets in self._levels:
            above = orientation.index_select(0, parents)
            step = (above * offsets).sum(2)
            if sizes is not None:
                step = step * sizes.index_select(0, at)[:, None]
            position = position.index_select(0, parents) + step
            orientation = product(above, turned.index_select(0, at))
            positions.append(position)
            orientations.append(orientation)
        return (
            torch.cat(positions).index_select(0, self._back),
            torch.cat(orientations).index_select(0, self._back),
        )


class Kinematics(TreeKinematics):
    """The tree of a rig, and its joint limits."""

    def __init__(self, rig: Rig, device: torch.device | str = "cpu") -> None:
        """Constants of `rig` on `device`, float32."""
        super().__init__(rig.skeleton, device)
        self.rig = rig

    def violation(self, local: Tensor) -> Tensor:
        """How far each joint of `local` (J, 3, 3, B) is outside its limits, [rad]. (B, J)."""
        swing, twist = excess(self.rig, swing_twist_of_matrices(local))
        return swing + twist


def swing_twist_of_matrices(local: Tensor) -> SwingTwist:
    """The parts (B, J), [rad], of local rotations (J, 3, 3, B); see `ambulo.motion.rotations`.

    The bone's direction, column Y, gives the swing; with q = (w, x, y, z) the entries
    m02 - m20 = 4 w y and m00 + m22 = 2 (w^2 - y^2) give the twist 2 atan2(y, w).
    """
    x, y, z = local[:, 0, 1], local[:, 1, 1], local[:, 2, 1]
    sine = torch.sqrt(x * x + z * z + SMALL)
    scale = torch.atan2(sine, y) / sine
    twist = torch.atan2(
        local[:, 0, 2] - local[:, 2, 0], local[:, 0, 0] + local[:, 2, 2]
    )
    return SwingTwist((z * scale).T, twist.T, (-x * scale).T)


def product(a: Tensor, b: Tensor) -> Tensor:
    """Products of rotations (n, 3, 3, B), as sums of three outer products."""
    found = a[:, :, 0, None] * b[:, None, 0]
    found = torch.addcmul(found, a[:, :, 1, None], b[:, None, 1])
    return torch.addcmul(found, a[:, :, 2, None], b[:, None, 2])


def matrices_of_sixd(six: Tensor) -> Tensor:
    """Rotations (J, 3, 3, B) whose first rows are nearest to `six` (J, 6, B)."""
    first, second = six[:, :3], six[:, 3:]
    first = first * torch.rsqrt((first * first).sum(1, keepdim=True) + SMALL)
    second = second - (first * second).sum(1, keepdim=True) * first
    second = second * torch.rsqrt((second * second).sum(1, keepdim=True) + SMALL)
    return torch.stack([first, second, torch.linalg.cross(first, second, dim=1)], dim=1)


def matrices_of_rotvec(vectors: Tensor) -> Tensor:
    """Rotations (J, 3, 3, B) of rotation vectors (J, 3, B), [rad]."""
    square = (vectors * vectors).sum(1) + SMALL
    angle = torch.sqrt(square)
    w, scale = torch.cos(0.5 * angle), torch.sin(0.5 * angle) / angle
    x, y, z = (vectors[:, i] * scale for i in range(3))
    return matrices_of_quat(torch.stack([w, x, y, z], dim=1))


def matrices_of_quat(q: Tensor) -> Tensor:
    """Rotations (J, 3, 3, B) of unit quaternions (J, 4, B), wxyz."""
    w, x, y, z = q.unbind(1)
    xx, yy, zz = 2 * x * x, 2 * y * y, 2 * z * z
    xy, xz, yz = 2 * x * y, 2 * x * z, 2 * y * z
    wx, wy, wz = 2 * w * x, 2 * w * y, 2 * w * z
    rows = [1 - yy - zz, xy - wz, xz + wy, xy + wz, 1 - xx - zz, yz - wx, xz - wy, yz + wx,
            1 - xx - yy]  # fmt: skip
    return torch.stack(rows, dim=1).reshape(len(q), 3, 3, -1)


def angles_between(a: Tensor, b: Tensor) -> Tensor:
    """Angles (n, B), [rad], between rotations (n, 3, 3, B), by atan2: finite gradients.

    The squared distance of two matrices is 8 sin^2 of half their angle.
    """
    way = (a - b).flatten(1, 2)
    square = (way * way).sum(1) / 8.0
    cosine = torch.sqrt((1.0 - square).clamp(min=1e-6))
    return 2.0 * torch.atan2(torch.sqrt(square + SMALL), cosine)


def distances(a: Tensor, b: Tensor) -> Tensor:
    """Distances (n, B) between points (n, 3, B)."""
    way = a - b
    return torch.sqrt((way * way).sum(1) + SMALL)
