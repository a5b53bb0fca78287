"""The joint torques of a cycle, and the ground forces that make it possible.

The equations of motion give the generalised force of every phase; ground forces at the
standing sole balls take over what the unactuated root would need, and what is left is
the joints' torque.
"""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from ambulo.configs.arrays import Floats
from ambulo.motion.gaits.cycle import (
    Cycle,
    body_velocities,
    derivative,
    resynthesized,
)
from ambulo.motion.gaits.soles import Soles, sole_places

FRICTION = 0.8
"""Friction of the force pyramids, below the ground's so that a reserve is left."""
EDGES = np.array(
    [[FRICTION * c, FRICTION * s, 1.0] for c, s in ((1, 0), (-1, 0), (0, 1), (0, -1))]
)
"""Edges of the force pyramids. Shape (4, 3)."""
CLEARANCE = 0.01
"""Height over which a sole ball bears little, [m]: its force costs (height / clearance)^2."""
TORQUE_HARMONICS = 10
"""Harmonics of the torque that are kept."""


@dataclass(frozen=True, eq=False)
class InverseDynamics:
    """What moves the body along a cycle; N phases, P sole points, V = nv."""

    qpos: Floats
    """MuJoCo's positions. Shape (N, nq); x is that of the first cycle."""
    qvel: Floats
    """MuJoCo's velocities. Shape (N, V)."""
    torques: Floats
    """Generalised forces of the joints, [N m]; the root's are 0. Shape (N, V)."""
    forces: Floats
    """Ground forces at the sole points in the world, [N]. Shape (N, P, 3)."""
    residual: Floats
    """Force and moment on the root that the ground could not give, [N], [N m]. (N, 6)."""


def joint_state(cycle: Cycle, model: mujoco.MjModel) -> tuple[Floats, Floats]:
    """Joint state of a cycle, qpos (N, nq) and qvel (N, nv), on a model."""
    linear, angular = body_velocities(cycle)
    count = len(cycle)
    qpos, qvel = np.zeros((count, model.nq)), np.zeros((count, model.nv))
    for j, name in enumerate(cycle.skeleton.joints):
        joint = model.joint(name)
        position, velocity = int(joint.qposadr[0]), int(joint.dofadr[0])
        kind = int(joint.type[0])
        if kind == mujoco.mjtJoint.mjJNT_FREE:
            qpos[:, :3], qvel[:, :3] = cycle.root_positions, linear
            position, velocity = position + 3, velocity + 3
        if kind == mujoco.mjtJoint.mjJNT_HINGE:
            axis = model.jnt_axis[joint.id]
            turned = cycle.rotations[:, j]
            qpos[:, position] = 2.0 * np.arctan2(turned[:, 1:] @ axis, turned[:, 0])
            qvel[:, velocity] = angular[:, j] @ axis
        else:
            qpos[:, position : position + 4] = cycle.rotations[:, j]
            qvel[:, velocity : velocity + 3] = angular[:, j]
    return qpos, qvel


def inverse_dynamics(
    cycle: Cycle, model: mujoco.MjModel, soles: Soles
) -> InverseDynamics:
    """Torques, ground forces and the root's residual along a cycle on `model`.

    The ground force of each sole ball is a friction pyramid of four edges; the edges'
    lengths are the non-negative least-squares solution (Lawson and Hanson 1974) of the
    root's six equations, with a cost on balls that are in the air.
    """
    qpos, qvel = joint_state(cycle, model)
    qacc = derivative(qvel, cycle.period)
    bare = model.__copy__()
    bare.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    data = mujoco.MjData(bare)
    heights = sole_places(cycle, soles)[..., 2]
    bodies = [bare.body(cycle.skeleton.joints[j]).id for j in soles.joints]
    needed, forces = np.zeros_like(qvel), np.zeros((len(cycle), len(bodies), 3))
    left = np.zeros_like(qvel)
    weight = bare.body_mass.sum() * np.linalg.norm(bare.opt.gravity)
    for t in range(len(cycle)):
        data.qpos[:], data.qvel[:], data.qacc[:] = qpos[t], qvel[t], qacc[t]
        mujoco.mj_inverse(bare, data)
        needed[t] = data.qfrc_inverse
        jacobian = _sole_jacobian(bare, data, bodies, soles)
        forces[t] = _ground_forces(needed[t, :6], jacobian, heights[t], weight)
        left[t] = needed[t] - np.einsum("pcv,pc->v", jacobian, forces[t])
    torques = resynthesized(left, TORQUE_HARMONICS, len(cycle))
    torques[:, :6] = 0.0
    return InverseDynamics(qpos, qvel, torques, forces, left[:, :6])


def _sole_jacobian(
    model: mujoco.MjModel, data: mujoco.MjData, bodies: list[int], soles: Soles
) -> Floats:
    """Jacobians of the places where the balls touch the ground. Shape (P, 3, nv)."""
    jacobian = np.zeros((len(bodies), 3, model.nv))
    for p, body in enumerate(bodies):
        place = data.xpos[body] + data.xmat[body].reshape(3, 3) @ soles.offsets[p]
        place = place - [0.0, 0.0, soles.radius]
        mujoco.mj_jac(model, data, jacobian[p], None, place, body)
    return jacobian


def _ground_forces(
    needed: Floats, jacobian: Floats, heights: Floats, weight: float
) -> Floats:
    """Forces (P, 3), [N], at the sole points for a root that needs `needed` (6,)."""
    rays: NDArray[np.float64] = np.einsum("pcv,ec->vpe", jacobian[:, :, :6], EDGES)
    columns = rays.reshape(6, -1)
    # Moments about the pelvis weigh as forces a quarter of a metre away would.
    scale = np.array([1.0, 1.0, 1.0, 4.0, 4.0, 4.0])[:, None] / weight
    cost = 0.01 + (np.maximum(heights, 0.0) / CLEARANCE) ** 2
    damping = np.diag(np.repeat(np.sqrt(cost) * 0.3, 4)) / weight
    system = np.concatenate([scale * columns, damping])
    target = np.concatenate([scale[:, 0] * needed, np.zeros(len(damping))])
    lengths, _ = nnls(system, target, maxiter=30 * system.shape[1])
    return np.asarray(lengths.reshape(-1, 4) @ EDGES)
