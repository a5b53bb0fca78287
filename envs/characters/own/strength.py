"""Strength of a user's body: gains and largest torques of its joints, and loads at standing."""

from __future__ import annotations

import glob

import mujoco
import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import ConfigError
from ambulo.configs.muscle import JointGain, SpdGains
from ambulo.envs.characters.own.settings import BodySettings
from ambulo.envs.characters.own.standing import StandingSoles, holding_torques

STIFFNESS: dict[str, float] = {
    "foot": 2.0, "shin": 2.5, "thigh": 2.5, "toe": 0.2, "spine": 2.5, "chest": 2.5,
    "hips": 2.5, "neck": 0.15, "head": 0.15, "clavicle": 0.45, "upper_arm": 0.4,
    "forearm": 0.2, "hand": 0.06,
}  # fmt: skip
"""Stiffness of the joints of each part over mass * gravity * height of the centre of mass,
[1/rad]. At a quarter of it most bodies fall."""
TORQUE: dict[str, float] = {
    "foot": 0.3, "shin": 0.4, "thigh": 0.45, "toe": 0.05, "spine": 0.5, "chest": 0.5,
    "hips": 0.5, "neck": 0.06, "head": 0.06, "clavicle": 0.2, "upper_arm": 0.15,
    "forearm": 0.1, "hand": 0.03,
}  # fmt: skip
"""Largest torque of joints without a limit, over the same."""
CARRIES = ("thigh", "shin", "foot", "hips", "spine", "chest")
"""Parts whose joints carry the body: their gains do not go by their own inertia."""
DAMPING_RATIO = 0.08
"""Damping over stiffness, [s]."""
FREQUENCY = 8.0
"""Largest natural frequency of a joint that carries nothing but its own part, [Hz]."""
DRIVE, DRIVES = 1.0, 4.0
"""Angles from rest that motors must reach against the springs of their joints, [rad]: of every
joint, and of the others where one does not."""


def largest_torques(
    body: mujoco.MjModel,
    part_of: dict[str, str],
    limits: dict[str, float],
    settings: BodySettings,
    moment: float,
) -> tuple[dict[str, float], list[str]]:
    """Return the largest torque of each joint, [N m], and notes.

    It is that of the settings, else of the model, else of the rule.
    """
    torques: dict[str, float] = {}
    ruled = []
    for name, part in part_of.items():
        given = settings.torque_of(name)
        if given is not None:
            torques[name] = given
        elif name in limits and not settings.rule_torques:
            torques[name] = limits[name]
        else:
            torques[name] = TORQUE[part] * moment
            ruled.append(name)
    notes = []
    if ruled and len(ruled) == len(part_of):
        notes.append("no torque limits: those of a person of its weight")
    elif ruled:
        notes.append(f"no torque limit of {', '.join(ruled[:3])}: by the rule")
    return torques, notes


def drive_gains(body: mujoco.MjModel, torques: dict[str, float]) -> frozenset[str]:
    """Return the joints whose springs are gains of drives, as some simulators read MJCF files.

    Those hold joints near rest against their motors (`DRIVE`); if any does, the strong ones
    of all joints (`DRIVES`) are no springs.
    """
    reach = {
        name: limit / max(float(body.joint(name).stiffness[0]), 1e-12)
        for name, limit in torques.items()
    }
    if min(reach.values(), default=DRIVE) >= DRIVE:
        return frozenset()
    return frozenset(name for name, angle in reach.items() if angle < DRIVES)


def largest_load(
    body: mujoco.MjModel,
    pose: Floats,
    soles: StandingSoles,
    torques: dict[str, float],
    part_of: dict[str, str],
) -> tuple[float, str, float]:
    """Return the largest load of a joint that carries the body where it stands.

    Its torque over the largest that it has, its name, and its torque, [N m].
    """
    needed = np.abs(holding_torques(body, pose, soles))
    worst: tuple[float, str, float] = (0.0, "", 0.0)
    tied = {int(body.eq_obj1id[e]) for e in range(body.neq)}
    for dof in range(6, body.nv):
        joint = int(body.dof_jntid[dof])
        name = body.joint(joint).name
        if joint in tied or part_of[name] not in CARRIES:
            continue
        ratio = float(needed[dof]) / torques[name]
        if ratio > worst[0]:
            worst = (ratio, name, float(needed[dof]))
    return worst


def check_strength(load: tuple[float, str, float], torques: dict[str, float]) -> None:
    """Refuse motors that cannot hold the body where it stands.

    Raises:
        ConfigError: `load`, as of `largest_load`, is above 1.
    """
    ratio, name, needed = load
    if ratio > 1.0:
        raise ConfigError(
            f"too weak to stand: {name} needs {needed:.3g} N m in the standing pose and"
            f" has {torques[name]:.3g} ({ratio:.2g} times); torque_limits in"
            ' NAME.body.json gives others, or "rule"'
        )


def gains_of(
    body: mujoco.MjModel, pose: Floats, part_of: dict[str, str], moment: float
) -> SpdGains:
    """Return stiffness by part and weight, of parts that carry nothing by their inertia."""
    data = mujoco.MjData(body)
    data.qpos[:] = pose
    mujoco.mj_forward(body, data)
    matrix = np.zeros((body.nv, body.nv))
    mujoco.mj_fullM(body, data, matrix)
    inertia = np.diag(matrix)
    rows = []
    tied = {int(body.eq_obj1id[e]) for e in range(body.neq)}
    for j in range(1, body.njnt):
        if j in tied:
            continue
        name = body.joint(j).name
        first = int(body.jnt_dofadr[j])
        last = int(body.jnt_dofadr[j + 1]) if j + 1 < body.njnt else body.nv
        own = float(inertia[first:last].mean())
        part = part_of[name]
        stiffness = STIFFNESS[part] * moment
        damping = DAMPING_RATIO * stiffness
        if part not in CARRIES:
            stiffness = min(stiffness, (2.0 * np.pi * FREQUENCY) ** 2 * own)
            damping = min(0.1 * stiffness, 2.0 * np.sqrt(stiffness * own))
        rows.append(
            JointGain(
                joints=glob.escape(name), stiffness=stiffness, damping=float(damping)
            )
        )
    return SpdGains(joints=tuple(rows))
