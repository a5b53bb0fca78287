"""One gait cycle as a few periodic coordinates, whatever joints the body has.

The coordinates are root place (without its progress), root turn, and joint angles; the
turns of the root and of ball joints are rotation vectors about the cycle's mean. The chain
rules from coordinates to MuJoCo's velocities and tangent space are here, for all phases.
"""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np

from ambulo.configs.arrays import Floats, Ints
from ambulo.motion.gaits.cycle import derivative, rotvec_velocity
from ambulo.motion.rotations import (
    quat_conjugate,
    quat_from_rotvec,
    quat_mean,
    quat_multiply,
    quat_to_rotvec,
)
from ambulo.muscle.coupling import joint_coupling

BALL, SLIDE = int(mujoco.mjtJoint.mjJNT_BALL), int(mujoco.mjtJoint.mjJNT_SLIDE)


@dataclass(frozen=True, eq=False)
class Rotation:
    """A free turn among the coordinates."""

    address: int
    """Of its quaternion in qpos."""
    columns: slice
    """Of its rotation vector among the coordinates."""
    mean: Floats
    """Quaternion wxyz about which the rotation vector turns. Shape (4,)."""


class CycleCoordinates:
    """The n independent coordinates of a body with a free root, about a mean pose."""

    def __init__(self, model: mujoco.MjModel, qpos: Floats) -> None:
        """About the mean of `qpos` (N, nq) of one cycle on `model`."""
        self.model = model
        self.coupling = joint_coupling(model)
        self.free = self.coupling.independent
        joints = model.dof_jntid[self.free]
        kinds = model.jnt_type[joints]
        self.rotations = [_rotation(qpos, 3, 3)]
        for column in np.flatnonzero(kinds == BALL)[::3]:
            address = int(model.jnt_qposadr[joints[column]])
            self.rotations.append(_rotation(qpos, address, int(column)))
        plain = np.flatnonzero(kinds >= SLIDE)
        self.plain: Ints = plain.astype(np.int64)
        """Coordinates that are angles or distances of their own. Shape (k,)."""
        self.address: Ints = model.jnt_qposadr[joints[plain]].astype(np.int64)
        """Where these are in qpos. Shape (k,)."""
        self.low, self.high = model.jnt_range[joints[plain]].T
        limited = model.jnt_limited[joints[plain]].astype(bool)
        self.low = np.where(limited, self.low, -np.inf)
        self.high = np.where(limited, self.high, np.inf)

    def of(self, qpos: Floats, progress: Floats) -> Floats:
        """Coordinates (N, n) of positions (N, nq) of which `progress` (N, 3) is taken off."""
        x = np.zeros((len(qpos), len(self.free)))
        x[:, :3] = qpos[:, :3] - progress
        for r in self.rotations:
            turned = qpos[:, r.address : r.address + 4]
            back = quat_conjugate(r.mean)[None]
            x[:, r.columns] = quat_to_rotvec(quat_multiply(back, turned))
        x[:, self.plain] = qpos[:, self.address]
        return x

    def states(
        self,
        x: Floats,
        rate: Floats,
        change: Floats,
        progress: Floats,
        pace: Floats,
        period: float,
    ) -> tuple[Floats, Floats, Floats]:
        """The positions (N, nq), velocities and accelerations (N, nv) of a cycle.

        Args:
            x: Coordinates at N equal phases. Shape (N, n).
            rate: Their time derivatives.
            change: Their second time derivatives.
            progress: How far the root has walked. Shape (N, 3), [m].
            pace: Mean velocity of the root. Shape (3,), [m/s].
            period: Duration of the cycle, [s].
        """
        rate, change = rate.copy(), change.copy()
        qpos = np.tile(self.model.qpos0, (len(x), 1))
        qpos[:, :3] = x[:, :3] + progress
        rate[:, :3] += pace
        for r in self.rotations:
            turns = quat_from_rotvec(x[:, r.columns])
            qpos[:, r.address : r.address + 4] = quat_multiply(r.mean[None], turns)
            rate[:, r.columns] = rotvec_velocity(x[:, r.columns], rate[:, r.columns])
            change[:, r.columns] = derivative(rate[:, r.columns], period)
        qpos[:, self.address] = x[:, self.plain]
        qpos = self.coupling.closed(qpos)
        factor = self.coupling.factors(qpos)
        qvel = factor * self.coupling.spread(rate)
        _, drift = self.coupling.motion(qpos, qvel)
        return qpos, qvel, factor * self.coupling.spread(change) + drift

    def chain(
        self, x: Floats, qvel: Floats, qacc: Floats, period: float
    ) -> tuple[list[Floats], list[Floats], list[Floats]]:
        """How MuJoCo's position, velocity and acceleration follow the coordinates.

        A change dx(t) of the coordinates is a turn d = T dx in the body's frame (T: the
        right Jacobian of SO(3)); the angular velocity w changes by d' + w x d.

        Returns:
            Slopes of the tangent position by dx; of the velocity by dx and dx'; and of the
            acceleration by dx, dx' and dx''. Each of shape (N, n, n).
        """
        count, n = x.shape
        turned = np.tile(np.eye(n), (count, 1, 1))
        first, second = np.zeros_like(turned), np.zeros_like(turned)
        spin, twist = np.zeros_like(turned), np.zeros_like(turned)
        for r in self.rotations:
            at = (slice(None), r.columns, r.columns)
            block = np.stack(
                [rotvec_velocity(x[:, r.columns], np.eye(3)[[i]]) for i in range(3)],
                axis=-1,
            )
            turned[at] = block
            first[at] = derivative(block, period)
            second[at] = derivative(first[at], period)
            dofs = self.free[r.columns]
            spin[at], twist[at] = _cross(qvel[:, dofs]), _cross(qacc[:, dofs])
        return (
            [turned],
            [first + spin @ turned, turned],
            [
                second + spin @ first + twist @ turned,
                2.0 * first + spin @ turned,
                turned,
            ],
        )


def _rotation(qpos: Floats, address: int, column: int) -> Rotation:
    mean = quat_mean(qpos[:, address : address + 4])
    return Rotation(address, slice(column, column + 3), mean)


def _cross(vectors: Floats) -> Floats:
    """Matrices (N, 3, 3) that take the cross product of `vectors` (N, 3) with another."""
    return np.asarray(np.cross(np.eye(3)[None], vectors[:, None]))
