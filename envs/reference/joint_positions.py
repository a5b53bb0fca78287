"""Movements of a skeleton as MuJoCo's positions of the body that it belongs to, and back."""

from __future__ import annotations

import mujoco
import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.motion.gaits.cycle import Cycle
from ambulo.motion.motion import Motion
from ambulo.motion.skeleton import Skeleton


def qpos_of(moving: Cycle | Motion, model: mujoco.MjModel) -> Floats:
    """MuJoCo's positions (N, nq) of a movement of the model's joints."""
    qpos = np.zeros((len(moving), model.nq))
    for j, name in enumerate(moving.skeleton.joints):
        joint = model.joint(name)
        at = int(joint.qposadr[0])
        kind = int(joint.type[0])
        if kind == mujoco.mjtJoint.mjJNT_FREE:
            qpos[:, :3] = moving.root_positions
            at += 3
        turned = moving.rotations[:, j]
        if kind == mujoco.mjtJoint.mjJNT_HINGE:
            axis = model.jnt_axis[joint.id]
            qpos[:, at] = 2.0 * np.arctan2(turned[:, 1:] @ axis, turned[:, 0])
        else:
            qpos[:, at : at + 4] = turned
    return qpos


def motion_of_positions(
    qpos: Floats, model: mujoco.MjModel, skeleton: Skeleton, fps: float
) -> Motion:
    """The movement of MuJoCo's positions (N, nq) of the model's joints, at `fps` [Hz]."""
    places = np.zeros((len(qpos), 3))
    rotations = np.zeros((len(qpos), len(skeleton.joints), 4))
    for j, name in enumerate(skeleton.joints):
        joint = model.joint(name)
        at, kind = int(joint.qposadr[0]), int(joint.type[0])
        if kind == mujoco.mjtJoint.mjJNT_HINGE:
            half = 0.5 * qpos[:, at]
            rotations[:, j, 0] = np.cos(half)
            rotations[:, j, 1:] = np.outer(np.sin(half), model.jnt_axis[joint.id])
            continue
        if kind == mujoco.mjtJoint.mjJNT_FREE:
            places = qpos[:, at : at + 3]
            at += 3
        quat = qpos[:, at : at + 4]
        rotations[:, j] = quat / np.linalg.norm(quat, axis=1, keepdims=True)
    return Motion(skeleton, fps, places, rotations)


def motion_states(
    motion: Motion, model: mujoco.MjModel
) -> tuple[Floats, Floats, Floats]:
    """Positions (T, nq), velocities (T, nv) and accelerations (T, nv) of a motion."""
    qpos = qpos_of(motion, model)
    return qpos, *derivatives(model, qpos, 1.0 / motion.fps)


def derivatives(
    model: mujoco.MjModel, qpos: Floats, dt: float
) -> tuple[Floats, Floats]:
    """Velocities and accelerations of positions (T, nq) that are `dt` [s] apart, (T, nv)."""
    qvel = velocities(model, qpos, dt)
    return qvel, np.gradient(qvel, dt, axis=0)


def velocities(model: mujoco.MjModel, qpos: Floats, dt: float) -> Floats:
    """Velocities (T, nv) of positions (T, nq) that are `dt` [s] apart; central differences."""
    out = np.empty((len(qpos), model.nv))
    last = len(qpos) - 1
    for t in range(len(qpos)):
        before, after = max(t - 1, 0), min(t + 1, last)
        mujoco.mj_differentiatePos(
            model, out[t], (after - before) * dt, qpos[before], qpos[after]
        )
    return out


def body_places(qpos: Floats, model: mujoco.MjModel) -> tuple[Floats, Floats]:
    """World places of the moving bodies (T, B, 3) and centre of mass (T, 3), [m].

    `qpos` are MuJoCo's positions (T, nq).
    """
    data, root = mujoco.MjData(model), int(model.jnt_bodyid[0])
    places, com = np.empty((len(qpos), model.nbody - 1, 3)), np.empty((len(qpos), 3))
    for t, row in enumerate(qpos):
        data.qpos[:] = row
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        places[t], com[t] = data.xpos[1:], data.subtree_com[root]
    return places, com
