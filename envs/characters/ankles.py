"""How far from their ankles feet can press: motors of ankles may be weak."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import mujoco
import numpy as np

from ambulo.configs.arrays import Floats


def ankle_reach(
    model: mujoco.MjModel,
    ankles: Sequence[Sequence[str]],
    torques: Mapping[str, float],
) -> Floats:
    """Distances from left and right ankle at which a foot can carry half the weight, [m].

    Fore and aft, and sideways: each hinge of an ankle carries its share of the moment about
    the lateral or the forward axis. Infinite for feet without a joint. Shape (2, 2).

    Args:
        model: The body, which faces +X at rest.
        ankles: Joints of the left and of the right ankle.
        torques: Largest torque of joints, [N m]; others are as strong as need be.
    """
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    half = 0.5 * float(model.body_mass.sum() * np.linalg.norm(model.opt.gravity))
    reach = np.full((2, 2), np.inf)
    for side, names in enumerate(ankles):
        for name in names:
            joint = model.joint(name).id
            hinge = model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_HINGE
            axes = np.abs(data.xaxis[joint, [1, 0]]) if hinge else np.ones(2)
            torque = torques.get(name, np.inf) / half
            reach[side] = np.minimum(reach[side], torque / np.maximum(axes, 1e-6))
    return reach
