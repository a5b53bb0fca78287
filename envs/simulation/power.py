"""Mechanical power of the joints of a simulation."""

from __future__ import annotations

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.envs.simulation.simulation import CharacterSimulation
from ambulo.muscle.coupling import joint_coupling


class JointPower:
    """Absolute power of all joints of N bodies; joints that are tied count as one."""

    def __init__(self, simulation: CharacterSimulation) -> None:
        """Of the bodies of `simulation`."""
        self._simulation = simulation
        self._force: Floats = simulation.bind("qfrc_actuator")
        self._coupling = joint_coupling(simulation.model)

    def now(self) -> Floats:
        """After a physics step, [W]. Shape (N,)."""
        force, rate = self._force, self._simulation.qvel
        if len(self._coupling.dof):  # what they do against each other is no work
            factors = self._coupling.factors(self._simulation.qpos)
            force = self._coupling.reduced(force, factors)
            rate = rate[:, self._coupling.independent]
        return np.asarray(np.abs(force[:, 6:] * rate[:, 6:]).sum(axis=1))
