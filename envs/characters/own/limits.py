"""Torque limits in a model: of its actuators, or of its joints (`effort` in URDF)."""

from __future__ import annotations

import mujoco
import numpy as np

from ambulo.envs.characters.own.links import LinkTree


def model_limits(tree: LinkTree, names: list[list[str]]) -> dict[str, float]:
    """Return the largest torque of each joint that has one, [N m].

    That of the actuators that drive the joint itself: of force limits, else of the largest
    control of a motor; else the joint's own limit of actuator forces.
    """
    model = tree.model
    kinds = (int(mujoco.mjtTrn.mjTRN_JOINT), int(mujoco.mjtTrn.mjTRN_JOINTINPARENT))
    found: dict[int, float] = {}
    for u in range(model.nu):
        if int(model.actuator_trntype[u]) in kinds:
            limit = _actuator_limit(model, u)
            joint = int(model.actuator_trnid[u, 0])
            found[joint] = max(found.get(joint, 0.0), limit)
    limits: dict[str, float] = {}
    for link, own in zip(tree.links[1:], names[1:], strict=True):
        for joint, name in zip(link.joints, own, strict=True):
            limit = found.get(joint.source, np.inf)
            if model.jnt_actfrclimited[joint.source]:
                limit = min(
                    limit, float(np.abs(model.jnt_actfrcrange[joint.source]).max())
                )
            if np.isfinite(limit) and limit > 0.0:
                limits[name] = limit
    return limits


def _actuator_limit(model: mujoco.MjModel, actuator: int) -> float:
    """Largest torque of one actuator, [N m]; infinite if there is none."""
    limit = np.inf
    if model.actuator_forcelimited[actuator]:
        limit = float(np.abs(model.actuator_forcerange[actuator]).max())
    motor = int(model.actuator_biastype[actuator]) == int(mujoco.mjtBias.mjBIAS_NONE)
    fixed = int(model.actuator_gaintype[actuator]) == int(mujoco.mjtGain.mjGAIN_FIXED)
    if model.actuator_ctrllimited[actuator] and motor and fixed:
        gain = abs(float(model.actuator_gainprm[actuator, 0]))
        limit = min(
            limit, gain * float(np.abs(model.actuator_ctrlrange[actuator]).max())
        )
    return limit * float(np.abs(model.actuator_gear[actuator, :3]).max())
