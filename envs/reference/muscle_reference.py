"""References of myolegs as configured: a walk out of a clip, made once, or standing."""

from __future__ import annotations

import logging
import zipfile
from dataclasses import replace

import mujoco
import numpy as np

import ambulo.shipped
from ambulo.configs.errors import ConfigError
from ambulo.configs.locomotion import LocomotionEnvironmentConfig
from ambulo.envs.characters.character import Character
from ambulo.envs.characters.myo import lowest_point, myolegs, sole_balls
from ambulo.envs.reference.balance import balance_controller
from ambulo.envs.reference.cached import cached_reference
from ambulo.envs.reference.muscle_walk import CONTROL_DT, build_muscle_walk
from ambulo.envs.reference.reference import matching_dofs
from ambulo.envs.reference.reference_file import (
    Gait,
    Reference,
    reference_from_bytes,
)
from ambulo.envs.reference.reference_table import ReferenceTable
from ambulo.envs.reference.refine import refined
from ambulo.muscle.coupling import joint_coupling

log = logging.getLogger(__name__)

STANDING = {"hip_flexion": 0.0, "knee_angle": 0.15, "ankle_angle": 0.15}
"""Joint angles of the standing pose, [rad]: knees a little bent, weight over the feet."""
_PHASES = 64


def legs_reference(config: LocomotionEnvironmentConfig) -> Reference:
    """What myolegs follows under `config`.

    Raises:
        ConfigError: A control rate or task that its walks are not made for.
        MotionFileError: A clip that is no walk.
    """
    muscles = config.actuation == "muscle"
    if config.task == "stand":
        name = "myolegs" if muscles else "myolegs_motors"
        return standing_legs(myolegs(muscles=False), config, name)
    if config.task not in ("imitate", "gait"):
        raise ConfigError(
            f"task = {config.task} has no gaits for myolegs yet: set task = imitate or"
            " stand, or character = human23"
        )
    if abs(config.control_dt - CONTROL_DT) > 1e-9 or config.substeps != 8:
        raise ConfigError(
            "walks of myolegs are made for control_rate = 30 and substeps = 8, not"
            f" {config.control_rate} and {config.substeps}"
        )
    if config.reference is None:
        return shipped_walk(muscles=muscles)
    return kept_walk(config.reference, muscles=muscles, frames=config.reference_frames)


def shipped_walk(*, muscles: bool = True) -> Reference:
    """The walk that the shipped policy `muscle_walk` follows, with its balance controller.

    Args:
        muscles: For the body with muscles; otherwise for the one with motors.

    Raises:
        ConfigError: No such policy is installed.
    """
    file = ambulo.shipped.shipped_models().get("muscle_walk")
    if file is None:
        raise ConfigError(
            "reference: the walk of myolegs is not installed; name a clip of a level "
            "walk"
        )
    with zipfile.ZipFile(file) as model:
        walk = reference_from_bytes(model.read("reference_0.npz"), file)
    return walk if muscles else replace(walk, character="myolegs_motors")


def kept_walk(
    clip: str, *, muscles: bool = True, frames: str | None = None
) -> Reference:
    """The walk out of a clip: made now (`muscle_walk`), or read where it is kept.

    Args:
        clip: A motion file.
        muscles: For the body with muscles; otherwise for the one with motors.
        frames: Part of the clip in which the walk is, "A:B"; all if None.
    """
    return cached_reference(
        ["myolegs", muscles, frames],
        clip,
        lambda: build_muscle_walk(clip, muscles=muscles, frames=frames),
        takes="two minutes or more",
    )


def standing_legs(
    motors: Character, config: LocomotionEnvironmentConfig, name: str
) -> Reference:
    """Standing still, as a gait that goes nowhere, with its balance controller.

    Args:
        motors: The body with motors; muscles that saturate have no useful derivative.
        config: Rates, and the joints that the controller moves.
        name: Of the body that the reference is for.
    """
    model, control_dt = motors.model, config.control_dt
    model.opt.timestep = control_dt / config.substeps
    qpos = np.array(model.qpos0)
    for joint, angle in STANDING.items():
        for side in "rl":
            qpos[model.joint(f"{joint}_{side}").qposadr[0]] = angle
    qpos = joint_coupling(model).closed(qpos)
    balls, data = sole_balls(model), mujoco.MjData(model)
    data.qpos[:] = qpos
    mujoco.mj_kinematics(model, data)
    qpos[2] -= lowest_point(data, balls)
    still = refined(model, balls, np.tile(qpos, (_PHASES, 1)), 1.0, np.zeros(3))
    whole = still.table
    table = ReferenceTable(
        control_dt, np.zeros(3), whole.qpos[:1], 0.0 * whole.qvel[:1], whole.torque[:1]
    )
    dofs = matching_dofs(motors, config.joints)
    controller = balance_controller(motors, table, dofs, control_dt=control_dt)
    report = {
        "residual_force": still.residual_force,
        "residual_moment": still.residual_moment,
    }
    gait = Gait(table, controller, report)
    return Reference("standing", name, control_dt, (gait,), motors.joint_names)
