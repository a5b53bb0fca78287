"""The body of a parameter vector: a human23 that is really of that size and shape."""

from __future__ import annotations

import mujoco
from numpy.typing import ArrayLike

from ambulo.configs.gait import GaitSpace
from ambulo.configs.healthy_gait import HEALTHY
from ambulo.configs.muscle import JointGain, SpdGains
from ambulo.envs.characters.anthropometry import inertials
from ambulo.envs.characters.character import (
    DAMPING_RATIO,
    STIFFNESS,
    Character,
    soles_of,
)
from ambulo.envs.characters.human23 import human23_spec
from ambulo.motion.gaits.skeleton import gait_skeleton, leg_length, mass_factors
from ambulo.motion.skeletons import load_skeleton

MASS = 75.0
"""Mass of the healthy adult, [kg]."""


def gait_body(space: GaitSpace, values: ArrayLike) -> Character:
    """The human23 of `values` (P,): lengths, torsions, masses, motors and gains.

    Torques of motors and gains go with mass times leg length, dampings also with the time
    in which such legs swing, so that a smaller body is as stiff for its weight.

    Raises:
        GaitParameterError: A value out of range.
    """
    space.check(values)
    skeleton = gait_skeleton(space, values)
    model = human23_spec(skeleton, MASS, mass_factors(space, values)).compile()
    mass = float(model.body_mass.sum()) / MASS
    length = float(leg_length(space, values)) / HEALTHY.leg_length
    torque = mass * length
    model.actuator_forcerange[:] *= torque
    model.dof_damping[:] *= torque * length**0.5
    model.dof_armature[:] *= mass * length**2
    gains = SpdGains(
        joints=tuple(
            JointGain(
                joints=name,
                stiffness=torque * k,
                damping=torque * length**0.5 * DAMPING_RATIO * k,
            )
            for name, k in STIFFNESS.items()
        )
    )
    mujoco.mj_setConst(model, mujoco.MjData(model))
    return Character("human23", model, skeleton, soles_of(model, skeleton), gains)


def strength(space: GaitSpace, values: ArrayLike) -> float:
    """Mass times leg length over the healthy adult's: what torques go with."""
    healthy = inertials(load_skeleton("human23"), 1.0)
    factors = mass_factors(space, values)
    mass = sum(factors[name] * own.mass for name, own in healthy.items())
    return float(mass * leg_length(space, values) / HEALTHY.leg_length)
