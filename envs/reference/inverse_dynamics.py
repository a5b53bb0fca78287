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
from ambulo.envs.reference.joint_positions import qpos_of
from ambulo.motion.gaits.cycle import (
    Cycle,
    body_velocities,
    derivative,
    resynthesized,
)
from ambulo.motion.gaits.soles import Soles, sole_places
from ambulo.motion.rotations import quat_rotate

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
    """Inverse dynamics along a cycle; N phases, P sole points, V = nv."""

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
    qvel = np.zeros((len(cycle), model.nv))
    for j, name in enumerate(cycle.skeleton.joints):
        joint = model.joint(name)
        at = int(joint.dofadr[0])
        kind = int(joint.type[0])
        if kind == mujoco.mjtJoint.mjJNT_FREE:
            qvel[:, :3] = linear
            at += 3
        if kind == mujoco.mjtJoint.mjJNT_HINGE:
            qvel[:, at] = angular[:, j] @ model.jnt_axis[joint.id]
        else:
            qvel[:, at : at + 3] = angular[:, j]
    return qpos_of(cycle, model), qvel


def inverse_dynamics(
    cycle: Cycle, model: mujoco.MjModel, soles: Soles
) -> InverseDynamics:
    """Torques, ground forces and the root's residual along a cycle on `model`."""
    qpos, qvel = joint_state(cycle, model)
    qacc = derivative(qvel, cycle.period)
    bodies = [model.body(cycle.skeleton.joints[j]).id for j in soles.joints]
    heights = sole_places(cycle, soles)[..., 2]
    left, forces = ground_reaction(model, soles, bodies, (qpos, qvel, qacc), heights)
    torques = resynthesized(left, TORQUE_HARMONICS, len(cycle))
    torques[:, :6] = 0.0
    return InverseDynamics(qpos, qvel, torques, forces, left[:, :6])


def ground_reaction(
    model: mujoco.MjModel,
    soles: Soles,
    bodies: list[int],
    state: tuple[Floats, Floats, Floats],
    heights: Floats | None = None,
) -> tuple[Floats, Floats]:
    """Inverse dynamics along a movement: residual forces of root and joints, and the ground's.

    The ground force of each sole ball is a friction pyramid of four edges; the edges'
    lengths are the non-negative least-squares solution (Lawson and Hanson 1974) of the
    root's six equations, with a cost on balls that are in the air.

    Args:
        model: Of the body.
        soles: Its P sole balls.
        bodies: Body id of each ball.
        state: Positions (N, nq), velocities (N, nv) and accelerations (N, nv).
        heights: Heights of the balls' lowest points over the ground, [m], (N, P); those of
            `state` over z = 0 if None.

    Returns:
        Generalised forces that the ground does not give, (N, nv), and ground forces in the
        world, [N], (N, P, 3).
    """
    qpos, qvel, qacc = state
    bare, data = _without_ground(model)
    forces = np.zeros((len(qpos), len(bodies), 3))
    left = np.zeros_like(qvel)
    weight = bare.body_mass.sum() * np.linalg.norm(bare.opt.gravity)
    for t in range(len(qpos)):
        data.qpos[:], data.qvel[:], data.qacc[:] = qpos[t], qvel[t], qacc[t]
        mujoco.mj_inverse(bare, data)
        needed = data.qfrc_inverse
        places = _touching_places(data, bodies, soles)
        jacobian = _jacobian(bare, data, bodies, places)
        over = places[:, 2] if heights is None else heights[t]
        forces[t] = _ground_forces(needed[:6], jacobian, over, weight)
        left[t] = needed - np.einsum("pcv,pc->v", jacobian, forces[t])
    return left, forces


def root_wrench(model: mujoco.MjModel, state: tuple[Floats, Floats, Floats]) -> Floats:
    """Force, and moment about the world's origin, that a movement needs from the ground.

    Args:
        model: Of the body.
        state: Positions (N, nq), velocities (N, nv) and accelerations (N, nv).

    Returns:
        Over body weight, [-] and [m]. Shape (N, 6).
    """
    out = free_forces(model, state)[:, :6].copy()
    # MuJoCo's moment is in the root's frame and about its origin.
    out[:, 3:] = quat_rotate(state[0][:, 3:7], out[:, 3:])
    out[:, 3:] += np.cross(state[0][:, :3], out[:, :3])
    weight = model.body_mass.sum() * np.linalg.norm(model.opt.gravity)
    return np.asarray(out / weight)


def free_forces(model: mujoco.MjModel, state: tuple[Floats, Floats, Floats]) -> Floats:
    """Generalised forces of a movement without contacts and limits. Shape (N, nv)."""
    bare, data = _without_ground(model)
    out = np.empty_like(state[1])
    for t, (qpos, qvel, qacc) in enumerate(zip(*state, strict=True)):
        data.qpos[:], data.qvel[:], data.qacc[:] = qpos, qvel, qacc
        mujoco.mj_inverse(bare, data)
        out[t] = data.qfrc_inverse
    return out


def _without_ground(model: mujoco.MjModel) -> tuple[mujoco.MjModel, mujoco.MjData]:
    """The body without contacts and limits."""
    bare = model.__copy__()
    bare.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    return bare, mujoco.MjData(bare)


def _touching_places(data: mujoco.MjData, bodies: list[int], soles: Soles) -> Floats:
    """Lowest places of the sole balls in the world, [m]. Shape (P, 3)."""
    turns = data.xmat[bodies].reshape(-1, 3, 3)
    places = data.xpos[bodies] + (turns @ soles.offsets[:, :, None])[..., 0]
    places[:, 2] -= soles.radius
    return np.asarray(places)


def _jacobian(
    model: mujoco.MjModel, data: mujoco.MjData, bodies: list[int], places: Floats
) -> Floats:
    """Jacobians of `places` (P, 3), each on its body. Shape (P, 3, nv)."""
    jacobian = np.zeros((len(bodies), 3, model.nv))
    for p, body in enumerate(bodies):
        mujoco.mj_jac(model, data, jacobian[p], None, places[p], body)
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
