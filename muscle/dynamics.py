"""Inputs of a controller from the dynamics: inertia, forces and state, batch first.

`dynamics_of_data` and `transmission_of_data` view one simulation, `..._of_batch` a
`mujoco.batch.Batch`; all return live views, so
they are made once. The arrays belong to the state at which MuJoCo last ran its position and
velocity stages: call between `mj_step1` and `mj_step2` (one simulation), or after
`step(stage=mjSTAGE_VEL)` (batch). After `mj_resetData` they are zero until `make_current` or
`mj_forward`; `mj_forward` also gives the constraint forces, which otherwise are those of the
last step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

from ambulo.configs.arrays import Floats, Ints


@dataclass(frozen=True)
class Dynamics:
    """State and forces of B simulations; views that follow the simulation."""

    qpos: Floats
    """Positions, (B, nq)."""
    qvel: Floats
    """Velocities, (B, nv)."""
    inertia: Floats
    """Mass matrix, the lower half of its sparse rows, (B, nM)."""
    bias: Floats
    """Coriolis, centrifugal and gravity forces, (B, nv), [N m] or [N]."""
    passive: Floats
    """Forces of springs, dampers and fluid, (B, nv)."""
    constraint: Floats
    """Forces of contacts, limits and equalities in the last step, (B, nv)."""


@dataclass(frozen=True)
class Transmission:
    """Lengths and moment arms of all nu actuators of B simulations; live views."""

    length: Floats
    """Actuator length, (B, nu), [m]."""
    velocity: Floats
    """Actuator velocity, (B, nu), [m/s]; positive when it lengthens."""
    moment: Floats
    """Non-zero moment arms, (B, nJmom), [m]."""
    count: Ints
    """Moment arms of each actuator, (B, nu)."""
    start: Ints
    """Start of each actuator in `moment`, (B, nu)."""
    dof: Ints
    """Degree of freedom of each moment arm, (B, nJmom)."""


_DYNAMICS = {
    "qpos": "qpos",
    "qvel": "qvel",
    "inertia": "M",
    "bias": "qfrc_bias",
    "passive": "qfrc_passive",
    "constraint": "qfrc_constraint",
}
_TRANSMISSION = {
    "length": "actuator_length",
    "velocity": "actuator_velocity",
    "moment": "actuator_moment",
    "count": "moment_rownnz",
    "start": "moment_rowadr",
    "dof": "moment_colind",
}
"""MuJoCo's name of each field."""


def mass_matrix(model: mujoco.MjModel, data: mujoco.MjData) -> Floats:
    """The joint-space inertia matrix (nv, nv) at the state of `data`.

    Since MuJoCo 3.11 there is no `qM`; right after a reset the stored matrix is zero, and this
    function computes it.
    """
    make_current(model, data)
    dense = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, dense)
    return dense


def make_current(model: mujoco.MjModel, data: mujoco.MjData) -> None:
    """Run `mj_forward` if `data` has been reset and nothing is computed yet."""
    if model.nv and data.M[model.M_rowadr[0] + model.M_rownnz[0] - 1] == 0.0:
        mujoco.mj_forward(model, data)


def dynamics_of_data(data: mujoco.MjData) -> Dynamics:
    """Views of one simulation as a batch of one."""
    return Dynamics(**_of_data(data, _DYNAMICS))


def dynamics_of_batch(batch: Any) -> Dynamics:
    """Views of every simulation of a `mujoco.batch.Batch`."""
    return Dynamics(**_of_batch(batch, _DYNAMICS))


def transmission_of_data(data: mujoco.MjData) -> Transmission:
    """Views of the actuators of one simulation as a batch of one."""
    return Transmission(**_of_data(data, _TRANSMISSION))


def transmission_of_batch(batch: Any) -> Transmission:
    """Views of the actuators of every simulation of a `mujoco.batch.Batch`."""
    return Transmission(**_of_batch(batch, _TRANSMISSION))


def _of_data(data: mujoco.MjData, fields: dict[str, str]) -> dict[str, Any]:
    return {name: getattr(data, field).reshape(1, -1) for name, field in fields.items()}


def _of_batch(batch: Any, fields: dict[str, str]) -> dict[str, Any]:
    return {name: batch.bind(field) for name, field in fields.items()}
